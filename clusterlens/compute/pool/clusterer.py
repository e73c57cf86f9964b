"""Entries of the registry of clustering algorithms: construction, names and costs.

An entry makes an estimator with scikit-learn's interface (`fit_predict`, or `fit` and
`labels_` or `predict`) from plain parameters.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from clusterlens.compute.pool.sharing import Share

Parameters = Mapping[str, Any]
Spec = Mapping[str, Any]  # a clusterer and its parameters, plain (`specs.py`)
Law = Callable[[int, int, Parameters], float]


def _linear_bytes(n: int, d: int, _: Parameters) -> float:
    """Bytes of a few working copies of the data."""
    return 1e7 + 24.0 * n * d + 200.0 * n


@dataclass(frozen=True)
class Iterations:
    """Dependence of the fit time on the number of iterations; see `pilots`.

    Parameters
    ----------
    before : float
        Time before the iterations, in iterations.
    counted : float
        Number of iterations that the cost law assumes.
    fixed : float
        Seconds of the cost law that do not depend on iterations.
    grows : bool, default False
        Whether more samples take more iterations, as in k-means.
    sums_tolerance : bool, default False
        Whether `tol` is compared with a change that is a sum over the samples.
    """

    before: float
    counted: float
    fixed: float
    grows: bool = False
    sums_tolerance: bool = False


@dataclass(frozen=True, eq=False)
class Clusterer:
    """A clustering algorithm of the registry.

    Parameters
    ----------
    family : str
        Algorithms of one family tend to agree; robustness leaves out one at a time.
    title : str
        Name of a model. A parameter in braces is filled in, e.g. "{linkage} linkage";
        the other given parameters follow, unless they are the grid's only value.
    make : callable
        Class or function that returns an unfitted estimator from keyword parameters.
    grid : mapping of str to sequence, optional
        The parameter values of the default pool, combined with each other.
    seconds : callable, optional
        Law of the fit time, a function of n_samples, n_features and the parameters,
        without shared steps. Without a law the time is unknown and not in estimates.
    n_bytes : callable, optional
        Peak memory law, a function of the same. Default: a few copies of the data.
    max_samples : int, optional
        With more samples presets use `beyond` instead, or leave the algorithm out, with
        a note.
    least_samples : int, optional
        Up to this many samples presets leave the algorithm out, because others serve
        its purpose there.
    iterations : Iterations, optional
        For a fit with a time that depends on its iterations.
    beyond : callable, optional
        The form for more samples: a function from a grid of this clusterer to the grids
        to use instead.
    soft : bool, default False
        Whether fitted models give memberships (`predict_proba`).
    reference : str, optional
        The paper that describes the algorithm.
    meaning : str, optional
        Purpose: the groups that it finds and others do not, in one sentence.
    share : Share, optional
        Use of steps that a pool computes once.
    neighbors : callable, optional
        For an estimator of this package: neighbors(n_samples, parameters) returns the
        number of neighbours it takes from the shared table, or none.

    Examples
    --------
    >>> from sklearn.cluster import AgglomerativeClustering
    >>> entry = Clusterer("trees", "{linkage} linkage", AgglomerativeClustering)
    >>> entry.name({"linkage": "single", "n_clusters": 10})
    'single linkage k=10'
    """

    family: str
    title: str
    make: Callable[..., Any]
    grid: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    seconds: Law | None = None
    n_bytes: Law = _linear_bytes
    max_samples: int | None = None
    least_samples: int | None = None
    iterations: Iterations | None = None
    soft: bool = False
    reference: str = ""
    meaning: str = ""
    share: Share | None = None
    neighbors: Callable[[int, Parameters], int | None] | None = None
    beyond: Callable[[Spec], list[dict[str, Any]]] | None = None

    @cached_property
    def defaults(self) -> dict[str, Any]:
        """The keyword parameters of the algorithm and their defaults."""
        return {
            name: parameter.default
            for name, parameter in inspect.signature(self.make).parameters.items()
            if parameter.kind not in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL)
        }

    @property
    def seeded(self) -> bool:
        """Whether the algorithm takes a random_state; otherwise it is deterministic."""
        return "random_state" in self.defaults

    def makes(self, cls: type) -> bool:
        """Tell whether this makes estimators of a class, or of a class derived from it.

        Parameters
        ----------
        cls : type
            Class of an estimator.

        Returns
        -------
        makes : bool
            True also if `make` is a class with `cls` as its only base.
        """
        bases = getattr(self.make, "__bases__", ())
        return self.make is cls or bases == (cls,)

    @property
    def takes_any(self) -> bool:
        """Whether the algorithm takes keyword parameters it does not name."""
        parameters = inspect.signature(self.make).parameters.values()
        return any(p.kind is p.VAR_KEYWORD for p in parameters)

    def name(self, parameters: Parameters) -> str:
        """Return the name of the model with these parameters.

        Parameters
        ----------
        parameters : mapping
            Given parameters of the model.

        Returns
        -------
        name : str
            Short, for display; the seed is not part of it.
        """
        title = self.title.format_map({**self.defaults, **parameters})
        settings = [
            f" {_SHORT.get(key, key)}={_show(value)}"
            for key, value in parameters.items()
            if "{" + key + "}" not in self.title
            and key != "random_state"
            and self.grid.get(key) != [value]
        ]
        return title + "".join(settings)


_SHORT = {"n_clusters": "k", "n_components": "k", "min_cluster_size": "size"}


def _show(value: Any) -> str:
    """Print a parameter value with four digits at most."""
    return f"{value:.4g}" if isinstance(value, float) else str(value)
