"""The back ends that draw the elements: Bokeh on a page, Matplotlib in files."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, TypeVar

import holoviews as hv
import holoviews.plotting.bokeh
import panel as pn

_Result = TypeVar("_Result")

# Names may hold dollar signs, which Matplotlib would read as mathematics.
PLAIN_TEXT = {"text.parse_math": False}
ACCENT, SECOND, MUTED = "#0b7d7d", "#c2570c", "#6f7882"


def use_bokeh() -> None:
    """Let a notebook show elements by Bokeh, unless it does so already.

    HoloViews names elements in its options once its extension is loaded.
    """
    shell = sys.modules.get("IPython")
    if shell and shell.get_ipython() and not hasattr(hv.opts, "Image"):
        pn.extension()
        hv.extension("bokeh", logo=False)


def styled(element: Any, *options: hv.Options) -> Any:
    """Apply the options of the back ends that are loaded to an element.

    Parameters
    ----------
    element : holoviews.Element or a container of some
        The element; it is changed in place and returned.
    options : holoviews.Options
        Each with its `backend`.
    """
    use_bokeh()
    loaded = hv.Store.loaded_backends()
    return element.opts(*(one for one in options if one.kwargs["backend"] in loaded))


def bokeh(kind: str, **options: Any) -> hv.Options:
    """Return options of a kind of element in Bokeh."""
    return hv.Options(kind, backend="bokeh", **options)


def matplotlib(kind: str, **options: Any) -> hv.Options:
    """Return options of a kind of element in Matplotlib."""
    return hv.Options(kind, backend="matplotlib", **options)


def frame(
    kind: str, *, width: int = 560, height: int = 360, **shared: Any
) -> tuple[hv.Options, hv.Options]:
    """Return options of a whole plot in both back ends; its size is in pixels."""
    inches = (width / 88, height / 88)
    return (
        bokeh(kind, width=width, height=height, **shared),
        matplotlib(
            kind, fig_inches=inches, aspect="auto", fig_rcparams=PLAIN_TEXT, **shared
        ),
    )


def coloured(
    palette: Sequence[str], ends: tuple[float, float], **shared: Any
) -> tuple[hv.Options, hv.Options]:
    """Return options of coloured cells in both back ends, with a colour bar."""
    shared |= {"cmap": list(palette), "clim": ends, "colorbar": True}
    return bokeh("QuadMesh", **shared), matplotlib("QuadMesh", aspect="auto", **shared)


def check_result(value: Any, kind: type[_Result], maker: str) -> _Result:
    """Return a result of the kind that `maker` makes, or raise an error."""
    if not isinstance(value, kind):
        raise ValueError(
            f"a {kind.__name__} is drawn, not {type(value).__name__}; give what "
            f"{maker} returns."
        )
    return value
