import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.stats import skew

import clusterlens.compute.table.summaries as summaries
from clusterlens.compute.table import _roles
from clusterlens.compute.table._cells import to_numbers
from clusterlens.compute.table.dataset import make_dataset, prepare
from clusterlens.compute.table.examples import load_example
from clusterlens.compute.table.summaries import column_summaries, table_hints

RNG = np.random.default_rng(6)


def by_name(ds, **options):
    return {summary.name: summary for summary in column_summaries(ds, **options)}


def test_numbers_are_summarised_by_their_histogram():
    values = RNG.lognormal(0, 1.5, 500)
    found = by_name(make_dataset({"a": [*values, None], "b": range(501)}), n_bins=15)
    counts, edges = np.histogram(values, bins=15)
    assert np.array_equal(found["a"].counts, counts)
    assert np.allclose(found["a"].edges, edges)
    assert found["a"].n_missing == 1
    assert (found["a"].n_missing, found["a"].n_rows) == (1, 501)
    assert found["a"].n_distinct == 500
    assert np.isclose(found["a"].skewness, skew(values))
    assert "their logarithm in place of the values would shorten it" in found["a"].hint
    assert found["b"].hint == ""


def test_levels_are_summarised_by_their_counts():
    words = ["x"] * 5 + ["y"] * 3 + [None]
    found = by_name(make_dataset({"c": words, "flag": [True, False, None] * 3}))
    assert found["c"].levels == ("x", "y")
    assert found["c"].counts.tolist() == [5, 3]
    assert found["c"].edges is None
    assert found["c"].n_missing == 1
    assert found["flag"].counts.tolist() == [3, 3]
    assert found["c"].reason == "text with 2 different values"


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (np.r_[np.ones(50), 2, 500], "log"),
        (np.r_[np.zeros(50), 2, 500], "log1p"),
        (np.r_[-5, np.zeros(50), 500], "rank"),
        (np.r_[np.ones(50), 2, -500], "rank"),
    ],
)
def test_the_transform_that_is_hinted_at_works(values, kind):
    ds = make_dataset({"a": values, "b": np.arange(len(values))[::-1]})
    found = by_name(ds)["a"]
    assert found.transform == kind
    assert "in place of the values would shorten it" in found.hint
    assert prepare(ds, transforms={"a": kind}).X.shape[1] >= 1


def test_large_tables_are_summarised_from_a_sample_that_is_stated(monkeypatch):
    monkeypatch.setattr(summaries, "SAMPLE_ROWS", 1000)
    table = pd.DataFrame({"a": RNG.normal(size=5000), "c": list("abcde") * 1000})
    table.loc[:9, "a"] = np.nan
    found = by_name(make_dataset(table))
    assert found["a"].estimated
    assert found["a"].n_used == 1000
    assert found["a"].n_missing == 10
    assert found["c"].counts.sum() == 1000
    again = by_name(make_dataset(table))
    assert np.array_equal(found["a"].counts, again["a"].counts)
    assert not by_name(make_dataset(table.iloc[:900]))["a"].estimated


def test_every_column_of_the_mixed_example_has_a_summary():
    ds = load_example("customers")
    found = column_summaries(ds)
    assert [s.name for s in found] == list(ds.table.columns)
    for summary in found:
        total = summary.n_rows - summary.n_missing
        assert summary.counts.sum() <= total
        assert (summary.edges is None) == bool(summary.levels)
        if summary.edges is not None:
            assert summary.counts.sum() == total


def test_codes_that_were_taken_for_missing_are_neither_far_nor_a_tail():
    values = np.r_[RNG.normal(40, 9, 200), [-999] * 3, [900]]
    read = make_dataset({"age": values, "b": RNG.normal(size=204)})
    assert len(table_hints(read)[0].rows) == 4
    ds = prepare(read)
    (hint,) = table_hints(ds)
    assert hint.rows == (203,)
    assert by_name(ds)["age"].skewness == pytest.approx(skew(values[values > 0]))
    kept = prepare(read, sentinels=())
    assert len(table_hints(kept)[0].rows) == 4


def test_copies_constants_and_far_values_are_named():
    table = pd.DataFrame(
        {
            "a": [1.0, 1, 2, 3, 4, 5, 6, 7, 8, 9000],
            "b": [2.0, 2, 1, 5, 3, 2, 7, 4, 4, 4],
            "k": 7,
        },
        index=list("rstuvwxyzq"),
    )
    hints = table_hints(make_dataset(table))
    assert hints[0].startswith("1 exact copy of earlier rows, in all features")
    assert hints[1].startswith("1 column without variation: 'k'")
    assert hints[2].startswith("Column 'a': 1 value far from the others, rows q (90")
    assert len(hints) == 3
    assert (hints[0].rows, hints[0].action) == (("s",), {"copies": "once"})
    assert (hints[1].columns, hints[1].action) == (("k",), {})
    assert hints[2].columns == ("a",)
    assert (hints[2].rows, hints[2].action) == (("q",), {"transforms": {"a": "rank"}})
    assert not any("=" in hint for hint in hints)
    for hint in (hints[0], hints[2]):
        settings = prepare(make_dataset(table), **hint.action).settings
        assert all(settings[name] == value for name, value in hint.action.items())
    assert table_hints(load_example("iris"))[1:] == ()


def test_a_nearly_constant_column_names_the_rows_that_differ():
    values = np.full(336, 0.5)
    values[7] = 1
    table = {"a": values, "b": RNG.normal(size=336)}
    (hint,) = table_hints(make_dataset(table))
    assert hint.startswith("Column 'a': 335 of 336 rows have 0.5, but for 7 (1): once")
    assert (hint.columns, hint.rows, hint.action) == (("a",), (7,), {})
    scaled = prepare(make_dataset(table), scale="standard").X[:, 0]
    assert scaled[7] > 18
    values[:3] = np.nan, 0, 2
    (hint,) = table_hints(make_dataset(table | {"a": values}))
    assert "332 of 335 rows have 0.5, but for 1 (0), 2 (2), 7 (1): once" in hint
    often = np.r_[values[3:], np.ones(3)]
    found = table_hints(make_dataset({"a": often, "b": RNG.normal(size=336)}))
    assert found == ()


def test_numbers_among_words_are_read_once(monkeypatch):
    sizes = []

    def counted(values):
        sizes.append(len(values))
        return to_numbers(values)

    monkeypatch.setattr(_roles, "to_numbers", counted)
    words = [*map(str, range(3000)), "odd"]
    ds = make_dataset({"a": words, "b": list("abc") * 1000 + ["a"]})
    column_summaries(prepare(ds))
    assert table_hints(prepare(ds, scale="robust")) == ()
    assert ds.roles["a"] == "numeric"
    assert sizes.count(3001) == 1


def test_a_rare_value_of_two_is_no_long_tail():
    flag = by_name(make_dataset(pd.DataFrame({"flag": [0] * 95 + [1] * 5})))["flag"]
    forced = make_dataset(pd.DataFrame({"flag": [0.0] * 95 + [1.0] * 5}))
    numeric = by_name(prepare(forced, roles={"flag": "numeric"}))["flag"]
    assert numeric.skewness > 4
    for summary in (flag, numeric):
        assert (summary.hint, summary.transform) == ("", "")


@pytest.mark.parametrize("n_bins", [0, 201, 2.5])
def test_impossible_numbers_of_bins_are_refused(n_bins):
    with pytest.raises(ValueError, match="n_bins is"):
        column_summaries(load_example("iris"), n_bins)


@settings(max_examples=60)
@given(
    st.lists(
        st.none() | st.floats() | st.sampled_from(["a", "1", "?"]) | st.booleans(),
        min_size=1,
        max_size=8,
    )
)
@example([0.0, 0.0, 0.0, 7.2e307])
@example([-1.7e308, -1.7e308, 1.7e308, 1.7e308])
def test_any_column_has_a_summary_and_hints(cells):
    ds = make_dataset(pd.DataFrame({"a": pd.Series(cells, dtype=object)}))
    (summary,) = column_summaries(ds)
    assert summary.n_missing + summary.counts.sum() <= len(cells) or summary.levels
    assert all(isinstance(hint, str) for hint in table_hints(ds))
