import io

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import QuantileTransformer, StandardScaler

from clusterlens.compute._validation import DataError
from clusterlens.compute.table.dataset import (
    CATEGORICAL_RULES,
    SCALES,
    make_dataset,
    prepare,
)
from clusterlens.compute.table.examples import load_example
from clusterlens.compute.table.preparation import Preparation
from clusterlens.compute.table.reading import load_table

RNG = np.random.default_rng(4)


def mixed(n=40) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "size": RNG.normal(50, 20, n),
            "gap": [None, *RNG.normal(10, 3, n - 1)],
            "colour": (["red", None, "blue"] * n)[:n],
            "level": (["low", "high", "medium"] * n)[:n],
            "fixed": 1,
            "day": pd.date_range("2020-01-01", periods=n),
            "label": (["a", "b"] * n)[:n],
        }
    )


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("categorical", CATEGORICAL_RULES)
@pytest.mark.parametrize("pca", [None, 2])
def test_the_prepared_rows_come_back_the_same(scale, categorical, pca):
    table = mixed()
    ds = prepare(
        table, {"day": "numeric"}, scale=scale, categorical=categorical, pca=pca
    )
    assert np.allclose(ds.preparation.transform(table), ds.X, rtol=0, atol=1e-12)
    assert np.allclose(ds.preparation.transform(ds), ds.X, rtol=0, atol=1e-12)
    names = ds.preparation.get_feature_names_out()
    assert tuple(names) == ds.feature_names


@settings(max_examples=15)
@given(st.permutations(range(40)), st.integers(1, 40))
def test_a_row_gets_the_same_features_in_any_company(order, count):
    table = mixed().set_axis(range(40), axis=0)
    ds = prepare(table)
    part = table.iloc[order[:count]]
    found = ds.preparation.transform(part[reversed(part.columns)])
    assert np.allclose(found, ds.X[order[:count]], rtol=0, atol=1e-12)


def test_new_rows_are_scaled_and_filled_by_what_was_learnt():
    table = pd.DataFrame({"a": [0.0, 2.0, 4.0], "c": ["x", "y", "x"]})
    preparation = prepare(table, scale="minmax").preparation
    rows = preparation.transform_rows(pd.DataFrame({"a": [8.0, None], "c": ["y", "x"]}))
    assert rows.X.tolist() == [[2, 0, 1], [0.5, 1, 0]]
    assert rows.notes == [
        "Column 'a': 1 missing value (50.0% of the rows) filled with the median 2."
    ]


def test_dates_count_from_the_first_day_that_was_learnt():
    table = pd.DataFrame({"day": pd.date_range("2020-01-01", periods=3)})
    preparation = prepare(table, {"day": "numeric"}, scale="none").preparation
    assert preparation.transform({"day": ["2020-01-11"]}).tolist() == [[10.0]]
    with pytest.raises(DataError, match=r"'day' had dates .* and has none now"):
        preparation.transform({"day": [3.0]})


def test_codes_for_missing_are_judged_by_what_was_learnt():
    preparation = prepare({"a": [1.0, 2, 3], "b": [1.0, 2, 4]}).preparation
    rows = preparation.transform_rows({"a": [-999.0], "b": [4.0]})
    assert rows.X[0, 0] == 0
    assert "the value -999 taken as missing" in rows.notes[0]
    given = prepare({"a": [1.0, 2, 3], "b": [1.0, 2, 4]}, sentinels=(3,)).preparation
    assert given.missing == "median"
    assert given.columns_[0].missing_codes == (3.0,)


def test_files_are_transformed_as_they_are_loaded():
    ds = prepare(load_table(b"size;colour\n1,5;a\n2,5;b\n9,0;b\n"))
    data = b"colour;size\nb;2,5\na;1,5\n"
    for source in (data, io.BytesIO(data)):
        assert np.allclose(ds.preparation.transform(source), ds.X[[1, 0]])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"colour": "green"}, r"'colour' has the level 'green' in row 0, .* 'blue', "),
        (
            {"size": "big"},
            "'size' has 'big' in row 0, which is no number; give numbers, as",
        ),
        ({"size": 1e200}, "too large to compute distances"),
    ],
)
def test_new_cells_that_do_not_fit_are_refused_with_place_and_remedy(change, message):
    preparation = prepare(mixed()).preparation
    with pytest.raises(DataError, match=message):
        preparation.transform(mixed().iloc[:1].assign(**change))


def test_a_column_that_is_not_there_is_refused_unless_it_was_of_no_use():
    preparation = prepare(mixed()).preparation
    short = mixed().drop(columns=["fixed", "label", "day"])
    assert preparation.transform(short).shape[0] == 40
    with pytest.raises(DataError, match="no column 'colour'; did you mean 'color'"):
        preparation.transform(short.rename(columns={"colour": "color"}))
    # A column that is needed itself is not suggested.
    names = ["height", "weight"]
    preparation = prepare(pd.DataFrame(np.eye(4)[:, :2], columns=names)).preparation
    with pytest.raises(DataError, match="no column 'height'; it has 'weight'"):
        preparation.transform(pd.DataFrame({"weight": [1.0]}))


def test_unknown_levels_are_missing_on_request_with_a_note():
    table = mixed().iloc[:6].assign(colour="green")
    rows = prepare(mixed()).preparation.transform_rows(table, unknown="missing")
    assert "6 cells with an unknown level, the first 'green' in row 0" in rows.notes[1]
    assert "filled with the most frequent value 'red'" in rows.notes[-1]
    with pytest.raises(ValueError, match="unknown is 'drop'; give one of"):
        prepare(mixed()).preparation.transform_rows(table, unknown="drop")


@pytest.mark.parametrize("missing", ["drop rows", "refuse"])
def test_rows_that_would_be_dropped_are_refused(missing):
    table = mixed().assign(colour=["red", "blue"] * 20)
    complete = table.dropna()
    preparation = prepare(complete, missing=missing).preparation
    assert preparation.transform(complete).shape[0] == len(complete)
    with pytest.raises(DataError, match="Row 0 has a missing value in the columns"):
        preparation.transform(table)


def test_rows_without_any_value_are_refused():
    preparation = prepare({"a": [1.0, 2, 3], "b": [1.0, 2, 4]}).preparation
    with pytest.raises(DataError, match="Row 0 has no value in the columns in use"):
        preparation.transform({"a": [None], "b": [np.nan]})


def test_numbers_as_categories_are_known_by_their_value():
    table = pd.DataFrame({"a": [1.0, 2, 4], "code": [3, 7, 3]})
    preparation = prepare(table, {"code": "categorical"}).preparation
    assert preparation.transform({"a": [1, 1], "code": [7.0, 3.0]})[:, 1:].tolist() == [
        [0, 1],
        [1, 0],
    ]
    assert preparation.transform({"a": ["1"], "code": ["7"]})[0, 1:].tolist() == [0, 1]


def test_preparation_is_cloned_and_fitted_as_a_scikit_learn_transformer():
    table = mixed()
    ds = prepare(table, scale="robust", pca=2)
    again = clone(ds.preparation)
    assert not hasattr(again, "columns_")
    assert np.allclose(again.fit(table).transform(table), ds.X, atol=1e-12)
    assert again.get_params()["scale"] == "robust"
    pipeline = make_pipeline(Preparation(scale="minmax"), KMeans(2, n_init=1))
    assert pipeline.fit(table).predict(table.iloc[:3]).shape == (3,)


def test_preparation_is_described_in_one_line():
    assert repr(prepare(mixed()).preparation) == (
        "Preparation(4 columns -> 5 features, missing='median', scale='standard', "
        "categorical='one-hot')"
    )
    assert "\n" not in repr(Preparation())


def test_fitting_and_preparing_agree_on_roles():
    table = load_example("customers").table
    ds = prepare(make_dataset(table))
    X = Preparation().fit(table).transform(table)
    assert np.allclose(X, ds.X, rtol=0, atol=1e-12)
    with pytest.raises(DataError, match="no column 'agee'; did you mean 'age'"):
        Preparation(roles={"agee": "ignore"}).fit(table)


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("log", np.log),
        ("log1p", np.log1p),
        (
            "rank",
            lambda x: QuantileTransformer(n_quantiles=40).fit_transform(x[:, None])[
                :, 0
            ],
        ),
    ],
)
def test_numbers_can_be_transformed_before_scaling(kind, expected):
    table = pd.DataFrame({"a": RNG.lognormal(size=40), "b": RNG.normal(size=40)})
    ds = prepare(table, transforms={"a": kind})
    column = expected(table["a"].to_numpy())
    assert np.allclose(
        ds.X[:, 0], StandardScaler().fit_transform(column[:, None])[:, 0]
    )
    assert np.allclose(ds.X[:, 1], prepare(table).X[:, 1])
    assert any(note.startswith("Column 'a': replaced by its") for note in ds.notes) or (
        "Column 'a': replaced by the natural logarithm of 1 + value." in ds.notes
    )
    assert np.allclose(ds.preparation.transform(table), ds.X)


def test_weights_multiply_the_features_of_a_column():
    table = mixed()
    plain, ds = prepare(table), prepare(table, weights={"colour": 3, "gap": 0.5})
    factors = [
        {"colour": 3, "gap": 0.5}.get(name.split("=")[0], 1)
        for name in ds.feature_names
    ]
    assert np.allclose(ds.X, plain.X * factors)
    assert "Column 'colour': weight 3, its features multiplied by it." in ds.notes
    assert np.allclose(ds.preparation.transform(table), ds.X)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"transforms": {"a": "sqrt"}}, r"transforms\['a'\] is 'sqrt'; give one of"),
        ({"transforms": {"a": "log"}}, "has the value 0; values must be above 0"),
        ({"transforms": {"c": "log"}}, "only columns of numbers can be transformed"),
        ({"transforms": {"z": "log"}}, "'z' has a transform or a weight, but is no"),
        ({"weights": {"z": 1}}, "'z' has a transform or a weight, but is no feature"),
        ({"weights": {"a": 0}}, r"weights\['a'\] is 0; give a finite factor above 0"),
        ({"weights": {"a": np.inf}}, "finite factor"),
        ({"weights": {"a": np.nan}}, "finite factor"),
    ],
)
def test_impossible_transforms_and_weights_are_refused(options, message):
    table = pd.DataFrame({"a": [0.0, 1, 5], "c": ["x", "y", "x"]})
    with pytest.raises(ValueError, match=message):
        prepare(table, **options)


def test_famd_features_are_those_of_its_definition():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "x": rng.normal(size=80),
            "y": rng.exponential(size=80),
            "kind": rng.choice(["a", "b", "c"], 80, p=[0.6, 0.3, 0.1]),
            "sex": rng.choice(["f", "m"], 80),
        }
    )
    roles = {"kind": "categorical", "sex": "categorical"}
    found = prepare(table, roles=roles, categorical="famd")
    numbers = table[["x", "y"]]
    parts = [(numbers - numbers.mean()) / numbers.std(ddof=0)]
    for name in ("kind", "sex"):
        share = table[name].value_counts(normalize=True).sort_index()
        indicator = pd.get_dummies(table[name], dtype=float)
        parts.append((indicator - share) / np.sqrt(share))
    defined = np.hstack([part.to_numpy() for part in parts])
    np.testing.assert_allclose(found.X - found.X.mean(axis=0), defined, atol=1e-12)
    # Each number spreads the rows by 1, each category by its levels less one.
    spread = found.X.var(axis=0)
    np.testing.assert_allclose([*spread[:2], spread[2:5].sum()], [1, 1, 2])
    assert any("factor analysis of mixed data" in note for note in found.notes)
    again = found.preparation.transform(table.iloc[:7])
    np.testing.assert_allclose(again, found.X[:7])
    one_hot = prepare(table, roles=roles)
    assert list(found.feature_names) == list(one_hot.feature_names)


def test_signs_of_numbers_among_words_are_noted():
    table = pd.DataFrame({"a": ["ask", "($1)", "-$2", *(f"${k}" for k in range(40))]})
    ds = prepare(table, scale="none", missing="drop rows")
    assert ds.X[:3, 0].tolist() == [-1, -2, 0]
    assert "Column 'a': the sign '$' removed from the numbers." in ds.notes
    assert "Column 'a': cells like '($1)' read as numbers below zero." in ds.notes


def test_times_with_and_without_a_zone_are_told_apart():
    zoned = pd.DataFrame({"t": pd.date_range("2020-01-01", periods=4, tz="UTC")})
    bare = zoned.assign(t=zoned["t"].dt.tz_localize(None))
    for learnt, other, words in ((zoned, bare, "no zone"), (bare, zoned, "a zone")):
        made = Preparation(roles={"t": "numeric"}).fit(learnt)
        assert np.isfinite(made.transform(learnt)).all()
        with pytest.raises(DataError, match=f"'t' has times with {words}"):
            made.transform(other)
