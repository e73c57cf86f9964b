"""Gain from answers: the leader and the consensus after 0 to 20 answers.

    python -m benchmarks.answers --data FOLDER --cache POOLS            # other half
    python -m benchmarks.answers --data FOLDER --cache POOLS --half chosen
    python -m benchmarks.answers --data FOLDER --cache POOLS --long     # 50 answers
    python -m benchmarks.answers --data FOLDER --cache POOLS --made

FOLDER holds labelled tables, the label last, and MANIFEST.csv with collection, name,
file and n of each. Tables of up to 3,000 rows are used, duplicates only once; missing
values become medians, columns are standardised, more than 100 are projected on 100
principal components. Every table gets the default pool, kept in POOLS; tables where no
model reaches an adjusted Rand index of 0.15 are left out. A fixed seed splits the
tables into two halves: constants were chosen on one half, and the other half was not
used for any choice.

Questions come in batches of five, answered by the classes, or one in ten wrongly:
*evidence* and *share* are `suggest_pairs` with and without this constraint_weight,
*random* are random pairs. The links then rank the models: by a share of weight 0.2, 1
or 100, or as evidence; *expected* is the model that is most like a model drawn by the
posterior. With --long up to 50 questions are asked, up to two in ten answered wrongly,
as evidence alone; with --made 10 and 20, all answered rightly: *closer* looks closer
after the first ten and again after twenty, so that the second ten are also about the
models found. --votes selects the models that vote before any answer, --version the
version of the default pool. The output has the mean adjusted Rand index with the
classes, and, in brackets, the share of tables that answers made worse by more than
0.05, in the mean of the five drawings of the answers, and the share of all drawings
above the best model of the pool (models added by a closer look do not belong to the
pool), of

- the leader, with --made also of `models_for_answers` with the features, and the safest
  choice among the pool and its `closer_models`;
- the consensus partition, k-means at the number of clusters of the closest cut, as
  Clusters begins: *links* obeys the links, *votes* counts the votes of the posterior,
  *both* does both, *made* does both with the models made for the answers, *closer*
  with closer models, *closer, made* with both kinds of models.
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from sklearn.decomposition import PCA
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import StandardScaler

from clusterlens.compute.consensus.closest import closest_cut
from clusterlens.compute.consensus.partition import consensus_partition
from clusterlens.compute.ensemble.agreement import Agreement, count_agreements
from clusterlens.compute.ensemble.constraints import ConstraintError, Constraints
from clusterlens.compute.ensemble.ensemble import Ensemble
from clusterlens.compute.ensemble.overlaps import partition_overlaps
from clusterlens.compute.pool.answer_models import models_for_answers
from clusterlens.compute.pool.closer import FINER, most_alike
from clusterlens.compute.pool.pool import run_pool
from clusterlens.compute.pool.preset_versions import (
    FORMER_PRESETS,
    PRESET_VERSIONS,
    sized_grids,
)
from clusterlens.compute.ranking.answers import AnswerPosterior, answer_posterior
from clusterlens.compute.ranking.ranking import rank_partitions
from clusterlens.compute.ranking.suggestions import suggest_pairs
from clusterlens.compute.ranking.voting import VOTES, vote_weights

COPIES = {
    "clm96": "banknote_authentication breast_cancer_wisconsin_prognostic dermatology "
    "ecoli glass_identification heart_disease image_segmentation ionosphere iris "
    "statlog_image_segmentation user_knowledge_modeling wine wine_customer yeast zoo",
    "uci": "dermatology34 oliveoil.labels",
}
HALVES = ("chosen", "other")
MOST_ROWS = 3_000
WORTH = 0.15  # adjusted Rand index that a model of the pool reaches at least
ANSWERS = (5, 10, 20)
VERSION = PRESET_VERSIONS["default"]
VERSIONS = range(1, VERSION + 1)
BATCH = 5
SEEDS = 5
WEIGHTS: tuple[Any, ...] = (0.2, 1.0, 100.0, "evidence")
HARM = 0.05
TIE = 1e-9
Asker = Callable[[Ensemble, Constraints, int, int], list[tuple[int, int]]]
Look = Callable[[Ensemble, Constraints], Ensemble]


def tables(folder: Path, half: str, most: int = MOST_ROWS) -> list[tuple[str, Path]]:
    """Return names and paths of tables of one half with few enough rows, by name."""
    listed = pd.read_csv(folder / "MANIFEST.csv").query(f"n <= {MOST_ROWS}")
    found = {
        f"{row.collection}__{row.title}": row
        for row in listed.rename(columns={"name": "title"}).itertuples()
        if row.title not in COPIES.get(row.collection, "").split()
    }
    names = sorted(found)
    chosen = np.random.default_rng(27).permutation(names)[: len(names) // 2]
    return [
        (n, folder / found[n].file)
        for n in names
        if (n in chosen) == (half == HALVES[0]) and found[n].n <= most
    ]


def pool_of(
    name: str, path: Path, cache: Path, version: int = VERSION
) -> tuple[Ensemble, np.ndarray]:
    """Pool and classes of a table, from the cache if they are there."""
    kept = cache / f"{name}{f'_version_{version}' * (version != VERSION)}.npz"
    if not kept.exists():
        frame = read_table(path)
        pool = FORMER_PRESETS.get(("default", version), "default")
        ensemble = run_pool(features(frame.iloc[:, :-1]), pool, n_jobs=1)
        classes = pd.factorize(frame["label"])[0]
        named = {"names": ensemble.names, "families": ensemble.families}
        np.savez(kept, labels=ensemble.labels, y=classes, **named)
    stored = np.load(kept)
    named = {key: stored[key].tolist() for key in ("names", "families")}
    return Ensemble(stored["labels"], **named), stored["y"]


def read_table(path: Path) -> pd.DataFrame:
    """Return features and, last, the label of a table."""
    read = pd.read_parquet if path.suffix == ".parquet" else pd.read_csv
    return read(path)


def features(frame: pd.DataFrame) -> np.ndarray:
    """Standardised features, at most 100."""
    values = frame.apply(pd.to_numeric, errors="coerce").astype(float)
    X = values.fillna(values.median()).fillna(0.0).to_numpy()
    X = StandardScaler().fit_transform(X[:, X.std(axis=0) > 0])
    return PCA(100, random_state=0).fit_transform(X) if X.shape[1] > 100 else X


def suggested(weight: Any) -> Asker:
    """Asker of the pairs that `suggest_pairs` names."""

    def ask(ensemble: Ensemble, known: Constraints, n: int, seed: int):
        found = suggest_pairs(
            ensemble, known, n=n, random_state=seed, constraint_weight=weight
        )
        return [one.pair for one in found]

    return ask


def random_pairs(ensemble: Ensemble, known: Constraints, n: int, seed: int):
    """Distinct random pairs; two with the same ends are as good as impossible."""
    rng = np.random.default_rng(seed)
    return [tuple(sorted(rng.choice(ensemble.n_samples, 2, False))) for _ in range(n)]


ASKERS: dict[str, Asker] = {
    "evidence": suggested("evidence"),
    "share": suggested(1.0),
    "random": random_pairs,
}
# Askers, numbers of answers after which to measure, and shares of wrong answers.
PLANS = {
    "short": (tuple(ASKERS), ANSWERS, (0.0, 0.1)),
    "long": (("evidence",), (*ANSWERS, 50), (0.0, 0.05, 0.1, 0.2)),
    "made": (("evidence",), (10, 20), (0.0,)),
}


def answered(
    ensemble: Ensemble,
    classes: np.ndarray,
    ask: Asker,
    wrong: float,
    seed: int,
    answers: tuple[int, ...] = ANSWERS,
    look: Look | None = None,
) -> Iterator[tuple[int, Constraints, Ensemble]]:
    """Yield the number of answers, the links, and the pool used for the next questions.

    Contradictions are not accepted. Models added by a closer look belong to the pool
    from then on.
    """
    rng = np.random.default_rng([seed, 7])
    links: tuple[list, list] = ([], [])
    known, n_asked = Constraints(), 0
    for n_answers in answers:
        while n_asked < n_answers:
            pairs = ask(ensemble, known, BATCH, 1000 * seed + n_asked)
            for i, j in pairs:
                together = (classes[i] == classes[j]) != (rng.random() < wrong)
                links[not together].append((i, j))
                try:
                    known = Constraints(*links)
                except ConstraintError:
                    links[not together].pop()
            n_asked += BATCH
        if look is not None:
            ensemble = look(ensemble, known)
        yield n_answers, known, ensemble


def leader_of(agreement: Agreement, known: Constraints | None, weight: Any):
    """Ranking by a weight and its leader."""
    ranking = rank_partitions(agreement, constraints=known, constraint_weight=weight)
    return ranking, int(ranking.order[0])


def consensus_of(ensemble: Ensemble, known: Constraints | None = None) -> np.ndarray:
    """Return a consensus as large as the closest cut, or the smallest that obeys."""
    k = closest_cut(ensemble, n_jobs=1).n_clusters
    while True:
        try:
            return consensus_partition(ensemble, k, constraints=known, n_init=3)
        except ConstraintError:
            k += 1


def measure(
    name: str,
    ensemble: Ensemble,
    classes: np.ndarray,
    plan: str,
    X: np.ndarray | None,
) -> Iterator[dict]:
    """Yield rows of one table: indices of leaders and consensus partitions.

    The index is the adjusted Rand index; with features also for models made for
    answers.
    """
    agreement = count_agreements(ensemble, n_jobs=1)
    ari = [adjusted_rand_score(classes, row) for row in ensemble.labels]
    if max(ari) < WORTH:
        return
    _, first = leader_of(agreement, None, 1.0)
    yield row_of(name, None, "leader", "none", ari[first])
    yield row_of(name, None, "leader", "best of the pool", max(ari))
    plain = adjusted_rand_score(classes, consensus_of(ensemble))
    yield row_of(name, None, "consensus", "none", plain)
    askers, answers, wrongs = PLANS[plan]
    if X is not None:
        finer = run_pool(X, sized_grids(FINER, len(X)), n_jobs=1)
    for asker, wrong, seed in product(askers, wrongs, range(SEEDS)):
        ask = ASKERS[asker]
        streams = answered(ensemble, classes, ask, wrong, seed, answers)
        for n_answers, known, _ in streams:
            case = (asker, wrong, n_answers)
            for method, leader in leaders(agreement, known).items():
                yield row_of(name, case, "leader", method, ari[leader])
            found = [
                ("consensus", *one) for one in partitions(agreement, known).items()
            ]
            if X is not None:
                made = models_for_answers(agreement, known, X, n_jobs=1)
                found += [
                    ("leader", "made", made.ensemble.labels[made.leader]),
                    ("consensus", "made", consensus_by(made.posterior)),
                ]
            for what, method, labels in found:
                value = adjusted_rand_score(classes, labels)
                yield row_of(name, case, what, method, value)
        if X is not None:
            look = partial(look_closer, finer)
            streams = answered(ensemble, classes, ask, wrong, seed, answers, look)
            *_, (n_answers, known, wider) = streams
            case = (asker, wrong, n_answers)
            best = max(adjusted_rand_score(classes, row) for row in wider.labels)
            yield row_of(name, case, "leader", "best of pool and closer", best)
            for what, method, labels in closer_partitions(wider, known, X):
                value = adjusted_rand_score(classes, labels)
                yield row_of(name, case, what, method, value)


def look_closer(finer: Ensemble, ensemble: Ensemble, known: Constraints) -> Ensemble:
    """Return the pool and its `closer_models`, settings like its safest choice."""
    posterior = answer_posterior(ensemble, known, n_jobs=1)
    return ensemble.concat(most_alike(posterior, finer))


def closer_partitions(
    wider: Ensemble, known: Constraints, X: np.ndarray
) -> Iterator[tuple[str, str, np.ndarray]]:
    """Yield partitions after a closer look, with and without models for answers."""
    agreement = count_agreements(wider, n_jobs=1)
    posterior = answer_posterior(agreement, known)
    yield "leader", "closer", wider.labels[posterior.likeness.argmax()]
    yield "consensus", "closer", consensus_by(posterior)
    made = models_for_answers(agreement, known, X, n_jobs=1)
    yield "leader", "closer, made", made.ensemble.labels[made.leader]
    yield "consensus", "closer, made", consensus_by(made.posterior)


def leaders(agreement: Agreement, known: Constraints) -> dict[str, int]:
    """Return the leader for each way of counting the links."""
    found = {str(w): leader_of(agreement, known, w) for w in WEIGHTS}
    alike = partition_overlaps(agreement.ensemble).adjusted_rand
    likeness = alike @ found["evidence"][0].posterior
    return {
        **{method: leader for method, (_, leader) in found.items()},
        "expected": int(likeness.argmax()),
    }


def partitions(agreement: Agreement, known: Constraints) -> dict[str, np.ndarray]:
    """Return the consensus partition for each way of using the links."""
    posterior = answer_posterior(agreement, known)
    return {
        "links": consensus_of(agreement.ensemble, known),
        "votes": consensus_of(posterior.voting),
        "both": consensus_by(posterior),
    }


def consensus_by(posterior: AnswerPosterior) -> np.ndarray:
    """Return the consensus with votes by a posterior, obeying the answers."""
    return consensus_of(posterior.voting, posterior.constraints)


def row_of(name: str, case: tuple | None, what: str, method: str, value: float) -> dict:
    """Return one value as a row."""
    asker, wrong, n_answers = case or ("", 0.0, 0)
    return {
        "table": name,
        "asker": asker,
        "wrong": wrong,
        "answers": n_answers,
        "what": what,
        "method": method,
        "ari": float(value),
    }


def report(rows: pd.DataFrame) -> None:
    """Print means over the tables, how many were harmed and above the whole pool."""
    print(f"{rows['table'].nunique()} tables: {', '.join(rows['table'].unique())}")
    plain = rows.query("answers == 0").groupby(["what", "method"])["ari"].mean()
    print("\nwithout answers\n" + plain.round(3).to_string())
    base = rows.query("answers == 0 and method == 'none'")
    base = base.set_index(["what", "table"])["ari"]
    keys = ["what", "asker", "method", "wrong", "answers", "table"]
    best = rows.query("method == 'best of the pool'").set_index("table")["ari"]
    drawn = rows.query("answers > 0")
    drawn = drawn.assign(above=drawn["ari"] > drawn["table"].map(best) + TIE)
    each = drawn.groupby(keys)[["ari", "above"]].mean().reset_index("table")
    each["harmed"] = [
        value < base[what, table] - HARM
        for (what, *_), table, value in zip(
            each.index, each["table"], each["ari"], strict=True
        )
    ]
    cells = each.groupby(level=keys[:-1], sort=False)
    text = cells["ari"].mean().map("{:.3f}".format)
    text += cells["harmed"].mean().map(" ({:.2f}, ".format)
    text += cells["above"].mean().map("{:.2f})".format)
    print("\n" + text.unstack(["wrong", "answers"]).to_string())


def measured(
    name: str, path: Path, given: argparse.Namespace
) -> tuple[str, list[dict]]:
    """Return the name and rows of one table."""
    warnings.filterwarnings("ignore", category=UserWarning)
    ensemble, classes = pool_of(name, path, given.cache, given.version)
    ensemble = ensemble.with_weights(vote_weights(ensemble, given.votes))
    X = features(read_table(path).iloc[:, :-1]) if given.plan == "made" else None
    return name, list(measure(name, ensemble, classes, given.plan, X))


def parser_of(description: str | None) -> argparse.ArgumentParser:
    """Return the parser of the arguments that say which tables are measured."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--cache", type=Path, required=True)
    parser.add_argument("--half", choices=HALVES, default="other")
    parser.add_argument("--rows", type=int, default=MOST_ROWS, help="largest table")
    parser.add_argument("--jobs", type=int, default=1, help="tables at a time")
    return parser


def main() -> None:
    """Measure all tables and print."""
    parser = parser_of(__doc__)
    plans = parser.add_mutually_exclusive_group()
    for plan, help_text in (
        ("long", "up to 50 answers"),
        ("made", "what is made, too"),
    ):
        plans.add_argument(
            f"--{plan}", dest="plan", action="store_const", const=plan, help=help_text
        )
    parser.set_defaults(plan="short")
    parser.add_argument("--votes", choices=VOTES, default="models")
    parser.add_argument("--version", type=int, choices=VERSIONS, default=VERSION)
    given = parser.parse_args()
    given.cache.mkdir(parents=True, exist_ok=True)
    rows: list[dict] = []
    run = Parallel(given.jobs, return_as="generator")
    for name, found in run(
        delayed(measured)(*table, given)
        for table in tables(given.data, given.half, given.rows)
    ):
        rows += found
        print(name, flush=True)
    kept = f"{given.half}_{given.plan}_{given.votes}_{given.version}.json"
    (given.cache / kept).write_text(json.dumps(rows))
    report(pd.DataFrame(rows))


if __name__ == "__main__":
    main()
