"""The benchmark of evidence accumulation on cases small enough to check by hand."""

import numpy as np
import pandas as pd
import pytest

from benchmarks import eac


def test_nursery_is_every_combination_of_its_levels_once():
    X = eac.nursery()
    assert X.shape == (12960, 27)
    assert len(np.unique(X, axis=0)) == len(X)
    assert (X.sum(axis=1) == len(eac.NURSERY_LEVELS)).all()
    # Every level of an attribute is as frequent as its others.
    starts = np.cumsum((0, *eac.NURSERY_LEVELS[:-1]))
    shares = [
        X[:, start : start + n].mean(axis=0)
        for start, n in zip(starts, eac.NURSERY_LEVELS, strict=True)
    ]
    for share, n in zip(shares, eac.NURSERY_LEVELS, strict=True):
        assert share == pytest.approx(np.full(n, 1 / n))
    X, n_classes = eac.load(None, "nursery", standardise=False)
    assert n_classes == 5


def test_empty_cells_get_the_mean_of_their_column(tmp_path):
    table = pd.DataFrame({"a": [1.0, None, 3.0], "b": [0.0, 1.0, 5.0], "label": "xyx"})
    table["label"] = list("xyx")
    table.to_csv(tmp_path / "small.csv.gz", index=False)
    X, n_classes = eac.load(tmp_path, "small", standardise=False)
    assert X.tolist() == [[1, 0], [2, 1], [3, 5]]
    assert n_classes == 2
    assert eac.load(tmp_path, "absent", standardise=False) is None


def test_report_puts_printed_values_beside_and_says_what_is_not_the_papers(
    tmp_path, capsys, monkeypatch
):
    monkeypatch.setattr(eac, "N_CLUSTERS", 3)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2)) + 9 * np.eye(3)[np.repeat([0, 1, 2], 20), :2]
    results = tmp_path / "eac.csv"
    eac.run_set("breastcancer", X, 3, 2, results)
    eac.report(pd.read_csv(results), results)
    text = capsys.readouterr().out
    table = pd.read_csv(results).groupby("method")["density"].mean() * 100
    assert f"{table['kmeans']:.1f} (85.7, {table['kmeans'] - 85.7:+.1f})" in text
    assert "{'breastcancer': 2}" in text
    assert "breastcancer: 16 empty cells" in text
    assert "gisette: no results" in text
