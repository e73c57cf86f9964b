"""The button that makes a partition the result, amber if a check speaks against it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from clusterlens.compute.pool.nulls import NullAgreement
from clusterlens.compute.pool.stability import ClusterStability
from clusterlens.ui.results.partition_verdict import grade_clusters
from clusterlens.ui.results.verdict_answers import weigh_copies
from clusterlens.ui.widgets.toolkit import pmu

_LABEL = "Make it the result"
# A description is the accessible name of its button, so it contains the visible words.
_SCOPE = f"{_LABEL}: every page, the report and all files are about it"
# Neither white nor black can be read on the amber of the widget set.
AMBER = {
    "&.MuiButton-contained.MuiButton-colorWarning": {
        "backgroundColor": "#9a5b00 !important",
        "color": "white !important",
    }
}


def result_button(
    on_click: Callable[[Any], Any], *, sx: Mapping[str, Any] | None = None, **more: Any
) -> pmu.Button:
    """Return the button."""
    return pmu.Button(
        label=_LABEL,
        size="small",
        variant="contained",
        color="primary",
        css_classes=["cl-choose-result"],
        description=_SCOPE,
        sx={**AMBER, **(sx or {})},
        on_click=on_click,
        **more,
    )


def offer_result(
    button: pmu.Button, copies: NullAgreement | None, again: ClusterStability | None
) -> None:
    """Make the button amber unless the checks found groups, and every cluster again."""
    lights = set() if copies is None else {weigh_copies(copies).light}
    if again is not None:
        lights.add(grade_clusters(again.stable, again.sizes))
    is_doubted = bool(lights - {"yes"})
    button.param.update(
        color="warning" if is_doubted else "primary",
        description=f"{_SCOPE}. A check speaks against it: see Verdict"
        if is_doubted
        else _SCOPE,
    )
