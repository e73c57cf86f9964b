"""The console command `clusterlens assign`: a table with the clusters of its rows.

clusterlens assign SEGMENTATION TABLE -o FILE [--alpha RATE] [--separator MARK]
[--decimal MARK] [--encoding NAME] [--threads N] [--json]
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from clusterlens.compute._run.console import INTERRUPTED, end_progress, refuse
from clusterlens.compute._run.options import RunOptions
from clusterlens.compute._validation import check_choice, check_range
from clusterlens.compute.assigning.assigner import ALPHA
from clusterlens.compute.assigning.storing import load_segmentation
from clusterlens.compute.assigning.streaming import FileSummary, assign_file
from clusterlens.compute.formatting import count, percent, whole
from clusterlens.compute.table.reading import DECIMAL_NAMES, SEPARATOR_NAMES

_MARKS = {"tab": "\t"}  # hard to type in a shell


def main(arguments: Sequence[str]) -> int:
    """Assign the rows of a file; return the exit status.

    Parameters
    ----------
    arguments : sequence of str
        Arguments after `clusterlens assign`.

    Returns
    -------
    status : int
        0 if the file was written, 2 if arguments or data cannot be used, 130 after
        Ctrl-C. There is a file only for 0.
    """
    given = _parser().parse_args(arguments)
    progress = _line if sys.stderr.isatty() else None
    try:
        alpha = check_range(given.alpha, 1e-9, 1 - 1e-9, name="--alpha")
        run = RunOptions(n_jobs=given.threads, progress=progress)
        segmentation = load_segmentation(given.segmentation)
        separator = _MARKS.get(given.separator, given.separator)
        if separator is not None:
            check_choice(separator, SEPARATOR_NAMES, name="--separator")
        summary = assign_file(
            segmentation,
            given.table,
            given.output,
            alpha=alpha,
            run=run,
            encoding=given.encoding,
            separator=separator,
            decimal=given.decimal,
        )
    except KeyboardInterrupt:
        return refuse("assign", "stopped; nothing was written", INTERRUPTED, progress)
    except (ValueError, OSError, MemoryError) as error:
        return refuse("assign", str(error), 2, progress)
    end_progress(progress)
    if given.json:
        print(json.dumps({"output": str(given.output), **asdict(summary)}))
    else:
        print(_words(summary, given.output, alpha))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="clusterlens assign",
        description="Write the rows of a table with the clusters they belong to.",
    )
    parser.add_argument(
        "segmentation", type=Path, help="a file that Segmentation.save has written"
    )
    parser.add_argument("table", type=Path, help="Parquet or CSV, of any length")
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        required=True,
        metavar="FILE",
        help="new file, .parquet or .csv; one that is there is not overwritten",
    )
    parser.add_argument(
        "--alpha",
        type=float,
        default=ALPHA,
        metavar="RATE",
        help=f"rate of 'nowhere' among rows like those seen (default {ALPHA})",
    )
    parser.add_argument(
        "--separator",
        metavar="MARK",
        help="what separates the cells of text: , ; | ^ ~ or tab (default: found out)",
    )
    parser.add_argument(
        "--decimal",
        choices=list(DECIMAL_NAMES),
        help="what stands before the digits of a fraction (default: found out)",
    )
    parser.add_argument(
        "--encoding",
        metavar="NAME",
        help="encoding of text as Python names it, cp1252 for example (default: UTF-8)",
    )
    parser.add_argument(
        "--threads", type=int, metavar="N", help="threads (default: all cores)"
    )
    parser.add_argument(
        "--json", action="store_true", help="say what became of the rows as JSON"
    )
    return parser


def _line(done: int, total: int) -> None:
    print(f"\r{percent(done / total):>4} of the table", end="", file=sys.stderr)
    sys.stderr.flush()


def _words(summary: FileSummary, output: Path, alpha: float) -> str:
    """Describe the results for the rows."""
    lines = [f"{count(summary.rows, 'row')} written to {output}"]
    for name, n in summary.clusters.items():
        lines.append(f"  {name}: {whole(n)} ({percent(n / summary.rows)})")
    nowhere = percent(summary.nowhere / summary.rows)
    lines.append(
        f"  too far from their cluster: {whole(summary.nowhere)} ({nowhere}; up to "
        f"{percent(alpha)} of rows like those seen)"
    )
    if summary.not_assigned:
        lines.append(f"  not assigned, without a value: {whole(summary.not_assigned)}")
    for name, n in summary.gaps.items():
        lines.append(f"  column {name!r}: {count(n, 'cell')} without a known value")
    if summary.not_used:
        lines.append(f"  columns not used: {', '.join(map(repr, summary.not_used))}")
    return "\n".join([*lines, *(f"  {note}" for note in summary.notes)])
