"""Comparison with other methods that ask for answers and use them.

    python -m benchmarks.answers_compared --data FOLDER --cache POOLS [--jobs 2]

Tables, pools and halves are the same as in `benchmarks.answers`. Every method may ask
5, 10, 20 and 50 questions, answered by the classes, with 0, 5, 10 or 20% of wrong
answers, drawn by one seed; contradictions to earlier answers are not accepted. The
benchmark compares the adjusted Rand indices of

- *pool*: the leader by evidence, questions by `suggest_pairs(..., "evidence")`, and
  *share*, *random*, *farthest first*: the same with other questions (farthest-first
  traversal asks each next sample, the one farthest from those asked about, about one of
  each group found so far; Basu et al. 2004);
- *made*: the leader of `models_for_answers`, questions as for *pool*, without and with
  the features; *linkage* is the first linkage made, for any probability;
- *consensus*: the consensus partition of the pool without and with the models made for
  the answers, with votes by the posterior and links obeyed, at the number of clusters
  of the closest cut;
- *COBS*: the model of the pool that keeps most of as many random links, the mean where
  several do (Van Craenendonck & Blockeel 2017);
- *COBRAS*: super-instances by k-means, questions of its own (Van Craenendonck,
  Dumancic, Van Wolputte & Blockeel 2018; package cobras-ts);
- *NPU*: normalised point-based uncertainty (Xiong, Azimi & Fern 2014; package
  active-semi-supervised-clustering), used by `ConstrainedKMeans`, which gets the number
  of classes; *MinMax*: the same with min-max questions (Mallapragada, Jin & Jain 2008),
  which need that number, too; *MPCKMeans, NPU* and *MPCKMeans, MinMax*: the same links
  used by MPCKMeans (Bilenko, Basu & Mooney 2004; same package).

The results are kept in POOLS, table by table. The output has all means, and for 10 and
20 right answers also quartiles, the number of tables where *made* is ahead or behind by
more than 0.01, and the number where a method exceeds the best model of the pool by any
amount. A package that is not installed is left out, with a message.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from sklearn.cluster import KMeans
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import adjusted_rand_score

from benchmarks.answers import (
    ASKERS,
    TIE,
    WORTH,
    answered,
    consensus_by,
    features,
    parser_of,
    pool_of,
    read_table,
    tables,
)
from clusterlens.compute.ensemble.agreement import Agreement, count_agreements
from clusterlens.compute.ensemble.constraints import ConstraintError, Constraints
from clusterlens.compute.ensemble.ensemble import Ensemble
from clusterlens.compute.estimators.constrained_k_means import ConstrainedKMeans
from clusterlens.compute.pool.answer_models import models_for_answers
from clusterlens.compute.ranking.answers import answer_posterior

QUESTIONS = (5, 10, 20, 50)
WRONG = (0.0, 0.05, 0.1, 0.2)
IN_FULL = (10, 20)
AHEAD = 0.01
TRIES = 50
PACKAGED = ("NPU", "MinMax")


class Enough(Exception):
    """No question is left."""


class Oracle:
    """Answers by the classes, as often as it may, some wrongly, and keeps the links."""

    def __init__(self, classes: np.ndarray, wrong: float) -> None:
        self.classes, self.wrong = classes, wrong
        self.max_queries_cnt = QUESTIONS[-1]  # the name by which MinMax asks for it
        self.links: dict[tuple[int, int], bool] = {}
        self._rng = np.random.default_rng([0, 7])

    def query(self, i: int, j: int) -> bool:
        """Say whether two samples belong together."""
        pair = int(i), int(j)
        if pair not in self.links:
            if len(self.links) == self.max_queries_cnt:
                raise Enough
            right = bool(self.classes[i] == self.classes[j])
            self.links[pair] = right != (self._rng.random() < self.wrong)
        return self.links[pair]

    def constraints(self) -> dict[int, Constraints]:
        """Return the links for each number of answers."""
        found, links, known = {}, ([], []), Constraints()
        for n, (pair, together) in enumerate(self.links.items(), 1):
            links[not together].append(pair)
            try:
                known = Constraints(*links)
            except ConstraintError:
                links[not together].pop()
            found[n] = known
        return {most: found[min(most, len(found))] for most in QUESTIONS}


def farthest_first(X: np.ndarray, oracle: Oracle) -> None:
    """Ask each next sample, far from those before, about one of each group found."""
    groups = [int(((X - X.mean(axis=0)) ** 2).sum(axis=1).argmin())]
    gap = ((X - X[groups[0]]) ** 2).sum(axis=1)
    while gap.any():
        sample = int(gap.argmax())
        nearest = sorted(groups, key=lambda g: ((X[g] - X[sample]) ** 2).sum())
        if not any(oracle.query(group, sample) for group in nearest):
            groups.append(sample)
        gap = np.minimum(gap, ((X - X[sample]) ** 2).sum(axis=1))


def cobs(ensemble: Ensemble, known: Constraints, ari: np.ndarray) -> float:
    """Return the mean adjusted Rand index of the models that break fewest links."""
    broken = known.violations(ensemble)
    return float(ari[broken == broken.min()].mean())


def cobras(X: np.ndarray, oracle: Oracle, most: int) -> np.ndarray:
    """Return labels by COBRAS.

    The split is replaced because the package uses an attribute that NumPy has removed.
    """
    from cobras_ts.cobras_kmeans import COBRAS_kmeans

    class Cobras(COBRAS_kmeans):
        def split_superinstance(self, si, k):
            labels = KMeans(k, n_init=10, random_state=0).fit_predict(X[si.indices])
            parts = [np.asarray(si.indices)[labels == c] for c in np.unique(labels)]
            si.children = [self.create_superinstance(p.tolist(), si) for p in parts]
            return si.children

    class Querier:
        def query_points(self, i, j):
            return oracle.query(i, j)

        def continue_cluster_process(self):
            return True

        def update_clustering(self, clustering):
            pass

    model = Cobras(X, Querier(), most, store_intermediate_results=False)
    return np.asarray(model.cluster().construct_cluster_labeling())


def packaged(asker: str, X: np.ndarray, oracle: Oracle) -> None:
    """Let NPU or MinMax ask."""
    errors = np.geterr()
    from active_semi_clustering.active import pairwise_constraints

    np.seterr(**errors)  # which the package changes for the whole process
    np.random.seed(0)  # noqa: NPY002  (the package draws from the global state)
    n_clusters = len(np.unique(oracle.classes))

    class NPU(pairwise_constraints.NPU):
        def _most_informative(self, X, clusterer, neighborhoods):
            return most_informative(X, clusterer.labels_, neighborhoods)

    if asker == "NPU":
        NPU(_Listener(n_clusters)).fit(X, oracle)
    else:
        with suppress(KeyError):  # once it has asked about every sample
            pairwise_constraints.MinMax(n_clusters).fit(X, oracle)


def most_informative(
    X: np.ndarray, labels: np.ndarray, neighborhoods: list[list[int]]
) -> tuple[int, Any]:
    """Return the next question of the package's NPU and the odds of neighbourhoods.

    Computed as in the package, but without its loop over all pairs of samples in plain
    Python.
    """
    named = np.concatenate(neighborhoods)
    left = np.setdiff1d(np.arange(len(X)), named)
    if not len(left):
        raise Enough
    if len(neighborhoods) == 1:
        return np.random.choice(left), [1]  # noqa: NPY002
    leaves = RandomForestClassifier(50).fit(X, labels).apply(X)
    p = np.stack(
        [
            (leaves[left, None] == leaves[members]).mean(axis=(1, 2))
            for members in neighborhoods
        ],
        axis=1,
    )
    p[~p.any(axis=1)] = 1
    p /= p.sum(axis=1, keepdims=True)
    uncertainty = np.zeros(len(X))
    for sample, some in zip(left, p, strict=True):
        some = some[some > 0]
        cost = some @ np.arange(1, len(some) + 1)
        uncertainty[sample] = -some @ np.log2(some) / cost
    sample = int(uncertainty.argmax())
    return sample, p[left.searchsorted(sample)]


def mpck_means(X: np.ndarray, n_clusters: int, known: Constraints) -> np.ndarray:
    """Return labels of MPCKMeans.

    It fails where a cluster is empty, and is then started again as NPU of its package
    does; if that never helps, the result is one cluster of all samples. The two samples
    farthest apart are found without loops in plain Python, and the determinant that the
    objective adds to every cluster alike is left out.
    """
    from active_semi_clustering.exceptions import EmptyClustersException
    from active_semi_clustering.semi_supervised import pairwise_constraints

    class MPCKMeans(pairwise_constraints.MPCKMeans):
        def _find_farthest_pairs_of_points(self, X, A):
            stretched = X * np.sqrt(np.diag(A))
            best = (0, 0, 0.0)
            for i in range(1, len(X)):
                gaps = ((stretched[:i] - stretched[i]) ** 2).sum(axis=1)
                if gaps.max() > best[2]:
                    best = (i, int(gaps.argmax()), float(gaps.max()))
            return best

        def _objective_fn(self, X, i, labels, centers, k, A, farthest, must, cannot, w):
            gaps = {j: self._dist(X[i], X[j], A) for j in must[i] | cannot[i]}
            apart = sum(gaps[j] for j in must[i] if labels[j] not in (-1, k))
            joined = sum(farthest[2] - gaps[j] for j in cannot[i] if labels[j] == k)
            return self._dist(X[i], centers[k], A) + 2 * w * (apart + joined)

    np.random.seed(0)  # noqa: NPY002
    for _ in range(TRIES):
        with suppress(EmptyClustersException):
            model = MPCKMeans(n_clusters)
            return model.fit(X, ml=known.must_link, cl=known.cannot_link).labels_
    warnings.warn(f"MPCKMeans left a cluster empty {TRIES} times.", stacklevel=2)
    return np.zeros(len(X), int)


class _Listener:
    """Constrained k-means under the interface that NPU calls."""

    def __init__(self, n_clusters: int) -> None:
        self.n_clusters = n_clusters

    def fit(self, X: np.ndarray, ml: Any, cl: Any) -> _Listener:
        """Fit with must-links and cannot-links."""
        self.labels_ = (
            ConstrainedKMeans(self.n_clusters, ml, cl, n_init=4).fit(X).labels_
        )
        return self


def measure(
    name: str, ensemble: Ensemble, classes: np.ndarray, X: np.ndarray
) -> Iterator[dict]:
    """Yield rows of one table."""
    ari = np.array([adjusted_rand_score(classes, row) for row in ensemble.labels])
    if ari.max() < WORTH:
        return
    agreement = count_agreements(ensemble, n_jobs=1)
    for wrong in WRONG:
        streams = {
            asker: {
                n_answers: known
                for n_answers, known, _ in answered(
                    ensemble, classes, ask, wrong, 0, QUESTIONS
                )
            }
            for asker, ask in ASKERS.items()
        }
        for asker in ("farthest first", *PACKAGED):
            oracle = Oracle(classes, wrong)
            with left_out(asker), suppress(Enough):
                if asker in PACKAGED:
                    packaged(asker, X, oracle)
                else:
                    farthest_first(X, oracle)
            if oracle.links:
                streams[asker] = oracle.constraints()
        for most in QUESTIONS:
            links = {asker: stream[most] for asker, stream in streams.items()}
            found = dict(values(agreement, classes, X, ari, links))
            with left_out("COBRAS"):
                labels = cobras(X, Oracle(classes, wrong), most)
                found["COBRAS"] = adjusted_rand_score(classes, labels)
            found["best"] = float(ari.max())
            case = {"table": name, "wrong": wrong, "questions": most}
            for method, value in found.items():
                yield {**case, "method": method, "ari": value}


def values(
    agreement: Agreement,
    classes: np.ndarray,
    X: np.ndarray,
    ari: np.ndarray,
    links: dict[str, Constraints],
) -> Iterator[tuple[str, float]]:
    """Adjusted Rand index of each method that hears links."""

    def leader(known: Constraints) -> float:
        return float(ari[answer_posterior(agreement, known).values.argmax()])

    yield "none", leader(Constraints())
    yield "pool", leader(links["evidence"])
    yield "share", leader(links["share"])
    yield "random", leader(links["random"])
    yield "farthest first", leader(links["farthest first"])
    yield "COBS", cobs(agreement.ensemble, links["random"], ari)
    known = links["evidence"]
    posterior = answer_posterior(agreement, known)
    yield "consensus", adjusted_rand_score(classes, consensus_by(posterior))
    for name, data in (("made", None), ("made, features", X)):
        made = models_for_answers(agreement, known, data, n_jobs=1)
        labels = made.ensemble.labels
        yield name, adjusted_rand_score(classes, labels[made.leader])
        found = consensus_by(made.posterior)
        yield f"consensus, {name}", adjusted_rand_score(classes, found)
    yield "linkage", adjusted_rand_score(classes, labels[len(ari)])
    n_clusters = len(np.unique(classes))
    for asker in (asker for asker in PACKAGED if asker in links):
        known = links[asker]
        found = _Listener(n_clusters).fit(X, known.must_link, known.cannot_link).labels_
        yield asker, adjusted_rand_score(classes, found)
        found = mpck_means(X, n_clusters, known)
        yield f"MPCKMeans, {asker}", adjusted_rand_score(classes, found)


@contextmanager
def left_out(other: str) -> Iterator[None]:
    """Say where a package is not installed, and go on."""
    try:
        yield
    except ImportError as error:
        warnings.warn(f"{other} is left out: {error}", stacklevel=3)


def report(rows: pd.DataFrame) -> None:
    """Print means, quartiles, and comparisons with *made* and with the best model."""
    print(f"{rows['table'].nunique()} tables: {', '.join(rows['table'].unique())}")
    means = rows.pivot_table("ari", "method", ["wrong", "questions"], sort=False)
    print(f"\nmeans by the share of wrong answers\n{means.round(3).to_string()}")
    for most, some in rows.query("wrong == 0").groupby("questions"):
        if most not in IN_FULL:
            continue
        wide = some.pivot(index="table", columns="method", values="ari")
        table = wide.describe().T[["mean", "25%", "50%", "75%"]]
        gain = wide["made"].to_numpy()[:, None] - wide
        table["made ahead"] = (gain > AHEAD).sum()
        table["made behind"] = (gain < -AHEAD).sum()
        table["above best"] = wide.sub(wide["best"] + TIE, axis=0).gt(0).sum()
        print(
            f"\n{most} right answers\n{table.sort_values('mean').round(3).to_string()}"
        )


def measured(name: str, path: Path, cache: Path) -> tuple[str, list[dict]]:
    """Return the name and rows of one table."""
    warnings.filterwarnings("ignore", category=UserWarning, module="clusterlens")
    X = features(read_table(path).iloc[:, :-1])
    return name, list(measure(name, *pool_of(name, path, cache), X))


def main() -> None:
    """Measure and print."""
    given = parser_of(__doc__).parse_args()
    given.cache.mkdir(parents=True, exist_ok=True)
    kept = given.cache / f"compared_{given.half}.json"
    rows: list[dict] = json.loads(kept.read_text()) if kept.exists() else []
    done = {row["table"] for row in rows}
    left = [
        (name, path, given.cache)
        for name, path in tables(given.data, given.half, given.rows)
        if name not in done
    ]
    run = Parallel(given.jobs, return_as="generator_unordered")
    for name, found in run(delayed(measured)(*one) for one in left):
        rows += found
        print(name, flush=True)
        kept.write_text(json.dumps(rows))
    report(pd.DataFrame(rows))


if __name__ == "__main__":
    main()
