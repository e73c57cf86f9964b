"""The toy example of DeWolfe & Andrews: partitions on which the models disagree."""

from __future__ import annotations

from collections.abc import Sequence

from clusterlens.compute.fuzzy.partition import FuzzyPartition

_FIRST, _SECOND, _THIRD = (0.98, 0.01, 0.01), (0.01, 0.98, 0.01), (0.01, 0.01, 0.98)
_HIGH = (
    (0.34, 0.33, 0.33),
    (0.36, 0.32, 0.32),
    (0.40, 0.25, 0.35),
    (0.33, 0.34, 0.33),
    (0.32, 0.32, 0.36),
    (0.25, 0.40, 0.35),
    (0.33, 0.33, 0.34),
    (0.32, 0.32, 0.36),
    (0.35, 0.40, 0.25),
)


def toy_partitions() -> dict[str, FuzzyPartition]:
    """Return five partitions of nine samples into three clusters, by name.

    Returns
    -------
    partitions : dict of str to FuzzyPartition
        Slightly fuzzy ("LF") with uneven and with even sizes, the similar hard
        partitions ("H"), and a very fuzzy one ("HighF").

    Notes
    -----
    Each random model ranks the ten pairs in a different order: see `compare_fuzzy`.

    References
    ----------
    R. DeWolfe, J. L. Andrews, "Random models for fuzzy clustering similarity measures",
    Adv. Data Anal. Classif. (2025), doi 10.1007/s11634-025-00625-w, Table 2.

    Examples
    --------
    >>> from clusterlens import compare_fuzzy
    >>> table = compare_fuzzy(toy_partitions())
    >>> table.loc[table["value"].idxmax(), ["u", "v"]].tolist()
    ['UnevenLF', 'UnevenH']
    """
    rows: dict[str, Sequence[tuple[float, float, float]]] = {
        "UnevenLF": (*6 * [_FIRST], _SECOND, _FIRST, _THIRD),
        "EvenLF": (*3 * [_FIRST], *3 * [_SECOND], *3 * [_THIRD]),
        "HighF": _HIGH,
    }
    partitions = {name: FuzzyPartition(given) for name, given in rows.items()}
    partitions["UnevenH"] = FuzzyPartition([0, 0, 0, 0, 0, 0, 1, 0, 2])
    partitions["EvenH"] = FuzzyPartition([0, 0, 0, 1, 1, 1, 2, 2, 2])
    return partitions
