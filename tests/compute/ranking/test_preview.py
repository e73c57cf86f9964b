"""A preview of a link is the ranking that the link then makes."""

import numpy as np
import pytest

from clusterlens.compute.ensemble.constraints import Constraints
from clusterlens.compute.ensemble.ensemble import Ensemble
from clusterlens.compute.ranking.preview import preview_link
from clusterlens.compute.ranking.ranking import rank_partitions

ENSEMBLE = Ensemble(np.random.default_rng(0).integers(0, 3, (9, 40)))
KNOWN = Constraints(must_link=[(0, 1), (1, 2)], cannot_link=[(2, 3)])


@pytest.mark.parametrize("score", ["discotec-binary", "aari"])
@pytest.mark.parametrize("known", [None, KNOWN])
def test_a_preview_is_the_ranking_after_the_link(score, known):
    run = {"score": score, "constraint_weight": 0.2}
    now = rank_partitions(ENSEMBLE, constraints=known, **run)
    preview = preview_link(now, (7, 5), known, 0.2)
    must, cannot = ([], []) if known is None else (known.must_link, known.cannot_link)
    joined = rank_partitions(
        ENSEMBLE, constraints=Constraints([*must, (5, 7)], cannot), **run
    )
    apart = rank_partitions(
        ENSEMBLE, constraints=Constraints(must, [*cannot, (5, 7)]), **run
    )
    np.testing.assert_array_equal(preview.must_ranks, joined.ranks)
    np.testing.assert_array_equal(preview.cannot_ranks, apart.ranks)


def test_an_answer_that_contradicts_the_links_has_no_ranks():
    now = rank_partitions(ENSEMBLE, constraints=KNOWN)
    follows = preview_link(now, (0, 2), KNOWN)
    assert follows.cannot_ranks is None
    apart = preview_link(now, (0, 3), KNOWN)
    assert apart.must_ranks is None


@pytest.mark.parametrize("pair", [(1, 1), (0, 40), (1,), (0, 1, 2), (0.5, 1), "ab"])
def test_what_is_no_pair_is_refused(pair):
    with pytest.raises(ValueError, match="pair"):
        preview_link(rank_partitions(ENSEMBLE), pair)
