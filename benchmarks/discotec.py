"""DISCOTEC: the experiments of Ohl & Lindsten, beside their printed values.

    python -m benchmarks.discotec --data FOLDER                   # all, 15 minutes
    python -m benchmarks.discotec tables --data FOLDER
    python -m benchmarks.discotec scenario1 scenario2 scaling     # need no data
    python -m benchmarks.discotec --report                        # only tables, plots

`tables`: the rank correlation of 24 metrics with the adjusted Rand index of the classes
(ARI), and the regret of choosing by them, on FCPS and UCI. `suggestions`: answers to
suggested and to random pairs. `scenario1`, `scenario2`, `scaling`: synthetic pools.
`constraints`: all pairs of a few labelled samples, by Algorithm 1 and by equation 5.
The modules beside this one say more: `discotec_protocol`, `_tables`, `_answers`,
`_synthetic`.

FOLDER holds fcps/NAME.csv.gz and uci/NAME.csv.gz, features first and a last column
"label"; Iris, Wine, WDBC and Digits come from scikit-learn otherwise. Every finished
case is appended to discotec_PART.csv in the output folder, and a new start goes on from
there.

References
----------
Ohl, L., Lindsten, F. Discriminative ordering through ensemble consensus (2025).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter

import pandas as pd
from threadpoolctl import threadpool_limits

from benchmarks.discotec_answers import CONSTRAINTS, SUGGESTIONS
from benchmarks.discotec_protocol import Case, Part, missing
from benchmarks.discotec_synthetic import SCALING, SCENARIO_1, SCENARIO_2
from benchmarks.discotec_tables import TABLES

PARTS: dict[str, Part] = {
    "tables": TABLES,
    "suggestions": SUGGESTIONS,
    "scenario1": SCENARIO_1,
    "scenario2": SCENARIO_2,
    "scaling": SCALING,
    "constraints": CONSTRAINTS,
}


def main() -> None:
    """Run the missing cases, then print and draw the results."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("parts", nargs="*", metavar="part", help=", ".join(PARTS))
    parser.add_argument("--data", type=Path, help="folder with fcps/ and uci/")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results"))
    parser.add_argument("--report", action="store_true", help="run nothing")
    arguments = parser.parse_args()
    unknown = set(arguments.parts) - set(PARTS)
    if unknown:
        parser.error(f"no part {', '.join(unknown)}; there are {', '.join(PARTS)}")
    arguments.out.mkdir(parents=True, exist_ok=True)
    absent = [] if arguments.report else missing(arguments.data)
    if absent:
        print(f"not available, left out of all means: {', '.join(absent)}")
    for name in arguments.parts or PARTS:
        part = PARTS[name]
        results = arguments.out / f"discotec_{name}.csv"
        if not arguments.report:
            run_missing(name, part.key, part.cases(arguments.data), results)
        if results.exists():
            print(f"\n=== {name} ===")
            part.report(pd.read_csv(results), arguments.out)


def run_missing(name: str, key: list[str], cases: Iterator[Case], path: Path) -> None:
    """Run the cases that the results do not hold yet, and append each when done."""
    done = set()
    if path.exists():
        done = set(pd.read_csv(path)[key].itertuples(index=False, name=None))
    for values, compute in cases:
        if values in done:
            continue
        start = perf_counter()
        # On data of this size, threads mostly wait for each other.
        with threadpool_limits(1):
            frame = compute()
        for at, (column, value) in enumerate(zip(key, values, strict=True)):
            frame.insert(at, column, value)
        frame.to_csv(path, mode="a", header=not path.exists(), index=False)
        words = " ".join(map(str, values))
        print(f"{name} {words}: {perf_counter() - start:.1f} s", file=sys.stderr)


if __name__ == "__main__":
    main()
