"""Models of a run as squares by family, coloured by their outcome."""

from __future__ import annotations

from typing import Any

import param
from panel.custom import JSComponent

from clusterlens.ui.state.partial_run import STATES
from clusterlens.ui.widgets.scripted import read_script
from clusterlens.ui.widgets.style import TEXT_CSS

TITLES = dict(
    zip(
        STATES,
        ("waiting", "running", "done", "warned", "dropped", "failed"),
        strict=True,
    )
)
"""What became of a model, by its letter."""

GRID_CSS = """
:host { position: relative; }
.family { display: grid; grid-template-columns: 92px 1fr 46px; gap: 2px 6px;
  align-items: start; font-size: 12px; margin: 3px 0; }
.family > .squares { display: flex; flex-wrap: wrap; gap: 3px; }
.family > span:last-child { text-align: right; opacity: .7;
  font-variant-numeric: tabular-nums; }
i { width: 11px; height: 11px; border-radius: 2px; box-sizing: border-box;
  border: 1px solid color-mix(in srgb, currentColor 38%, transparent);
  font: 700 9px/9px Arial, sans-serif; text-align: center; }
i::after { color: #fff; }
i.r { border: 2px solid #0b7d7d; background: #9fd3d1; }
i.d { background: #0b7d7d; border-color: #0b7d7d; }
i.y { border-color: #0b7d7d;
  background: linear-gradient(135deg, #0b7d7d 50%, #e0a030 50%); }
i.x { background: #8b98a5; border-color: #8b98a5; }
i.x::after { content: "–"; }
i.f { background: #c4500f; border-color: #c4500f; }
i.f::after { content: "×"; }
.legend { display: flex; flex-wrap: wrap; gap: 3px 12px; font-size: 12px;
  margin: 2px 0 6px; opacity: .85; }
.legend span { display: inline-flex; gap: 5px; align-items: center; }
.tip { position: absolute; z-index: 9; max-width: 240px; padding: 5px 9px; color: #fff;
  border-radius: 5px; background: #14181d; font-size: 12px; pointer-events: none; }
"""


class ModelGrid(JSComponent):
    """One square per model, by family; only colours change during a run."""

    models = param.List(default=[], doc="Name and family of each model.")
    titles = param.Dict(default=TITLES, doc="Names of the states, by letter.")
    states = param.String("", doc="The letter of each model.")
    texts = param.List(default=[], doc="Time and notes of each model, plain text.")

    def __init__(self, **params: Any) -> None:
        params.setdefault("margin", 0)
        super().__init__(stylesheets=[TEXT_CSS, GRID_CSS], **params)

    _esm = read_script(__file__, "model_grid.js")
