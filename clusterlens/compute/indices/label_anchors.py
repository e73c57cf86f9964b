"""Scores of well-known class labels, as anchors of the two scales of label checks."""

from __future__ import annotations

from typing import NamedTuple


class LabelAnchor(NamedTuple):
    """An example with scored class labels.

    Attributes
    ----------
    example : str
        Key of `EXAMPLES`; prepared by the default rules.
    score : float
        CH_btwn of its class labels, see `label_match`.
    dbcv : float
        Their density-based validity, see `label_evidence`.
    """

    example: str
    score: float
    dbcv: float


# From `label_evidence(prepare(load_example(name)).X, labels_true)`, to 0.001.
LABEL_ANCHORS = (
    LabelAnchor("blobs", 0.993, 0.594),
    LabelAnchor("moons", 0.945, 0.663),
    LabelAnchor("iris", 0.922, -0.136),
    LabelAnchor("wine", 0.890, -0.228),
    LabelAnchor("breast cancer", 0.798, -0.713),
    LabelAnchor("digits", 0.357, -0.394),
    LabelAnchor("rings", -0.070, 0.393),
)
