"""Results on links: which are kept, effects of one more link, suggestions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from clusterlens.compute.ensemble.constraints import Constraints
from clusterlens.compute.ensemble.ensemble import NOISE, Ensemble
from clusterlens.compute.ranking.preview import preview_link
from clusterlens.compute.ranking.ranking import Ranking, Weight
from clusterlens.compute.ranking.suggestions import Suggestion, suggest_pairs
from clusterlens.compute.table.dataset import Dataset
from clusterlens.ui.jobs.lanes import Job
from clusterlens.ui.jobs.nodes import Later, node
from clusterlens.ui.results.result import DisplayedPartition
from clusterlens.ui.state.analysis import EVIDENCE, Link
from clusterlens.ui.state.links import (
    Kind,
    LinkError,
    PlainId,
    Unsure,
    as_constraints,
    named_alike,
    plain_id,
    plain_ids,
    refuse_contradiction,
    rows_without,
    with_link,
)
from clusterlens.ui.widgets.palette import LINK_COLOURS, PAIR_COLOUR

SUGGESTED = 6


def links_broken(ranking: Ranking, links: Constraints) -> tuple[np.ndarray, np.ndarray]:
    """Count the links that each model breaks, and the links counted for it.

    If links count as a share, links of rows that a model left out do not count for it.
    """
    counted = np.full(ranking.ensemble.n_partitions, links.n_pairs)
    if ranking.posterior is None:
        counted = links.seen(ranking.ensemble)
    return np.rint(ranking.violated * counted).astype(int), counted


def is_partly_counted(ranking: Ranking, model: int) -> bool:
    """Return whether some links do not count for a model because it left rows out."""
    return ranking.posterior is None and bool(ranking.ensemble.n_missing[model])


@node("live", "Looking up the rows", keep=2)
def row_positions(
    job: Job, samples: Dataset, dataset: Dataset | None
) -> dict[PlainId, int]:
    """Return the position of each sample by its plain row id.

    Empty if the run takes its row ids from another column than the present table,
    because the same id may name another row.
    """
    if dataset is not None and not named_alike(samples, dataset):
        return {}
    return {row: k for k, row in enumerate(plain_ids(samples.row_ids))}


@node()
def constraints(
    links: tuple[Link, ...], row_positions: dict[PlainId, int]
) -> Constraints | None:
    """Return links by positions of samples; links of omitted rows do not count."""
    found = as_constraints(links, row_positions)
    return found if found.n_pairs else None


@dataclass(frozen=True)
class LinkState:
    """State of a link in the displayed partition.

    Parameters
    ----------
    link : Link
        Link by row ids.
    ends : pair of int or None
        Positions of the two samples, None if the run leaves either out.
    broken : bool
        Whether the displayed partition breaks it.
    uncertain : bool
        Whether the partition neither keeps nor breaks it: a row was left out, or is
        noise and links count as evidence.
    missing : tuple of plain ids
        Rows of the link that the run leaves out.
    """

    link: Link
    ends: tuple[int, int] | None
    broken: bool = False
    uncertain: bool = False
    missing: tuple[PlainId, ...] = ()


@node(keep=16)
def link_states(
    links: tuple[Link, ...],
    row_positions: dict[PlainId, int],
    ensemble: Ensemble,
    displayed_partition: DisplayedPartition,
    result_here: np.ndarray | None,
    link_weight: Weight,
) -> list[LinkState]:
    """Return the state of each link in the displayed partition."""
    if displayed_partition.model is not None:
        codes = ensemble.codes_and_gaps[displayed_partition.model]
        labels = ensemble.labels[displayed_partition.model]
        certain = ensemble.seen_by(displayed_partition.model)
    else:
        codes = labels = result_here
        certain = np.ones(ensemble.n_samples, bool)
    if link_weight == EVIDENCE:
        certain = labels != NOISE
    states = []
    for link in links:
        if link.a in row_positions and link.b in row_positions:
            i, j = row_positions[link.a], row_positions[link.b]
            is_certain = bool(certain[i] and certain[j])
            broken = is_certain and (codes[i] == codes[j]) != (link.kind == "must")
            states.append(LinkState(link, (i, j), bool(broken), not is_certain))
        else:
            gone = tuple(rows_without([link], row_positions))
            states.append(LinkState(link, None, missing=gone))
    return states


@dataclass(frozen=True, eq=False)
class Marks:
    """Cells (row, column) of a matrix, by place in its order, and their colours."""

    cells: list[tuple[int, int]]
    colours: list[str]


@node()
def link_marks(
    link_states: list[LinkState], view_pair: tuple[int, ...], places: np.ndarray
) -> Marks:
    """Mark links and the present pair, on both sides of the diagonal."""
    marked = [
        (state.ends, LINK_COLOURS[state.link.kind])
        for state in link_states
        if state.ends
    ]
    if len(view_pair) == 2:
        marked.append(((view_pair[0], view_pair[1]), PAIR_COLOUR))
    marks = Marks([], [])
    for (i, j), colour in marked:
        a, b = int(places[i]), int(places[j])
        marks.cells.extend([(a, b), (b, a)])
        marks.colours.extend([colour, colour])
    return marks


@dataclass(frozen=True, eq=False)
class Answer:
    """Effect of a must-link or a cannot-link between a pair.

    Parameters
    ----------
    leader : int or None
        The model that would lead; None if the link contradicts others.
    rises, falls : int
        Number of models that would rank better, and worse.
    chain : tuple of Link
        The links that it contradicts; empty if it contradicts none.
    """

    leader: int | None
    rises: int = 0
    falls: int = 0
    chain: tuple[Link, ...] = ()


@dataclass(frozen=True, eq=False)
class Difference:
    """A column with different values in two samples.

    Parameters
    ----------
    column : str
        Name of the column.
    a, b : object
        Values as read.
    by : float or None
        Difference in standard deviations of the column; None for unordered levels.
    """

    column: str
    a: object
    b: object
    by: float | None


@node("live", "Looking at the columns")
def column_deviations(job: Job, samples: Dataset) -> np.ndarray:
    """Return the standard deviation of each feature column as read, 0 if undefined."""
    found = pd.DataFrame(samples.encoded.values).std(ddof=0)
    return found.fillna(0.0).to_numpy()


def differences(
    samples: Dataset, column_deviations: np.ndarray, pair: tuple[int, ...]
) -> list[Difference]:
    """List the feature columns with different values in two samples, the most first.

    Unordered levels rank as one standard deviation. Columns with a missing value are
    left out.
    """
    encoded, found = samples.encoded, []
    rows = samples.table.loc[samples.row_ids[list(pair)]]
    for column, (a, b), spread in zip(
        encoded.columns, encoded.values[list(pair)].T, column_deviations, strict=True
    ):
        if np.isfinite([a, b]).all() and a != b:
            ordered = samples.roles[column.name] != "categorical"
            by = abs(float(a - b)) / spread if ordered and spread else None
            values = rows[column.name]
            found.append(Difference(column.name, values.iloc[0], values.iloc[1], by))
    return sorted(found, key=lambda one: -(1.0 if one.by is None else one.by))


@dataclass(frozen=True, eq=False)
class PairReading:
    """Facts about two samples before they are linked.

    Parameters
    ----------
    rows : pair of plain ids
        Row ids of the samples.
    votes : list of (str, int, int)
        For each family the votes that join them, and all votes on both.
    answered : pair of int or None
        The same over all models with votes weighted by answers; None without answers.
    linked : Link or None
        The present link, if any.
    answers : dict of Answer
        Effects of "must" and "cannot".
    differences : list of Difference
        Columns with different values, the most different first.
    """

    rows: tuple[PlainId, PlainId]
    votes: list[tuple[str, int, int]]
    answered: tuple[int, int] | None
    linked: Link | None
    answers: dict[Kind, Answer]
    differences: list[Difference]

    @property
    def pooled(self) -> tuple[int, int]:
        """Return the pool's votes that join the pair, and all votes on both."""
        return _summed(self.votes)


@node("live", "Reading the pair", keep=16)
def pair_reading(
    job: Job,
    view_pair: tuple[int, ...],
    links: tuple[Link, ...],
    samples: Dataset,
    row_positions: dict[PlainId, int],
    ranking: Ranking,
    weighted_ensemble: Ensemble,
    link_weight: Weight,
    column_deviations: np.ndarray,
) -> PairReading | None:
    """Gather votes on a pair, effects of an answer, and differences."""
    if len(view_pair) != 2:
        return None
    a, b = (plain_id(samples.row_ids[i]) for i in view_pair)
    others = tuple(link for link in links if {link.a, link.b} != {a, b})
    linked = next((link for link in links if {link.a, link.b} == {a, b}), None)
    counted = as_constraints(others, row_positions)
    preview = preview_link(ranking, view_pair, counted, link_weight)
    ranks: dict[Kind, np.ndarray | None] = {
        "must": preview.must_ranks,
        "cannot": preview.cannot_ranks,
    }
    votes, answered = _votes(ranking.ensemble, view_pair), None
    if weighted_ensemble is not ranking.ensemble:
        answered = _summed(_votes(weighted_ensemble, view_pair))
    return PairReading(
        (a, b),
        votes,
        answered,
        linked,
        {
            kind: _answer(ranking, found, with_link(others, Link(kind, a, b)))
            for kind, found in ranks.items()
        },
        differences(samples, column_deviations, view_pair),
    )


def _votes(ensemble: Ensemble, pair: tuple[int, ...]) -> list[tuple[str, int, int]]:
    """Count the votes of each family that join a pair, among votes on both rows."""
    ends = ensemble.codes_and_gaps[:, list(pair)]
    joined = ends[:, 0] == ends[:, 1]
    seen = (ends < ensemble.n_codes[:, None]).all(axis=1)
    families, votes = np.array(ensemble.families), ensemble.votes * seen
    return [
        (name, int(votes[own & joined].sum()), int(votes[own].sum()))
        for name in dict.fromkeys(ensemble.families)
        if votes[own := families == name].any()
    ]


def _summed(votes: list[tuple[str, int, int]]) -> tuple[int, int]:
    """Sum the votes of the families: votes that join a pair, and all votes."""
    return sum(joined for _, joined, _ in votes), sum(seen for *_, seen in votes)


def _answer(
    ranking: Ranking, ranks: np.ndarray | None, links: tuple[Link, ...]
) -> Answer:
    """Compare the ranks after an answer with the present ranks."""
    try:
        refuse_contradiction(links)
    except LinkError as error:
        return Answer(None, chain=error.chain)
    assert ranks is not None, "links between samples are among all links"
    change = ranks - ranking.ranks
    return Answer(int(ranks.argmin()), int((change < 0).sum()), int((change > 0).sum()))


@node()
def contradiction(
    view_refused: tuple[Link, ...],
    pair_reading: Later[PairReading],
    row_positions: dict[PlainId, int],
) -> np.ndarray:
    """Return the ends of links that contradict each other, shape (n_links, 2).

    These links rule out an answer about the pair, or belong to a refused action.
    """
    answers = pair_reading.answers.values() if pair_reading else ()
    chain = next((one.chain for one in answers if one.chain), view_refused)
    ends = [
        (row_positions[link.a], row_positions[link.b])
        for link in chain
        if link.a in row_positions and link.b in row_positions
    ]
    return np.array(ends, np.intp).reshape(-1, 2)


@node()
def rank_gains(
    ranking: Ranking,
    links: tuple[Link, ...],
    view_since: tuple[Link, ...],
    row_positions: dict[PlainId, int],
    link_weight: Weight,
) -> np.ndarray | None:
    """Return the ranks that each model has won by the links, (n_partitions,).

    The reference is the rank under the links that changes are counted from; None if
    these are the present links.
    """
    if set(links) == set(view_since):
        return None
    before = as_constraints(view_since, row_positions)
    return ranking.with_constraints(before, link_weight).ranks - ranking.ranks


@node("idle", "Looking for pairs worth an answer", keep=16, debounced=True)
def suggestions(
    job: Job,
    ensemble: Ensemble,
    constraints: Constraints | None,
    link_weight: Weight,
    unsure: Unsure,
    row_positions: dict[PlainId, int],
) -> tuple[Suggestion, ...]:
    """Return the pairs with the most informative answers, given the links so far.

    Unsure pairs are left out, and pairs like them come later.
    """
    unsure_pairs = [
        (row_positions[a], row_positions[b])
        for a, b, *_ in unsure
        if a in row_positions and b in row_positions
    ]
    if ensemble.noise == "silent":  # a question needs a place for every sample
        ensemble = ensemble.replace(noise="singletons")
    return suggest_pairs(
        ensemble,
        constraints,
        n=SUGGESTED,
        constraint_weight=link_weight,
        unsure=unsure_pairs,
        progress=job.report,
        cancel=job.cancelled,
    )
