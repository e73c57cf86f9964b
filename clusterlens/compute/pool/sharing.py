"""Steps: intermediate results that several models of a pool need, computed once.

A neighbour table, a tree or an embedding serves many models. A `Share` in an entry of
CLUSTERERS names the steps of a model and computes its labels from them. Steps with one
key are one step, as large as its largest user needs: the first columns of a larger
table are the smaller table, so no model depends on the other models in the pool.

A step returns arrays. Processes share them as memory-mapped files. In this process, or
on a worker of a cluster, they stay in memory.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import numpy.typing as npt

from clusterlens.compute._run.process_settings import record_warnings
from clusterlens.compute._validation import FloatArray, IntArray, read_only
from clusterlens.compute.formatting import whole

Arrays = tuple[npt.NDArray[Any], ...]
# Seconds and bytes from the numbers of samples and features and the size of the step.
StepLaw = Callable[[int, int, int], float]


@dataclass(frozen=True)
class Step:
    """Arrays that several models need.

    Parameters
    ----------
    key : str
        Equal for steps that are the same, whatever their size.
    title : str
        Name of the step, for display; "{size}" stands for its size.
    make : callable
        make(X, size, *inputs) returns the arrays; inputs holds the arrays of each step
        in `needs`.
    size : int, default 0
        Size: number of neighbours or eigenvectors. The first columns of the arrays of a
        larger size are the arrays of a smaller size.
    needs : sequence of Step, optional
        Steps to run before.
    seconds, n_bytes : callable
        Cost laws: functions of n_samples, n_features and the size.
    note : str, optional
        Differences from the model fitted alone, with reasons.
    """

    key: str
    title: str
    make: Callable[..., Arrays]
    size: int = 0
    needs: tuple[Step, ...] = ()
    seconds: StepLaw = field(kw_only=True)
    n_bytes: StepLaw = field(kw_only=True)
    note: str = ""

    @property
    def name(self) -> str:
        """Title with the size filled in."""
        return self.title.format(size=whole(self.size))

    @property
    def law(self) -> str:
        """Name of the cost law: the key without its numbers."""
        return re.sub(r"-\d+", "", self.key)


# Returns the steps of a model from n_samples, n_features and its parameters; none if it
# is fitted alone.
Steps = Callable[[int, int, Mapping[str, Any]], Sequence[Step]]
# Returns labels(X, parameters, *inputs) of shape (n_samples,).
Labels = Callable[..., IntArray]


@dataclass(frozen=True)
class Share:
    """Shared work of the models of a clusterer.

    Parameters
    ----------
    steps : callable
        steps(n_samples, n_features, parameters) returns the steps that a model needs,
        or none if it is fitted alone.
    labels : callable
        labels(X, parameters, *inputs) returns the labels of a model, (n_samples,);
        inputs holds the arrays of each step.
    seconds : callable, optional
        Cost law of `labels`, a function of n_samples, n_features and the parameters.
    """

    steps: Steps
    labels: Labels
    seconds: Callable[[int, int, Mapping[str, Any]], float] = lambda n, d, p: (
        0.001 + 1e-7 * n
    )


class SharedModel:
    """A model that computes its labels from steps.

    Parameters
    ----------
    labels : callable
        As in `Share`.
    parameters : mapping
        Parameters of the model.
    """

    def __init__(self, labels: Labels, parameters: Mapping[str, Any]) -> None:
        self.labels, self.parameters = labels, parameters

    def fit_predict(self, X: FloatArray, *inputs: Arrays) -> IntArray:
        """Compute the labels from the arrays of each step.

        Parameters
        ----------
        X : array of float64, shape (n_samples, n_features)
            The samples.
        *inputs : tuple of array
            Arrays of each step.

        Returns
        -------
        labels : array of int, shape (n_samples,)
            Cluster of each sample.
        """
        return self.labels(X, self.parameters, *inputs)


@dataclass(frozen=True)
class Made:
    """Result of a step.

    Parameters
    ----------
    arrays : tuple of array
        The arrays of the step.
    warnings : tuple of str
        Texts of warnings.
    seconds : float
        Time taken; 0 if another process ran it.
    error : str or None
        Reason of a failure.
    """

    arrays: Arrays = ()
    warnings: tuple[str, ...] = ()
    seconds: float = 0.0
    error: str | None = None


def merge_steps(wanted: Iterable[Step]) -> dict[str, Step]:
    """Return each step that models need once, by key, at its largest size.

    Each step follows its needs, which refer to these same steps.
    """
    largest: dict[str, Step] = {}
    for step in _with_needs(wanted):
        known = largest.get(step.key)
        if known is None or step.size > known.size:
            largest[step.key] = step
    merged: dict[str, Step] = {}
    for step in _with_needs(largest.values()):
        needs = tuple(merged[need.key] for need in step.needs)
        merged[step.key] = replace(largest[step.key], needs=needs)
    return merged


def _with_needs(steps: Iterable[Step]) -> Iterable[Step]:
    """Yield the steps, each after its needs."""
    for step in steps:
        yield from _with_needs(step.needs)
        yield step


class Shelf:
    """Results of steps, each computed once, in memory or in a folder of all processes.

    Parameters
    ----------
    X : array of float, shape (n_samples, n_features)
        The data.
    folder : Path, optional
        Folder for the processes of this machine.
    """

    def __init__(self, X: FloatArray, folder: Path | None = None) -> None:
        self.X = X
        self.folder = folder
        self.made: dict[str, Made] = {}

    def take(self, step: Step) -> Made:
        """Return a step, computed now unless it exists.

        Parameters
        ----------
        step : Step
            The step.

        Returns
        -------
        made : Made
            Its arrays, or the reason of a failure.
        """
        if step.key not in self.made:
            self.made[step.key] = self._load(step) or self._make(step)
        return self.made[step.key]

    def _make(self, step: Step) -> Made:
        """Run a step on its needs, and store it in the folder, if any."""
        needs = [self.take(need) for need in step.needs]
        made = next((need for need in needs if need.error), None)
        if made is None:
            made = _compute(self.X, step, [need.arrays for need in needs])
            made = replace(
                made, warnings=sum((need.warnings for need in needs), made.warnings)
            )
        if self.folder is not None:
            save_step(self.folder, step, made)
        return made

    def _load(self, step: Step) -> Made | None:
        """Map the arrays of a step that another process ran."""
        if self.folder is None:
            return None
        place = self.folder / step.key
        if not (place / "messages.npy").exists():
            return None
        error, *messages = np.load(place / "messages.npy").tolist()
        arrays = [
            np.load(place / f"{at}.npy", mmap_mode="r")
            for at in range(len(list(place.glob("[0-9]*.npy"))))
        ]
        return Made(tuple(map(np.asarray, arrays)), tuple(messages), 0.0, error or None)


def save_step(folder: Path, step: Step, made: Made) -> None:
    """Store a step in the folder of the run for other processes, the texts last."""
    place = folder / step.key
    place.mkdir(exist_ok=True)
    for at, array in enumerate(made.arrays):
        np.save(place / f"{at}.npy", array)
    np.save(place / "messages.npy", np.array([made.error or "", *made.warnings]))


def _compute(X: FloatArray, step: Step, inputs: Sequence[Arrays]) -> Made:
    """Run a step; a failure becomes a text, and so the failure of its models."""
    start = perf_counter()
    with record_warnings() as caught:
        try:
            arrays = step.make(X, step.size, *inputs)
        except Exception as error:
            return Made(error=describe(error))
    messages = tuple({one_line(warning.message): None for warning in caught})
    kept = tuple(read_only(np.ascontiguousarray(array)) for array in arrays)
    return Made(kept, messages, perf_counter() - start)


def describe(error: Exception) -> str:
    """Name an error and its message."""
    return f"{type(error).__name__}: {one_line(error)}"


def one_line(message: object) -> str:
    """Return a message without its line breaks."""
    return " ".join(str(message).split())
