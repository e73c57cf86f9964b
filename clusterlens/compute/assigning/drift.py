"""Drift: differences between another table and the clustered one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.stats import betabinom, chi2, chi2_contingency, norm

from clusterlens.compute._validation import UNLABELLED, FloatArray, Frozen, IntArray
from clusterlens.compute.assigning._calibration import g_statistic, widened
from clusterlens.compute.assigning._record import SegmentationRecord
from clusterlens.compute.formatting import percent

# Half of the false alarms of the verdict are for columns, half for rows nowhere.
LEVEL = 0.05
# A large change: a shift by a quarter of a standard deviation has about this PSI, ...
LARGE_PSI = 0.05
# ... and this additional share of the rows belongs nowhere.
LARGE_NOWHERE = 0.02


@dataclass(frozen=True, eq=False)
class Drift(Frozen):
    """Changes from one table to another.

    Parameters
    ----------
    shares : DataFrame
        One row per cluster: "cluster", "name", share "then" and "now", the "difference"
        and its 95 % interval, "low" to "high".
    shares_p : float
        p-value that all shares are unchanged (G-test); not part of the verdict.
    columns : DataFrame
        One row per column in use, the most changed first: "column", "psi", the
        "expected" PSI of an unchanged column, "p" corrected for the number of columns
        (Holm), and whether it has "moved".
    nowhere, nowhere_expected : float
        Share of "nowhere" among the rows that can be tested, and the share expected of
        rows like those seen; NaN if no row can be tested.
    nowhere_p : float
        p-value that no more rows than expected belong nowhere.
    verdict : {"keep", "refit"}
        "refit" if a column has moved, or more rows belong nowhere: p at most 0.025 and
        the change large, a PSI of 0.05 or a share of 0.02 above the expectation.
    reason : str
        Reason for the verdict.
    is_checked : bool
        Whether rates of false alarms are known: the partition has no noise, or a
        similar clustering was found that can be repeated.

    Notes
    -----
    PSI = sum (p - q) ln(p / q) over deciles of the first table, or levels, with a bin
    for missing values and half a row added to each; expected (B - 1)(1/n + 1/m) without
    change. The p-value of a column comes from the chi-squared test of the two rows of
    counts. Intervals are Newcombe's, based on Wilson's. The number of rows nowhere is
    beta-binomial, because its bound comes from a number of held-out rows. Rows must be
    independent: if each customer occurs several times in a table, p-values are too
    small. Both tests at 0.025 give false alarms of at most about 0.05.

    References
    ----------
    Newcombe, Interval estimation for the difference between independent proportions,
    Statistics in Medicine 17, 1998, method 10.
    """

    shares: pd.DataFrame
    shares_p: float
    columns: pd.DataFrame
    nowhere: float
    nowhere_expected: float
    nowhere_p: float
    verdict: str
    reason: str
    is_checked: bool

    @property
    def moved(self) -> list[str]:
        """Columns that moved, the most changed first."""
        return self.columns.loc[self.columns["moved"], "column"].tolist()

    @property
    def more_nowhere(self) -> bool:
        """Whether clearly more rows than expected belong nowhere."""
        return _is_more(self.nowhere, self.nowhere_expected, self.nowhere_p)

    def to_frame(self) -> pd.DataFrame:
        """Return the columns, the most changed first.

        Returns
        -------
        columns : DataFrame
            `columns`.
        """
        return self.columns

    def __repr__(self) -> str:
        """Return the verdict and its reason."""
        return f"Drift({self.verdict}: {self.reason})"


def measure_drift(
    kept: SegmentationRecord, assigned: pd.DataFrame, values: FloatArray, alpha: float
) -> Drift:
    """Compare the rows of a table with the rows of the segmentation.

    Parameters
    ----------
    kept : SegmentationRecord
        The data that the segmentation keeps of its table.
    told : DataFrame
        Results for the rows of the other table, as from `Segmentation.assign`.
    values : array of float64, shape (n_rows, n_columns)
        Their columns in use, encoded.
    alpha : float
        Rate of "nowhere" used for these results.

    Returns
    -------
    drift : Drift
        Shares, columns, rows that belong nowhere, verdict.
    """
    shares, shares_p = _shares(kept, assigned)
    columns = _columns(kept, values)
    rate, expected, p = _nowhere(kept, assigned, alpha)
    moved = columns.loc[columns["moved"], "column"].tolist()
    reasons = [f"moved: {', '.join(map(repr, moved[:5]))}"] if moved else []
    if _is_more(rate, expected, p):
        reasons.append(
            f"{percent(rate)} of the rows belong nowhere, expected {percent(expected)}"
        )
    return Drift(
        shares=shares,
        shares_p=shares_p,
        columns=columns,
        nowhere=rate,
        nowhere_expected=expected,
        nowhere_p=p,
        verdict="refit" if reasons else "keep",
        reason="; ".join(reasons) or "no column moved, no more rows belong nowhere",
        is_checked=kept.assigner.is_checked,
    )


def _is_more(rate: float, expected: float, p: float) -> bool:
    """Whether a share of rows nowhere is significantly and clearly larger."""
    return p <= LEVEL / 2 and rate - expected >= LARGE_NOWHERE


def _shares(
    kept: SegmentationRecord, assigned: pd.DataFrame
) -> tuple[pd.DataFrame, float]:
    """Shares of the clusters then and now, and a joint test."""
    found = assigned["cluster"].value_counts()
    now = found.reindex(kept.clusters, fill_value=0).to_numpy(np.int64)
    n = int(kept.counts.sum())
    assigner = kept.assigner
    then = np.zeros(len(kept.clusters))
    then[np.isin(kept.clusters, assigner.clusters)] = n * assigner.expected
    m = max(int(now.sum()), 1)
    more = 1 + assigner.dispersion / (1 / n + 1 / m)
    p, low_p, high_p = _wilson(now / m, m / more)
    q, low_q, high_q = _wilson(then / n, n / more)
    difference = p - q
    frame = pd.DataFrame(
        {
            "cluster": kept.clusters,
            "name": [kept.names[int(label)] for label in kept.clusters],
            "then": q,
            "now": p,
            "difference": difference,
            "low": difference - np.hypot(p - low_p, high_q - q),
            "high": difference + np.hypot(high_p - p, q - low_q),
        }
    )
    statistic, freedom = g_statistic(then, now)
    return frame, float(chi2.sf(statistic / more, freedom)) if freedom else 1.0


def _wilson(p: FloatArray, n: float) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return shares of a number of rows, and Wilson's 95 % intervals."""
    z = float(norm.ppf(0.975))
    middle = (p + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * np.sqrt(p * (1 - p) / n + z**2 / (4 * n**2))
    return p, middle - half, middle + half


def _test(then: IntArray, now: IntArray) -> float:
    """p-value that two rows of counts have the same shares: chi-squared test."""
    table = np.array([then, now])
    table = table[:, table.sum(axis=0) > 0]
    if table.shape[1] < 2 or not table.sum(axis=1).all():
        return 1.0
    return float(chi2_contingency(table, correction=False).pvalue)


def _columns(kept: SegmentationRecord, values: FloatArray) -> pd.DataFrame:
    """PSI and test of every column."""
    rows = []
    for column, x in zip(kept.columns, values.T, strict=True):
        then, now = column.counts, column.count(x)
        there = then + now > 0
        q, p = ((c[there] + 0.5) / (c[there] + 0.5).sum() for c in (then, now))
        expected = (there.sum() - 1) * (1 / then.sum() + 1 / max(now.sum(), 1))
        psi = float(((p - q) * np.log(p / q)).sum())
        rows.append((column.name, psi, expected, _test(then, now)))
    frame = pd.DataFrame(rows, columns=["column", "psi", "expected", "p"])
    frame["p"] = _holm(frame["p"].to_numpy())
    large = frame["psi"] - frame["expected"] >= LARGE_PSI
    frame["moved"] = (frame["p"] <= LEVEL / 2) & large
    return frame.sort_values("psi", ascending=False, ignore_index=True)


def _holm(p: FloatArray) -> FloatArray:
    """Correct p-values (k,) for their number, as Holm does."""
    order = np.argsort(p)
    steps = p[order] * np.arange(len(p), 0, -1)
    corrected = np.empty(len(p))
    corrected[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return corrected


def _nowhere(
    kept: SegmentationRecord, assigned: pd.DataFrame, alpha: float
) -> tuple[float, float, float]:
    """Return the share of rows nowhere, the expected one, and the p-value."""
    assigner = kept.assigner
    able = assigner.can_judge(alpha) & (assigner.clusters != UNLABELLED)
    testable = assigned["cluster"].isin(assigner.clusters[able].tolist())
    n = int(testable.sum())
    if not n:
        return np.nan, np.nan, 1.0
    k = int(assigned.loc[testable, "nowhere"].sum())
    held_out = np.array([len(s) + 1 for s in assigner.held_out])
    expected = widened(assigner.widening, assigner.n_beyond(alpha) / held_out)
    total = held_out[able].sum()
    below = float((expected * held_out)[able].sum())
    p = float(betabinom.sf(k - 1, n, below, total - below))
    return k / n, below / total, p
