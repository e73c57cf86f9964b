"""The console command `clusterlens run`: a pool, and labels of all rows, at any size.

clusterlens run SOURCE --out FOLDER [--pool NAME] [--landmarks N] [--held-back N]
[--rare SHARE] [--row-id COLUMN] [--skip-unreadable] [--seed N] [--jobs N]
[--client ADDRESS] [--json]
"""

from __future__ import annotations

import argparse
import json
import shlex
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from types import FrameType

import numpy as np

from clusterlens.compute._run.console import INTERRUPTED, end_progress, refuse
from clusterlens.compute._run.options import Cancelled
from clusterlens.compute.formatting import count, percent, whole
from clusterlens.compute.pool.presets import POOLS
from clusterlens.compute.scale.result import ScaledRun
from clusterlens.compute.scale.run import N_LANDMARKS, run_at_scale


def main(arguments: Sequence[str]) -> int:
    """Run a pool at scale; return the exit status.

    Parameters
    ----------
    arguments : sequence of str
        Those after `clusterlens run`.

    Returns
    -------
    status : int
        0 if the run is complete, 2 where arguments or data cannot be used, 130 after
        Ctrl-C; the same command then goes on.
    """
    given = _parser().parse_args(arguments)
    show = _Progress() if sys.stderr.isatty() else None
    stopped = False

    def stop(number: int, frame: FrameType | None) -> None:
        nonlocal stopped
        stopped = True
        signal.signal(signal.SIGINT, before)  # a second one ends at once

    before = signal.signal(signal.SIGINT, stop)
    try:
        made = run_at_scale(
            given.source,
            given.out,
            given.pool,
            given.seed,
            n_landmarks=given.landmarks,
            n_held_back=given.held_back,
            rare_share=given.rare,
            row_id=given.row_id,
            unreadable="skip" if given.skip_unreadable else "stop",
            n_jobs=given.jobs,
            progress=show,
            cancel=lambda: stopped,
            client=given.client,
        )
    except (Cancelled, KeyboardInterrupt):
        sentence = "stopped; the same command goes on where it was"
        return refuse("run", sentence, INTERRUPTED, show)
    except (ValueError, OSError, MemoryError, ImportError) as error:
        return refuse("run", str(error), 2, show)
    finally:
        signal.signal(signal.SIGINT, before)
    end_progress(show)
    if given.json:
        print(json.dumps({"out": made.folder, **made.to_plain()}))
    else:
        print(_words(made))
        page = shlex.join(["clusterlens", str(given.source), "--run", str(given.out)])
        print(f"to see it in the browser: {page}")
    return 0


class _Progress:
    """A line that says how much is done, and how long the rest may take."""

    def __init__(self) -> None:
        self._start = time.monotonic()

    def __call__(self, done: int, total: int) -> None:
        """Show the line."""
        left = ""
        if 0 < done < total:
            passed = time.monotonic() - self._start
            left = f", about {whole(passed * (total - done) / done)} s left"
        print(f"\r{percent(done / total):>4} done{left}   ", end="", file=sys.stderr)
        sys.stderr.flush()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="clusterlens run",
        description="Run a pool of clusterings on landmarks of a large table and write "
        "the labels of all its rows. A run that was stopped goes on.",
    )
    parser.add_argument("source", type=Path, help="a Parquet file or a folder of them")
    parser.add_argument(
        "--out", type=Path, required=True, metavar="FOLDER", help="folder of the run"
    )
    parser.add_argument(
        "--pool", choices=list(POOLS), default="default", help="default: default"
    )
    parser.add_argument(
        "--landmarks",
        type=int,
        default=N_LANDMARKS,
        metavar="N",
        help=f"rows that the models are fitted to (default {N_LANDMARKS})",
    )
    parser.add_argument(
        "--held-back",
        type=int,
        metavar="N",
        help="rows that measure the error of the landmarks in 19 samples, 0 for none "
        "(default: a quarter of the landmarks in each)",
    )
    parser.add_argument(
        "--rare",
        type=float,
        default=0.0,
        metavar="SHARE",
        help="share of the landmarks that favour rare and outlying rows (default 0)",
    )
    parser.add_argument("--row-id", metavar="COLUMN", help="column that names the rows")
    parser.add_argument(
        "--skip-unreadable",
        action="store_true",
        help="go on without files that cannot be read (default: name one and stop)",
    )
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="default 0")
    parser.add_argument(
        "--jobs",
        type=int,
        metavar="N",
        help="threads and processes (default: all cores)",
    )
    parser.add_argument(
        "--client", metavar="ADDRESS", help="a Dask scheduler, as tcp://host:8786"
    )
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    return parser


def _words(made: ScaledRun) -> str:
    """Return the result in sentences."""
    lines = [
        f"{count(made.n_labelled, 'row')} labelled in {made.folder} by "
        f"{count(len(made.models), 'model')} fitted to "
        f"{count(made.n_landmarks, 'landmark')}",
        f"closest to the consensus: {made.models['model'].iloc[0]}",
        f"consensus: {count(len(made.clusters), 'cluster')}",
    ]
    for label, rows in zip(*(made.clusters[c] for c in made.clusters), strict=True):
        share = percent(rows / made.n_labelled)
        lines.append(f"  cluster {label}: {whole(rows)} ({share})")
    lines.append(f"  too far from their cluster: {whole(made.n_nowhere)}")
    value, least = made.consensus_error
    if not np.isnan(value):
        lines.append(
            "adjusted Rand index with the consensus of 19 samples of other rows: "
            f"median {value:.3f}, smallest {least:.3f}"
        )
    lines.append(
        f"groups of fewer than {count(made.smallest_seen[0], 'row')} may be missed by "
        "all landmarks with a chance of more than 5%"
    )
    lines += [f"note: {note}" for note in made.notes]
    return "\n".join(lines)
