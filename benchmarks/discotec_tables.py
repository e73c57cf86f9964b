"""Tables 2 to 5 and 8 to 17 of Ohl & Lindsten, with the printed values beside.

`discotec_printed.json` has tables 2 to 5 whole, three rows of table 10 and a column of
table 8. The columns Agg and DBSCAN involve no chance (*); on FCPS all their cells, tau
and regret on ARI, are also compared with the values per data set in `tests/reference`.
K-means columns depend on seeds that the paper does not give. In the columns All, only
the consensus metrics are targets: the published code numbers the models there
differently for the indices and the scores. The printed Binary of FCPS All, 0.73 ± 0.36,
is not met with any seed (0.82 to 0.83 ± 0.26); a single set at 0.08 in place of 0.9
would give it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.discotec_protocol import (
    COLLECTIONS,
    COLUMNS,
    METRICS,
    Case,
    Part,
    chosen_ari,
    correlations,
    data_sets,
    measure_columns,
    regret,
    summary,
)

KEY = ["protocol", "collection", "set"]
DETERMINISTIC = ("Agg", "DBSCAN")
PRINTED = Path(__file__).with_name("discotec_printed.json")
REFERENCE = Path(__file__).parents[1] / "tests" / "reference"
REFERENCE_POOLS = {
    ("fixed", "Agg"): "agglomerative_fixed_K",
    ("free", "Agg"): "agglomerative_free_K",
    ("free", "DBSCAN"): "dbscan_free",
}
# Frame for each column of a table, with one row per data set: a measure of each case.
MEASURES: dict[str, Callable[[pd.DataFrame], pd.Series]] = {
    "tau": correlations,
    "regret on ARI": lambda case: regret(chosen_ari(case)),
    "regret on ARI to the best model": lambda case: (
        case["ari"].max() - chosen_ari(case)
    ),
    "regret on tau": lambda case: regret(correlations(case)),
    "Pearson": partial(correlations, method="pearson"),
    "regret on Pearson": lambda case: regret(correlations(case, "pearson")),
}
TABLES_OF = {
    ("fixed", "tau"): "Tables 2 and 8",
    ("fixed", "regret on ARI"): "Tables 3 and 17",
    ("free", "tau"): "Tables 4 and 10",
    ("free", "regret on ARI"): "Tables 5 and 16",
    ("fixed", "regret on tau"): "Table 9",
    ("free", "regret on tau"): "Table 11",
    **dict.fromkeys(
        product(("fixed", "free"), ("Pearson", "regret on Pearson")), "Tables 12 to 15"
    ),
}
Pair = tuple[float, float]


def cases(folder: Path | None) -> Iterator[Case]:
    """Yield one case per protocol and data set, all columns at once."""
    for protocol in COLUMNS:
        for data in data_sets(folder):
            key = (protocol, data.collection, data.name)
            yield key, partial(measure_columns, data, protocol)


def report(rows: pd.DataFrame, out: Path) -> None:
    """Print and draw all tables beside the printed values."""
    tables = {measure: tabulate(rows, MEASURES[measure]) for measure in MEASURES}
    printed = json.loads(PRINTED.read_text(encoding="utf-8"))
    counts = rows.groupby(["collection", "protocol"])["set"].nunique()
    for (collection, protocol), count in counts.items():
        whole = len(COLLECTIONS[collection])
        print(f"{collection}, {protocol} K: {count} of {whole} data sets")
    for protocol in tables["tau"]:
        for measure, table in tables.items():
            given = printed[protocol].get(measure, {})
            number = TABLES_OF.get((protocol, measure), "Not in the paper")
            title = f"{number}: {measure}, {protocol} K"
            print_table(title, table[protocol], given)
    save(tables, out / "discotec_tables_means.csv")
    compared = pair_up(tables, printed)
    print_agreement(compared)
    print_reference(rows)
    draw(compared, out / "discotec_tables.png")


def tabulate(
    rows: pd.DataFrame, measure: Callable[[pd.DataFrame], pd.Series]
) -> dict[str, pd.DataFrame]:
    """Return mean and standard deviation over sets by protocol; metrics by columns."""
    values = rows.groupby([*KEY, "column"], sort=False).apply(measure)
    tables = {}
    for protocol in values.index.unique("protocol"):
        columns = {
            f"{collection} {column}": summary(
                values.xs((protocol, collection, column), level=[0, 1, 3])
            )
            for collection in COLLECTIONS
            if collection in values.loc[protocol].index.unique("collection")
            for column in COLUMNS[protocol]
        }
        tables[protocol] = pd.DataFrame(columns).reindex(METRICS)
    return tables


def print_table(title: str, table: pd.DataFrame, given: dict) -> None:
    """Print own (printed) values, one collection below the other."""
    for collection in COLLECTIONS:
        part = table.filter(like=collection)
        if part.empty:
            continue
        text = pd.DataFrame(
            {
                _heading(name): [
                    _cell(pair, given.get(name, {}).get(metric))
                    for metric, pair in column.items()
                ]
                for name, column in part.items()
            },
            index=part.index,
        )
        print(f"\n{title}, own (printed); * without chance")
        print(text.to_string())


def _heading(name: str) -> str:
    """Mark a column without chance."""
    return f"{name}{'*' if name.split()[1] in DETERMINISTIC else ''}"


def _cell(own: Pair, given: Pair | None) -> str:
    """Format mean and standard deviation, own and printed."""
    text = f"{own[0]:.2f}±{own[1]:.2f}"
    return text if given is None else f"{text} ({given[0]:.2f}±{given[1]:.2f})"


def save(tables: dict[str, dict[str, pd.DataFrame]], path: Path) -> None:
    """Write all means and standard deviations as one long table."""
    long = [
        (measure, protocol, name, metric, *pair)
        for measure, both in tables.items()
        for protocol, table in both.items()
        for name, column in table.items()
        for metric, pair in column.items()
    ]
    names = ["measure", "protocol", "column", "metric", "mean", "std"]
    pd.DataFrame(long, columns=names).to_csv(path, index=False)


def pair_up(tables: dict, printed: dict) -> pd.DataFrame:
    """Return one row per printed cell: own and printed mean and standard deviation."""
    cells = [
        (protocol, measure, name, metric, *tables[measure][protocol][name][metric], *p)
        for protocol in tables["tau"]
        for measure, columns in printed[protocol].items()
        for name, column in columns.items()
        if name in tables[measure][protocol]
        for metric, p in column.items()
    ]
    names = ["protocol", "measure", "column", "metric", "mean", "std"]
    return pd.DataFrame(cells, columns=[*names, "printed_mean", "printed_std"])


def equal_to_print(compared: pd.DataFrame) -> pd.Series:
    """Return whether mean and standard deviation agree to two decimals."""
    own = compared[["mean", "std"]].round(2).to_numpy()
    given = compared[["printed_mean", "printed_std"]].round(2).to_numpy()
    return pd.Series(np.isclose(own, given, atol=1e-9).all(axis=1), compared.index)


def print_agreement(compared: pd.DataFrame) -> None:
    """Count the printed cells that are met to two decimals, column by column."""
    equal = equal_to_print(compared)
    gap = (compared["mean"] - compared["printed_mean"]).abs()
    print("\nprinted cells met to two decimals (mean and std), largest gap of the mean")
    for key, part in compared.groupby(["protocol", "measure", "column"], sort=False):
        count = f"{equal[part.index].sum()} of {len(part)}"
        name = f"{key[0]} K, {key[1]}, {_heading(key[2])}"
        print(f"  {name:40} {count:>9}  {gap[part.index].max():.3f}")
    calm = compared["column"].str.split().str[1].isin(DETERMINISTIC)
    for collection in COLLECTIONS:
        here = calm & compared["column"].str.startswith(collection)
        off = compared[here & ~equal]
        text = ", ".join(
            f"{row.metric} ({row.protocol} {row.measure} {row.column})"
            for row in off.itertuples()
        )
        print(f"{collection} without chance: {equal[here].sum()} of {here.sum()}")
        print(f"  other: {text or 'none'}")


def print_reference(rows: pd.DataFrame) -> None:
    """Compare all 24 metrics on FCPS without chance with the recomputed values."""
    files = ["discotec_fcps.json", "internal_indices_fcps.json"]
    known = [json.loads((REFERENCE / f).read_text(encoding="utf-8")) for f in files]
    met = total = 0
    for (protocol, column), pool in REFERENCE_POOLS.items():
        by_case = rows[["protocol", "collection", "column"]] == (
            protocol,
            "FCPS",
            column,
        )
        if not by_case.all(axis=1).any():
            continue
        cases = rows[by_case.all(axis=1)].groupby("set")
        for field, measure in (("tau", correlations), ("ari_of_choice", chosen_ari)):
            expected = pd.DataFrame(
                {
                    name: known[0][pool][name][field] | known[1][pool][name][field]
                    for name in cases.groups
                },
                dtype=float,
            ).T[METRICS]
            own = cases.apply(measure)
            if field == "ari_of_choice":
                expected = expected.apply(regret, axis=1)
                own = own.apply(regret, axis=1)
            both = zip(summary(own), summary(expected), strict=True)
            met += sum(np.allclose(np.round(a, 2), np.round(b, 2)) for a, b in both)
            total += len(METRICS)
    print(f"FCPS without chance, tau and regret, all 24 metrics: {met} of {total}")
    print("  equal the values recomputed per data set (tests/reference)")


def draw(compared: pd.DataFrame, path: Path) -> None:
    """Plot own against printed means, one colour per column."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, 2, figsize=(11, 5), layout="constrained")
    for axis, (measure, part) in zip(axes, compared.groupby("measure"), strict=True):
        for column, cells in part.groupby("column"):
            marker = "o" if column.split()[1] in DETERMINISTIC else "x"
            axis.plot(cells["printed_mean"], cells["mean"], marker, label=column)
        axis.axline((0, 0), slope=1, color="grey", linewidth=0.8)
        axis.set(title=measure, xlabel="printed mean", ylabel="own mean")
        axis.legend(fontsize="small")
    figure.savefig(path, dpi=150)
    pyplot.close(figure)


TABLES = Part(KEY, cases, report)
