"""Results of the page Fuzzy: two soft partitions compared under random models."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np
import pandas as pd
from scipy.optimize import linear_sum_assignment
from scipy.stats import beta

from clusterlens.compute.ensemble.ensemble import Ensemble
from clusterlens.compute.estimators.cns.cns import CNS
from clusterlens.compute.fuzzy.adjusted import AdjustedIndex, adjusted_ndc
from clusterlens.compute.fuzzy.comparison import (
    SampleDiscordance,
    compare_fuzzy,
    sample_discordance,
)
from clusterlens.compute.fuzzy.concordance import NDC, ndc
from clusterlens.compute.fuzzy.dirichlet import DirichletFit, fit_dirichlet
from clusterlens.compute.fuzzy.partition import FuzzyPartition
from clusterlens.compute.fuzzy.random_models import RANDOM_MODELS
from clusterlens.compute.fuzzy.toy import toy_partitions
from clusterlens.compute.table.dataset import Dataset
from clusterlens.compute.table.projection import Projection
from clusterlens.ui.actions.lines import keywords
from clusterlens.ui.jobs.lanes import Job
from clusterlens.ui.jobs.nodes import Node, node
from clusterlens.ui.plots.samples import Picture, draw_map
from clusterlens.ui.results.lab import SIDES, Adjusted
from clusterlens.ui.state.analysis import SoftTable
from clusterlens.ui.state.literals import literal
from clusterlens.ui.state.partitions import free_name, position_in_python
from clusterlens.ui.state.view_parameters import Viewport
from clusterlens.ui.widgets.palette import certain_colours, discordance_colours

# Random models of soft partitions, in the order of the properties that they keep.
MODELS = tuple(key for key, model in RANDOM_MODELS.items() if model.distribution)
PRECISIONS = {"± 0.001": 5e-4, "± 0.0002": 1e-4, "± 0.00004": 2e-5}
MOST_IN_SET = 9
BINS = 12
# Replaces values while they are hidden.
HIDDEN = "•••"
_SEED = 0


@dataclass(frozen=True)
class Choice:
    """Partition that can be compared.

    Parameters
    ----------
    key : str
        Identifier, plain text.
    title : str
        Name on screen.
    kind : {"soft", "hard"}
        Whether it has memberships of its own.
    code : str
        The partition in Python.
    """

    key: str
    title: str
    kind: Literal["soft", "hard"]
    code: str


@dataclass(frozen=True, eq=False)
class Choices:
    """Partitions that can be compared, with their makers.

    Parameters
    ----------
    listed : tuple of Choice
        Partitions in the order of the selects: soft ones first.
    make : dict of str to callable
        Makes the partition of a key.
    """

    listed: tuple[Choice, ...]
    make: Mapping[str, Callable[[], FuzzyPartition]]

    @property
    def soft(self) -> list[Choice]:
        """Return the partitions with memberships of their own."""
        return [one for one in self.listed if one.kind == "soft"]

    def titled(self, key: str) -> Choice:
        """Return the partition of a key."""
        return next(one for one in self.listed if one.key == key)


@node()
def fuzzy_choices(
    view_fuzzy_case: str,
    samples: Dataset | None,
    ensemble: Ensemble | None,
    memberships: tuple[SoftTable, ...],
) -> Choices | None:
    """List the partitions that can be compared; None if there are fewer than two.

    Keys are names of models, so that a saved pair also applies to these models of
    another run.
    """
    listed: list[Choice] = []
    make: dict[str, Callable[[], FuzzyPartition]] = {}

    def add(
        key: str, title: str, kind: Any, code: str, made: Callable[[], Any]
    ) -> None:
        key = free_name(key, make)
        listed.append(Choice(key, title, kind, code))
        make[key] = partial(_as_fuzzy, made)

    if view_fuzzy_case == "toy":
        for name, partition in toy_partitions().items():
            kind = "hard" if partition.is_hard else "soft"
            code = f"cl.toy_partitions()[{literal(name)}]"
            add(name, name, kind, code, partial(_given, partition))
        return Choices(tuple(listed), make)
    if ensemble is not None and samples is not None:
        _add_soft(add, samples, ensemble)
    for table in memberships:
        if samples is None or np.array_equal(table.row_ids, samples.row_ids):
            code = f"uploads[{literal(table.name)}]"
            title = f"{table.name} (upload)"
            add(
                f"upload {table.name}", title, "soft", code, partial(_given, table.rows)
            )
    if samples is not None and samples.labels_true is not None:
        label = samples.labels_true
        add("labels", "label column", "hard", "dataset.labels_true", lambda: label)
    if ensemble is not None:
        for at, name in enumerate(ensemble.names):
            code = f"ensemble.labels[{position_in_python(ensemble, at)}]"
            row = ensemble.labels[at]
            add(f"hard {name}", f"{name} (hard)", "hard", code, partial(_given, row))
    return Choices(tuple(listed), make) if len(listed) > 1 else None


def _add_soft(add: Callable[..., None], samples: Dataset, ensemble: Ensemble) -> None:
    """Add the models with memberships; CNS also as shares of the seed stops."""
    for at, rows in ensemble.memberships.items():
        name = ensemble.names[at]
        code = f"ensemble.memberships[{position_in_python(ensemble, at)}]"
        spec = ensemble.specs[at] if ensemble.specs is not None else {}
        if spec.get("clusterer") != "CNS":
            add(f"model {name}", name, "soft", code, partial(_given, rows))
            continue
        # A saved model may hold the largest neighbourhood that was offered.
        other = ("clusterer", "max_neighbors")
        options = {key: value for key, value in spec.items() if key not in other}
        fitted = f"cl.CNS({', '.join(keywords(options))}).fit(dataset.X)"
        shares = f"{fitted}.seed_shares_"
        made = partial(_seed_shares, samples.X, options)
        add(f"shares {name}", f"{name}, where walks end", "soft", shares, made)
        title = f"{name}, raw memberships"
        add(f"model {name}", title, "soft", code, partial(_given, rows))


def _given(rows: Any) -> Any:
    return rows


def _seed_shares(X: np.ndarray, options: Mapping[str, Any]) -> np.ndarray:
    """Return seed shares of a model with these parameters."""
    return CNS(**options).fit(X).seed_shares_


def _as_fuzzy(made: Callable[[], Any]) -> FuzzyPartition:
    rows = made()
    return rows if isinstance(rows, FuzzyPartition) else FuzzyPartition(rows)


@dataclass(frozen=True)
class Pair:
    """Keys of both sides."""

    u: str
    v: str


@node(keep=16)
def fuzzy_pair(
    fuzzy_choices: Choices, view_fuzzy_u: str, view_fuzzy_v: str
) -> Pair | None:
    """Return the chosen sides, by default the first soft ones of different models."""
    known = [one.key for one in fuzzy_choices.listed]
    if len(fuzzy_choices.soft) == 0 and view_fuzzy_u not in known:
        return None
    first = view_fuzzy_u if view_fuzzy_u in known else known[0]
    model = first.partition(" ")[2]
    others = [key for key in known if key.partition(" ")[2] != model]
    others = others or [key for key in known if key != first]
    return Pair(first, view_fuzzy_v if view_fuzzy_v in known else others[0])


@node()
def fuzzy_hidden(
    view_fuzzy_hidden: bool, view_fuzzy_model: str, view_fuzzy_side: str
) -> bool:
    """Return whether values are hidden: until both questions are answered."""
    return view_fuzzy_hidden and not (view_fuzzy_model and view_fuzzy_side)


def side(job: Job, choices: Choices, pair: Pair, which: str) -> FuzzyPartition:
    """Return the partition of a side."""
    return choices.make[getattr(pair, which)]()


@node("live", "Comparing", keep=16)
def fuzzy_ndc(
    job: Job,
    fuzzy_u: FuzzyPartition,
    fuzzy_v: FuzzyPartition,
    view_fuzzy_precision: float,
) -> NDC:
    """Return NDC, unadjusted."""
    return ndc(
        fuzzy_u,
        fuzzy_v,
        n_pairs=_pairs(view_fuzzy_precision),
        random_state=_SEED,
        **job.kernels,
    )


def _pairs(precision: float) -> int:
    """Return the number of pairs to draw if there are too many."""
    return int(1e6 * min(5e-4 / precision, 10))


def adjusted(
    job: Job, u: FuzzyPartition, v: FuzzyPartition, precision: float, model: str
) -> Adjusted:
    """Return the values under one random model: both random, then one side fixed."""
    options: dict[str, Any] = {"precision": precision, "n_pairs": _pairs(precision)}

    def value(fixed: Literal["u", "v"] | None) -> AdjustedIndex:
        return adjusted_ndc(u, v, model, fixed, _SEED, **options, **job.kernels)

    if model == "permutation":
        return dict.fromkeys(SIDES, value(None))
    return {fixed: value(fixed) for fixed in SIDES}


@node("live", "Comparing sample by sample", keep=8)
def fuzzy_discordance(
    job: Job, fuzzy_u: FuzzyPartition, fuzzy_v: FuzzyPartition
) -> SampleDiscordance:
    """Return the discordance of both sides at each sample."""
    return sample_discordance(fuzzy_u, fuzzy_v, **job.kernels)


@dataclass(frozen=True, eq=False)
class Side:
    """A side with the hue and strength of each sample, and its marginals.

    Parameters
    ----------
    partition : FuzzyPartition
        The side.
    hues : array of int, shape (n_clusters,)
        Cluster colour of each column.
    labels, strength : array, shape (n_samples,)
        Column of the largest membership, and this membership.
    counts : array of int, shape (n_clusters, BINS)
        Number of memberships per step from 0 to 1.
    fit, sym : DirichletFit
        Distributions of rows in the random models with these names.
    """

    partition: FuzzyPartition
    hues: np.ndarray
    labels: np.ndarray
    strength: np.ndarray
    counts: np.ndarray
    fit: DirichletFit
    sym: DirichletFit

    def expected(self, fit: DirichletFit) -> np.ndarray:
        """Return memberships per step that a Dirichlet expects, (n_clusters, BINS)."""
        alpha = fit.alpha[:, None]
        edges = np.linspace(0, 1, BINS + 1)
        shares = np.diff(beta.cdf(edges, alpha, alpha.sum() - alpha), axis=1)
        return shares * self.partition.n_samples


@node("live", "Fitting Dirichlet distributions")
def fuzzy_sides(
    job: Job, fuzzy_u: FuzzyPartition, fuzzy_v: FuzzyPartition
) -> tuple[Side, Side]:
    """Describe both sides; hues of V follow the hues of U, for display only."""
    first = np.arange(fuzzy_u.n_clusters)
    second = match_hues(fuzzy_u, fuzzy_v)
    return _describe(fuzzy_u, first), _describe(fuzzy_v, second)


def match_hues(u: FuzzyPartition, v: FuzzyPartition) -> np.ndarray:
    """Return for each cluster of V the hue of the most overlapping cluster of U."""
    overlap = u.memberships.T @ v.memberships
    rows, columns = linear_sum_assignment(-overlap)
    hues = np.full(v.n_clusters, -1)
    hues[columns] = rows
    free = (k for k in range(u.n_clusters + v.n_clusters) if k not in set(rows))
    for column in np.flatnonzero(hues < 0):
        hues[column] = next(free)
    return hues


def _describe(partition: FuzzyPartition, hues: np.ndarray) -> Side:
    rows = partition.memberships
    steps = np.clip((rows * BINS).astype(int), 0, BINS - 1)
    counts = np.stack([np.bincount(column, minlength=BINS) for column in steps.T])
    return Side(
        partition,
        hues,
        rows.argmax(axis=1),
        rows.max(axis=1),
        counts,
        fit_dirichlet(partition),
        fit_dirichlet(partition, symmetric=True),
    )


@dataclass(frozen=True, eq=False)
class Maps:
    """Pictures of U, of V and of their disagreement, in one view."""

    pictures: tuple[Picture, Picture, Picture]
    darkest: float


@node("live", "Drawing memberships")
def fuzzy_maps(
    job: Job,
    projection: Projection,
    fuzzy_sides: tuple[Side, Side],
    fuzzy_discordance: SampleDiscordance,
    view_fuzzy_view: Viewport,
) -> Maps | None:
    """Draw the memberships of both sides, and the discordance of each sample."""
    xy, gaps = projection.coordinates, fuzzy_discordance.values
    if not view_fuzzy_view.drawn or len(xy) != len(gaps):
        return None
    darkest = max(float(gaps.max()), 1e-12)
    colours = [
        certain_colours(one.hues[one.labels], one.strength, one.partition.n_clusters)
        for one in fuzzy_sides
    ]
    colours.append(discordance_colours(gaps / darkest))
    u, v, gap = (draw_map(xy, some, view_fuzzy_view) for some in colours)
    return Maps((u, v, gap), darkest)


@node("idle", "Comparing all pairs of the set", keep=8)
def fuzzy_compared(
    job: Job,
    fuzzy_choices: Choices,
    fuzzy_pair: Pair,
    view_fuzzy_set_model: str,
    view_fuzzy_set_fixed: str,
    view_fuzzy_case: str,
) -> tuple[tuple[str, ...], pd.DataFrame]:
    """Compare all pairs of the soft partitions, both sides and the labels."""
    keys = [
        *vars(fuzzy_pair).values(),
        *(one.key for one in fuzzy_choices.soft),
        "labels",
    ]
    known = [one.key for one in fuzzy_choices.listed]
    if view_fuzzy_case == "toy":
        keys = known
    wanted = [key for key in dict.fromkeys(keys) if key in known][:MOST_IN_SET]
    partitions = {key: fuzzy_choices.make[key]() for key in wanted}
    fixed: Literal["u"] | None = "u" if view_fuzzy_set_fixed else None
    table = compare_fuzzy(
        partitions, view_fuzzy_set_model, fixed, random_state=_SEED, **job.kernels
    )
    return tuple(wanted), table


@node("live", "Comparing the toys")
def fuzzy_toy(job: Job, view_fuzzy_case: str) -> pd.DataFrame | None:
    """Return the ten pairs of the toy example, with values under every model."""
    if view_fuzzy_case != "toy":
        return None
    partitions = toy_partitions()
    found = {
        model: compare_fuzzy(partitions, model, random_state=_SEED, **job.kernels)
        for model in MODELS
    }
    first = found[MODELS[0]]
    values = {model: table["value"] for model, table in found.items()}
    return pd.DataFrame(
        {"u": first["u"], "v": first["v"], "ndc": first["observed"], **values}
    )


NODES = {
    **{
        f"fuzzy_{which}": Node(
            ("fuzzy_choices", "fuzzy_pair"),
            partial(side, which=which),
            "live",
            "Reading memberships",
            keep=8,
        )
        for which in ("u", "v")
    },
    **{
        f"fuzzy_{model}": Node(
            ("fuzzy_u", "fuzzy_v", "view.fuzzy_precision"),
            partial(adjusted, model=model),
            "live",
            f"Adjusting under {RANDOM_MODELS[model].title}",
            keep=16,
        )
        for model in MODELS
    },
}
