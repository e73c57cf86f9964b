"""A right call of every public callable, for the tests of what all have in common.

A name of `clusterlens.__all__` without a right call fails in those tests.
"""

import inspect
import shutil
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd

import clusterlens as cl

# Records that functions return, and errors: nobody has to make them.
RESULTS = {
    *("AdjustedIndex", "AgreementCost", "AgreementTree", "BrouwerIndex", "Cancelled"),
    *("ClusterConsensus", "ClusterProfiles", "ClusterSeparation", "ClusterStability"),
    *("ClusterRule", "ClusterRules", "TypingTool"),
    *("ClosestCut", "ConsensusTree"),
    *("ConstraintError", "CriterionGrid", "DataError", "Dataset", "DirichletFit"),
    *("Drift", "Migration", "Refit"),
    *(
        "Hubs",
        "IndexValue",
        "KSelection",
        "LabelCheck",
        "LabelEvidence",
        "LiveSolution",
        "NDC",
    ),
    *(
        "NullAgreement",
        "PairView",
        "PartitionComparison",
        "PoolAgreement",
        "PoolEstimate",
        "PoolMakeUp",
    ),
    *("Preparation", "ProgressiveRanking", "Projection", "Ranking"),
    "ScaledRun",
    *("ResampledConsensus", "Robustness", "SampleDiscordance", "SampleReport"),
    *(
        "AnswerModels",
        "AnswerPosterior",
        "ColumnDistribution",
        "ColumnSummary",
        "LinkPreview",
        "ModelMap",
        "SmoothingStep",
        "Suggestion",
        "Tile",
    ),
    *("PlannedStep", "PoolModel", "RunComparison", "Uncertainty"),
}
# Entries of registries: records of functions that developers fill in.
ENTRIES = {"ConsensusFunction", "LabelAnchor", "Score"}

N = 24
X = np.random.default_rng(0).normal(size=(N, 2)) + np.repeat([[0, 0], [9, 9]], 12, 0)
LABELS = np.repeat([0, 1], 12)
POOL = [{"clusterer": "k-means", "n_clusters": [2, 3, 4]}]
U = np.stack([np.linspace(0.1, 0.9, N), np.linspace(0.9, 0.1, N)], axis=1)
ROW_IDS = [f"r{i}" for i in range(N)]


@cache
def ensemble():
    thirds, ends = np.arange(N) // 8, np.minimum(np.arange(N), 3)
    return cl.Ensemble(
        [LABELS, LABELS, thirds, ends, np.arange(N) % 2],
        families=["a", "a", "b", "b", "c"],
    )


@cache
def agreement():
    return cl.count_agreements(ensemble())


@cache
def constraints():
    return cl.Constraints(must_link=[(0, 1)], cannot_link=[(0, 23)])


@cache
def dataset():
    return cl.prepare(pd.DataFrame(X, index=ROW_IDS, columns=["a", "b"]))


@cache
def saved_ensemble():
    path = Path(tempfile.mkdtemp(), "ensemble.parquet")
    ensemble().save(path)
    return path


@cache
def saved_segmentation():
    path = Path(tempfile.mkdtemp(), "segmentation.lens")
    cl.Segmentation(dataset(), LABELS).save(path)
    return path


@cache
def saved_table():
    path = Path(tempfile.mkdtemp(), "table.parquet")
    dataset().table.to_parquet(path)
    return path


@cache
def landmarks():
    return cl.prepare(cl.draw_landmarks(saved_table(), n_jobs=1))


@cache
def saved_run():
    out = saved_table().parent / "run"
    cl.run_at_scale(saved_table(), out, POOL, n_jobs=1)
    return out


@cache
def right_arguments(name):
    """The required arguments of a callable, each of a right kind."""
    over = {"ensemble": ensemble()}
    fuzzy = {"U": U, "V": U[:, ::-1]}
    linked = {"row_ids": ROW_IDS}
    labelled = over | {"labels": LABELS}
    calls = {
        "Agreement": over
        | {
            "pair_counts": agreement().pair_counts,
            "joint_counts": agreement().joint_counts,
        },
        "KMeansSilhouette": {"max_clusters": 3, "n_init": 1},
        "ConsensusClusterer": {"pool": POOL, "n_jobs": 1},
        "SPUDS": {"n_init": 1},
        "CNSGraph": {"X": X, "max_neighbors": 6},
        "Clusterer": {"family": "f", "title": "t", "make": cl.FuzzyCMeans},
        "Ensemble": {"labels": [LABELS, 1 - LABELS]},
        "FuzzyCMeans": {"random_state": 0},
        "FuzzyPartition": {"memberships": U},
        "TileSource": over,
        "adjusted_brouwer": fuzzy,
        "adjusted_ndc": fuzzy,
        "adjusted_rand": {"a": LABELS, "b": np.arange(N) % 2},
        "attach_labels": {"ds": dataset(), "labels": {"mine": LABELS}},
        "brouwer_index": fuzzy,
        "cluster_consensus": labelled,
        "class_pair_view": {"X": X, "labels": LABELS, "a": 0, "b": 1},
        "compare_fuzzy": {"partitions": {"u": U, "v": U[:, ::-1]}},
        "inspect_sample": over | {"sample": 1},
        "iter_pool": {"X": X, "pool": POOL, "n_jobs": 1},
        "compare_partitions": {"a": LABELS, "b": np.arange(N) % 2},
        "load_ensemble": {"path": saved_ensemble()},
        "load_example": {"name": "rings"},
        "load_segmentation": {"path": saved_segmentation()},
        "migration": {"before": pd.Series(LABELS), "after": pd.Series(LABELS[::-1])},
        "run_at_scale": {
            "source": saved_table(),
            "out": saved_table().parent / "out",
            "pool": POOL,
            "n_jobs": 1,
        },
        "draw_landmarks": {"source": saved_table(), "n_landmarks": 100, "n_jobs": 1},
        "read_landmarks": {
            "folder": saved_run(),
            "source": saved_table(),
            "n_jobs": 1,
        },
        "label_rows": {
            "source": saved_table(),
            "out": saved_table().parent / "labels",
            "dataset": landmarks(),
            "ensemble": cl.run_pool(landmarks(), POOL, n_jobs=1),
            "labels": np.zeros(len(landmarks().X), int),
            "n_jobs": 1,
        },
        "refit": {
            "segmentation": cl.load_segmentation(saved_segmentation()),
            "dataset": dataset(),
            "labels": LABELS,
        },
        "prepare_again": {"dataset": dataset(), "table": dataset()},
        "smallest_changes": {
            "segmentation": cl.load_segmentation(saved_segmentation()),
            "table": dataset().table.iloc[:1],
        },
        "Segmentation": {"dataset": dataset(), "labels": LABELS},
        "column_distributions": {
            "ds": dataset(),
            "samples": [0, 1],
            "columns": ["a"],
        },
        "column_summaries": {"ds": dataset()},
        "table_hints": {"ds": dataset()},
        "border_ratios": {"X": X, "labels": LABELS},
        "label_evidence": {
            "X": X,
            "labels": LABELS,
            "n_shuffles": 2,
            "n_permutations": 5,
        },
        "models_for_answers_seconds": {
            "n_samples": 300,
            "n_partitions": 20,
            "n_clusters": [3],
        },
        "select_k_seconds": {"X": X, "n_jobs": 1},
        "mean_consensus": over | {"samples": [0, 1]},
        "merge_classes": {"labels": LABELS, "classes": [0, 1]},
        "merge_gains": {"X": X, "labels": np.arange(N) // 8, "n_permutations": 5},
        "null_agreement_seconds": {"X": X, "pool": POOL},
        "pool_agreement": over | {"labels_true": LABELS},
        "sample_discordance": fuzzy,
        "votes_together": over | {"sample": 1},
        "group_profile": {"ds": dataset(), "samples": [0, 1]},
        "cluster_stability": {
            "X": X,
            "spec": {"clusterer": "agglomerative", "n_clusters": 2},
            "n_resamples": 2,
            "n_copies": 1,
            "n_jobs": 1,
        },
        "closest_cut": over | {"max_clusters": 3},
        "cluster_separation": {"X": X, "labels": LABELS, "n_copies": 1},
        "cluster_profiles": {"ds": dataset(), "labels": LABELS},
        "consensus_cdf": {"agreement": agreement()},
        "consensus_kmeans": over | {"n_clusters": 2},
        "consensus_partition": over | {"n_clusters": 2},
        "consensus_tile": over | {"shape": (6, 6)},
        "consensus_tree": over | {"max_clusters": 3},
        "constraints_from_csv": linked
        | {"data": cl.constraints_to_csv(constraints(), ROW_IDS)},
        "constraints_from_json": linked
        | {"text": cl.constraints_to_json(constraints(), ROW_IDS)},
        "constraints_from_labels": {"labels": LABELS},
        "answer_posterior": over | {"constraints": constraints()},
        "closer_models": {
            "posterior": cl.answer_posterior(ensemble(), constraints()),
            "X": X,
            "pool": POOL,
        },
        "models_for_answers": over | {"constraints": constraints()},
        "constraints_to_csv": linked | {"constraints": constraints()},
        "constraints_to_json": linked | {"constraints": constraints()},
        "cross_tab": {"a": LABELS, "b": np.arange(N) % 2},
        "density": labelled,
        "describe_clusters": {"dataset": dataset(), "labels": LABELS},
        "compare_models": over | {"X": X, "labels_true": LABELS},
        "ensemble_nmi": labelled,
        "estimate_agreements": over | {"n_compared": 12},
        "estimate_pool": {"X": X, "pool": POOL},
        "external_index": {"name": "ari", "labels_true": LABELS, "labels": LABELS},
        "fit_dirichlet": {"U": U},
        "internal_index": {"name": "CHI", "X": X, "labels": LABELS},
        "label_match": {"X": X, "labels": LABELS, "n_permutations": 5},
        "load_memberships": {"source": pd.DataFrame(U, columns=["a", "b"])},
        "load_partitions": {"source": pd.DataFrame({"m": LABELS, "k": 1 - LABELS})},
        "load_table": {"source": pd.DataFrame(X, columns=["a", "b"])},
        "table_parts": {"source": b"a,b\n1,2\n"},
        "make_dataset": {"table": pd.DataFrame(X, columns=["a", "b"])},
        "map_models": over,
        "match_labels": {"reference": LABELS, "labels": LABELS},
        "ndc": fuzzy,
        "near_copies": over | {"model": 1},
        "null_agreement": {"X": X, "pool": POOL, "n_draws": 2, "n_jobs": 1},
        "one_hot_loss": labelled,
        "order_by_partition": over | {"model": 1},
        "pool_grids": {"pool": POOL, "n_samples": N},
        "preview_link": {"ranking": cl.rank_partitions(ensemble()), "pair": (2, 5)},
        "pool_specs": {"pool": POOL, "X": X},
        "prepare": {"ds": pd.DataFrame(X, columns=["a", "b"])},
        "project": {"ds": X},
        "resample_consensus": {
            "X": X,
            "n_clusters": [2],
            "n_resamples": 2,
            "n_jobs": 1,
        },
        "compare_runs": {"first": ensemble(), "second": ensemble()},
        "take_rows": {"ds": dataset(), "rows": [0, 1, 2, 12, 13]},
        "run_pool": {"X": X, "pool": POOL, "n_jobs": 1},
        "select_k": {
            "X": X,
            "ks": [2],
            "n_resamples": 2,
            "n_draws": 1,
            "level": 0.5,
            "n_jobs": 1,
        },
        "threshold_scores": {"agreement": agreement()},
        "typing_tool": {"dataset": dataset(), "labels": LABELS},
        "to_csv_bytes": {"table": pd.DataFrame({"a": [1, 2]})},
    }
    if name in calls:
        return calls[name]
    required = {
        p.name
        for p in inspect.signature(getattr(cl, name)).parameters.values()
        if p.default is p.empty
    }
    return {key: value for key, value in over.items() if key in required}


def public_callables():
    """Names of what people call, registries and results left out."""
    return [
        name
        for name in cl.__all__
        if callable(getattr(cl, name))
        and name not in RESULTS | ENTRIES | {"compile_kernels"}
        and not getattr(cl, name).__module__.startswith("clusterlens.ui")
    ]


def is_estimator(name):
    return hasattr(getattr(cl, name), "fit")


def parameters(name):
    """Names of the parameters, including the table of fit for estimators."""
    given = list(inspect.signature(getattr(cl, name)).parameters)
    return [*given, "X"] if is_estimator(name) else given


def call(name, /, **changed):
    """Call with right arguments except for the changed ones."""
    arguments = right_arguments(name) | changed
    if "out" in arguments and changed.keys() - {"out"}:  # another run
        arguments["out"] = saved_table().parent / "other"
        shutil.rmtree(arguments["out"], ignore_errors=True)
    if not is_estimator(name):
        result = getattr(cl, name)(**arguments)
        return list(result) if isinstance(result, Iterator) else result
    table = arguments.pop("X", X)
    return getattr(cl, name)(**arguments).fit(table)
