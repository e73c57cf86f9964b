"""The contract of all public callables: wrong input of any kind gets a clear sentence.

Parameters come from the signatures, so that what becomes public is covered; a name
without a right call to start from fails.
"""

import inspect
import re
import traceback
import warnings
from collections.abc import Iterator
from functools import cache

import numpy as np
import pandas as pd
import pytest

import clusterlens as cl

# Records that functions return, and errors: nobody has to make them.
RESULTS = {
    *("AdjustedIndex", "AgreementCost", "AgreementTree", "BrouwerIndex", "Cancelled"),
    *("ClusterConsensus", "ClusterProfiles", "ClusterStability", "ConsensusTree"),
    *("ConstraintError", "CriterionGrid", "DataError", "Dataset", "DirichletFit"),
    *("Hubs", "IndexValue", "LabelCheck", "LabelEvidence", "LiveSolution", "NDC"),
    *("NullAgreement", "PairView", "PoolAgreement", "PoolEstimate", "PoolMakeUp"),
    *("Preparation", "ProgressiveRanking", "Projection", "Ranking"),
    *("ResampledConsensus", "Robustness", "SampleDiscordance", "SampleReport"),
    *("ColumnSummary", "LinkPreview", "SmoothingStep", "Suggestion", "Tile"),
    *("Uncertainty",),
}
# Entries of registries: records of functions that developers fill in.
ENTRIES = {"ConsensusFunction", "Score"}

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
def right_arguments(name):
    """The required arguments of a callable, each of a right kind."""
    over = {"ensemble": ensemble()}
    fuzzy = {"U": U, "V": U[:, ::-1]}
    linked = {"row_ids": ROW_IDS}
    judged = over | {"labels": LABELS}
    calls = {
        "Agreement": over
        | {
            "pair_counts": agreement().pair_counts,
            "joint_counts": agreement().joint_counts,
        },
        "KMeansSilhouette": {"max_clusters": 3, "n_init": 1},
        "SPUDS": {"n_init": 1},
        "CNSGraph": {"X": X, "max_neighbors": 6},
        "Clusterer": {"family": "f", "title": "t", "make": cl.FuzzyCMeans},
        "Ensemble": {"labels": [LABELS, 1 - LABELS]},
        "FuzzyPartition": {"memberships": U},
        "TileSource": over,
        "adjusted_ndc": fuzzy,
        "adjusted_rand": {"a": LABELS, "b": np.arange(N) % 2},
        "attach_labels": {"ds": dataset(), "labels": {"mine": LABELS}},
        "brouwer_index": fuzzy,
        "cluster_consensus": judged,
        "class_pair_view": {"X": X, "labels": LABELS, "a": 0, "b": 1},
        "compare_fuzzy": {"partitions": {"u": U, "v": U[:, ::-1]}},
        "inspect_sample": over | {"sample": 1},
        "label_evidence": {
            "X": X,
            "labels": LABELS,
            "n_shuffles": 2,
            "n_permutations": 5,
        },
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
            "n_jobs": 1,
        },
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
        "constraints_to_csv": linked | {"constraints": constraints()},
        "constraints_to_json": linked | {"constraints": constraints()},
        "cross_tab": {"a": LABELS, "b": np.arange(N) % 2},
        "density": judged,
        "ensemble_nmi": judged,
        "estimate_agreements": over | {"n_compared": 12},
        "estimate_pool": {"X": X, "pool": POOL},
        "external_index": {"name": "ari", "labels_true": LABELS, "labels": LABELS},
        "fit_dirichlet": {"U": U},
        "internal_index": {"name": "CHI", "X": X, "labels": LABELS},
        "label_match": {"X": X, "labels": LABELS, "n_permutations": 5},
        "load_partitions": {"source": pd.DataFrame({"m": LABELS, "k": 1 - LABELS})},
        "load_table": {"source": pd.DataFrame(X, columns=["a", "b"])},
        "make_dataset": {"table": pd.DataFrame(X, columns=["a", "b"])},
        "match_labels": {"reference": LABELS, "labels": LABELS},
        "ndc": fuzzy,
        "null_agreement": {"X": X, "pool": POOL, "n_draws": 2, "n_jobs": 1},
        "one_hot_loss": judged,
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
        "run_pool": {"X": X, "pool": POOL, "n_jobs": 1},
        "threshold_scores": {"agreement": agreement()},
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


# Raw errors still get through here; what is mended leaves the list.
NOT_YET = {
    *("attach_labels", "class_pair_view", "cluster_profiles", "compare_fuzzy"),
    *("group_profile", "label_evidence", "load_example", "load_table", "make_dataset"),
    *("column_summaries", "table_hints"),
    *("merge_classes", "pool_agreement", "prepare", "project", "to_csv_bytes"),
}


def public_callables():
    """Names of what people call, registries and results left out."""
    return [
        name
        for name in cl.__all__
        if callable(getattr(cl, name))
        and name not in RESULTS | ENTRIES | {"compile_kernels"}
        and name not in NOT_YET
    ]


def is_estimator(name):
    return hasattr(getattr(cl, name), "fit")


def parameters(name):
    """Names of the parameters; for estimators the table of fit is one of them."""
    given = list(inspect.signature(getattr(cl, name)).parameters)
    return [*given, "X"] if is_estimator(name) else given


def call(name, /, **changed):
    """Call with right arguments but for those that are changed."""
    arguments = right_arguments(name) | changed
    if not is_estimator(name):
        result = getattr(cl, name)(**arguments)
        return list(result) if isinstance(result, Iterator) else result
    table = arguments.pop("X", X)
    return getattr(cl, name)(**arguments).fit(table)


WRONG = {
    "None": None,
    "a text": "nowhere",
    "bytes": b"\x00\xff",
    "an object": object(),
    "NaN": np.nan,
    "infinity": np.inf,
    "minus infinity": -np.inf,
    "a negative number": -1,
    "zero": 0,
    "one": 1,
    "a fraction": 0.5,
    "a whole float": 2.0,
    "a complex number": 1j,
    "truth": True,
    "an empty list": [],
    "an empty dict": {},
    "a dict of texts": {"share": "a"},
    "a list of one text": ["aari"],
    "a mixed list": [1, "a", None],
    "a ragged list": [[1], [1, 2]],
    "a short vector": [0, 1, 1],
    "a vector of NaN": [np.nan] * N,
    "a table of one row": np.ones((1, 2)),
    "a table of no rows": np.empty((0, 2)),
    "a table of no columns": np.empty((N, 0)),
    "a table of texts": np.full((N, 2), "a"),
    "three dimensions": np.zeros((2, 3, 4)),
    "a short table": np.ones((5, 2)),
    "an empty DataFrame": pd.DataFrame(),
    "other partitions": cl.Ensemble([[0, 1, 1], [0, 0, 1]]),
    "one partition": cl.Ensemble([LABELS]),
    "one sample": cl.Ensemble([[0], [0], [0]]),
    "links of other samples": cl.Constraints(must_link=[(50, 51)]),
    "a date": pd.Timestamp("2020-01-01"),
}
# Their size does not fit the other arguments, of which either may be named.
OF_OTHER_SIZE = {
    *("other partitions", "one partition", "one sample", "a short vector"),
    *("a short table", "a table of one row", "a vector of NaN", "a list of one text"),
}
# What a table or a file holds is said of it, and names of columns are columns.
SAID_AS = {
    "pool": "pool|clusterer",
    "spec": "spec|clusterer",
    "source": r"source|[Tt]able|cannot be opened",
    "row_id": "row_id|column",
    "label": "label|[Cc]olumn",
    "columns": "column",
    "row_ids": "row_ids|without ids",
    "ds": "ds|[Tt]able",
    "table": "[Tt]able",
}
# Any text is an address of a scheduler, which would be looked for; a class may well be
# declared to be none, and -1 is a number of jobs (worker processes take long to start).
NOT_WRONG = {
    ("client", "a text"),
    *(("unlabelled", kind) for kind in ("zero", "one")),
    ("n_jobs", "a negative number"),
}


def complaint(name, parameter, kind):
    """Say what is wrong with the answer to a value, None if nothing is."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warnings.simplefilter("error", RuntimeWarning)
            call(name, **{parameter: WRONG[kind]})
    except (ValueError, TypeError, MemoryError) as error:
        raised_in = traceback.extract_tb(error.__traceback__)[-1].filename
        ours = "clusterlens" in raised_in and "site-packages" not in raised_in
        if is_estimator(name) and parameter == "X" and "sklearn" in raised_in:
            return None  # estimators refuse tables as scikit-learn does
        if not ours:
            return f"raw {error!r}"
        nameable = parameters(name) if kind in OF_OTHER_SIZE else [parameter]
        patterns = [SAID_AS.get(known, rf"\b{known}\b") for known in nameable]
        if not any(re.search(pattern, str(error)) for pattern in patterns):
            return f"unnamed {error!r}"
    except Exception as error:
        return f"raw {error!r}"
    return None


@pytest.mark.parametrize(
    ("name", "parameter"),
    [
        (name, parameter)
        for name in public_callables()
        for parameter in parameters(name)
    ],
)
def test_wrong_input_gets_a_sentence_that_names_the_parameter(name, parameter):
    complaints = {
        kind: said
        for kind in WRONG
        if (parameter, kind) not in NOT_WRONG
        and (said := complaint(name, parameter, kind))
    }
    assert complaints == {}


@pytest.mark.parametrize("name", public_callables())
def test_every_public_callable_has_a_right_call(name):
    call(name)
