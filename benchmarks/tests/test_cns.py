"""The CNS benchmark on cases small enough for dense algebra."""

import json

import numpy as np
import pandas as pd
import pytest

from benchmarks import cns
from clusterlens.compute.estimators.cns.cns import CNS
from clusterlens.compute.estimators.neighbors import neighbor_table, with_self_first


def blobs():
    rng = np.random.default_rng(0)
    centres = 8 * np.eye(3)[np.repeat([0, 1, 2], 25)]
    return centres[:, :2] + rng.normal(size=(75, 2))


def inverse(table, alpha):
    """Dense (I - (1 - alpha) W)^-1."""
    n_samples, k = table.shape
    W = np.zeros((n_samples, n_samples))
    for i, neighbours in enumerate(table):
        W[i, neighbours] = 1 / k
    return np.linalg.inv(np.eye(n_samples) - (1 - alpha) * W)


@pytest.mark.parametrize("alpha", [0.05, 0.3, 0.9])
def test_magnitudes_are_the_column_sums_of_the_inverse(alpha):
    table = with_self_first(neighbor_table(blobs(), 6)[0], 6)
    dense = inverse(table, alpha).sum(axis=0)
    assert cns.magnitudes(table, alpha) == pytest.approx(dense, rel=1e-9)


def test_printed_candidates_follow_dense_algebra():
    X = blobs()
    version = cns.VERSIONS["v2"]
    listed = neighbor_table(X, max(version.neighbors_grid(len(X))))[0]

    def solutions():
        for k in version.neighbors_grid(len(X)):
            table = with_self_first(listed, k)
            for alpha in version.alpha_grid(len(X)):
                M = inverse(table, alpha)
                size = M.sum(axis=0)
                seeds = [
                    i
                    for i, row in enumerate(table)
                    if size[i] >= size[row].max() - 1e-9
                ]
                yield k, alpha, alpha * M[:, seeds]

    expected = cns.best_labels(solutions(), len(X))
    found = cns.with_printed_candidates(X, "euclidean")
    assert len(np.unique(found)) > 1
    np.testing.assert_array_equal(found, expected)


def test_the_shared_choice_gives_the_labels_of_the_estimator():
    X = blobs()
    expected = CNS(version="v2").fit(X).labels_
    # No rows are equal, so that no walk is lost.
    found = cns.losing_walks(X, "euclidean")
    assert cns.external_index("ari", expected, found) == 1


def test_wins_minus_losses_count_tasks_that_both_ran_on():
    scores = pd.DataFrame(
        {"a": [1.0, 2.0, 3.0, 4.0], "b": [0.0, 2.0, 5.0, np.nan], "c": [0, 0, 0, 9]}
    )
    table = cns.wins(scores)
    assert table.loc["a"].to_dict() == {"a": 0, "b": 0, "c": 2}
    assert table.loc["b", "c"] == 2
    assert (table.to_numpy() == -table.to_numpy().T).all()


def test_wins_stand_beside_those_of_the_printed_tables(tmp_path, capsys):
    published = json.loads(cns.PUBLISHED.read_text())["data_sets"]
    rows = [
        {"task": task, "method": method}
        | {name: published[task][name][method] for name in cns.SCORES}
        for task in ("iris", "wine", "zoo")
        for method in ("KM", "CNSe", "CNSc")
    ]
    path = tmp_path / "found.csv"
    pd.DataFrame(rows).to_csv(path, index=False)
    cns.run_wins(cns.argparse.Namespace(out=path))
    text = capsys.readouterr().out
    assert "own: 3 of the 48 printed tasks" in text
    assert text.count("mean 0.0, largest 0; the same method ahead in 3 of 3") == 3
    first = sum(
        np.sign(published[t]["AMI"]["KM"] - published[t]["AMI"]["CNSe"])
        for t in published
    )
    assert f"{first:+.0f}" in text.split("all 48 tasks")[1].split("\n")[2]
