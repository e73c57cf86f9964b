"""Replay: run the script of an analysis in a fresh process, and compare the results.

The script needs only the files of the analysis and the library, so it has no network,
no settings of this process and an empty home folder. The script of an imported analysis
has limits, too (`guard`).
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any

import numpy as np

import clusterlens
from clusterlens.compute._run.folder_locks import working_folder
from clusterlens.compute._run.kernels import directories
from clusterlens.compute._run.options import Cancel, raise_if_cancelled
from clusterlens.compute.ranking.ranking import Ranking
from clusterlens.ui.exports import guard
from clusterlens.ui.state.history import Step
from clusterlens.ui.widgets.palette import file_labels

_PAUSE = 0.1
_SHOWN_ERROR = 300
# Stands beside the script; the workers of its pool import it, too.
_RUNNER = """\
import guard

guard.refuse_sockets()
if __name__ == "__main__":
    left = guard.leave_network()
    if {limited}:
        guard.take_limits()

import json

import analysis

if __name__ == "__main__":
    found = analysis.analyse()
    values = [
        list(found["ensemble"].names),
        found["ensemble"].labels.tolist(),
        found["ranking"].values.tobytes().hex(),
        found["clusters"],
    ]
    with open("found.json", "w") as file:
        json.dump([*values, left], file)
"""
# Environment variables that the script keeps: paths of programs and libraries, the
# language, and numbers of threads.
_KEPT = ("PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "LANG", "SYSTEMROOT")
_KEPT_KINDS = ("LC_", "NUMBA_", "OMP_", "OPENBLAS_", "MKL_")


@dataclass(frozen=True)
class Replayed:
    """Outcome of running a script.

    Parameters
    ----------
    difference : str
        Difference between its results and the analysis; empty if they are the same.
    left_network : bool
        Whether the system gave it a network of its own, without any machine in it;
        otherwise Python refused it all sockets.
    """

    difference: str
    left_network: bool


def replay(
    script: str,
    steps: Sequence[Step],
    files: Mapping[str, bytes],
    ranking: Ranking,
    clusters: np.ndarray,
    cancel: Cancel,
    *,
    limited: bool,
) -> Replayed:
    """Run a script in a fresh process and compare its results.

    Labels must be equal, and scores to the last bit. Takes as long as the script: the
    pool is run again.

    Parameters
    ----------
    script : str
        Script made by `write_script`.
    steps : sequence of Step
        Steps that the script was made from; they name the files that were read.
    files : mapping of str to bytes
        Uploaded files by SHA-256.
    ranking : Ranking
        Ranking to compare with.
    clusters : array of int, shape (n_samples,)
        Clusters of the exported partition by number on screen; noise is -1.
    cancel : callable
        Called repeatedly; returns whether to stop.
    limited : bool
        Whether time, memory and disk are limited, see `guard`.

    Raises
    ------
    ValueError
        If the script ends with an error; the message is its last line.
    Cancelled
        If it was stopped.
    """
    with working_folder() as place:
        (place / "analysis.py").write_text(
            _with_files(script, steps, files, place), encoding="utf-8"
        )
        runner = _RUNNER.format(limited=limited)
        (place / "replay.py").write_text(runner, encoding="utf-8")
        shutil.copy(guard.__file__, place / "guard.py")
        _run(place, cancel)
        *found, clusters_found, left = json.loads((place / "found.json").read_text())
    difference = _difference(ranking, *found)
    shown = file_labels(clusters)
    if not difference and not np.array_equal(clusters_found, shown):
        difference = "The models are equal, the clusters of the result are not."
    return Replayed(difference, bool(left))


def _with_files(
    script: str, steps: Sequence[Step], files: Mapping[str, bytes], place: Path
) -> str:
    """Write the files beside the script, under names without a path."""
    names = {step.values.get("sha256"): step.values.get("name") for step in steps}

    def put(found: re.Match[str]) -> str:
        constant, key = found.groups()
        if key not in names or key not in files:
            return found[0]
        suffix = re.sub(r"[^\w.]", "", PurePath(str(names[key])).suffix)
        plain = f"{constant.lower()}{suffix}"
        (place / plain).write_bytes(files[key])
        return f"{constant} = {plain!r}"

    return re.sub(r"(?m)^([A-Z_\d]+) = .*\n# SHA-256 ([\da-f]{64})$", put, script)


def _run(place: Path, cancel: Cancel) -> None:
    """Run the script and wait for its end."""
    home = place / "home"
    home.mkdir()
    with (place / "said.txt").open("w+", encoding="utf-8") as output:
        process = subprocess.Popen(
            [sys.executable, "replay.py"],
            cwd=place,
            stdout=output,
            stderr=output,
            env=_environment(str(home)),
            start_new_session=True,
        )
        try:
            while _is_running(process):
                raise_if_cancelled(cancel)
        finally:
            _end(process)
        output.seek(0)
        if process.returncode:
            lines = output.read().strip().splitlines()
            last = lines[-1] if lines else _signal(-process.returncode)
            raise ValueError(f"the script ended with {last[:_SHOWN_ERROR]!r}.")


def _signal(number: int) -> str:
    """Name the signal that ended a process without output, for example by a limit."""
    return (number > 0 and signal.strsignal(number)) or "no reason given"


def _environment(home: str) -> dict[str, str]:
    """Return the environment variables of the script."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if name in _KEPT or name.startswith(_KEPT_KINDS)
    }
    ours = str(Path(clusterlens.__file__).parents[1])
    paths = [ours, *filter(None, [os.environ.get("PYTHONPATH")])]
    kernels = str(directories()[-1].parent)  # Reuse compiled kernels.
    own = dict.fromkeys(("HOME", "USERPROFILE", "TMPDIR", "TMP", "TEMP"), home)
    caches = dict.fromkeys(("XDG_CACHE_HOME", "LOCALAPPDATA"), kernels)
    return {**kept, **own, **caches, "PYTHONPATH": os.pathsep.join(paths)}


def _end(process: subprocess.Popen[Any]) -> None:
    """End a process and all processes that it started."""
    if os.name == "posix":
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    process.kill()
    process.wait()


def _is_running(process: subprocess.Popen[Any]) -> bool:
    try:
        process.wait(_PAUSE)
    except subprocess.TimeoutExpired:
        return True
    return False


def _difference(
    ranking: Ranking, names: list[str], labels: list[list[int]], values: str
) -> str:
    """Describe the difference from the analysis; empty if there is none."""
    ensemble, same = ranking.ensemble, values == ranking.values.tobytes().hex()
    if names != list(ensemble.names):
        return f"It makes {len(names)} models, the run has {ensemble.n_partitions}."
    pairs = zip(ensemble.labels, labels, strict=True)
    others = sum(not np.array_equal(own, other) for own, other in pairs)
    if others:
        return f"{others} of {len(names)} models have other labels."
    return "" if same else "The labels are equal, the scores are not."
