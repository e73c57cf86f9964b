"""Actions, their log, and the session they change."""

import json

import numpy as np
import pytest

from clusterlens.compute.ranking.ranking import rank_partitions
from clusterlens.ui.actions import ACTIONS, perform
from clusterlens.ui.log import Action
from clusterlens.ui.session import Session

POOL = [
    {"clusterer": "k-means", "n_clusters": [2, 3, 4]},
    {"clusterer": "agglomerative", "linkage": "single", "n_clusters": [3, 150]},
]
OPTIONS = {"missing": "median", "scale": "standard", "categorical": "one-hot"}


def do(session: Session, kind: str, **values) -> None:
    perform(session, Action(kind, values))


@pytest.fixture(scope="module")
def session() -> Session:
    session = Session()
    do(session, "load example", name="iris")
    do(session, "prepare", roles={}, pca=None, **OPTIONS)
    do(session, "run pool", pool=POOL, random_state=3)
    do(session, "set threshold", threshold=2)
    return session


def test_a_run_opens_at_the_model_closest_to_the_consensus(session):
    run = session.run
    assert session.page == "consensus"
    assert session.model == rank_partitions(run.agreement).order[0]
    assert run.agreement.ensemble is run.ensemble


def test_degenerate_models_become_notes(session):
    assert session.run.ensemble.n_partitions == 4
    assert any("150" in note for note in session.run.ensemble.notes)


def test_threshold_changes_the_ranking_only_by_an_action(session):
    again = rank_partitions(session.run.agreement, threshold=2)
    assert session.threshold == 2
    np.testing.assert_array_equal(session.ranking.values, again.values)
    assert [action.kind for action in session.log][-1] == "set threshold"


def test_doing_the_log_again_gives_the_same_analysis(session):
    again = Session()
    for action in session.log:
        restored = json.loads(json.dumps({"k": action.kind, "v": action.values}))
        perform(again, Action(restored["k"], restored["v"]))
    np.testing.assert_array_equal(again.run.ensemble.codes, session.run.ensemble.codes)
    np.testing.assert_array_equal(again.ranking.values, session.ranking.values)
    np.testing.assert_array_equal(again.run.tree_order, session.run.tree_order)
    assert again.threshold == session.threshold


def test_another_run_leaves_the_first_untouched():
    session = Session()
    do(session, "load example", name="iris")
    do(session, "prepare", roles={}, pca=None, **OPTIONS)
    do(session, "run pool", pool=POOL)
    first = session.run
    do(session, "prepare", roles={}, pca=2, **OPTIONS)
    do(session, "run pool", pool=POOL)
    assert session.runs == (first, session.run)
    assert first.dataset.X.shape[1] == 4
    do(session, "choose run", name=first.name)
    assert session.run is first
    assert session.threshold == first.agreement.threshold


def test_a_failed_action_changes_nothing(session):
    before = (len(session.log), session.dataset, session.run)
    with pytest.raises(ValueError, match=r"no column"):
        do(session, "prepare", roles={"nowhere": "label"}, pca=None, **OPTIONS)
    assert (len(session.log), session.dataset, session.run) == before


def test_actions_take_plain_values_only():
    with pytest.raises(TypeError, match="serializable"):
        Action("prepare", {"roles": np.zeros(3)})
    with pytest.raises(ValueError, match="JSON compliant"):
        Action("set threshold", {"threshold": float("nan")})


def test_every_action_kind_has_a_title():
    assert all(kind.title for kind in ACTIONS.values())


def test_clusters_are_numbered_after_the_leader(session):
    run = session.run
    leader = run.clusters_of(run.leader)
    np.testing.assert_array_equal(leader, run.ensemble.codes[run.leader])
    for model in range(run.ensemble.n_partitions):
        clusters = run.clusters_of(model)
        pairs = set(zip(clusters, run.ensemble.codes[model], strict=True))
        assert len(pairs) == run.ensemble.n_clusters[model]


@pytest.mark.parametrize("key", ["model", "tree", "file"])
def test_orderings_are_permutations(session, key):
    order = session.run.order_by(key, 0)
    assert sorted(order) == list(range(session.run.ensemble.n_samples))


def test_ordering_by_model_keeps_clusters_together(session):
    run = session.run
    ordered = run.clusters_of(1)[run.order_by("model", 1)]
    assert np.count_nonzero(np.diff(ordered)) == run.ensemble.n_clusters[1] - 1


def test_together_with_counts_agreeing_models(session):
    codes = session.run.ensemble.codes
    expected = (codes == codes[:, [7]]).sum(axis=0)
    np.testing.assert_array_equal(session.run.together_with(7), expected)


def test_copies_are_listed_once_in_the_given_order():
    session = Session()
    do(session, "load example", name="iris")
    do(session, "prepare", roles={}, pca=None, **OPTIONS)
    twice = [{"clusterer": "agglomerative", "n_clusters": [3, 4], "copies": 2}]
    do(session, "run pool", pool=twice)
    models = np.array([3, 2, 1, 0])
    kept = session.run.distinct(models)
    groups = session.run.copy_of
    assert len(kept) == 2
    assert [groups[m] for m in kept] == list(dict.fromkeys(groups[models]))
    assert "2 distinct" in session.run.make_up
