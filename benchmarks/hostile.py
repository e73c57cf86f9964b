"""Attack the app with files changed on purpose: nothing may run and nothing may hang.

    python -m benchmarks.hostile [analysis] [store] [csv] [...] [--mutants 1000]
        [--seed 0] [--only K]

Each mutant is made of a real file by a seed of its own and goes the whole way in a
process that may be killed: "analysis" is imported, opened, put on screen, written as a
script and as a report, and exported; of every `REPLAYED` that opens the script is run
and the pictures are drawn. A mutant may be refused with words, or open and be sound. It
must not take longer than `PATIENCE` seconds, end the process, raise an unexpected
error, or run its own code: a file that this code would make must not exist, and its
script must contain only calls of the library and plain values. `--only` strikes with
one mutant, in this process.

"store" opens damaged stores (`tests.support.damaged_stores`): no analysis may differ
from the written one, or be gone, without a message.

"messages" are patches that a browser sends (`benchmarks.hostile_messages`);
"addresses", "tokens", "frames" and "pieces" are other requests
(`benchmarks.hostile_requests`).

All other names are kinds of input files (`benchmarks.hostile_files`). A file that takes
more time or memory than allowed counts as "changed".

`benchmarks.hostile_server` attacks a running server. Another kind of attack is one
function and one entry in `ATTACKS`.
"""

from __future__ import annotations

import argparse
import asyncio
import multiprocessing
import random
import resource
import sys
import tempfile
import time
import traceback
from collections import Counter, defaultdict
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.hostile_files import KINDS, attack_files
from benchmarks.hostile_messages import attack_messages
from benchmarks.hostile_requests import (
    attack_addresses,
    attack_frames,
    attack_pieces,
    attack_tokens,
)
from clusterlens.ui.server.memory.archive import (
    ArchiveError,
    import_analysis,
)
from clusterlens.ui.server.memory.schema import ABOUT
from clusterlens.ui.server.memory.store import Store
from clusterlens.ui.state.shapes import fits
from tests.support.damaged_stores import attack_stores
from tests.support.hostile_analyses import (
    PATIENCE,
    make_analysis,
    mutate_analysis,
    use_analysis,
)

REPLAYED = 40
# Bytes that a process may reserve before its mutant has crashed.
ADDRESS_SPACE = 10**10
SOUND = ("refused", "opened")
OUTCOMES = (*SOUND, "hung", "crashed", "ran", "changed")
# An attack: called with the random numbers of a mutant, it returns the kind of change,
# the outcome, and its reason.
Strike = Callable[[random.Random], tuple[str, str, str]]


def main() -> int:
    """Run the strikes and print their outcomes; return 1 if a mutant did harm."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("attacks", nargs="*", default=[*ATTACKS], metavar="attack")
    parser.add_argument("--mutants", type=int, default=1000, help="of each attack")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", type=int, help="strike with this mutant, here")
    given = parser.parse_args()
    harm = 0
    for name in given.attacks:
        with tempfile.TemporaryDirectory() as folder:
            if given.only is not None:
                print(*_strike(ATTACKS[name](Path(folder)), given.seed, given.only))
                continue
            harm += _attack(name, Path(folder), given.mutants, given.seed)
    return int(harm > 0)


def _attack(name: str, folder: Path, mutants: int, seed: int) -> int:
    """Strike in processes that may end; print the table, return the harm done."""
    found: dict[str, Counter[str]] = defaultdict(Counter)
    longest, bad = 0.0, []
    with _Striker(name, folder, seed) as striker:
        for k in range(mutants):
            kind, outcome, why = striker.strike(k)
            longest = max(longest, striker.seconds)
            found[kind][outcome] += 1
            if outcome not in SOUND:
                bad.append(f"{name} {k}, {kind}: {outcome}. {why}")
    print(f"{name}: {mutants} mutants, seed {seed}, longest {longest:.1f} s")
    print(f"{'':24}" + "".join(f"{outcome:>10}" for outcome in OUTCOMES))
    found["all"] = sum(found.values(), Counter())
    for kind, counts in found.items():
        print(f"{kind:24}" + "".join(f"{counts[outcome]:10}" for outcome in OUTCOMES))
    print(*bad, sep="\n")
    return len(bad)


class _Striker:
    """A process that strikes, and another one after it where it ends or hangs."""

    def __init__(self, name: str, folder: Path, seed: int) -> None:
        self._given = name, folder, seed
        self._context = multiprocessing.get_context("spawn")
        self._process: Any = None
        self.seconds = 0.0  # of the last strike

    def __enter__(self) -> _Striker:
        return self

    def __exit__(self, *error: object) -> None:
        self._end()

    def strike(self, k: int) -> tuple[str, str, str]:
        if self._process is None:
            self._pipe, other = self._context.Pipe()
            self._process = self._context.Process(
                target=_serve, args=(other, *self._given), daemon=False
            )
            self._process.start()
            other.close()
            self._pipe.recv()  # it is ready
        began = time.monotonic()
        self._pipe.send(k)
        try:
            if self._pipe.poll(PATIENCE):
                return self._pipe.recv()
            outcome = "hung"
        except EOFError:
            outcome = "crashed"
        finally:
            self.seconds = time.monotonic() - began
        self._end()
        return "(process lost)", outcome, "the process did not answer"

    def _end(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._process = None


def _serve(pipe: Any, name: str, folder: Path, seed: int) -> None:
    strike = ATTACKS[name](folder)
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
    pipe.send(None)
    while True:
        try:
            k = pipe.recv()
        except EOFError:
            return
        pipe.send(_strike(strike, seed, k))


def _strike(strike: Strike, seed: int, k: int) -> tuple[str, str, str]:
    try:
        return strike(random.Random(f"{seed} {k}"))
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        place = f"{Path(where.filename).name}:{where.lineno}"
        return (
            "(raised)",
            "crashed",
            f"{type(error).__name__} in {place}: {error!s:.200}",
        )


def attack_analyses(folder: Path) -> Strike:
    """Strike with files of analyses."""
    file, marker = folder / "base.clusterlens", folder / "ran"
    if not file.exists():
        file.write_bytes(asyncio.run(make_analysis(folder / "base")))
    base, store = file.read_bytes(), Store(folder / "store")
    names = Counter(opened=0)

    def strike(rng: random.Random) -> tuple[str, str, str]:
        kind, data = mutate_analysis(base, rng, marker)
        try:
            name = import_analysis(store, data)
        except ArchiveError as error:
            return kind, "ran" if marker.exists() else "refused", str(error)
        if not all(fits(ABOUT, entry.about) for entry in store.entries()):
            return kind, "crashed", "the list of analyses is damaged"
        names["opened"] += 1
        runs = names["opened"] % REPLAYED == 0
        why = asyncio.run(use_analysis(store, name, runs=runs))
        store.delete(name)
        if why or marker.exists():
            marker.unlink(missing_ok=True)
            return kind, "ran", why
        return kind, "opened", ""

    return strike


ATTACKS: dict[str, Callable[[Path], Strike]] = {
    "analysis": attack_analyses,
    "store": attack_stores,
    "messages": attack_messages,
    "addresses": attack_addresses,
    "tokens": attack_tokens,
    "frames": attack_frames,
    "pieces": attack_pieces,
    **{kind: partial(attack_files, kind) for kind in KINDS},
}

if __name__ == "__main__":
    sys.exit(main())
