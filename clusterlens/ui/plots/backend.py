"""The back end that draws the elements in a notebook."""

from __future__ import annotations

import holoviews as hv
import panel as pn


def use_bokeh() -> None:
    """Let a notebook show elements by Bokeh, unless it does so already."""
    if "bokeh" not in hv.Store.renderers:
        pn.extension()
        hv.extension("bokeh", logo=False)
