"""Step words: a step of the history described in a line of plain text."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from clusterlens.compute.formatting import abridge, count, whole
from clusterlens.compute.ranking.ranking import SCORES
from clusterlens.ui.state.analysis import EVIDENCE, Analysis
from clusterlens.ui.state.history import Step
from clusterlens.ui.state.links import TITLES
from clusterlens.ui.state.partitions import Choice
from clusterlens.ui.widgets.palette import cluster_name
from clusterlens.ui.widgets.words import NOISE_WORDS, number, who_votes


def step_words(step: Step) -> str:
    """Describe a step in a line of plain text."""
    analysis, parts = step.analysis, []
    if {"a", "b"} <= step.values.keys():
        given: Any = step.values.get("kind")
        kind = TITLES.get(given)
        rows = f"rows {step.values['a']} and {step.values['b']}"
        return f"{kind}: {rows}" if kind else rows
    if {"u", "v"} <= step.values.keys():
        return " and ".join(_side_words(step.values[side]) for side in "uv")
    for name, value in step.values.items():
        if name == "pool":
            models = analysis.run.ensemble.n_partitions if analysis.run else 0
            parts.append(count(models, "model"))
        elif step.kind == "import links":
            parts.append(f"{count(len(analysis.links), 'link')} in force")
        elif name == "partition":
            parts.append(_partition_words(value, analysis))
        elif name == "cluster":
            parts.append(_cluster_words(step.values, analysis))
        elif name == "rows":
            parts.append(count(len(value), "row"))
        elif name == "id":
            names = {run.id: run.name for run in analysis.runs}
            parts.append(names.get(value, "") if step.kind == "read run" else "")
        elif name == "by" and analysis.run:
            parts.append(who_votes(value, analysis.run.ensemble))
        elif name in _WORDS:
            parts.append(_WORDS[name](value))
        elif value is True:
            parts.append(name.replace("_", " "))
        elif name != "sha256" and value not in (None, False, ""):
            text = abridge(_value_words(value), 60)
            parts.append(f"{name.replace('_', ' ')} {text}")
    return ", ".join(part for part in parts if part)


def _side_words(key: str) -> str:
    """Name a side of a pair of the page Fuzzy as its list does."""
    kind, _, name = key.partition(" ")
    titles = {
        "model": name,
        "hard": f"{name} (hard)",
        "upload": f"{name} (upload)",
        "labels": "label column",
    }
    return titles.get(kind, key)


def _partition_words(made: Mapping[str, Any], analysis: Analysis) -> str:
    """Name a partition by how it was made."""
    if made["kind"] == "result":
        return "the result"
    names = analysis.ensemble.names if analysis.ensemble is not None else ()
    if made["kind"] == "model" and made["model"] >= len(names):
        return ""
    plain = {name: value for name, value in made.items() if name != "rows"}
    return Choice(**plain).title(analysis.ensemble)


def _cluster_words(values: Mapping[str, Any], analysis: Analysis) -> str:
    """Name a cluster by its number on screen, or by its size if a step lacks that.

    Pages match the numbers of clusters to those of the result or of a reference. Only a
    label of the result is a number on screen for sure.
    """
    if values["cluster"] < 0:
        return "noise"
    if values["partition"]["kind"] == "result":
        return cluster_name(values["cluster"])
    name = " ".join(str(values["name"]).split())
    last = analysis.cluster_names[-1:]
    sizes = [len(one.rows) for one in last if one.text == name]
    return "a cluster" + "".join(f" of {count(size, 'row')}" for size in sizes)


# Formats of the values of a step. By default a value is written with its name.
_WORDS: dict[str, Callable[[Any], str]] = {
    "random_state": lambda seed: f"seed {seed}",
    "distinct_only": lambda only: "distinct models only" if only else "",
    "noise": lambda means: "" if means == "cluster" else f"noise {NOISE_WORDS[means]}",
    "numbers": lambda numbers: "",
    "votes": lambda votes: "",
    "score": lambda score: SCORES[score].title,
    "threshold": lambda needed: "the average" if needed is None else whole(needed),
    "weight": lambda weight: "as evidence" if weight == EVIDENCE else f"{weight:g}",
}


def _value_words(value: Any) -> str:
    """Format a value of a step without the marks of a list or a mapping."""
    if isinstance(value, dict):
        return ", ".join(
            f"{key}: {_value_words(one)}"
            for key, one in value.items()
            if one is not None and one is not False
        )
    if isinstance(value, list):
        return ", ".join(map(_value_words, value))
    return str(number(value))
