"""Results show themselves in notebooks: a line, and the table where they are one."""

import numpy as np
import pytest

import clusterlens as cl
from tests.right_calls import call, ensemble


@pytest.mark.parametrize(
    "name",
    [
        *("rank_partitions", "cluster_consensus", "consensus_tree", "rank_robustness"),
        *("map_models", "inspect_sample", "pool_agreement", "compare_runs"),
        *("select_k", "cluster_stability", "resample_consensus", "null_agreement"),
        *("describe_clusters", "typing_tool"),
    ],
)
def test_tables_are_shown_and_their_line_is_said(name):
    result = call(name)
    shown = result._repr_html_()
    assert type(result).__name__ in shown
    assert shown.count("<table") == 1
    assert str(result.to_frame().columns[0]) in shown


def test_an_ensemble_is_a_table_of_its_models():
    frame = ensemble().to_frame()
    assert frame["n_clusters"].tolist() == [2, 2, 3, 4, 2]
    assert frame["family"].tolist() == list(ensemble().families)
    assert "n_missing" not in frame
    assert "Ensemble(5 partitions of 24 samples)" in ensemble()._repr_html_()


def test_names_are_escaped_and_long_tables_cut():
    names = ["<script>alert(1)</script>"] * 50
    shown = cl.Ensemble(np.arange(100).reshape(50, 2) % 3, names)._repr_html_()
    assert "<script>" not in shown
    assert shown.count("<tr") < 30


def test_what_is_no_table_is_left_to_its_line():
    assert cl.count_agreements(ensemble())._repr_html_() is None
