"""Replay: run the script of an analysis in a fresh process, and compare the results."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePath
from typing import Any

import numpy as np

import clusterlens
from clusterlens.compute._run.options import Cancel, raise_if_cancelled
from clusterlens.compute.ensemble.ensemble import Ensemble
from clusterlens.compute.ranking.ranking import Ranking
from clusterlens.ui.history import Step

_PAUSE = 0.1
_SHOWN_ERROR = 300
# Beside the script; workers of its pool import it, too.
_RUNNER = """\
import json

import analysis

if __name__ == "__main__":
    _, ens, ranking = analysis.analyse()
    found = [list(ens.names), ens.labels.tolist(), ranking.values.tobytes().hex()]
    with open("found.json", "w") as file:
        json.dump(found, file)
"""


def replay(
    script: str,
    steps: Sequence[Step],
    files: Mapping[str, bytes],
    ranking: Ranking,
    cancel: Cancel,
) -> str:
    """Run a script elsewhere; return how it differs, nothing if it gives the same.

    Labels must be equal, and scores to the last bit. Takes as long as the script: the
    pool is run again.

    Parameters
    ----------
    script : str
        As `write_script` makes it.
    steps : sequence of Step
        Those it was made of; the one that loaded a file says which.
    files : mapping of str to bytes
        Uploaded files by SHA-256.
    ranking : Ranking
        What it is compared with.
    cancel : callable
        Asked again and again whether to stop.

    Raises
    ------
    ValueError
        If the script ends with an error; the message is its last line.
    Cancelled
        If it was stopped.
    """
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        (place / "analysis.py").write_text(
            _with_table(script, steps, files, place), encoding="utf-8"
        )
        (place / "replay.py").write_text(_RUNNER, encoding="utf-8")
        _run(place, cancel)
        names, labels, values = json.loads((place / "found.json").read_text())
    same = values == ranking.values.tobytes().hex()
    return _difference(ranking.ensemble, names, labels, same)


def _with_table(
    script: str, steps: Sequence[Step], files: Mapping[str, bytes], place: Path
) -> str:
    """Put the table beside the script, by a name that leads nowhere else."""
    for step in reversed(steps):
        if step.kind == "load file" and "sha256" in step.values:
            name = str(step.values["name"])
            plain = "table" + re.sub(r"[^\w.]", "", PurePath(name).suffix)
            (place / plain).write_bytes(files[step.values["sha256"]])
            return script.replace(f"FILE = {name!r}", f"FILE = {plain!r}", 1)
    return script


def _run(place: Path, cancel: Cancel) -> None:
    """Run the script and wait for its end."""
    ours = str(Path(clusterlens.__file__).parents[1])
    paths = [ours, *filter(None, [os.environ.get("PYTHONPATH")])]
    with (place / "said.txt").open("w+", encoding="utf-8") as said:
        process = subprocess.Popen(
            [sys.executable, "replay.py"],
            cwd=place,
            stdout=said,
            stderr=said,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        )
        try:
            while _is_running(process):
                raise_if_cancelled(cancel)
        finally:
            process.kill()
            process.wait()
        said.seek(0)
        if process.returncode:
            last = (said.read().strip().splitlines() or ["no reason given"])[-1]
            raise ValueError(f"the script ended with {last[:_SHOWN_ERROR]!r}.")


def _is_running(process: subprocess.Popen[Any]) -> bool:
    try:
        process.wait(_PAUSE)
    except subprocess.TimeoutExpired:
        return True
    return False


def _difference(
    ensemble: Ensemble, names: list[str], labels: list[list[int]], same: bool
) -> str:
    """Say what differs from the analysis, nothing where nothing does."""
    if names != list(ensemble.names):
        return f"It makes {len(names)} models, the run has {ensemble.n_partitions}."
    pairs = zip(ensemble.labels, labels, strict=True)
    others = sum(not np.array_equal(own, other) for own, other in pairs)
    if others:
        return f"{others} of {len(names)} models have other labels."
    return "" if same else "The labels are equal, the scores are not."
