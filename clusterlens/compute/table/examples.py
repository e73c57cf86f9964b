"""Example tables: bundled with scikit-learn or generated, never downloaded.

Each shows one property of consensus clustering, including misleading ones. All are
deterministic. A new example is one function under `@_example`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn import datasets

from clusterlens.compute._validation import FloatArray, IntArray, check_choice
from clusterlens.compute.table.dataset import Dataset, make_dataset


@dataclass(frozen=True)
class Example:
    """An example table: its title, its lesson, and the function that makes it."""

    title: str
    teaches: str
    n: int
    d: int
    make: Callable[[], pd.DataFrame]


EXAMPLES: dict[str, Example] = {}


def load_example(name: str = "blobs") -> Dataset:
    """Load an example table.

    Parameters
    ----------
    name : str, default "blobs"
        A key of `EXAMPLES`.

    Returns
    -------
    dataset : Dataset
        The table, not prepared yet; known classes are its label column.

    Raises
    ------
    ValueError
        If there is no such example.

    Notes
    -----
    Nothing is downloaded, and every call gives the same table.

    Examples
    --------
    >>> load_example("iris")
    Dataset('iris', 150 rows x 5 columns)
    >>> EXAMPLES["uniform"].teaches
    'There is nothing to find, yet some model always ranks first.'
    """
    check_choice(name, EXAMPLES, name="name")
    return make_dataset(EXAMPLES[name].make(), name)


def _example(
    name: str, title: str, teaches: str, n: int, d: int
) -> Callable[[Callable[[], pd.DataFrame]], Callable[[], pd.DataFrame]]:
    """Register the function below as an example of n rows and d features."""

    def register(make: Callable[[], pd.DataFrame]) -> Callable[[], pd.DataFrame]:
        EXAMPLES[name] = Example(title, teaches, n, d, make)
        return make

    return register


def _frame(X: FloatArray, classes: IntArray | None = None) -> pd.DataFrame:
    """Name the columns of generated features (n, d) x1, x2, ..., and the classes."""
    table = pd.DataFrame(X)
    table.columns = [f"x{j}" for j in range(1, table.shape[1] + 1)]
    return table if classes is None else table.assign(label=classes)


def _bundled(bunch: Any, label: str) -> pd.DataFrame:
    """Return a bundled table with the names of its classes."""
    table = bunch.data.copy()
    table.columns = [name.removesuffix(" (cm)") for name in table.columns]
    return table.assign(**{label: np.asarray(bunch.target_names)[bunch.target]})


@_example(
    "blobs",
    "Five groups of different size and spread",
    "Models disagree about samples where two groups touch, hardly elsewhere.",
    900,
    2,
)
def _blobs() -> pd.DataFrame:
    rng = np.random.default_rng(7)
    centres = [(0, 0), (5.2, 0.8), (2.4, 4.6), (7.5, 5.4), (-2.6, 5.2)]
    spreads = [0.9, 0.7, 0.8, 1.1, 0.6]
    return _gaussians(rng, centres, spreads, [240, 180, 180, 180, 120])


@_example(
    "iris",
    "Iris flowers",
    "Four measurements, three species, of which two overlap.",
    150,
    4,
)
def _iris() -> pd.DataFrame:
    return _bundled(datasets.load_iris(as_frame=True), "species")


@_example(
    "wine",
    "Wines of three cultivars",
    "Units differ by a factor of a thousand: scaling decides the result.",
    178,
    13,
)
def _wine() -> pd.DataFrame:
    return _bundled(datasets.load_wine(as_frame=True), "label")


@_example(
    "breast cancer",
    "Cell nuclei of breast tumours",
    "Thirty correlated measurements, two diagnoses.",
    569,
    30,
)
def _breast_cancer() -> pd.DataFrame:
    return _bundled(datasets.load_breast_cancer(as_frame=True), "label")


@_example(
    "digits",
    "Handwritten digits, 8 x 8 pixels",
    "Ten classes in 64 dimensions, of which three never vary.",
    1797,
    64,
)
def _digits() -> pd.DataFrame:
    bunch = datasets.load_digits(as_frame=True)
    return bunch.data.assign(label=bunch.target.to_numpy())


@_example(
    "rings",
    "Three nested rings",
    "Few models see the rings, and the others, who agree more, outvote them.",
    900,
    2,
)
def _rings() -> pd.DataFrame:
    rng = np.random.default_rng(11)
    classes = np.repeat([0, 1, 2], [150, 300, 450])
    radius = np.array([1.0, 3.0, 5.0])[classes] + rng.normal(0, 0.15, 900)
    angle = rng.uniform(0, 2 * np.pi, 900)
    X = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])
    return _frame(X, classes)


@_example(
    "uniform",
    "Uniform noise",
    "There is nothing to find, yet some model always ranks first.",
    800,
    2,
)
def _uniform() -> pd.DataFrame:
    return _frame(np.random.default_rng(3).uniform(size=(800, 2)))


@_example(
    "hubs",
    "One Gaussian in 100 dimensions",
    "No groups, but hubs: some points are among the ten nearest of 80 others.",
    600,
    100,
)
def _hubs() -> pd.DataFrame:
    return _frame(np.random.default_rng(5).normal(size=(600, 100)))


@_example(
    "moons",
    "Two interleaved half-moons",
    "Density models follow the moons, centre-based ones cut across them.",
    600,
    2,
)
def _moons() -> pd.DataFrame:
    return _frame(*datasets.make_moons(600, noise=0.07, random_state=0))


@_example(
    "stretched",
    "Three stretched groups",
    "Round clusters are an assumption: mixtures drop it, k-means cannot.",
    750,
    2,
)
def _stretched() -> pd.DataFrame:
    X, classes = datasets.make_blobs(750, centers=3, random_state=170)
    return _frame(X @ [[0.61, -0.64], [-0.41, 0.85]], classes)


@_example(
    "unequal",
    "One large, wide group and four small, dense ones",
    "Models that like equal sizes split the large group and outvote the others.",
    2000,
    2,
)
def _unequal() -> pd.DataFrame:
    rng = np.random.default_rng(13)
    centres = [(0, 0), (9, 0), (9, 3), (11, 1.5), (7.5, 1.5)]
    return _gaussians(
        rng, centres, [2.2, 0.3, 0.3, 0.3, 0.3], [1600, 100, 100, 100, 100]
    )


@_example(
    "customers",
    "A mixed table of customers with gaps",
    "Numbers, categories, an order, ids, dates and missing values of several kinds.",
    5000,
    30,
)
def _customers() -> pd.DataFrame:
    rng = np.random.default_rng(17)
    n = 5000
    kind = rng.choice(4, size=n, p=[0.4, 0.3, 0.2, 0.1])
    table: dict[str, Any] = {"customer id": [f"C{k:05d}" for k in rng.permutation(n)]}
    since = np.datetime64("2015-01-01") + rng.integers(0, 3650, n)
    table["customer since"] = since.astype("datetime64[us]")
    table |= _customer_numbers(rng, kind) | _customer_words(rng, kind)
    return pd.DataFrame(table)


@_example(
    "shoppers",
    "Customers of a shop in spring",
    "Four kinds of customers, by id: keep them, and find them again a quarter later.",
    600,
    5,
)
def _shoppers() -> pd.DataFrame:
    rng, kind = spring_shoppers()
    return shoppers(rng, np.arange(len(kind)), kind)


@_example(
    "large",
    "Twenty groups among 100\u202f000 rows",
    "Rankings and matrices at a size where n x n is out of reach.",
    100_000,
    2,
)
def _large() -> pd.DataFrame:
    rng = np.random.default_rng(19)
    centres = np.column_stack([np.arange(20) % 5 * 10.0, np.arange(20) // 5 * 10.0])
    centres += rng.uniform(-2.5, 2.5, centres.shape)
    return _gaussians(rng, centres, rng.uniform(0.8, 2.0, 20), [5000] * 20)


def _gaussians(
    rng: np.random.Generator,
    centres: npt.ArrayLike,
    spreads: npt.ArrayLike,
    sizes: list[int],
) -> pd.DataFrame:
    """Draw round Gaussian groups in the plane, in random order of rows."""
    classes = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    noise = rng.normal(size=(len(classes), 2)) * np.asarray(spreads)[classes, None]
    return _frame(np.asarray(centres, dtype=float)[classes] + noise, classes)


def spring_shoppers() -> tuple[np.random.Generator, IntArray]:
    """Draw the kinds of 600 customers: regulars, families, students, occasional.

    Returns
    -------
    rng : Generator
        Generator for the kinds and then for the table.
    kind : array of int, shape (600,)
        0 to 3, in the order of their numbers.
    """
    rng = np.random.default_rng(23)
    return rng, rng.permutation(np.repeat(np.arange(4), [240, 180, 120, 60]))


def shoppers(
    rng: np.random.Generator, ids: IntArray, kind: IntArray, basket: float = 88
) -> pd.DataFrame:
    """Draw customers of a shop: regulars, families, students, occasional, firms.

    Parameters
    ----------
    rng : Generator
        Generator of random numbers.
    ids : array of int, shape (n,)
        Number of each customer.
    kind : array of int, shape (n,)
        Kind of each, from 0 to 4.
    basket : float, default 88
        Mean spending of families.

    Returns
    -------
    table : DataFrame of shape (n, 5)
        Customer id, visits, basket, age, discounts.
    """
    means = np.array(
        [
            (12, 20, 61, 10),
            (5, basket, 41, 20),
            (8, 11, 23, 50),
            (1.5, 45, 47, 5),
            (3, 240, 38, 0),
        ]
    )
    spreads = np.array(
        [(2, 5, 6, 4), (1.5, 12, 5, 6), (2, 3, 3, 8), (0.6, 9, 6, 3), (1, 20, 5, 0.5)]
    )
    drawn = rng.normal(means[kind], spreads[kind])
    table = pd.DataFrame(
        np.round(drawn, 1), columns=["visits", "basket", "age", "discounts"]
    )
    table.insert(0, "customer id", [f"K{k:04d}" for k in ids])
    return table


def _customer_numbers(
    rng: np.random.Generator, kind: IntArray
) -> dict[str, FloatArray | IntArray]:
    """Draw the numeric columns of customers (n,) of four kinds, some with gaps."""
    n = len(kind)
    columns: dict[str, Any] = {
        "age": np.clip(
            rng.normal([34, 52, 45, 28], 8)[kind] + rng.normal(0, 9, n), 18, 95
        )
        .round()
        .astype(np.int64),
        "income": np.round(
            np.exp(rng.normal(0, 0.3, n)) * np.array([32, 58, 44, 21])[kind]
        )
        * 1000,
        "orders": rng.poisson(np.array([3, 12, 25, 1])[kind]),
    }
    for j in range(1, 19):
        centre = rng.normal(0, 1.2, 4)[kind]
        columns[f"spend {j:02d}"] = np.round(50 + 12 * (centre + rng.normal(size=n)), 2)
    for name in ("income", "spend 03", "spend 07", "spend 11"):
        columns[name] = columns[name].astype(float)
        columns[name][rng.random(n) < 0.06] = np.nan
    columns["spend 15"][rng.random(n) < 0.02] = -999  # a code for "not recorded"
    return columns


def _customer_words(rng: np.random.Generator, kind: IntArray) -> dict[str, Any]:
    """Draw the columns of categories of customers (n,) of four kinds."""

    def draw(levels: list[str], concentration: float, gaps: float = 0.0) -> pd.Series:
        weights = rng.dirichlet([concentration] * len(levels), 4)
        edges = weights.cumsum(axis=1)[kind]
        chosen = (rng.random(len(kind))[:, None] > edges[:, :-1]).sum(axis=1)
        words = pd.Series(np.asarray(levels)[chosen], dtype="str")
        return words.mask(rng.random(len(kind)) < gaps)

    return {
        "region": draw(["north", "east", "south", "west"], 1.5),
        "channel": draw(["web", "shop", "phone", "partner"], 0.6, gaps=0.04),
        "plan": draw(["basic", "plus", "family", "business", "student"], 0.5),
        "satisfaction": draw(["low", "medium", "high"], 1.0, gaps=0.08),
        "newsletter": draw(["yes", "no"], 1.0),
        "payment": draw(["card", "invoice", "transfer"], 0.8),
        "segment": draw(["A", "B", "C", "D", "E", "F"], 0.4, gaps=0.02),
    }
