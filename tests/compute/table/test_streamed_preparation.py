"""A table that is read in parts is prepared as the whole table in memory."""

import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from clusterlens.compute._plain import Record
from clusterlens.compute._validation import DataError
from clusterlens.compute.table import column_streams
from clusterlens.compute.table.column_streams import Moments, TableStream
from clusterlens.compute.table.dataset import make_dataset, prepare
from clusterlens.compute.table.quantiles import QuantileSketch, weighted_quantile
from clusterlens.compute.table.row_encoder import RowEncoder
from clusterlens.compute.table.streamed_preparation import StreamedPreparation


def mixed_table(n=600):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "id": np.arange(n),
            "x": rng.normal(5, 2, n),
            "skew": rng.exponential(size=n),
            "few": rng.integers(0, 4, n),
            "word": rng.choice(["a", "b", "c", None], n),
            "size": rng.choice(["low", "high", "medium", "n/a"], n),
            "written": rng.choice(["1", "2.5", " 7"], n),
            "mixed": rng.choice(["1", "2", "x"], n, p=[0.6, 0.37, 0.03]),
            "flag": rng.random(n) < 0.3,
            "same": 1.0,
            "day": pd.date_range("2020-01-01", periods=n),
        }
    )
    frame.loc[rng.random(n) < 0.1, "x"] = np.nan
    frame.loc[::50, "skew"] = -999
    frame.loc[3, "x"] = np.inf
    return pa.Table.from_pandas(frame, preserve_index=False)


def streamed(table, step=70):
    stream = TableStream(table.schema)
    for start in range(0, table.num_rows, step):
        part = TableStream(table.schema)
        part.add(table.slice(start, step))
        stream.merge(part)
    return stream


RULES = [
    {},
    {"scale": "robust"},
    {"scale": "minmax", "categorical": "famd"},
    {"missing": "mean", "categorical": "ordinal", "scale": "none"},
    {"missing": "most frequent", "categorical": "ignore"},
    {"roles": {"few": "categorical", "written": "ordinal", "mixed": "categorical"}},
]


@pytest.mark.parametrize("rules", RULES, ids=str)
def test_a_streamed_table_is_prepared_as_the_whole_one(rules):
    table = mixed_table()
    whole = prepare(make_dataset(table.to_pandas()), **rules)
    learnt = StreamedPreparation(streamed(table), **rules)
    encoder = learnt.fit()
    assert learnt.roles == dict(whole.roles) | rules.get("roles", {})
    assert tuple(encoder.preparation.get_feature_names_out()) == whole.feature_names
    parts = [encoder.features(table.slice(i, 70))[0] for i in range(0, 600, 70)]
    np.testing.assert_allclose(np.concatenate(parts), whole.X, rtol=1e-10, atol=1e-12)


def test_an_encoder_that_was_written_gives_the_same_features():
    table = mixed_table()
    encoder = StreamedPreparation(streamed(table)).fit()
    text = json.dumps(encoder.to_plain())
    again = RowEncoder.from_plain(Record(json.loads(text), "the encoder"))
    for one, other in zip(encoder.features(table), again.features(table), strict=True):
        np.testing.assert_array_equal(one, other)


def test_rows_without_any_value_take_no_part():
    frame = pd.DataFrame({"x": [1.0, None, 4.0, 9.0], "y": [None, None, 2.0, 5.0]})
    table = pa.Table.from_pandas(frame)
    learnt = StreamedPreparation(streamed(table))
    assert learnt.may_have_empty_rows
    encoder = learnt.fit(learnt.empty_rows(table))
    X, kept = encoder.features(table)
    assert kept.tolist() == [True, False, True, True]
    np.testing.assert_allclose(X, prepare(frame).X)


@pytest.mark.parametrize("missing", ["median", "mean"])
def test_more_different_numbers_than_are_kept_leave_a_known_error(monkeypatch, missing):
    monkeypatch.setattr(column_streams, "MOST_DISTINCT", 50)
    rng = np.random.default_rng(1)
    values = rng.normal(size=20_000)
    values[:5_000] = np.nan
    table = pa.table({"x": values, "y": rng.integers(0, 9, 20_000)})
    stream = streamed(table, 1_000)
    assert stream.columns["x"].distinct.values is None
    assert stream.columns["x"].sketch.error == 0  # fewer values than a level holds
    encoder = StreamedPreparation(stream, missing=missing).fit()
    whole = prepare(table.to_pandas(), missing=missing)
    np.testing.assert_allclose(encoder.features(table)[0], whole.X, 1e-10, 1e-12)


def test_quantiles_of_a_sketch_are_within_its_stated_error():
    rng = np.random.default_rng(2)
    column = rng.exponential(size=30_000)
    parts = []
    for some in np.array_split(column, 7):
        parts.append(QuantileSketch(size=200))
        for batch in np.array_split(some, 9):
            parts[-1].add(batch)
    sketch = QuantileSketch(size=200)
    for part in parts:
        sketch.merge(part)
    values, weights = sketch.points()
    assert weights.sum() == sketch.count == len(column)
    assert 0 < sketch.error < 0.05 * len(column)
    assert len(values) < 200 * 10
    column.sort()
    for share in (0.001, 0.25, 0.5, 0.75, 0.999):
        found = weighted_quantile(values, weights, share)
        assert abs(np.searchsorted(column, found) - share * 29_999) <= sketch.error + 1


@pytest.mark.parametrize("share", [0, 0.25, 0.5, 0.9, 1])
def test_weighted_quantiles_are_those_of_repeated_values(share):
    values, weights = np.array([3.0, -1.0, 7.5, 2.0]), np.array([2, 1, 5, 3])
    expected = np.quantile(np.repeat(values, weights), share)
    assert weighted_quantile(values, weights, share) == expected


def test_moments_do_not_cancel_far_from_zero():
    values = 1e9 + np.random.default_rng(3).normal(size=9_000)
    sum_ = Moments()
    for some in np.array_split(values, 11):
        sum_.merge(Moments.of(some))
    assert sum_.count == 9_000
    assert sum_.mean == pytest.approx(values.mean(), rel=1e-14)
    assert sum_.squares / 9_000 == pytest.approx(values.var(), rel=1e-6)


def test_text_of_too_many_levels_is_left_out_and_refused_as_a_feature(monkeypatch):
    monkeypatch.setattr(column_streams, "MOST_DISTINCT", 50)
    words = [f"w{i % 90}" for i in range(900)]
    table = pa.table({"word": words, "x": np.arange(900) % 7})
    learnt = StreamedPreparation(streamed(table))
    assert learnt.roles["word"] == "ignore"
    assert any("'word'" in note for note in learnt.notes)
    with pytest.raises(DataError, match=r"'word' has more than .* different values"):
        StreamedPreparation(streamed(table), {"word": "categorical"})


@pytest.mark.parametrize(
    ("table", "rules", "message"),
    [
        ({"x": [2.0, 2.0, 2.0], "y": [1.0, 1.0, 1.0]}, {}, "No column serves"),
        ({"x": [2.0, 2.0, 2.0]}, {"roles": {"x": "numeric"}}, "No column varies"),
        ({"x": [2.0, None, 3.0, 1.0]}, {"missing": "refuse"}, "'x' has 1 missing"),
        ({"x": [2.0, 1.0]}, {}, "at least 3"),
        ({"x": [1.0, 2.0, 3.0]}, {"roles": {"z": "numeric"}}, "no column 'z'"),
        ({"x": [[1], [2], [3]]}, {"roles": {"x": "numeric"}}, "cells of the type list"),
        ({"x": [1.0, 2.0, 1e200]}, {}, "too large"),
    ],
)
def test_what_cannot_be_prepared_is_refused(table, rules, message):
    with pytest.raises(DataError, match=message):
        StreamedPreparation(streamed(pa.table(table)), **rules).fit()
