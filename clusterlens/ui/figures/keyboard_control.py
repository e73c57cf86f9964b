"""Keyboard control of figures."""

from __future__ import annotations

from typing import Any

import panel as pn
import param
from panel.custom import JSComponent

from clusterlens.ui.figures.frame import Frame
from clusterlens.ui.widgets.scripted import read_script

# Steps of one key press, relative to the range in view.
_ZOOM, _PAN = 1.5, 0.25
_HOW_STILL = "Arrow keys move a cursor; Enter clicks there."
_HOW = (
    "Arrow keys move a cursor and, beyond the edge or with Shift, what is shown;{}plus "
    "and minus zoom; 0 or Home shows all."
)
HOW = _HOW.format(" Enter clicks there; ")


_CSS = """
:host { position: absolute !important; inset: 0; pointer-events: none; z-index: 3; }
div[role] { height: 100%; position: relative; }
div[role]:focus-visible { outline: 2px solid #0b8a8a; outline-offset: -2px; }
.cursor { position: absolute; width: 19px; height: 19px; translate: -50% -50%;
  display: none; border: 2px solid #14181d; outline: 2px solid #fff; border-radius: 50%;
  box-sizing: border-box; }
.cursor::after { content: ""; position: absolute; inset: 6px; border-radius: 50%;
  background: #14181d; outline: 1px solid #fff; }
div[role]:focus-visible > .cursor { display: block; }
.said { position: absolute; width: 1px; height: 1px; overflow: hidden;
  clip-path: inset(50%); }
"""


class KeyboardControl(JSComponent):
    """Overlay of a figure that handles keys and shows a cursor while it has the focus.

    Parameters
    ----------
    frame : Frame
        Figure to control.
    """

    words = param.String("", doc="What the figure shows; plain text, read out.")
    how = param.String(HOW, constant=True, doc="What the keys do, read out.")
    still = param.Boolean(False, constant=True, doc="Whether it shows all at any time.")

    _esm = read_script(__file__, "keyboard_control.js")

    def __init__(self, frame: Frame) -> None:
        zooms = HOW if frame.takes_clicks else _HOW.format(" ")
        super().__init__(
            how=_HOW_STILL if frame.still else zooms,
            still=frame.still,
            margin=0,
            sizing_mode="stretch_both",
            stylesheets=[_CSS],
        )
        self._frame = frame
        if frame.still:
            for size in ("inner_width", "inner_height"):
                frame.figure.on_change(size, self._fit)

    def _fit(self, attr: str, old: Any, new: Any) -> None:
        """Cover the area inside the axes."""
        width, height = (f"{size}px" for size in self._frame.size())
        self.styles = {"inset": "0 0 auto auto", "width": width, "height": height}

    def _handle_msg(self, data: Any) -> None:
        frame = self._frame
        if "pan" in data:
            right, down = data["pan"]
            frame.pan(_PAN * right, _PAN * down)
        elif "click" in data:
            frame.click(*data["click"])
        elif "zoom" in data:
            frame.zoom(_ZOOM ** -data["zoom"], *data["at"])
        elif "reset" in data:
            frame.reset()


def with_keyboard_control(frame: Frame) -> tuple[pn.Column, KeyboardControl]:
    """Return the place of a figure with keyboard control, and the control."""
    steering = KeyboardControl(frame)
    place = pn.Column(
        frame.pane,
        steering,
        styles={"position": "relative", "flex": "1 1 0", "min-height": "0"},
        sizing_mode="stretch_both",
        margin=0,
    )
    return place, steering
