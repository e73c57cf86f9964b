"""Answers to the questions of a verdict: one function each, evidence in, a row out.

All texts are plain.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from clusterlens.compute.formatting import (
    all_of,
    count,
    decimals_below,
    first_of,
    percent,
    whole,
)
from clusterlens.compute.pool.nulls import LEVEL, NullAgreement
from clusterlens.compute.pool.separation import ClusterSeparation
from clusterlens.compute.pool.stability import RECOVERED, ClusterStability
from clusterlens.ui.results.evidence import Evidence, Row
from clusterlens.ui.results.label_verdict import REACHED, Light, grade
from clusterlens.ui.results.leading import likeliest_words
from clusterlens.ui.results.partition_verdict import (
    grade_clusters,
    informative,
    passing,
)
from clusterlens.ui.widgets.palette import cluster_name
from clusterlens.ui.widgets.words import fixed, write_sentence

# Clusters below this many rows, or below this share of them, are small.
_FEWEST_ROWS, _SMALL = 5, 0.02
# Probability of the leading model, given answers, from which on it is settled.
_SETTLED = 0.5
# Expected adjusted Rand index from which on the candidates are hardly different.
_ALIKE = 0.9
_LISTED = 6
# Largest shortfall for which a value is shown beside its limit.
_CLOSE = 0.05
NOT_MEASURED = "Not measured yet."
# Shown if no cluster of the copies has a comparable size.
NO_COPY = "no such cluster"
_SMALL_GROUPS = (
    "A group of few rows hardly moves this agreement, which is of all rows; the "
    "questions about each cluster can find it."
)
_FEW_COLUMNS = 2


def weigh_groups(found: Evidence) -> Row:
    """Compare the agreement of the pool with that on copies without groups."""
    if found.null_check is None or not found.is_here:
        return _unknown("copies", "whether there are groups at all", found)
    return weigh_copies(found.null_check)


def weigh_copies(check: NullAgreement) -> Row:
    """Say whether the pool agrees more on the table than on copies without groups."""
    test = f"p = {check.p_value:.2g}"
    if check.p_value <= LEVEL:
        claim = "the pool agrees more on the table than on copies without groups"
        defended = [f"{claim} ({test})"]
        return Row("copies", "yes", write_sentence(claim), check.sentence, defended)
    if check.overlaps:
        claim = "the pool agrees no more on the table than on copies without groups"
        light: Light = "no"
    else:
        claim, light = "too few copies without groups were compared", "in part"
    doubted = [f"that the agreement of the pool shows groups ({claim}, {test})"]
    short = f"the agreement is no evidence of groups ({test})"
    basis = f"{check.sentence} {_SMALL_GROUPS}"
    return Row(
        "copies", light, write_sentence(claim), basis, doubted=doubted, short=short
    )


def _unknown(key: str, what: str, found: Evidence | None = None) -> Row:
    """Return the row of a question that was not asked, or cannot be asked here."""
    if found is not None and not found.is_here:
        other = "The run that is read has other rows; read the run of the result."
        return Row(key, "unknown", other, open=[what])
    return Row(key, "unknown", NOT_MEASURED, open=[what])


def weigh_n_clusters(found: Evidence) -> Row:
    """Compare the number of clusters with those of pool, k test and answers."""
    if not found.is_here:
        return _unknown("numbers", "the number of groups", found)
    own, leads, test = len(found.sizes), found.leads, found.k_selection
    sources = {"the pool": leads.k_before}
    if leads.n_answers and not leads.none_fits:
        sources["your answers" if leads.n_answers > 1 else "your answer"] = (
            leads.k_after
        )
    if test is not None and test.k is not None:
        sources["the k test"] = test.k
    listed = ", ".join(f"{name}: {k}" for name, k in sources.items())
    which = ", which leads without answers" if leads.n_answers else ", its leader"
    basis = (
        f"The partition has {own}; the number of the pool is that of {leads.before}"
        f"{which}."
    )
    if leads.safest and leads.k_safest != leads.k_after:
        basis += (
            " The number of the answers is that of the likeliest model; "
            f"{leads.safest}, expected to be most like the right one, has "
            f"{leads.k_safest}."
        )
    more = [] if test else [f"whether k = {own} stands out against copies"]
    if test is not None:
        basis += f" {test.sentence}"
        if test.k == own:
            basis += (
                f" It counts the clusters of {test.clusterer}, which may be others "
                "than these."
            )
    others = [name for name, k in sources.items() if k != own]
    agreed = [name for name in sources if name not in others]
    if test is not None and test.k is None:
        none = "no number stands out in the k test, which cuts by k-means"
        listed_first = f"{listed}; " if others else ""
        claim = f"that there are exactly {own} groups ({listed_first}{none})"
        answer = f"No number stands out; {listed}."
        return Row("numbers", "no", answer, basis, doubted=[claim])
    if others == ["the pool"] and test is not None:
        agree = "agree" if len(sources) > 2 else "agrees"
        found_by = f"{list_names(agreed)} {agree}"
        claim = f"{own} groups ({found_by}; the pool: {leads.k_before})"
        answer = f"{own}: {found_by}; the leader of the pool has another number."
        return Row("numbers", "yes", answer, basis, defended=[claim])
    if others:
        claim = f"that there are exactly {own} groups ({listed})"
        answer = f"Not all say {own}: {listed}."
        return Row("numbers", "in part", answer, basis, doubted=[claim], open=more)
    if test is None:
        answer = f"{own}, by {list_names(agreed)}; not compared with copies yet."
        return Row("numbers", "unknown", answer, basis, open=more)
    return Row(
        "numbers",
        "yes",
        f"{own}: {list_names(agreed)} agree.",
        basis,
        defended=[f"{own} groups ({list_names(agreed)} agree)"],
    )


def weigh_stability(found: Evidence) -> Row:
    """Name the clusters that are found again in other samples."""
    check = found.stability
    if check is None:
        return _unknown("again", "whether its clusters are found again")
    values = _beside_chance(found, check, check.jaccard, fixed)
    basis = (
        f"Mean Jaccard similarity with {count(check.n_resamples, 'resample')}, in "
        f"brackets in copies without groups: {values}. Found again means at least "
        f"{RECOVERED:g}, and at least halfway from the copies to 1. Clusters of copies "
        "are compared if they have half to twice the size."
    )
    return _by_cluster(
        found,
        "again",
        check,
        check.stable,
        _near_misses(check.jaccard, check.required, fixed),
        ("is", "are"),
        "found again in other samples",
        basis,
    )


def weigh_separation(found: Evidence) -> Row:
    """Name the clusters that lie apart."""
    check = found.separation
    if check is None:
        return _unknown("apart", "whether its clusters lie apart")
    values = _beside_chance(found, check, check.consistency, _share)
    basis = (
        f"Of the {check.n_neighbors} nearest rows so many are in the same cluster, in "
        f"brackets in copies without groups: {values}. Apart means at least three "
        "quarters of the way from the copies to 100%."
    )
    return _by_cluster(
        found,
        "apart",
        check,
        check.apart,
        _near_misses(check.consistency, check.required, _share),
        ("lies", "lie"),
        "apart from the rest",
        basis,
    )


def _beside_chance(
    found: Evidence,
    check: ClusterStability | ClusterSeparation,
    values: np.ndarray,
    write: Callable[[float, int], str],
) -> str:
    """List the value of each cluster, and in brackets that of copies."""
    rows = zip(check.clusters, values, check.by_chance, check.required, strict=True)
    return "; ".join(
        f"{_name(k, found)} {_below(value, limit, write)} "
        f"({write(chance, 2) if chance else NO_COPY})"
        for k, value, chance, limit in rows
    )


def _share(value: float, digits: int) -> str:
    """Format a share in percent, with as many digits as `fixed` has decimals."""
    return percent(value) if digits == 2 else f"{100 * value:.{digits - 2}f}%"


def _below(value: float, limit: float, write: Callable[[float, int], str]) -> str:
    """Format a number; with more decimals if it rounds to a limit that it misses."""
    if np.isnan(value):
        return "not defined"
    return write(value, decimals_below(value, limit))


def _near_misses(
    values: np.ndarray, limits: np.ndarray, write: Callable[[float, int], str]
) -> list[str]:
    """Write value and limit of each cluster that is just short of its limit."""
    return [
        f" ({_below(value, limit, write)} of {write(limit, 2)} needed)"
        if limit - _CLOSE < value < limit
        else ""
        for value, limit in zip(values, limits, strict=True)
    ]


def _by_cluster(
    found: Evidence,
    key: str,
    check: ClusterStability | ClusterSeparation,
    passed: np.ndarray,
    misses: Sequence[str],
    verbs: tuple[str, str],
    what: str,
    basis: str,
) -> Row:
    """Return the row of a check that each cluster passes or not.

    `misses` holds the words on how each falls short. The verbs, for one cluster and for
    several, go before `what` in a claim.
    """
    clusters = check.clusters
    compared = check.by_chance > 0  # whether copies have clusters of its size
    sizes = np.array([found.sizes[int(k)] for k in clusters])
    counted = informative(sizes)
    good = [_name(k, found) for k in clusters[counted & passed]]
    bad = [
        _name(k, found) + miss
        for k, miss, failed in zip(clusters, misses, counted & ~passed, strict=True)
        if failed
    ]
    part = passing(passed, sizes)
    answer = f"{part} {what}"
    answer += f": {list_names(good)}." if good and len(good) < len(passed) else "."
    if not counted.all():
        (largest,) = clusters[~counted]
        share = float(sizes[~counted][0] / sizes.sum())
        basis += (
            f" It says nothing about {_name(largest, found)}: any cluster with "
            f"{percent(share)} of the rows comes back and has few neighbours."
        )
    one, more = verbs
    defended = []
    doubted = [f"that any of {count(len(passed), 'cluster')} {one} {what}"]
    if good:
        verb = one if len(good) == 1 else more
        claim = f"that {_every(good, passed)} {verb} {what}"
        beyond = ", more than by chance" if compared[counted & passed].all() else ""
        defended = [f"{claim}{beyond}"]
        verb = one if len(bad) == 1 else more
        doubted = [f"that {list_names(bad)} {verb} {what}"] if bad else []
    light, short = grade_clusters(passed, sizes), f"{part} {what}"
    return Row(
        key,
        light,
        answer,
        basis,
        defended,
        doubted,
        short=short,
        clusters=frozenset(good),
    )


def _every(names: Sequence[str], clusters: np.ndarray) -> str:
    """List names of clusters, or say that they are all."""
    if len(names) < len(clusters):
        return list_names(names)
    return f"{all_of(len(names))} clusters"


def weigh_labels(found: Evidence) -> Row | None:
    """Grade the match with given labels; None if there are none."""
    if found.labels is None:
        return None
    column, value = found.labels.column, found.labels.value
    light = grade(value, *REACHED)
    words = {"yes": "Yes", "in part": "In part", "no": "No"}[light]
    limit = min((one for one in REACHED if value < one), default=1.0)
    shown = _below(value, limit, fixed)
    basis = (
        f"Adjusted Rand index {shown} with “{column}”; {REACHED[0]:g} or more is yes, "
        f"below {REACHED[1]:g} no. Whether these labels are clusters at all: see Given "
        "labels."
    )
    index = f"(adjusted Rand index {shown})"
    part = " in part" if light == "in part" else ""
    if found.labels.is_guess and light == "no":
        basis += (
            f" That “{column}” holds labels is a guess: it is the last and only column "
            "of text. Its role is chosen on Data."
        )
        return Row(
            "labels", "unknown", f"No, with “{column}”, if these are labels.", basis
        )
    claim = [f"a match{part} with “{column}” {index}"]
    defended, doubted = ([], claim) if light == "no" else (claim, [])
    return Row("labels", light, f"{words}, with “{column}”.", basis, defended, doubted)


def weigh_columns(found: Evidence) -> Row:
    """Name the columns that reproduce most of the clusters."""
    tool = found.columns
    if tool is None:
        return _unknown("columns", "which columns tell its clusters apart")
    used = tool.accuracy.head(_FEW_COLUMNS)
    if len(tool.accuracy) == len(used):
        every = list_names([f"“{name}”" for name in used["column"]])
        return Row("columns", "unknown", f"It was clustered by {every} alone.")
    reached = used.iloc[-1]
    share, error = float(reached["accuracy"]), float(reached["standard_error"])
    names = list_names([f"“{name}”" for name in used["column"]])
    largest = max(found.sizes.values()) / sum(found.sizes.values())
    basis = (
        f"Accuracy {percent(share)} ± {percent(2 * error)} on rows that did not choose "
        f"{'these columns' if len(used) > 1 else 'this column'}; the largest cluster "
        f"alone has {percent(largest)} of the rows."
    )
    verb = "reproduce" if len(used) > 1 else "reproduces"
    if share - 2 * error <= largest:
        answer = f"{names} {verb} it no better than chance."
        return Row("columns", "no", answer, basis)
    is_whole = (found.clusters >= 0).all()
    whole_of_it = "it" if is_whole else "its rows without the noise"
    answer = f"{names} {verb} {percent(share)} of {whole_of_it}."
    if found.null_check is not None and weigh_copies(found.null_check).light == "no":
        basis += " Columns reproduce any cut of a table, also of one without groups."
        return Row("columns", "unknown", answer, basis)
    return Row("columns", "yes", answer, basis)


def weigh_answers(found: Evidence) -> Row:
    """Compare the leaders with and without answers."""
    leads = found.leads
    if not leads.n_answers:
        return Row("answers", "unknown", "You gave none; the pool alone decides.")
    given = count(leads.n_answers, "answer")
    since = ""
    if found.n_links_since:
        changes = count(found.n_links_since, "change")
        since = f" The result was chosen before {changes} of the links."
    if leads.none_fits:
        answer = f"No model of this pool fits your {given}.{since}"
        return Row("answers", "no", answer, leads.words)
    if leads.after == leads.before:
        answer = f"{leads.after} leads with and without your {given}."
    else:
        answer = (
            f"With your {given} {leads.after} ({count(leads.k_after, 'cluster')}) "
            f"leads instead of {leads.before} ({count(leads.k_before, 'cluster')})."
        )
    if leads.safest:
        clusters = count(leads.k_safest, "cluster")
        answer += (
            f" The safest choice is {leads.safest} ({clusters}), expected to be most "
            "like the right one."
        )
    return Row("answers", "yes", f"{answer}{since}", leads.words)


def weigh_doubts(found: Evidence) -> Row:
    """List the known signs of a wrong leader, or say that there are none."""
    leads, doubts, basis = found.leads, [], ""
    is_leader = found.title == leads.after
    if is_leader and leads.chance is not None and leads.chance < _SETTLED:
        leader = f"{leads.after}{likeliest_words(leads.n_near, leads.chance)}"
        candidates = f"{leader}, next is {leads.second}" if leads.second else leader
        alike = leads.likeness_to_right
        if alike is not None and alike >= _ALIKE:
            basis = (
                f"Your answers do not settle which model leads: {candidates}. But the "
                "candidates are much alike: the expected adjusted Rand index of the "
                f"first with the right one is {fixed(alike)}. "
            )
        else:
            doubts.append(f"your answers do not settle which model leads: {candidates}")
    if found.n_broken:
        which = "your answer"
        if leads.n_answers > 1:
            given = count(leads.n_answers, "answer")
            which = f"{whole(found.n_broken)} of your {given}"
        doubts.append(f"it contradicts {which}")
    leads_alone = not leads.n_answers or leads.before == leads.after
    if is_leader and leads.likeness is not None and leads_alone:
        basis += (
            "On tables with known classes, most leaders that agree little with the "
            "other models were far from the classes."
        )
        doubts.append(
            f"the leader, {leads.after}, agrees little with the other models (mean "
            f"adjusted Rand index {fixed(leads.likeness)})"
        )
    if leads.family:
        doubts.append(
            f"all {count(leads.n_models, 'model')} are of one family, {leads.family}, "
            "and share its mistakes"
        )
    if found.cut_column:
        doubts.append(
            f"“{found.cut_column}”, a column with two values, reproduces it: it may "
            "say no more than that column"
        )
    stable = set()
    if found.stability is not None:
        stable = set(found.stability.clusters[found.stability.stable].tolist())
    least = max(_FEWEST_ROWS, _SMALL * len(found.clusters))
    small = sorted(n for k, n in found.sizes.items() if n < least and k not in stable)
    if small:
        sizes = list_names([whole(size) for size in small])
        unchecked = found.stability is None
        doubts.append(
            f"{count(len(small), 'cluster')} of only {sizes} "
            f"{'row' if small[-1] == 1 else 'rows'}, not "
            f"{'checked in' if unchecked else 'found again in'} other samples"
        )
    if doubts:
        answer = write_sentence("; ".join(doubts))
        return Row("doubts", "in part", answer, basis, against=doubts)
    if is_leader and not leads.is_compared:
        return _unknown("doubts", "whether the leader is like the other models")
    answer = "No known sign that it is wrong; that is no proof that it is right."
    return Row("doubts", "yes", answer, basis)


def _name(cluster: int, found: Evidence) -> str:
    """Return the name of a cluster, in quotation marks unless it is its number."""
    name = cluster_name(int(cluster), found.names)
    return name if name == cluster_name(int(cluster)) else f"“{name}”"


def list_names(parts: Sequence[str]) -> str:
    """List a few things in words."""
    if len(parts) > _LISTED:
        return first_of(parts, _LISTED)
    *most, last = parts
    return f"{', '.join(most)} and {last}" if most else last
