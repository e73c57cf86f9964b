"""ConsensusClusterer: scikit-learn's contract, and the results of its parts."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.cluster import DBSCAN
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import clusterlens as cl
from clusterlens.compute.assigning.consensus_clusterer import ConsensusClusterer

POOL = [
    {"clusterer": "k-means", "n_clusters": [2, 3, 4]},
    {"clusterer": "agglomerative", "n_clusters": 3},
]


@pytest.fixture(scope="module")
def blobs():
    return make_blobs(150, centers=[[0, 0], [9, 0], [0, 9]], random_state=0)


@pytest.fixture(scope="module")
def model(blobs):
    return ConsensusClusterer(POOL, n_jobs=1).fit(blobs[0])


@parametrize_with_checks([ConsensusClusterer(POOL, n_jobs=1)])
def test_scikit_learn_estimator_checks(estimator, check):
    check(estimator)


def test_the_leader_of_the_pool_is_taken(blobs, model):
    X, truth = blobs
    ensemble = cl.run_pool(X, POOL, n_jobs=1)
    leader = ensemble.labels[cl.rank_partitions(ensemble).order[0]]
    assert adjusted_rand_score(model.labels_, leader) == 1
    assert adjusted_rand_score(model.labels_, truth) == 1
    assert model.n_clusters_ == 3
    assert model.ranking_.order[0] == cl.rank_partitions(ensemble).order[0]


def test_a_number_of_clusters_takes_the_consensus_and_obeys_links(blobs):
    X, truth = blobs
    links = cl.Constraints(must_link=[(0, int(np.flatnonzero(truth != truth[0])[0]))])
    made = ConsensusClusterer(POOL, 2, links, n_jobs=1).fit(X)
    assert made.n_clusters_ == 2
    assert links.violations(cl.Ensemble([made.labels_]))[0] == 0


def test_without_a_number_that_stands_out_the_leader_is_taken(monkeypatch, blobs):
    from clusterlens.compute.assigning import consensus_clusterer as module

    class Found:
        k = None

    monkeypatch.setattr(module, "select_k", lambda *_, **__: Found)
    with pytest.warns(UserWarning, match="no number of clusters stands out"):
        made = ConsensusClusterer(POOL, "select", n_jobs=1).fit(blobs[0])
    assert made.n_clusters_ == 3
    Found.k = 4
    assert ConsensusClusterer(POOL, "select", n_jobs=1).fit(blobs[0]).n_clusters_ == 4


@pytest.mark.parametrize("way", ["closest", "select"])
def test_links_that_need_more_clusters_than_are_found_get_them(monkeypatch, blobs, way):
    from clusterlens.compute.assigning import consensus_clusterer as module

    class Found:
        k = 2

    monkeypatch.setattr(module, "select_k", lambda *_, **__: Found)
    five = [(i, j) for j in range(5) for i in range(j)]
    links = cl.Constraints(cannot_link=five)
    with pytest.warns(UserWarning, match="the cannot-links need 5 clusters"):
        made = ConsensusClusterer(POOL, way, links, n_jobs=1).fit(blobs[0])
    assert made.n_clusters_ == 5
    assert made.notes_[-1].endswith("5 are taken.")
    assert len(set(made.labels_[:5])) == 5
    with pytest.raises(cl.ConstraintError, match="ask for 5"):
        ConsensusClusterer(POOL, 2, links, n_jobs=1).fit(blobs[0])


@pytest.mark.parametrize("way", ["leader", "closest", "select", 1, 2])
def test_three_samples_are_enough_and_two_are_refused(way):
    X = np.array([[0.0, 0.0], [0.1, 0.0], [5.0, 5.0]])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # so small a table has no k
        assert len(ConsensusClusterer("quick", way, n_jobs=1).fit(X).labels_) == 3
    with pytest.raises(ValueError, match="minimum of 3"):
        ConsensusClusterer("quick", way, n_jobs=1).fit(X[:2])


def test_samples_keep_their_cluster_and_new_rows_get_the_near_one(blobs, model):
    X, _ = blobs
    assert (model.predict(X) == model.labels_).all()
    new, kind = make_blobs(200, centers=[[0, 0], [9, 0], [0, 9]], random_state=1)
    assert adjusted_rand_score(kind, model.predict(new)) == 1
    assert model.predict_margin(new).mean() > 0.9


def test_novelty_calls_far_rows_nowhere(blobs):
    X, _ = blobs
    far = np.array([[40.0, 40.0], [0.0, 0.0]])
    plain = ConsensusClusterer(POOL, n_jobs=1).fit(X)
    assert (plain.predict(far) >= 0).all()
    assert plain.set_params(novelty=0.05).predict(far).tolist()[0] == -1
    assert plain.predict(far)[1] >= 0


def test_noise_of_the_leader_stays_noise():
    X = make_blobs(120, centers=[[0, 0], [20, 20]], random_state=0)[0]
    X[:3] = [[60, 0], [-60, 0], [0, 90]]
    pool = [DBSCAN(eps=eps) for eps in (3.0, 4.0, 5.0)]
    made = ConsensusClusterer(pool, n_jobs=1).fit(X)
    assert (made.labels_[:3] == -1).all()
    assert made.n_clusters_ == 2


def test_it_works_in_a_pipeline_and_a_grid_search(blobs):
    frame = pd.DataFrame(blobs[0], columns=["a", "b"])
    pipe = make_pipeline(StandardScaler(), ConsensusClusterer(POOL, n_jobs=1))
    pipe.set_output(transform="pandas")
    assert adjusted_rand_score(pipe.fit_predict(frame), blobs[1]) == 1
    assert pipe[-1].feature_names_in_.tolist() == ["a", "b"]
    search = GridSearchCV(
        ConsensusClusterer(POOL, n_jobs=1),
        {"n_clusters": [2, 3]},
        scoring="adjusted_rand_score",
        cv=2,
    ).fit(*blobs)
    assert search.best_params_ == {"n_clusters": 3}


def test_copies_and_pickles_give_the_same_answers(blobs, model):
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(blobs[0]), model.labels_)
    assert clone(model).get_params() == model.get_params()


def test_those_vote_who_are_asked_to(blobs, model):
    typical = clone(model).set_params(votes="typical").fit(blobs[0])
    weights = cl.vote_weights(model.ensemble_, "typical")
    assert 0 in typical.ensemble_.votes
    np.testing.assert_array_equal(typical.ensemble_.weights, weights)
    expected = cl.rank_partitions(model.ensemble_.with_weights(weights))
    np.testing.assert_array_equal(typical.ranking_.values, expected.values)


@pytest.mark.parametrize(
    "wrong", [{"n_clusters": "best"}, {"novelty": 1.0}, {"votes": "best"}]
)
def test_wrong_parameters_are_named(blobs, wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        ConsensusClusterer(POOL, **wrong).fit(blobs[0])


@pytest.mark.parametrize("pool", ["quick", POOL[:1]])
@pytest.mark.parametrize("k", ["leader", "closest", "select", 3])
@pytest.mark.parametrize(
    "X", [np.ones((40, 3)), np.zeros((3, 1)), np.full((30, 2), -0.0), [[0.1, -7]] * 20]
)
def test_equal_rows_are_one_cluster_with_a_note(pool, k, X):
    with pytest.warns(UserWarning, match="All rows of X are equal"):
        made = ConsensusClusterer(pool, k, n_jobs=1).fit(X)
    assert made.n_clusters_ == 1
    assert set(made.labels_) == set(made.predict(X)) == {0}
    assert "one cluster" in made.notes_[-1]
    assert made.ranking_.values.size == made.ensemble_.n_partitions


def test_zeros_of_either_sign_are_equal():
    X = np.array([[0.0], [-0.0]] * 10)
    with pytest.warns(UserWarning, match="All rows of X are equal"):
        assert ConsensusClusterer("quick", n_jobs=1).fit(X).n_clusters_ == 1


@pytest.mark.filterwarnings("ignore:n_clusters is")
def test_there_are_no_more_clusters_than_rows_that_differ():
    X = np.repeat([[0.0, 0], [1, 1], [5, 0]], [30, 5, 5], axis=0)
    pool = [{"clusterer": "agglomerative", "n_clusters": [5, 6, 7]}]
    for k in ("leader", 6):
        with pytest.warns(UserWarning, match="Only 3 rows of X differ"):
            made = ConsensusClusterer(pool, k, n_jobs=1).fit(X)
        assert adjusted_rand_score(made.labels_, X[:, 0]) == 1


def test_cannot_links_may_separate_equal_rows():
    links = cl.Constraints(cannot_link=[(0, 1)])
    pool = [{"clusterer": "agglomerative", "n_clusters": [2, 3, 4]}]
    made = ConsensusClusterer(pool, 2, links, n_jobs=1).fit(np.ones((9, 2)))
    assert made.labels_[0] != made.labels_[1]
