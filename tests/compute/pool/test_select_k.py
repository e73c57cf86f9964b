from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score

from clusterlens.compute._run.options import Cancelled
from clusterlens.compute._run.processes import Workers
from clusterlens.compute.ensemble.ensemble import Ensemble
from clusterlens.compute.pool import _k_curves as module
from clusterlens.compute.pool import k_selection
from clusterlens.compute.pool._k_curves import Curves, uniform_box
from clusterlens.compute.pool._valleys import least_valleys
from clusterlens.compute.pool.k_selection import (
    _choose,
    _gain,
    _is_clear,
    _p_values,
    select_k,
)
from clusterlens.compute.pool.resampling import (
    SubsampledClusterer,
    area_growth,
    measure_consensus,
    measure_labels,
)

FAST = {"n_resamples": 6, "n_draws": 19, "level": 0.1, "n_jobs": 1}
CHAINS = {"clusterer": "agglomerative", "linkage": "single"}
RINGS = {"clusterer": "spectral", "n_neighbors": 8}


def groups(rng, n=90):
    centres = np.array([[0.0, 0.0], [9.0, 3.0], [3.0, 9.0]])
    return centres[np.arange(n) % 3] + rng.normal(size=(n, 2))


@pytest.fixture(scope="module")
def planted():
    return groups(np.random.default_rng(0))


@pytest.fixture(scope="module")
def selection(planted):
    return select_k(planted, [4, 2, 3], 7, **FAST)


def test_planted_groups_stand_out(selection):
    assert selection.k == 3
    frame = selection.to_frame()
    assert frame["p_value"].loc[3] <= 0.1
    assert frame["gain"].idxmax() == 3
    assert selection.sentence.startswith("k = 3 stands out: valleys of ")
    assert "19 Gaussian and 19 uniform copies without" in selection.sentence
    decides = selection.sentence.index("(p = 0.05).")
    assert decides < selection.sentence.index("pairs does not decide here: 0%, and ")
    assert "% in Gaussian and " in selection.sentence


@pytest.mark.parametrize("apart", [6.0, 12.0, 1600.0])
@pytest.mark.parametrize("k", [2, 3, 5])
def test_groups_on_a_line_are_counted(k, apart):
    """Copies in the same long box are as stable, but are not split by valleys."""
    rng = np.random.default_rng([k, int(apart)])
    X = rng.normal(size=(40 * k, 3))
    X += np.repeat(np.arange(k), 40)[:, None] * [0.8 * apart, 0.6 * apart, 0.0]
    found = select_k(X, range(2, 7), 1, **FAST)
    assert found.k == k
    assert "standard errors" in found.sentence


@pytest.mark.parametrize("k", [2, 3, 4, 5, 8])
def test_groups_on_a_circle_are_counted_standardised_or_not(k):
    rng = np.random.default_rng(k)
    angle = 2 * np.pi * (np.arange(40 * k) % k) / k
    X = 4 / np.sin(np.pi / k) * np.column_stack([np.cos(angle), np.sin(angle)])
    X = (X + rng.normal(size=X.shape)) @ [[0.6, 0.8], [-0.8, 0.6]]
    fast = {**FAST, "level": 0.05}
    for table in (X, (X - X.mean(axis=0)) / X.std(axis=0)):
        assert select_k(table, range(2, 10), 1, **fast).k == k


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("kind", ["exponential", "standard_t", "disc", "random"])
def test_tails_and_edges_are_no_clusters(kind, seed):
    rng = np.random.default_rng(seed)
    if kind == "disc":
        angle = rng.uniform(0, 2 * np.pi, 120)
        away = np.sqrt(rng.random((120, 1)))
        X = away * np.column_stack([np.cos(angle), np.sin(angle)])
    else:
        few = {"standard_t": {"df": 3}}.get(kind, {})
        X = getattr(rng, kind)(size=(120, 4), **few)
    few = {**FAST, "level": 0.05}
    assert select_k(X, range(2, 9), seed, **few).k is None


def test_copies_of_three_points_are_three_clusters():
    """With more clusters than points some are empty."""
    X = np.repeat([[0.0, 0.0], [3.0, 0.0], [0.0, 4.0]], 20, axis=0)
    assert select_k(X, range(2, 7), **FAST).k == 3


def valley_by_definition(X, labels, k):
    """Least valley of the pairs of clusters, from the windows on their line."""
    centres = [X[labels == c].mean(axis=0) for c in range(k)]
    found = []
    for a in range(k):
        for b in range(a):
            line = centres[b] - centres[a]
            both = X[(labels == a) | (labels == b)]
            along = (both - centres[a]) @ line / (line @ line)
            counts = [np.sum(abs(along - at) < 0.25) for at in (0, 0.5, 1)]
            lower = min(counts[0], counts[2])
            lower = 2 / 3 * lower if lower >= 4 else 0
            found.append(2 * (np.sqrt(lower + 3 / 8) - np.sqrt(counts[1] + 3 / 8)))
    return min(found)


def test_valleys_follow_their_definition():
    rng = np.random.default_rng(8)
    X = rng.normal(size=(300, 3)) + 1e3
    labels = [KMeans(4, n_init=1, random_state=s).fit(X).labels_ for s in range(5)]
    expected = [valley_by_definition(X, one, 4) for one in labels]
    assert_allclose(least_valleys(X, np.array(labels), 4), expected)


def test_valleys_depend_on_neither_unit_nor_turn_nor_order(planted):
    labels = np.arange(90)[None] % 3
    rotation = np.linalg.qr(np.random.default_rng(9).normal(size=(2, 2)))[0]
    expected = least_valleys(planted, labels, 3)
    assert expected > 0
    assert_allclose(least_valleys(100 * planted @ rotation + 7, labels, 3), expected)
    assert_allclose(least_valleys(planted[::-1], labels[:, ::-1], 3), expected)
    assert_allclose(least_valleys(planted, 2 - labels, 3), expected)


def test_an_empty_cluster_is_not_separated_and_rings_have_no_valleys(planted):
    assert least_valleys(planted, np.arange(90)[None] % 3, 4) <= 0
    angle = np.linspace(0, 2 * np.pi, 90)
    ring = np.column_stack([np.cos(angle), np.sin(angle)])
    ring[::2] *= 5
    assert np.isnan(least_valleys(ring, np.arange(90)[None] % 2, 2))


def test_a_few_outliers_have_no_valley():
    X = np.r_[np.random.default_rng(0).normal(size=(50, 2)), np.full((3, 2), 99.0)]
    assert least_valleys(X, (np.arange(53) >= 50)[None].astype(int), 2) <= 0


def test_rings_are_judged_by_ambiguous_pairs_and_it_is_noted():
    rng = np.random.default_rng(0)
    angle = rng.uniform(0, 2 * np.pi, 120)
    ring = np.where(np.arange(120) % 2, 1.0, 4.0)[:, None]
    X = ring * np.column_stack([np.cos(angle), np.sin(angle)])
    X += rng.normal(size=X.shape) / 10
    found = select_k(X, [2], clusterer=RINGS, **FAST)
    assert found.k == 2
    assert np.isnan(found.data.valley[0])
    assert found.notes[0].startswith("k = 2: clusters do not lie around their centres")
    assert "standard errors" not in found.sentence
    assert "of the pairs are ambiguous, against" in found.sentence


def test_copies_may_all_lack_clusters_around_centres(planted, monkeypatch):
    valleys = iter([[5.0], *([[np.nan]] * 38)])
    monkeypatch.setattr(
        module, "_curves", lambda *_: curves([0.01], np.array(next(valleys)))
    )
    found = select_k(planted, [3], **FAST)
    assert found.k == 3
    assert "or more separate its clusters (p = 0.05)." in found.sentence


@pytest.mark.parametrize(("deepest", "words"), [(-2.9, "none"), (1.25, "at most 1.2")])
def test_the_deepest_valley_of_the_copies_is_told_if_there_is_one(
    planted, monkeypatch, deepest, words
):
    valleys = iter([[5.0], *([[deepest]] * 38)])
    monkeypatch.setattr(
        module, "_curves", lambda *_: curves([0.01], np.array(next(valleys)))
    )
    sentence = select_k(planted, [3], **FAST).sentence
    copies = "19 Gaussian and 19 uniform copies without clusters"
    assert f"clusters, against {words} at any k in {copies} (p = 0.05)." in sentence


@pytest.mark.parametrize(
    ("numbers", "words"),
    [
        ([3], "3"),
        ([2, 3], "2, 3"),
        ([2, 3, 4], "2 to 4"),
        (range(2, 11), "2 to 10"),
        ([2, 4, 6], "2, 4, 6"),
    ],
)
def test_numbers_in_a_row_are_written_as_a_range(numbers, words):
    assert k_selection._listed(np.array(numbers)) == words


def test_structureless_data_leave_the_question_open():
    X = np.random.default_rng(0).normal(size=(90, 3))
    found = select_k(X, [2, 3, 4], 1, **FAST)
    assert found.k is None
    assert found.sentence.startswith("No k stands out")
    assert "none of k = 2 to 4 do valleys" in found.sentence
    assert "19 Gaussian and 19 uniform" in found.sentence
    assert "p is small" not in found.sentence
    touching = replace(
        found,
        data=found.data._replace(valley=np.array([-1.0, -2.0, -1.0])),
        p_values=dict.fromkeys(found.p_values, np.array([0.02, 0.02, 0.4])),
    )
    assert "At k = 2, 3 p is small, but some" in touching.sentence


def test_columns_hold_the_copies_beside_the_data(selection):
    frame = selection.to_frame()
    assert frame.index.tolist() == [2, 3, 4]
    for kind in ("gaussian", "uniform"):
        pac = selection.references[kind].pac
        assert pac.shape == (19, 3)
        assert_allclose(frame[f"pac_{kind}"], pac.mean(axis=0))
        assert_allclose(frame[f"pac_low_{kind}"], pac.min(axis=0))
        assert_allclose(frame[f"pac_high_{kind}"], pac.max(axis=0))
        assert selection.references[kind].cdf.shape == (19, 3, 101)
        growth = area_growth(selection.references[kind].area, selection.n_clusters)
        assert_allclose(frame[f"delta_area_{kind}"], growth.mean(axis=0))
    assert_allclose(frame["p_value"], frame[["p_gaussian", "p_uniform"]].max(axis=1))


def test_measures_follow_their_definitions(planted):
    """PAC and area from the matrix, stability from all pairs of partitions."""
    rng = np.random.default_rng(1)
    labels = np.array(
        [SubsampledClusterer(KMeans(4), 0.8, s).fit(planted).labels_ for s in range(8)]
    )
    labels[0] = rng.integers(4, size=len(planted))
    found = measure_consensus(Ensemble(labels))
    for known, direct in zip(found, measure_labels(labels), strict=True):
        assert_allclose(direct, known)
    matrix = (labels[:, :, None] == labels[:, None, :]).mean(axis=0)
    values = matrix[np.triu_indices(len(planted), 1)]
    assert found.pac == pytest.approx(((values > 0.1) & (values <= 0.9)).mean())
    assert found.area == pytest.approx(1 - values.mean())
    joined = [(row[:, None] == row)[np.triu_indices(len(planted), 1)] for row in labels]
    pairs = [(a, b) for a in range(8) for b in range(8) if a != b]
    both = np.mean([(joined[a] & joined[b]).sum() for a, b in pairs])
    chance = np.mean(
        [joined[a].sum() * joined[b].sum() / len(values) for a, b in pairs]
    )
    most = np.mean([row.sum() for row in joined])
    assert found.stability == pytest.approx((both - chance) / (most - chance))


def test_stability_of_two_runs_of_equal_sizes_is_their_adjusted_rand_index():
    rng = np.random.default_rng(2)
    a = np.repeat(np.arange(4), 10)
    b = rng.permutation(a)
    expected = adjusted_rand_score(a, b)
    assert measure_consensus(Ensemble([a, b])).stability == pytest.approx(expected)


def test_stability_of_equal_runs_is_one():
    same = np.repeat([0, 1], 5)
    assert measure_consensus(Ensemble([same, same])).stability == 1.0
    assert measure_consensus(Ensemble([[0, 0], [0, 0]])).stability == 1.0


def curves(pac, valley=None):
    """Curves of given PAC and valleys (..., n_k), the rest empty."""
    pac = np.asarray(pac)
    valley = np.full(pac.shape, np.nan) if valley is None else np.asarray(valley)
    return Curves(np.zeros((*pac.shape, 101)), pac, pac, pac, valley)


def test_p_values_rank_the_data_among_the_clearest_of_each_copy():
    """Definition: compare with the largest of each, of standardised PAC or valleys."""
    rng = np.random.default_rng(4)
    pac, copies = rng.random(3), rng.random((9, 3))
    clear = [[-np.log(v + 0.002) for v in row] for row in [pac, *copies]]
    means, spreads = np.mean(clear, axis=0), np.std(clear, axis=0)
    z = [
        [(v - m) / s for v, m, s in zip(r, means, spreads, strict=True)] for r in clear
    ]
    for k in range(3):
        expected = sum(max(row) >= z[0][k] for row in z) / 10
        assert _p_values(curves(pac), curves(copies))[k] == pytest.approx(expected)
    z = rng.normal(size=(10, 3))
    found = _p_values(curves(pac, z[0]), curves(copies, z[1:]))
    for k in range(3):
        assert found[k] == pytest.approx(sum(max(row) >= z[0, k] for row in z) / 10)


def test_p_values_of_exchangeable_tables_hold_their_level():
    rng = np.random.default_rng(5)
    pac, valley = rng.random((2000, 20, 4)), rng.normal(size=(2000, 20, 4))
    valley[rng.random(valley.shape) < 0.2] = np.nan
    for given in (np.full_like(pac, np.nan), valley):
        silent = [
            _p_values(curves(p[0], v[0]), curves(p[1:], v[1:])).min() > 0.05
            for p, v in zip(pac, given, strict=True)
        ]
        assert 1 - np.mean(silent) == pytest.approx(0.05, abs=0.015)


def test_equal_tables_have_a_p_value_of_one():
    assert_array_equal(_p_values(curves(np.ones(3)), curves(np.ones((9, 3)))), 1.0)


def test_of_numbers_that_valleys_separate_the_largest_is_taken():
    numbers, out = np.array([2, 3, 5, 8]), np.array([True, True, True, False])
    data = curves([0.0, 0.1, 0.1, 0.0], [2.0, np.nan, 1.0, 9.0])
    assert _choose(numbers, data, np.ones(4), out) == 5


def test_of_numbers_that_leave_no_pair_ambiguous_the_largest_is_taken():
    numbers = np.array([2, 3, 5, 8])
    data = curves([0.0, 0.1, 0.004, 0.03])
    gain = np.array([2.1, 0.3, 1.9, 1.2])
    out = np.array([True, True, True, True])
    assert _choose(numbers, data, gain, out) == 5
    assert _choose(numbers, data, gain, numbers == 2) == 2
    assert _choose(numbers, data, gain, ~out) is None


def test_of_numbers_that_leave_pairs_ambiguous_that_with_the_largest_gain_is_taken():
    numbers = np.array([2, 3, 5])
    data, gain = curves([0.2, 0.1, 0.05]), np.array([0.5, 0.8, 0.6])
    out = np.array([True, True, True])
    assert _choose(numbers, data, gain, out) == 3


def test_to_stand_out_takes_a_valley_or_half_the_ambiguous_pairs():
    gain = np.array([0.31, 0.29, 2.0, 0.0])
    data = curves(np.zeros(4), [np.nan, np.nan, -0.1, 0.1])
    assert _is_clear(data, gain).tolist() == [True, False, False, True]


def test_gain_is_the_ratio_of_ambiguous_pairs_in_powers_of_ten():
    gain = _gain(np.array([0.018]), np.full((5, 1), 0.198))
    assert gain[0] == pytest.approx(1.0)


def test_uniform_copies_fill_the_box_along_the_main_axes():
    rng = np.random.default_rng(6)
    along = rng.normal(size=(400, 1)) * [[3.0, 3.0]] + rng.normal(size=(400, 2)) / 10
    copy = uniform_box(along, rng)
    rotation = np.array([[1, 1], [1, -1]]) / np.sqrt(2)
    assert np.ptp(copy @ rotation, axis=0) == pytest.approx(
        np.ptp(along @ rotation, axis=0), rel=0.1
    )


def test_result_is_seeded_and_ignores_the_number_of_workers(planted, selection):
    again = select_k(planted, [2, 3, 4], 7, **{**FAST, "n_jobs": 2})
    assert_array_equal(again.data.pac, selection.data.pac)
    assert_array_equal(
        again.references["gaussian"].pac, selection.references["gaussian"].pac
    )
    other = select_k(planted, [2, 3], 8, **FAST)
    assert not np.array_equal(
        other.references["gaussian"].pac, selection.references["gaussian"].pac[:, :2]
    )


def test_pairs_are_sampled_above_a_size_and_it_is_said(planted):
    found = select_k(planted, [3], **FAST, max_compared=40)
    assert found.n_compared == 40
    assert found.notes[0] == "Pairs counted of 40 of 90 samples."
    assert "pairs of 40 of them" in repr(found)


def test_one_column_is_not_compared_with_itself():
    with pytest.raises(ValueError, match="has one column"):
        select_k(np.arange(20.0)[:, None], [2], references=["permuted"], **FAST)


def test_permuted_copies_keep_clusters_that_show_in_single_columns(planted):
    kinds = ["gaussian", "uniform", "permuted"]
    found = select_k(planted, [3], references=kinds, **FAST)
    valleys = [np.median(one.valley) for one in found.references.values()]
    assert valleys[0] < 0
    assert valleys[1] < 0
    assert valleys[2] > 0


def test_skewed_columns_are_noted_if_pairs_decide_unless_permuted_copies_judge():
    X = np.random.default_rng(0).lognormal(size=(60, 2))
    assert select_k(X, [2], **FAST).notes == ()
    angle = np.linspace(0, 2 * np.pi, 60)
    X[:, 0], X[:, 1] = np.exp(np.cos(angle)), np.exp(np.sin(angle))
    X = np.r_[np.exp(2 * X), [[1.0, 1.0]] * 40 + np.arange(40)[:, None] / 9]
    found = select_k(X, [2], clusterer=CHAINS, **FAST)
    assert np.isnan(found.data.valley).all()
    assert "columns are skewed" in found.notes[1]
    kinds = ["gaussian", "permuted"]
    found = select_k(X, [2], clusterer=CHAINS, references=kinds, **FAST)
    assert len(found.notes) == 1


@pytest.mark.parametrize(
    ("n_clearer", "sentence_part"),
    [
        (2, "2 of 19 Gaussian and 0 of 19 uniform copies are as clear at some k "),
        (9, "9 of 19 Gaussian and 0 of 19 uniform copies are as clear at some k "),
    ],
)
def test_more_draws_are_advised_only_if_they_may_tell(
    planted, monkeypatch, n_clearer, sentence_part
):
    valleys = [[-1.0, 2.0], *([[-1.0, 3.0]] * n_clearer)]
    valleys += [[-1.0, -2.0]] * (39 - len(valleys))
    tables = iter(np.array(valleys))
    monkeypatch.setattr(
        module, "_curves", lambda *_: curves(np.array([0.3, 0.004]), next(tables))
    )
    found = select_k(planted, [2, 3], **FAST)
    assert found.k is None
    assert " The closest is k = 3, which leaves <1% of the pairs" in found.sentence
    assert sentence_part in found.sentence
    assert found.sentence.endswith("more draws may tell.") == (n_clearer == 2)


def test_kmeans_as_it_comes_has_a_form_of_its_own(planted, monkeypatch):
    monkeypatch.setattr(module, "SubsampledClusterer", None)
    assert select_k(planted, [2, 3], clusterer="k-means", **FAST).k == 3
    for changed in ({"max_iter": 5}, {"init": "random"}, {"tol": 0.1}):
        spec = {"clusterer": "k-means", **changed}
        with pytest.raises(ValueError, match="not callable"):
            select_k(planted, [2], clusterer=spec, **FAST)


def test_threads_and_processes_give_the_same(planted, monkeypatch):
    on_threads = select_k(planted, [2, 3], 7, **{**FAST, "n_jobs": 2})
    monkeypatch.setattr(module, "LONGEST_BLOCK", 0.0)
    in_processes = select_k(planted, [2, 3], 7, **{**FAST, "n_jobs": 2})
    assert_array_equal(on_threads.data.pac, in_processes.data.pac)
    for kind, curves in on_threads.references.items():
        assert_array_equal(curves.pac, in_processes.references[kind].pac)


def test_any_clusterer_that_takes_a_number_is_compared(planted):
    spec = {"clusterer": "agglomerative", "linkage": "average"}
    found = select_k(planted, [2, 3], clusterer=spec, **FAST)
    assert found.clusterer == "average linkage"
    assert found.k == 3
    with pytest.raises(ValueError, match="takes no number of clusters"):
        select_k(planted, [2], clusterer="DBSCAN", **FAST)


def test_a_fit_that_fails_ends_it_with_the_reason(planted):
    spec = {"clusterer": "k-means", "init": "nonsense"}
    with pytest.raises(ValueError, match=r"failed on a subsample of the data .*init"):
        select_k(planted, [2], clusterer=spec, **FAST)


def test_progress_counts_tables_and_cancel_stops(planted):
    seen = []
    select_k(planted, [2], progress=lambda *step: seen.append(step), **FAST)
    assert seen == [(done, 39) for done in range(1, 40)]
    with pytest.raises(Cancelled):
        select_k(planted, [2], cancel=lambda: True, **FAST)


def test_arguments_are_checked(planted):
    with pytest.raises(ValueError, match=r"n_draws is 5; give a .* from 19"):
        select_k(planted, [2], n_draws=5)
    with pytest.raises(ValueError, match="ks is 80"):
        select_k(planted, [80])
    with pytest.raises(ValueError, match="references"):
        select_k(planted, [2], references=["other"])
    with pytest.raises(ValueError, match="references"):
        select_k(planted, [2], references="gaussian")


def test_ambiguous_pairs_alone_do_not_decide(monkeypatch, planted):
    """PAC falls with k here; the copies fall as much, but for k = 3."""
    falling = np.array([0.3, 0.05, 0.02, 0.01])
    level = np.array([0.3, 0.25, 0.02, 0.01])
    tables = iter([falling, *(level * f for f in np.linspace(0.9, 1.2, 38))])

    monkeypatch.setattr(module, "_curves", lambda *_: curves(next(tables)))
    found = select_k(planted, [2, 3, 4, 5], **FAST)
    assert found.n_clusters[found.data.pac.argmin()] == 5
    assert found.k == 3


def test_tables_are_judged_by_the_workers_that_are_given(planted):
    spec = {"clusterer": "agglomerative", "linkage": "average"}
    few = {"clusterer": spec, "n_resamples": 2, "n_draws": 3, "level": 0.3}
    workers = Workers(1)
    try:
        found = select_k(planted[:30], [2, 3], **few, n_jobs=2, workers=workers)
        assert workers.n_used == 1
    finally:
        workers.close()
    alone = select_k(planted[:30], [2, 3], **few, n_jobs=1)
    assert_array_equal(found.data.pac, alone.data.pac)
