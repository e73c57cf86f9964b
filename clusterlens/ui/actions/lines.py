"""Lines: a log as Python that repeats it, with public names of the library.

Each action adds its assignments to variables. The final script contains only the
assignments that the requested variables depend on.

Until then a variable or constant is a name between two NUL characters. No literal holds
NUL, so text of the analysis is never taken for a name.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Mapping
from functools import partial
from itertools import chain
from keyword import iskeyword
from pathlib import PurePath
from pprint import pformat
from typing import Any

from clusterlens.ui.state.analysis import Analysis, Run
from clusterlens.ui.state.history import Step
from clusterlens.ui.state.literals import ScriptError, literal

_ON_ONE_LINE = 76
_pretty = partial(pformat, width=88, compact=True, sort_dicts=False)
_NAME = re.compile("\0(\\w+) (\\d+)\0")


class Lines:
    """Assignments that the steps of a log stand for, in order."""

    def __init__(self) -> None:
        self._numbers: dict[str, dict[Hashable, int]] = {}
        self._constants: dict[str, tuple[Any, str]] = {}
        # Variables, optional subscripts, and the assigned expressions.
        self._assignments: list[tuple[str, str, str]] = []
        self._runs: dict[str, Run] = {}
        self._datasets: dict[str, str] = {}
        self._n_tables = 1

    def name(self, kind: str, of: Hashable = None) -> str:
        """Return the variable of a kind that holds a thing."""
        numbers = self._numbers.setdefault(kind, {})
        return f"\0{kind} {numbers.setdefault(of, len(numbers) + 1)}\0"

    def prepared(self, settings: Mapping[str, Any]) -> str:
        """Return the variable of the table as prepared by some rules."""
        return self.name("dataset", (self._n_tables, repr(dict(settings))))

    def change_table(self) -> None:
        """Put another table in force, which later preparations use."""
        self._n_tables += 1

    def ensemble(self, run_id: str) -> str:
        """Return the variable of the partitions of a run."""
        return self.name("ensemble", run_id)

    def dataset(self, run_id: str) -> str:
        """Return the variable of the prepared table of a run."""
        return self._datasets.get(run_id, self.name("dataset", ("of run", run_id)))

    def samples(self, analysis: Analysis) -> str:
        """Return the variable of the prepared table of the selected run, if any."""
        run, dataset = analysis.run, analysis.dataset
        if run is not None and run.dataset is not dataset:
            return self.dataset(run.id)
        return self.prepared(dataset.settings if dataset else {})

    def constant(self, kind: str, value: Any, note: str = "") -> str:
        """Return the constant for a plain value; equal values share one."""
        name = self.name(kind, (literal(value), note))
        self._constants[name] = value, note
        return name

    def file(self, kind: str, step: Step) -> str:
        """Return the constant with the name of the file that a step read."""
        name = str(step.values["name"])
        note = comment(f"SHA-256 {step.values['sha256']}")
        return self.constant(kind, PurePath(name).name or name, f"\n{note}")

    def assign(self, name: str, code: str, at: str = "") -> None:
        """Assign to a variable, or to a subscript of it."""
        self._assignments.append((name, at, code))

    def has(self, name: str) -> bool:
        """Return whether a variable was assigned to."""
        return any(name == assigned for assigned, _, _ in self._assignments)

    def begin(self, run: Run, dataset: str, code: str) -> None:
        """Assign the partitions of a new run, and note its prepared table."""
        self._runs[run.id], self._datasets[run.id] = run, dataset
        self.assign(self.ensemble(run.id), code)

    def base(self, run: Run, before: Analysis) -> Run:
        """Return the run that another one copies and extends."""
        known = chain([before.run], before.runs[::-1], [*self._runs.values()][::-1])
        for one in known:
            if one and _is_copy(run, one):
                return one
        raise ScriptError("the log does not say which run it took more models into.")

    def run(self, run_id: str) -> Run:
        """Return a run as it was made."""
        if run_id not in self._runs:
            raise ScriptError("the log does not say how its run was made.")
        return self._runs[run_id]

    def let_vote(self, run: Run) -> None:
        """Assign vote weights in a new run, unless each model has one vote."""
        if run.votes != "models":
            self.weigh(run)

    def weigh(self, run: Run) -> None:
        """Assign vote weights in a run."""
        ensemble = self.ensemble(run.id)
        votes = call("cl.vote_weights", ensemble, literal(run.votes))
        self.assign(ensemble, f"{ensemble}.with_weights({votes})")

    def written(self, wanted: Iterable[str]) -> tuple[list[str], list[str]]:
        """Write the assignments that some variables depend on.

        Parameters
        ----------
        wanted : iterable of str
            The variables, one of each kind, named by their kind. Several other
            variables of a kind are numbered.

        Returns
        -------
        constants, lines : list of str
            Assignments to constants, and assignments to variables in the order of the
            log.

        Raises
        ------
        ScriptError
            If the log lacks the step that made a variable.
        """
        wanted, lines = set(wanted), []
        needed, used = set(wanted), set(wanted)
        for name, at, code in reversed(self._assignments):
            if name not in needed:
                continue
            if not at:
                needed.remove(name)
            inside = {match[0] for match in _NAME.finditer(at + code)}
            needed |= inside
            used |= inside
            lines.append(f"{name}{at} = {code}")
        if unsaid := needed - self._constants.keys():
            kinds = sorted(match[1] for match in map(_NAME.fullmatch, unsaid) if match)
            raise ScriptError(f"the log does not say how its {kinds[0]} was made.")
        # Formatted only here, because wrapping the rows of a large table takes long.
        constants = [
            f"{name} = {_pretty(value)}{note}"
            for name, (value, note) in self._constants.items()
            if name in used
        ]
        called = _called(used, wanted)

        def named(line: str) -> str:
            return _NAME.sub(lambda match: called[match[0]], line)

        return list(map(named, constants)), list(map(named, reversed(lines)))


def _called(used: set[str], wanted: set[str]) -> dict[str, str]:
    """Return the final names of variables."""
    kinds = {name: match for name in used if (match := _NAME.fullmatch(name))}
    several = [match[1] for match in kinds.values()]
    return {
        name: match[1]
        if name in wanted or several.count(match[1]) == 1
        else f"{match[1]}_{match[2]}"
        for name, match in kinds.items()
    }


def _is_copy(run: Run, base: Run) -> bool:
    """Return whether a run has all models of another one, and more."""
    more = run.ensemble.n_partitions - base.ensemble.n_partitions
    return (
        more > 0
        and run.dataset.settings == base.dataset.settings
        and run.ensemble.n_samples == base.ensemble.n_samples
        and run.random_state == base.random_state
        and run.ensemble.names[:-more] == base.ensemble.names
        and run.pool[: len(base.pool)] == base.pool
        and run.kept[: len(base.kept)] == base.kept
    )


def new_run(step: Step, before: Analysis) -> Run:
    """Return the run that a step made."""
    known = {run.id for run in before.runs}
    made = (run for run in step.analysis.runs if run.id not in known)
    if (run := next(made, None)) is None:
        raise ScriptError(f"the log does not say which run {step.title!r} made.")
    return run


def call(function: str, *arguments: str) -> str:
    """Write a call, on one line if it is not too long."""
    inside = ", ".join(arguments)
    if len(function) + len(inside) < _ON_ONE_LINE:
        return f"{function}({inside})"
    lines = "".join(f"    {one},\n" for one in arguments)
    return f"{function}(\n{lines})"


def keywords(given: Mapping[str, Any]) -> list[str]:
    """Write values as keyword arguments."""
    odd = [name for name in given if not name.isidentifier() or iskeyword(name)]
    if odd:
        raise ScriptError(f"{odd[0]!r:.60} is no name of an argument.")
    return [f"{name}={literal(value)}" for name, value in given.items()]


def comment(words: str) -> str:
    """Write words as a comment of one line."""
    line = "".join(c if c.isprintable() else " " for c in words)
    return f"# {' '.join(line.split())}"
