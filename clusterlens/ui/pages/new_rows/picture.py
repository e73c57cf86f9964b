"""Preview picture of the page, shown while the page has no content."""

from __future__ import annotations

from collections.abc import Iterable

from clusterlens.ui.widgets.palette import NOWHERE_COLOUR, palette

# Places of samples in one cluster, and where the clusters lie, in pixels.
_SAMPLES = ((-16, -5), (-9, 11), (-4, -15), (0, 1), (5, 15), (9, -8), (16, 6), (-15, 3))
_NEW = ((-7, -6), (6, 6), (1, -11))
_CENTRES = ((34, 96), (88, 44), (124, 112))
_NOWHERE = (38, 34)
# Shares of the clusters in the kept table, and in the new one.
_SHARES = ((0.45, 0.3), (0.3, 0.5), (0.25, 0.2))
_PANELS = (
    "the result that you keep",
    "another table",
    "its rows in these clusters",
    "shares, then and now",
)
_WIDTH, _PANEL = 180, 160
_MEANING = (
    "A result is kept; each row of another table goes to one of its clusters, or is "
    "marked as too far from all; the shares of the clusters are compared."
)


def future_page() -> str:
    """Write the picture as markup: a result, a table, its rows and their shares."""
    drawn = (_map(new=False), _table(), _map(new=True), "".join(_bars()))
    panels = "".join(
        f"<g transform='translate({k * _WIDTH} 0)'>{panel}{_caption(words)}"
        f"{_arrow() if k else ''}</g>"
        for k, (panel, words) in enumerate(zip(drawn, _PANELS, strict=True))
    )
    return (
        f"<svg viewBox='-20 0 {_WIDTH * len(drawn)} 180' role='img' "
        f"aria-label='{_MEANING}' style='display:block;width:100%;max-width:960px;"
        f"margin:24px auto 8px'>{panels}</svg>"
    )


def _map(*, new: bool) -> str:
    """Draw samples of three clusters; rows of the new table over them, or not."""
    parts = [
        _dot(x + dx, y + dy, colour, 0.28 if new else 0.9, 4)
        for (x, y), colour in zip(_CENTRES, palette(), strict=False)
        for dx, dy in _SAMPLES
    ]
    if new:
        parts += [
            _dot(x + dx, y + dy, colour, 1, 6)
            for (x, y), colour in zip(_CENTRES, palette(), strict=False)
            for dx, dy in _NEW
        ]
        parts.append(_dot(*_NOWHERE, NOWHERE_COLOUR, 1, 6))
    return "".join(parts)


def _dot(x: float, y: float, colour: str, opacity: float, radius: float) -> str:
    return (
        f"<circle cx='{x}' cy='{y}' r='{radius}' fill='{colour}' "
        f"fill-opacity='{opacity}'/>"
    )


def _table() -> str:
    """Draw a sheet with a header."""
    lines = "".join(f"M20 {y}h120" for y in range(52, 132, 20))
    lines += "".join(f"M{x} 32v100" for x in (60, 100))
    return (
        "<g fill='none' stroke='currentColor' stroke-opacity='.45'>"
        "<rect x='20' y='32' width='120' height='100' rx='4'/>"
        f"<path d='{lines}'/></g>"
        "<rect x='20' y='32' width='120' height='20' rx='4' fill='currentColor' "
        "fill-opacity='.16'/>"
    )


def _bars() -> Iterable[str]:
    """Draw the share of each cluster then, pale, and now."""
    for k, (shares, colour) in enumerate(zip(_SHARES, palette(), strict=False)):
        for j, share in enumerate(shares):
            height = 200 * share
            yield (
                f"<rect x='{22 + 44 * k + 18 * j}' y='{132 - height:.0f}' width='16' "
                f"height='{height:.0f}' fill='{colour}' fill-opacity='{(0.4, 1)[j]}'/>"
            )


def _caption(words: str) -> str:
    return (
        f"<text x='{_PANEL / 2}' y='166' text-anchor='middle' font-size='12' "
        f"fill='currentColor'>{words}</text>"
    )


def _arrow() -> str:
    return (
        "<path d='M-24 82h18m-6-6 6 6-6 6' fill='none' stroke='currentColor' "
        "stroke-opacity='.6' stroke-width='1.5'/>"
    )
