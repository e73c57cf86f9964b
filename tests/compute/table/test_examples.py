import numpy as np
import pandas as pd
import pytest

from clusterlens.compute.table.dataset import prepare
from clusterlens.compute.table.examples import EXAMPLES, load_example


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


def test_hubs_are_near_to_many_points():
    X = load_example("hubs").table.to_numpy()
    distances = ((X[:, None] - X[None]) ** 2).sum(axis=-1)
    np.fill_diagonal(distances, np.inf)
    nearest = np.argsort(distances, axis=1)[:, :10]
    counts = np.bincount(nearest.ravel(), minlength=len(X))
    assert counts.max() > 10 * counts.mean()
    assert (counts == 0).mean() > 0.1


def test_mixed_example_has_every_kind_of_column_and_gap():
    ds = prepare(load_example("customers"))
    assert {"numeric", "categorical", "ordinal", "row id", "ignore"} == set(
        ds.roles.values()
    )
    assert ds.table.shape == (5000, 30)
    assert ds.table.isna().any().sum() >= 6
    assert any("the value -999 taken as missing" in note for note in ds.notes)
    assert ds.row_ids[0].startswith("C")
