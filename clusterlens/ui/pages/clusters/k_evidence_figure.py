"""Evidence for a number of clusters as markup: a strip per number, and curves."""

from __future__ import annotations

import numpy as np

from clusterlens.compute.pool.k_selection import KSelection, copy_name
from clusterlens.ui.plots.k_evidence import COPIES, DATA

_SIDE = 100.0


def evidence(selection: KSelection, k: int) -> str:
    """Write ambiguous pairs, valleys, stability and p-value of k clusters.

    Parameters
    ----------
    selection : KSelection
        The comparison.
    k : int
        Number of clusters; numbers that were not compared have empty cells.
    """
    found = np.flatnonzero(selection.n_clusters == k)
    if not len(found):
        return "<span></span><span></span><span></span><span></span>"
    at = int(found[0])
    row = selection.to_frame().iloc[at]
    top = _largest(selection)
    bars = "".join(
        _bar(curves.pac[:, at] / top, COPIES[kind], kind)
        for kind, curves in selection.references.items()
    )
    share = 100 * selection.data.pac[at] / top
    kind = next(iter(selection.references))
    text = f"k = {k}: {row['pac']:.0%} of the pairs ambiguous, "
    if np.isfinite(row["valley"]):
        text += f"valleys of {row['valley']:.1f} standard errors, "
    text += f"p = {row['p_value']:.2g}"
    return (
        f"<div class='strip-of-k' role='img' aria-label='{text}' title='{text}'>"
        f"{bars}<i style='left:{share:.1f}%'></i></div>"
        f"<span class='wide'>{_beside(row['stability'], row[f'stability_{kind}'])}"
        f"</span><span class='wide'>"
        f"{_beside(row['delta_area'], row[f'delta_area_{kind}'])}</span>"
        f"<span>{row['p_value']:.2f}</span>"
    )


def _largest(selection: KSelection) -> float:
    """Return the largest share of ambiguous pairs, the end of the strips."""
    every = [selection.data.pac, *(c.pac for c in selection.references.values())]
    return max(max(float(pac.max()) for pac in every), 0.05)


def _bar(shares: np.ndarray, colour: str, kind: str) -> str:
    low, high = 100 * shares.min(), 100 * shares.max()
    return (
        f"<div title='{copy_name(kind)} copies' style='left:{low:.1f}%;"
        f"width:{high - low:.1f}%;background:{colour}'></div>"
    )


def _beside(value: float, reference: float) -> str:
    """Format a value with the mean of the copies, muted."""
    if not np.isfinite(value):
        return "–"
    return f"{value:.2f} <span class='muted'>{reference:.2f}</span>"


def heads(selection: KSelection) -> str:
    """Write the headers of the columns of `evidence`."""
    keys = "".join(
        " <span style='white-space:nowrap'>"
        f"<span style='color:{COPIES[kind]}'>▬</span> {copy_name(kind)}</span>"
        for kind in selection.references
    )
    drawn = " and ".join(
        f"{len(curves.pac)} {copy_name(kind)}"
        for kind, curves in selection.references.items()
    )
    top = _largest(selection)
    first = copy_name(next(iter(selection.references)))
    return (
        "<span title='share of the pairs of samples that only some subsamples put "
        f"together (PAC), on the table and on {drawn} copies'>ambiguous pairs, 0 to "
        f"{top:.0%}: <span style='white-space:nowrap'><span style='color:{DATA}'>"
        f"●</span> data</span>{keys} copies</span>"
        "<span class='wide' title='adjusted Rand index of two runs; muted: mean of the "
        f"{first} copies'>stability</span><span class='wide' title='growth of the area "
        f"under the curve; muted: mean of the {first} copies'>Δ area</span>"
        "<span title='share of copies whose clusters are separated as clearly by "
        "valleys of the density'>p</span>"
    )


def curves(selection: KSelection, k: int) -> str:
    """Draw the distribution of the consensus of k clusters over the copies' one."""
    found = np.flatnonzero(selection.n_clusters == k)
    if not len(found):
        return f"<p class='muted'>k = {k} was not compared.</p>"
    at = int(found[0])
    x = _SIDE * selection.consensus
    bands = "".join(
        f"<path d='{_band(x, one.cdf[:, at])}' fill='{COPIES[kind]}' "
        "fill-opacity='.55'/>"
        for kind, one in selection.references.items()
    )
    line = _line(x, selection.data.cdf[at])
    return (
        f"<p class='muted'>CDF of the consensus, k = {k}</p>"
        f"<svg viewBox='-2 -2 {_SIDE + 4:g} {_SIDE + 4:g}' preserveAspectRatio='none' "
        f"role='img' style='width:100%;height:calc(100% - 40px)' aria-label='share of "
        f"the pairs with a consensus of at most 0 to 1 for {k} clusters, data over "
        f"copies'><path d='M0,0V{_SIDE:g}H{_SIDE:g}' fill='none' stroke='currentColor' "
        f"stroke-opacity='.3' vector-effect='non-scaling-stroke'/>{bands}"
        f"<path d='{line}' fill='none' stroke='{DATA}' stroke-width='2.2' "
        "vector-effect='non-scaling-stroke'/></svg>"
        "<div class='between muted'><span>0</span><span>1</span></div>"
    )


def _line(x: np.ndarray, shares: np.ndarray) -> str:
    points = zip(x, _SIDE * (1 - shares), strict=True)
    return "M" + "L".join(f"{a:.1f},{b:.1f}" for a, b in points)


def _band(x: np.ndarray, shares: np.ndarray) -> str:
    """Return a path around the least and the largest shares (n_draws, n_grid)."""
    above = _line(x, shares.max(axis=0))
    below = _line(x[::-1], shares.min(axis=0)[::-1])
    return f"{above}L{below[1:]}Z"
