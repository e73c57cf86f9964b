import numpy as np
import pandas as pd
import pytest
from sklearn.cluster import (
    HDBSCAN,
    AgglomerativeClustering,
    BisectingKMeans,
    KMeans,
    MiniBatchKMeans,
)
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import GaussianMixture

from clusterlens.compute.assigning.segmentation import Segmentation
from clusterlens.compute.ensemble.overlaps import sample_disagreement
from clusterlens.compute.pool.pool import run_pool
from clusterlens.compute.ranking.ranking import rank_partitions
from clusterlens.compute.table.dataset import prepare
from clusterlens.compute.table.examples import (
    EXAMPLES,
    load_example,
    shoppers,
    spring_shoppers,
)


@pytest.mark.parametrize("name", EXAMPLES)
def test_example_has_the_stated_size_and_can_be_prepared(name):
    example = EXAMPLES[name]
    ds = prepare(load_example(name))
    n_labels = list(ds.roles.values()).count("label")
    assert ds.name == name
    assert ds.table.shape == (example.n, example.d + n_labels)
    assert len(ds.X) == example.n
    assert np.isfinite(ds.X).all()
    assert example.title
    assert example.teaches.endswith(".")


@pytest.mark.parametrize("name", EXAMPLES)
def test_example_is_the_same_at_every_call(name):
    first, second = load_example(name).table, load_example(name).table
    pd.testing.assert_frame_equal(first, second)


def test_unknown_example_is_refused_with_the_choices():
    with pytest.raises(ValueError, match="'blobs', 'iris'"):
        load_example("titanic")


def test_first_example_is_the_default():
    assert next(iter(EXAMPLES)) == load_example().name == "blobs"


def test_structureless_examples_have_no_label():
    for name in ("uniform", "hubs"):
        assert "label" not in load_example(name).roles.values()


def neighbour_counts(X):
    """How often each point is among the ten nearest of another."""
    distances = ((X[:, None] - X[None]) ** 2).sum(axis=-1)
    np.fill_diagonal(distances, np.inf)
    nearest = np.argsort(distances, axis=1)[:, :10]
    return np.bincount(nearest.ravel(), minlength=len(X))


def agreement_with_classes(name, *models):
    """Adjusted Rand index of each model with the given classes."""
    ds = prepare(load_example(name))
    return [adjusted_rand_score(ds.labels_true, m.fit_predict(ds.X)) for m in models]


def blobs_disagree_where_groups_touch():
    ds = prepare(load_example("blobs"))
    disagreement = sample_disagreement(run_pool(ds.X, "quick", random_state=0))
    groups = [ds.X[ds.labels_true == k] for k in range(5)]
    distances = [np.linalg.norm(ds.X - g.mean(0), axis=1) / g.std() for g in groups]
    nearest, second = np.sort(distances, axis=0)[:2]
    doubtful = disagreement >= np.quantile(disagreement, 0.9)
    margin = second - nearest
    assert margin[doubtful].mean() < 0.6 * margin[~doubtful].mean()


def rings_are_outvoted():
    ds = prepare(load_example("rings"))
    for pool in ("quick", "default"):
        ensemble = run_pool(ds.X, pool, random_state=0, n_jobs=1)
        match = np.array(
            [adjusted_rand_score(ds.labels_true, p) for p in ensemble.labels]
        )
        table = rank_partitions(ensemble).to_frame()
        ranks = table.set_index("model").loc[list(ensemble.names), "rank"].to_numpy()
        finders = match > 0.99
        assert 0 < finders.sum() < 0.2 * len(match)
        assert (ranks[finders] > 5).all()
        assert match[ranks == 1].max() < 0.8


def iris_overlap_in_two_species():
    ds = prepare(load_example("iris"))
    distances = np.linalg.norm(ds.X[:, None] - ds.X[None], axis=-1)
    np.fill_diagonal(distances, np.inf)
    nearest = ds.labels_true[distances.argmin(axis=1)]
    strangers = {tuple(sorted(p)) for p in zip(ds.labels_true, nearest, strict=True)}
    assert {pair for pair in strangers if pair[0] != pair[1]} == {(1, 2)}


def wine_depends_on_the_scale():
    ds = load_example("wine")
    scaled, plain = prepare(ds).X, prepare(ds, scale="none").X
    spread = plain.std(axis=0)
    assert spread.max() > 1000 * spread.min()
    model = KMeans(3, n_init=10, random_state=0)
    both = model.fit_predict(scaled), model.fit_predict(plain)
    assert adjusted_rand_score(*both) < 0.5


def breast_cancer_is_correlated():
    ds = prepare(load_example("breast cancer"))
    correlation = np.abs(np.corrcoef(ds.X.T))[np.triu_indices(30, 1)]
    assert correlation.mean() > 0.3
    assert len(ds.label_names) == 2


def digits_have_three_constant_pixels():
    ds = load_example("digits")
    assert (ds.table.drop(columns="label").nunique() == 1).sum() == 3
    assert ds.table["label"].nunique() == 10


def uniform_has_a_winner():
    ds = prepare(load_example("uniform"))
    low, high = load_example("uniform").table.min(), load_example("uniform").table.max()
    assert (low > 0).all()
    assert (high < 1).all()
    ranking = rank_partitions(run_pool(ds.X, "quick", random_state=0))
    assert (ranking.to_frame()["rank"] == 1).any()


def hubs_are_neighbours_of_many():
    counts = neighbour_counts(load_example("hubs").table.to_numpy())
    assert (counts >= 80).sum() >= 3
    assert (counts == 0).mean() > 0.1


def moons_need_density():
    density, centre, mixture = agreement_with_classes(
        "moons",
        HDBSCAN(15, copy=True),
        KMeans(2, n_init=5, random_state=0),
        GaussianMixture(2, random_state=0),
    )
    assert density > 0.95
    assert max(centre, mixture) < 0.6


def stretched_need_mixtures():
    centre, mixture = agreement_with_classes(
        "stretched",
        KMeans(3, n_init=5, random_state=0),
        GaussianMixture(3, random_state=0),
    )
    assert mixture > 0.95
    assert centre < 0.7


def unequal_is_split_alike():
    ds = prepare(load_example("unequal"))
    models = (
        KMeans(5, n_init=5, random_state=0),
        BisectingKMeans(5, random_state=0),
        MiniBatchKMeans(5, n_init=5, random_state=0),
        AgglomerativeClustering(5),
    )
    found = [model.fit_predict(ds.X) for model in models]
    pairs = [adjusted_rand_score(p, q) for p in found for q in found if p is not q]
    assert min(pairs) > max(adjusted_rand_score(ds.labels_true, p) for p in found)
    largest = np.bincount(ds.labels_true).argmax()
    for partition in found:
        parts = np.bincount(partition[ds.labels_true == largest])
        assert (parts > 150).sum() >= 3


def customers_are_mixed():
    ds = prepare(load_example("customers"))
    assert {"numeric", "categorical", "ordinal", "row id", "ignore"} <= set(
        ds.roles.values()
    )
    assert any(dtype.kind == "M" for dtype in ds.table.dtypes)
    assert any("a code for 'no value'" in note for note in ds.notes)
    assert any("filled with" in note for note in ds.notes)


def shoppers_are_found_again():
    spring = prepare(load_example("shoppers"))
    found = KMeans(4, n_init=10, random_state=0).fit_predict(spring.X)
    _, kind = spring_shoppers()
    assert adjusted_rand_score(kind, found) > 0.98
    later = shoppers(np.random.default_rng(1), np.arange(600), kind)
    assigned = Segmentation(spring, found).assign(later)
    assert assigned.index.equals(spring.table.index)
    assert adjusted_rand_score(kind, assigned["cluster"]) > 0.95


def large_is_out_of_reach():
    assert 8 * EXAMPLES["large"].n ** 2 > 64e9  # bytes of a matrix of floats


CLAIMS = {
    "blobs": blobs_disagree_where_groups_touch,
    "iris": iris_overlap_in_two_species,
    "wine": wine_depends_on_the_scale,
    "breast cancer": breast_cancer_is_correlated,
    "digits": digits_have_three_constant_pixels,
    "rings": rings_are_outvoted,
    "uniform": uniform_has_a_winner,
    "hubs": hubs_are_neighbours_of_many,
    "moons": moons_need_density,
    "stretched": stretched_need_mixtures,
    "unequal": unequal_is_split_alike,
    "customers": customers_are_mixed,
    "shoppers": shoppers_are_found_again,
    "large": large_is_out_of_reach,
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_what_an_example_teaches_is_measured(name):
    CLAIMS[name]()


def test_mixed_example_has_every_kind_of_column_and_gap():
    ds = prepare(load_example("customers"))
    assert {"numeric", "categorical", "ordinal", "row id", "ignore"} == set(
        ds.roles.values()
    )
    assert ds.table.shape == (5000, 30)
    assert ds.table.isna().any().sum() >= 6
    assert any("the value -999 taken as missing" in note for note in ds.notes)
    assert ds.row_ids[0].startswith("C")
