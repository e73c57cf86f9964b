"""Card: the base class of all cards.

A card is made once. While visible it watches the results that it draws and is notified
of changes; while hidden it watches nothing. Its controls always show the state that
they control, whoever changed it.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any

from clusterlens.ui.jobs.derived import Result
from clusterlens.ui.session import Session
from clusterlens.ui.widgets.scripted import Text
from clusterlens.ui.widgets.toolkit import link, pn, safe

# Delay in seconds before a card with an older drawing shows that it waits. Without it
# the sign would flicker while a slider moves.
PATIENCE_SECONDS = 0.4
# Hint for cards that show nothing without a run.
TO_A_RUN = (
    f"Load a table on {link('Data', 'data')}, then run a pool of clusterings on "
    f"{link('Pool', 'pool')}"
)
# Lies over the content, which keeps its size: another size needs another picture, and
# the two would alternate forever.
_SKELETON = '<div class="skeleton over"></div>'


class Card:
    """Card that shows results of a session.

    Subclasses set `needs` and `empty`, make the card in `build`, and draw in `show`.

    Parameters
    ----------
    session : Session
        Source of the results, and receiver of actions.

    Attributes
    ----------
    needs : tuple of str
        Required results: nodes, fields of the analysis or "view.<parameter>"; a name
        that ends in "?" may be None.
    also : tuple of str
        Optional results; `show` draws with or without them.
    empty : str
        Markup that says what to do if a required result is empty; an older drawing is
        hidden then.
    tells_failure : bool
        Whether it reports the failure of a required result. If not, it treats the
        result as empty, and another card reports the failure.
    first : bool
        Whether it is drawn and sent to the browser before all others, because the
        analyst waits for it.
    view : viewable
        The card.
    """

    needs: tuple[str, ...] = ()
    also: tuple[str, ...] = ()
    empty: str = ""
    tells_failure: bool = True
    first: bool = False

    def __init__(self, session: Session) -> None:
        self.session = session
        self.status = Text(does=self._retry, css_classes=["cl-status"])
        self._stop: Callable[[], None] | None = None
        self._controls: list[Callable[[], None]] = []
        self._updating = self._has_shown = False
        self._patience: asyncio.TimerHandle | None = None
        self._is_late = False
        self._requests: set[asyncio.Task[None]] = set()
        self.view = self.build()

    def build(self) -> Any:
        """Make the card, once, with `self.status`, which reports missing results."""
        raise NotImplementedError

    def show(self, *_: Any, **values: Any) -> None:
        """Draw; called with the value of each of `needs`, the Result of each of `also`.

        Keywords are the names without "view." and "?". Each card declares its own; the
        unnamed parameters here only let a type checker accept them.
        """
        raise NotImplementedError

    def control(
        self,
        widget: Any,
        read: Callable[[], Any],
        write: Callable[[Any], Any],
        *,
        value: str = "value",
    ) -> Any:
        """Bind a widget: show `read()` after changes, and `write` requests.

        Parameters
        ----------
        widget : widget
            Widget with the bound parameter `value`.
        read : callable
            Returns the state that the widget controls.
        write : callable
            Called with the analyst's choice; may be a coroutine function.
        value : str, default "value"
            Name of the parameter.
        """

        def request(event: Any) -> None:
            # Not a coroutine, because only now is it known whether the change is our
            # own.
            if self._updating or event.new == read():
                return
            done = write(event.new)
            if inspect.isawaitable(done):
                self.begin(done)
            else:
                self._show_controls()

        def refresh() -> None:
            if getattr(widget, value) != read():
                setattr(widget, value, read())

        widget.param.watch(request, value)
        self._controls.append(refresh)
        return widget

    def bound(self, name: str, widget: Any, *, value: str = "value") -> Any:
        """Bind a widget to `view.<name>`."""
        view_state = self.session.view_state
        return self.control(
            widget,
            lambda: getattr(view_state, name),
            lambda new: setattr(view_state, name, new),
            value=value,
        )

    def offer(self, widget: Any, **offered: Any) -> None:
        """Change options, ends or marks of a control without a request."""
        changed = {k: v for k, v in offered.items() if getattr(widget, k) != v}
        if changed:
            before, self._updating = self._updating, True
            try:
                widget.param.update(**changed)
                if changed.get("options"):
                    # The browser knows the value by its name, which may have changed.
                    widget.param.trigger("value")
            finally:
                self._updating = before
            self._show_controls()

    def begin(self, request: Awaitable[Any]) -> None:
        """Run a request of the analyst, then show the state in force."""
        task = asyncio.get_running_loop().create_task(self._fulfil(request))
        self._requests.add(task)
        task.add_done_callback(self._requests.discard)

    async def _fulfil(self, request: Awaitable[Any]) -> None:
        """Wait for an action, then show the state in force, whether done or refused."""
        await request
        self._show_controls()

    def _show_controls(self) -> None:
        self._updating = True
        try:
            for refresh in self._controls:
                refresh()
        finally:
            self._updating = False

    def view_handler(self, name: str) -> Callable[..., None]:
        """Return a handler that stores a figure's size and zoom in `view.<name>`."""
        view_state = self.session.view_state

        def take_in(**seen: Any) -> None:
            setattr(view_state, name, replace(getattr(view_state, name), **seen))

        return take_in

    def set_visible(self, visible: bool) -> None:
        """Watch the results while visible, nothing while hidden."""
        if visible and self._stop is None:
            names = (*self.needs, *self.also)
            watch = self.session.derived.watch
            self._stop = watch(names, self._on_results, first=self.first)
        elif not visible and self._stop is not None:
            self._stop()
            self._stop = None
            self._end_waiting()

    def _on_results(self, results: Mapping[str, Result]) -> None:
        # Each card is one message to the browser.
        with pn.io.immediate_dispatch() if self.first else pn.io.unlocked():
            self._draw(results)

    def _draw(self, results: Mapping[str, Result]) -> None:
        needed = {name.rstrip("?"): results[name.rstrip("?")] for name in self.needs}
        self._show_controls()
        states = {result.state for result in needed.values()}
        body = self._status_text(needed)
        if body == _SKELETON and self._has_shown:
            body = self._wait()
        else:
            self._end_waiting()
        gone = []
        if states & {"empty", "failed"}:
            # The style of cards hides everything below a status of class cl-gone.
            # Without text the card keeps its place, invisible, because a figure must
            # have its size before its picture.
            gone = ["cl-gone" if body else "cl-unseen"]
        self.status.param.update(body=body, css_classes=["cl-status", *gone])
        self.prepare(results)
        if all(result.ready for result in needed.values()):
            values = {_short(name): result.value for name, result in needed.items()}
            more = {_short(name): results[name.rstrip("?")] for name in self.also}
            self.show(**values, **more)
            self._has_shown = True

    def _wait(self) -> str:
        """Return the status over an older drawing: empty until the delay has passed."""
        if self._patience is None:
            loop = asyncio.get_running_loop()
            self._patience = loop.call_later(PATIENCE_SECONDS, self._tell_late)
        return _SKELETON if self._is_late else ""

    def _tell_late(self) -> None:
        self._is_late = True
        self.status.body = _SKELETON

    def _end_waiting(self) -> None:
        self._is_late = False
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None

    def prepare(self, results: Mapping[str, Result]) -> None:
        """Show partial information early; called at each change."""

    def _status_text(self, needed: Mapping[str, Result]) -> str:
        """Return the text of the status for missing results."""
        states = {result.state for result in needed.values()}
        if "empty" in states or ("failed" in states and not self.tells_failure):
            missing = self._missing(self.empty)
            body = f'<div class="empty">{missing}</div>' if missing else ""
        elif "failed" in states:
            failed = next(r for r in needed.values() if r.state == "failed")
            text = safe(failed.failure)
            body = (
                f'<div class="failed"><p>{text}</p>{link("Try again", "retry")}</div>'
            )
        elif "declined" in states:
            body = f'<p class="muted">Cancelled. {link("Go on", "retry")}</p>'
        elif "pending" in states:
            body = _SKELETON
        else:
            body = ""
        return body

    def _missing(self, otherwise: str) -> str:
        """Return a hint to prepare the table, if that is the reason."""
        analysis = self.session.analysis
        ready = analysis.dataset is not None or analysis.ensemble is not None
        if analysis.table is None or ready or not otherwise:
            return otherwise
        return (
            f"<p><b>{safe(analysis.table.name)} is not prepared yet.</b> "
            f"{link('Choose its columns on Data', 'data', css='cl-to-data')}.</p>"
        )

    def _retry(self, what: str) -> Awaitable[None] | None:
        """Open the named page, or request the missing results again."""
        if what in ("data", "pool", "cns"):
            self.session.view_state.page = what
            return None
        for name in self.needs:
            if name.rstrip("?") in self.session.derived.nodes:
                self.session.derived.ask(name.rstrip("?"))
        return None


def _short(name: str) -> str:
    return name.rstrip("?").removeprefix("view.")
