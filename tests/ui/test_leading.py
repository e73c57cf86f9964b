"""Tests of the sentences on the leading model and on copies without groups."""

import numpy as np
import pytest

from clusterlens.compute.pool.nulls import NullAgreement
from clusterlens.compute.ranking.ranking import SCORES
from clusterlens.ui.results.leading import copies_words

MORE = "The pool agrees more on the table than on the copies."
FEW = "more on the table than on each copy, but the copies are too few to tell."
LESS = "The pool agrees less on the table than on every copy."
AS_MUCH = "The pool agrees about as much on the table as on the copies."


@pytest.mark.parametrize(
    ("score", "best", "p_value", "words"),
    [
        ("aari", 0.25, 1.0, LESS),
        ("aari", 0.35, 0.6, AS_MUCH),
        ("aari", 0.5, 0.05, MORE),
        ("aari", 0.5, 0.2, FEW),
        ("discotec-binary", 0.5, 1.0, LESS),
        ("discotec-binary", 0.35, 0.6, AS_MUCH),
        ("discotec-binary", 0.25, 0.05, MORE),
    ],
)
def test_scores_on_copies_are_named_and_lead_to_a_conclusion(
    score, best, p_value, words
):
    copies = {"permuted": np.array([0.388, 0.311, np.nan]), "gaussian": np.ones(3)}
    copies["gaussian"] *= 0.4 if words != MORE else 0.31
    if words == FEW:
        copies["permuted"] = copies["permuted"][:2]
    grid = np.zeros(101)
    found = NullAgreement(
        score,
        best,
        copies,
        {"permuted": p_value, "gaussian": p_value},
        grid,
        grid,
        {},
        10,
        (),
    )
    text = copies_words(found)
    assert text.startswith(f"{SCORES[score].title} (")
    better = "higher" if SCORES[score].greater_is_better else "lower"
    assert f" ({better} is better), the best of the pool: {best:.3f} on the" in text
    assert "; 0.311 to 0.388 on copies with permuted columns; " in text
    assert text.endswith(words)
