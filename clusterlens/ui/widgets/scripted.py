"""Components with a script of their own in the browser."""

from __future__ import annotations

import asyncio
import base64
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import param
from panel.custom import JSComponent
from panel.io import unlocked

from clusterlens.ui.widgets.style import EXCERPT_CSS, TEXT_CSS

# Size of the pieces of a file; one is encoded and sent in about ten milliseconds.
_PIECE_BYTES = 3_000_000

_UNDER_WAY: set[asyncio.Future[Any]] = set()


def go_on(done: Any) -> Any:
    """Let the handler of a message run to its end, if it is asynchronous."""
    if not inspect.isawaitable(done):
        return done
    # Nobody awaits it, and the loop holds only weak references to tasks.
    task = asyncio.ensure_future(done)
    _UNDER_WAY.add(task)
    task.add_done_callback(_UNDER_WAY.discard)
    return task


def read_script(module: str, name: str) -> str:
    """Read the script of a component, a file beside its module (`__file__`)."""
    return Path(module).with_name(name).read_text(encoding="utf-8")


class Text(JSComponent):
    """Markup that fits the theme; buttons report the text of `data-do`.

    Buttons with `data-copy` put that text on the clipboard. A text that `scrolls` fills
    its place. Data-borne strings in it must have gone through `safe`.
    """

    body = param.String("", doc="Markup.")
    scrolls = param.Boolean(False, doc="Whether it scrolls inside its place.")

    # All components of the class share one script, which a browser loads once.
    _bundle = "text.js"

    def __init__(
        self, body: str = "", *, does: Callable[[str], Any] | None = None, **params: Any
    ) -> None:
        params.setdefault("margin", 0)
        fills = "stretch_both" if params.get("scrolls") else "stretch_width"
        params.setdefault("sizing_mode", fills)
        styles = [TEXT_CSS, *params.pop("stylesheets", ())]
        super().__init__(body=body, stylesheets=styles, **params)
        self._does = does

    def focus(self, does: str = "") -> None:
        """Move the focus to the button of an action, or to the text, once visible."""
        self._send_msg(does)

    def _handle_msg(self, data: Any) -> Any:
        if self._does is None:
            return None
        with unlocked():  # immediate changes are one message
            return go_on(self._does(str(data)))


class Excerpt(Text):
    """Text in a place of fixed height; a button shows all of it if some is cut.

    Other components keep their places, however long the text is. The body has two
    parts: the text of class `lines` is cut at its end, and the parts of class `line`
    stand side by side and shrink if necessary.
    """

    def __init__(
        self, body: str = "", *, does: Callable[[str], Any] | None = None, **params: Any
    ) -> None:
        styles = [EXCERPT_CSS, *params.pop("stylesheets", ())]
        super().__init__(body, does=does, stylesheets=styles, **params)


class RowSlider(JSComponent):
    """Vertical slider with steps at the centres of rows of equal height."""

    _debounce = 0  # a slider must act without delay

    value = param.Integer(2, doc="Number of the row, from start at the top.")
    start = param.Integer(2, doc="Number of the first row.")
    end = param.Integer(10, doc="Number of the last row.")
    label = param.String("", doc="What is set, for screen readers.")

    _esm = read_script(__file__, "row_slider.js")


class _Script(JSComponent):
    """Component that only runs its script and shows nothing in its place."""

    def __init__(self, **params: Any) -> None:
        super().__init__(margin=0, width=1, height=1, sizing_mode="fixed", **params)


class Keys(_Script):
    """Send the pressed key if it is wanted, outside of fields, menus and lists.

    Names are like "m", "ctrl+shift+z", "?", "escape", "space". One more key moves the
    focus to the next step of the page, its first filled button. Enter, Space and the
    arrows open a focused select.
    """

    wanted = param.List(default=[], doc="Names of the keys to take.")
    step = param.String("n", constant=True, doc="Name of the key of the next step.")

    _esm = read_script(__file__, "keys.js")

    def __init__(self, pressed: Callable[[str], Any], **params: Any) -> None:
        super().__init__(**params)
        self._pressed = pressed

    def _handle_msg(self, data: Any) -> Any:
        with unlocked():  # immediate changes are one message
            return self._pressed(str(data))


class Download(_Script):
    """Component that sends files to the browser; a thread makes their content."""

    _esm = read_script(__file__, "download.js")

    async def send(self, name: str, content: bytes) -> None:
        """Save a file in the browser, in pieces that let other work run in between."""
        ends = range(0, max(1, len(content)), _PIECE_BYTES)
        for start in ends:
            piece = base64.b64encode(content[start : start + _PIECE_BYTES]).decode()
            last = start == ends[-1]
            self._send_msg({"name": name, "piece": piece, "last": last})
            await asyncio.sleep(0)


class Query(_Script):
    """Query arguments in the address of the page, changed in place.

    Panel's own location adds an entry to the browser's history for every change; here
    only another page of the app does. Back and Forward request the page of their entry;
    an entry of another analysis is loaded anew.

    Parameters
    ----------
    asked : callable
        Called with the page requested by Back or Forward.
    """

    text = param.String("", doc="With its question mark; empty leaves it as it is.")

    _esm = read_script(__file__, "query.js")

    def __init__(self, asked: Callable[[str], Any], **params: Any) -> None:
        super().__init__(**params)
        self._asked = asked

    def _handle_msg(self, data: Any) -> Any:
        return self._asked(str(data))


class Connection(_Script):
    """Overlay that reports a lost connection and restores it.

    It comes with the content of the page and removes the sentence about its opening.

    Once the server answers, the page continues its session. If the session has ended,
    the page is loaded anew from its address; if unsaved work would be lost, it asks
    first.

    The texts may contain the time of `saved_at` as {time}.
    """

    saved = param.String("", doc="What of the page is saved.")
    saved_at = param.Number(None, allow_None=True, doc="When, in seconds of time().")
    unsaved = param.String("", doc="What is not saved.")
    is_kept = param.Boolean(True, doc="Whether loading anew takes nothing away.")

    _esm = read_script(__file__, "connection.js")


class Theme(_Script):
    """Component that applies the theme chosen in this browser, dark or light.

    The choice survives a reload. Without one the page follows the system.
    """

    _esm = read_script(__file__, "theme.js")


class TextSize(_Script):
    """Component that scales all text on the page; figures keep theirs.

    The choice of larger text survives a reload, in this browser.
    """

    large = param.Boolean(False, doc="Whether text is larger than usual.")
    scale = param.Number(1.3, constant=True, doc="Factor of larger text.")

    _esm = read_script(__file__, "text_size.js")


class Pointer(_Script):
    """Component that outlines a part of the page and scrolls to it."""

    target = param.String("", doc="CSS class of the part; empty for none.")

    _esm = read_script(__file__, "pointer.js")
