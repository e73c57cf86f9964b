"""Tests of stored checks: after a reload, in other tabs, after a kill, from a file."""

import io
import json
import subprocess
import sys
import zipfile
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from clusterlens.compute.consensus.cohesion import CONSENSUS_GRID
from clusterlens.compute.ensemble.ensemble import Ensemble
from clusterlens.compute.indices import evidence
from clusterlens.compute.indices.class_match import LabelCheck
from clusterlens.compute.indices.evidence import LabelEvidence
from clusterlens.compute.indices.indices import IndexValue
from clusterlens.compute.pool.k_selection import Curves, KSelection
from clusterlens.compute.pool.nulls import NullAgreement
from clusterlens.compute.pool.separation import ClusterSeparation
from clusterlens.compute.pool.stability import ClusterStability
from clusterlens.ui.actions import pools
from clusterlens.ui.components.findings import NEEDED, WELCOME, gather
from clusterlens.ui.composition import new_session
from clusterlens.ui.exports.document import write_report
from clusterlens.ui.jobs.arrays import arrays_from_bytes, arrays_to_bytes
from clusterlens.ui.pages.clusters import k_nodes
from clusterlens.ui.results import cluster_stability, nulls
from clusterlens.ui.server.memory import contents
from clusterlens.ui.server.memory.archive import (
    ArchiveError,
    export_analysis,
    import_analysis,
)
from clusterlens.ui.server.memory.measured import (
    pack_check,
    read_checks,
    unpack_check,
)
from clusterlens.ui.server.memory.store import Intent, Store
from clusterlens.ui.server.server import Server
from clusterlens.ui.session import Session
from clusterlens.ui.state.checks import (
    APART,
    COPIES,
    DENSITY,
    FOUND_AGAIN,
    KINDS,
    NUMBERS,
    Check,
)
from tests.ui.loop import run, wait_until_idle

POOL = [{"clusterer": "k-means", "n_clusters": [2, 3]}]
ASKED = ("null_check", "k_selection", "chosen_stability", "labels_stability")
# The nodes that show each kind of check.
SHOWN = {
    COPIES: ("null_check",),
    NUMBERS: ("k_selection",),
    FOUND_AGAIN: ("chosen_stability", "labels_stability", "export_stability"),
    APART: ("labels_separation",),
    DENSITY: ("label_evidence",),
}
NODES = tuple(name for names in SHOWN.values() for name in names)
# Kills itself as soon as the page reports that the check is saved.
KILLED = """
import os, signal, sys
from pathlib import Path
from tests.ui.memory.test_checks import ask, begun, quick_checks
from clusterlens.ui.server.memory.store import Store
from clusterlens.ui.server.server import Server
from tests.ui.loop import run
import pytest

async def main():
    session = await begun(Server(Store(Path(sys.argv[1]))))
    await ask(session)
    assert session.memory.state == "saved"
    print(session.memory.analysis, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)

with pytest.MonkeyPatch.context() as patch:
    quick_checks(patch)
    run(main())
"""


def some_copies(seed=0, n=150) -> NullAgreement:
    rng = np.random.default_rng(seed)
    shares = np.sort(rng.random((3, len(CONSENSUS_GRID))))
    best = np.array([0.2, np.nan])
    return NullAgreement(
        "aari",
        0.5,
        {"permuted": best, "gaussian": best + 0.1},
        {"permuted": 2 / 3, "gaussian": 2 / 3},
        CONSENSUS_GRID,
        shares[0],
        {"permuted": shares[1:], "gaussian": shares[1:]},
        n,
        ("a <b>note</b>",),
        seed,
    )


def some_curves(rng, *shape) -> Curves:
    cdf = np.sort(rng.random((*shape, len(CONSENSUS_GRID))))
    return Curves(cdf, *rng.random((3, *shape)), np.full(shape, np.nan))


def some_numbers(seed=0, n=150) -> KSelection:
    rng = np.random.default_rng(seed)
    kinds = ("gaussian", "uniform")
    return KSelection(
        3,
        np.array([2, 3]),
        some_curves(rng, 2),
        {kind: some_curves(rng, 4, 2) for kind in kinds},
        {kind: np.array([0.4, 0.2]) for kind in kinds},
        np.array([0.0, 0.5]),
        0.2,
        "k-means",
        5,
        n,
        n,
        seed,
        ("a note",),
    )


def some_stability(labels, seed=0) -> ClusterStability:
    clusters, sizes = np.unique(labels[labels >= 0], return_counts=True)
    # Values depend on the size of the cluster, which identifies it after renumbering.
    values = np.repeat(sizes[None] / sizes.sum(), 2, axis=0)
    values[0, 0] = np.nan
    return ClusterStability(
        labels, clusters, sizes, values, 3, seed, ("one failed",), values[1] / 2, 4
    )


def some_separation(labels, seed=0) -> ClusterSeparation:
    clusters, sizes = np.unique(labels[labels >= 0], return_counts=True)
    shares = sizes / sizes.sum()
    return ClusterSeparation(clusters, sizes, shares, shares / 2, 10, 4, 150, seed)


def some_evidence(labels) -> LabelEvidence:
    classes, sizes = np.unique(labels[labels >= 0], return_counts=True)
    a, b = np.triu_indices(len(classes), 1)
    pairs = pd.DataFrame(
        {
            "class_a": classes[a],
            "class_b": classes[b],
            "score": 0.5,
            "standard_error": 0.01,
            "n_a": sizes[a],
            "n_b": sizes[b],
            "n_permutations": 100,
            "exact": False,
            "note": "",
            "dbcv": np.nan,
        }
    )
    check = LabelCheck(
        0.5, 0.01, pairs.drop(columns="dbcv"), "CH_btwn", "paper", ("a note",)
    )
    dbcv = IndexValue(np.nan, reason="too few", n_used=9)
    return LabelEvidence(
        check, dbcv, pairs, pd.DataFrame({"score": [0.1, 0.2], "dbcv": [0.0, np.nan]})
    )


def quick_checks(patch) -> list[str]:
    """Make pools and checks return at once; return the list of measurements."""
    measured = []

    def found(X, pool, **options):
        rng = np.random.default_rng(options["random_state"])
        labels = np.sort(rng.integers(0, 3, (4, len(X))))
        spec = {"clusterer": "k-means", "n_clusters": 3}
        return Ensemble(labels, specs=[spec] * 4, seconds=[0.1] * 4)

    def quick(kind, make):
        def measure(*given, **options):
            measured.append(kind)
            return make(*given, **options)

        return measure

    patch.setattr(pools, "run_pool", found)
    for module, name, kind, make in (
        (nulls, "null_agreement", COPIES, lambda X, *_, **how: some_copies(0, len(X))),
        (k_nodes, "select_k", NUMBERS, lambda X, *_, **how: some_numbers(0, len(X))),
        (
            cluster_stability,
            "cluster_stability",
            FOUND_AGAIN,
            lambda X, spec, seed, *, labels, **how: some_stability(labels, seed),
        ),
        (
            cluster_stability,
            "cluster_separation",
            APART,
            lambda X, labels, **how: some_separation(labels),
        ),
        (
            evidence,
            "label_evidence",
            DENSITY,
            lambda X, labels, **how: some_evidence(labels),
        ),
    ):
        patch.setattr(module, name, quick(kind, make))
    return measured


@pytest.fixture(scope="module", autouse=True)
def measured():
    """The list of measurements, in order."""
    with pytest.MonkeyPatch.context() as patch:
        yield quick_checks(patch)


async def begun(server, checks=None) -> Session:
    """Return a session with a run and an evaluated leader, with some checks."""
    session = new_session(server)
    session.checks.replace(checks or {})
    assert await session.act("load example", name="iris")
    assert await session.act("run pool", pool=POOL, random_state=0)
    await shown(session)
    return session


async def shown(session) -> dict:
    """Display the leader, and return the results of all checks."""
    session.view_state.label_source = "model:0"
    session.derived.watch(NODES, lambda results: None)
    await wait_until_idle(session)
    return {name: session.derived.get(name) for name in NODES}


async def ask(session, names=ASKED) -> None:
    for name in names:
        session.derived.ask(name)
        await wait_until_idle(session)
    await session.memory.settled()


def seen(results) -> dict:
    """Return the displayed values of checks: arrays, words, seed and day."""
    return {
        name: (
            result.state,
            result.check and result.check.settings,
            plain(result.value),
        )
        for name, result in results.items()
    }


def plain(value):
    """Return a value as text, with all numbers in it."""
    if value is None:
        return None
    if hasattr(value, "_asdict"):
        value = value._asdict()
    elif hasattr(value, "__dict__") and not isinstance(value, (pd.DataFrame, float)):
        value = vars(value)
    if isinstance(value, dict):
        return {name: plain(one) for name, one in value.items()}
    if isinstance(value, pd.DataFrame):
        return value.to_json()
    return repr(value.tolist() if isinstance(value, np.ndarray) else value)


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """A store with an analysis with all checks, and the displayed values."""
    folder = tmp_path_factory.mktemp("kept")

    async def main():
        server = Server(Store(folder))
        session = await begun(server)
        await ask(session)
        results = seen(await shown(session))
        data = export_analysis(server.store, session.memory.analysis)
        server.close()
        return session.memory.analysis, results, data

    return folder, *run(main())


async def reopened(kept, tmp_path, measured):
    folder, analysis, _, _ = kept
    session = new_session(Server(Store(folder)))
    assert await session.open(analysis)
    return session


async def imported(kept, tmp_path, measured):
    session = new_session(Server(Store(tmp_path / "other")))
    assert await session.take_in(kept[-1]), session.jobs.notices
    return session


async def duplicated(kept, tmp_path, measured):
    folder, analysis, _, _ = kept
    store = Store(folder)
    session = new_session(Server(store))
    assert await session.open(store.duplicate(analysis, "a copy"))
    return session


async def beside(kept, tmp_path, measured):
    """Return a tab that was open before another one measured everything."""
    server = Server(Store(tmp_path / "tabs"))
    first, second = await begun(server), new_session(server)
    assert await second.open(first.memory.analysis)
    await ask(first)
    await second.memory.settled()
    measured.clear()
    return second


@pytest.mark.parametrize("way", [reopened, imported, duplicated, beside])
def test_what_was_measured_is_shown_again(way, kept, tmp_path, measured):
    async def main():
        measured.clear()
        session = await way(kept, tmp_path, measured)
        assert seen(await shown(session)) == kept[2]
        assert measured == []
        await session.memory.settled()
        assert session.memory.state == "saved"
        session.close()

    run(main())


@pytest.mark.parametrize("kind", KINDS)
def test_everything_that_was_measured_is_shown_with_seed_and_day(kind, kept):
    for name in SHOWN[kind]:
        state, settings, _ = kept[2][name]
        assert state == "ready"
        assert ", seed 0, " in settings


def test_what_was_saved_is_there_after_a_kill(kept, tmp_path, measured):
    command = [sys.executable, "-c", KILLED, str(tmp_path)]
    ended = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    assert ended.returncode == -9

    async def main():
        measured.clear()
        session = new_session(Server(Store(tmp_path)))
        assert await session.open(ended.stdout.strip())
        found = seen(await shown(session))
        assert {name: one[::2] for name, one in found.items()} == {
            name: one[::2] for name, one in kept[2].items()
        }
        assert measured == []

    run(main())


def test_checks_go_with_their_run_and_come_back_with_it(kept, tmp_path, measured):
    async def main():
        session = await imported(kept, tmp_path, measured)
        before = seen(await shown(session))
        assert await session.act("prepare", scale="robust")
        assert await session.act("run pool", pool=POOL, random_state=0)
        other = await shown(session)
        assert {other[name].state for name in ASKED} == {"declined"}
        session.undo()
        session.undo()
        assert seen(await shown(session)) == before
        session.undo()
        gone = await shown(session)
        assert {gone[name].state for name in ASKED} == {"empty"}
        session.redo()
        measured.clear()
        assert seen(await shown(session)) == before
        assert measured == []

    run(main())


MODEL = {"kind": "model", "model": 0}


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        ("name cluster", {"partition": MODEL, "cluster": 1, "name": "<b>big</b>"}),
        ("add link", {"kind": "must", "a": 0, "b": 1}),
        ("write note", {"text": "a note"}),
        ("rename run", {"name": "mine"}),
        ("keep partition", {"partition": {"kind": "consensus", "k": 2}, "name": "x"}),
    ],
)
def test_what_changes_no_value_discards_nothing(kind, values, kept, tmp_path, measured):
    async def main():
        session = await imported(kept, tmp_path, measured)
        before = await shown(session)
        more = {"id": session.analysis.run_id} if kind == "rename run" else {}
        measured.clear()
        assert await session.act(kind, **values, **more), session.jobs.notices
        if session.view_state.label_source != "model:0":
            # A new run shows the given labels first, which were not measured before.
            await wait_until_idle(session)
            measured.clear()
        after = await shown(session)
        assert {name: one.check for name, one in after.items()} == {
            name: one.check for name, one in before.items()
        }
        assert measured == []

    run(main())


def test_other_numbers_of_the_same_clusters_keep_what_was_found(
    kept, tmp_path, measured
):
    async def main():
        session = await imported(kept, tmp_path, measured)
        before = await shown(session)
        numbers, model = [[0, 2], [1, 0], [2, 1]], session.derived.get("leader").value
        session.view_state.label_source = f"model:{model}"
        await wait_until_idle(session)
        partition = {"kind": "model", "model": model}
        assert await session.act(
            "choose result", partition=partition, numbers=numbers, on="Clusters"
        )
        session.view_state.label_source = "result"
        measured.clear()
        await wait_until_idle(session)
        was = before["chosen_stability"].value.to_frame()
        was.index = [dict(numbers)[k] for k in was.index]
        for name in SHOWN[FOUND_AGAIN]:
            now = session.derived.get(name).value.to_frame()
            pd.testing.assert_frame_equal(was.sort_index(), now, check_names=False)
        assert measured == []

    run(main())


def test_the_report_has_what_was_measured_with_seed_and_day(kept, tmp_path, measured):
    async def main():
        session = await imported(kept, tmp_path, measured)
        session.derived.watch(NEEDED, lambda results: None)
        session.derived.watch(WELCOME, lambda results: None)
        results = await shown(session)
        html = write_report(gather(session))
        for name in ("null_check", "k_selection"):
            assert results[name].value.sentence.split(":")[0] in html
        for name in ("null_check", "k_selection", "export_stability"):
            assert results[name].check.settings in html
        assert "not measured" not in html.lower()

    run(main())


def test_what_was_stopped_is_told_after_reopening_and_in_the_report(tmp_path):
    async def main():
        server = Server(Store(tmp_path / "store"))
        session = await begun(server)
        keys = {name: session.derived.check_of(name) for name in ASKED}
        for name in ASKED[:2]:
            kind, key = keys[name]
            session.checks.put(Check(key, kind, done=40, total=100))
        # Interrupted, as by a kill: the store records the running work.
        given = {"node": ASKED[2], "check": [*keys[ASKED[2]]]}
        intent = Intent("left", "", "Drawing", given, {}, done=7, total=100)
        await session.memory.settled()
        server.store.note(session.memory.analysis, [intent])
        server.store.leave(["left"])
        data = export_analysis(server.store, session.memory.analysis)
        other = new_session(server)
        assert await other.open(session.memory.analysis)
        other.derived.watch((*NEEDED, *WELCOME), lambda results: None)
        results = await shown(other)
        stops = [results[name].stopped for name in ASKED[:3]]
        assert stops == ["stopped at 40 of 100; "] * 2 + ["stopped at 7 of 100; "]
        html = write_report(gather(other))
        # Of two checks, each in the verdict and in its own section.
        assert html.count("Unfinished: stopped at 40 of 100.") == 4
        assert "is unfinished (stopped at 7 of 100)" in html
        third = new_session(Server(Store(tmp_path / "third")))
        assert await third.take_in(data)
        assert (await shown(third))["null_check"].stopped == "stopped at 40 of 100; "

    run(main())


def test_a_file_without_checks_opens(kept, tmp_path):
    store = Store(tmp_path)
    data = changed(kept[-1], lambda log: log.pop("checks"), format=1)
    assert store.checks(import_analysis(store, data)) == ([], 0)


def changed(data, change, contents=None, **fields) -> bytes:
    """Return the file of an analysis with another log, and other contents."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(out, "w") as new:
        log = json.loads(old.read("analysis.json"))
        change(log)
        new.writestr("analysis.json", json.dumps({**log, **fields}))
        for name in old.namelist():
            if name.startswith("contents/"):
                new.writestr(name, old.read(name))
        for key, value in (contents or {}).items():
            new.writestr(f"contents/{key}", value)
    return out.getvalue()


def some(kind) -> Check:
    """Return a check of a kind, of 150 rows."""
    labels = np.repeat([0, 1, 2], 50)
    value = {
        COPIES: some_copies,
        NUMBERS: some_numbers,
        FOUND_AGAIN: lambda: some_stability(labels),
        APART: lambda: some_separation(labels),
        DENSITY: lambda: some_evidence(labels),
    }[kind]()
    return Check("0" * 64, kind, value)


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_written_is_read_again(kind):
    data = pack_check(some(kind))
    read = unpack_check(kind, data)
    assert plain(read) == plain(some(kind).value)
    assert pack_check(Check("", kind, read)) == data
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        assert {info.date_time[:3] for info in archive.infolist()} == {(1980, 1, 1)}


def hostile():
    """Yield each array and each value of each kind of check with invalid content."""
    for kind in KINDS:
        arrays, about = arrays_from_bytes(pack_check(some(kind)))
        for name, array in arrays.items():
            odd = {
                "longer": np.concatenate([array, array]),
                "flat": array.reshape(-1, 1, 1, 1),
                "empty": array[:0],
                "text": array.astype("U8"),
                "infinite": np.full(array.shape, np.inf),
            }
            if name != "standard_error":  # the error of a score without a lower bound
                odd["huge"] = np.full(array.shape, 2.0**70)
            if not name.endswith("score"):  # scores have no lower bound
                odd["negative"] = np.full(array.shape, -(2.0**70))
            # Measures of small clusters may be missing, other values may not.
            if not np.isnan(array.astype(float)).any():
                odd["complex"] = array.astype(complex)
            for word, value in odd.items():
                yield kind, f"{name} {word}", {**arrays, name: value}, about
            others = {k: v for k, v in arrays.items() if k != name}
            yield kind, f"{name} missing", others, about
        for name in about:
            for word, value in {"odd": {"a": 1}, "inf": -1e400, "none": "<b>"}.items():
                if isinstance(about[name], str) and word == "none":
                    continue
                yield kind, f"{name} {word}", arrays, {**about, name: value}
            others = {k: v for k, v in about.items() if k != name}
            yield kind, f"{name} missing", arrays, others
        yield kind, "more", arrays, {**about, "more": 1}


def test_a_check_that_cannot_be_is_refused_in_words():
    taken = []
    for kind, what, arrays, about in hostile():
        data = arrays_to_bytes(arrays, about)
        try:
            read = unpack_check(kind, data)
        except (ValueError, KeyError):
            continue
        assert pack_check(Check("", kind, read)) == data, (kind, what)
        taken.append(f"{kind}: {what}")
    assert taken == []


@pytest.mark.parametrize(
    "change",
    [
        {"key": "short"},
        {"content": "0" * 64},
        {"content": "../../x"},
        {"record": {"kind": "odd", "at": "2026-01-01", "done": 0, "total": 0}},
        {"record": {"kind": APART, "at": "now", "done": 0, "total": 0}},
        {"record": {"kind": APART, "at": "2026-01-01", "done": -1, "total": 0}},
        {"record": {"kind": DENSITY, "at": "2026-01-01", "done": 0, "total": 0}},
        {"more": 1},
    ],
)
def test_a_file_with_a_made_up_check_is_refused_in_words(change, kept, tmp_path):
    store = Store(tmp_path)

    def make_up(log):
        apart = next(c for c in log["checks"] if c["record"]["kind"] == APART)
        apart.update(change)

    with pytest.raises(ArchiveError, match="analysis that can be opened"):
        import_analysis(store, changed(kept[-1], make_up))
    assert store.entries() == []


@pytest.mark.parametrize(
    "name", ["chosen_stability", "labels_separation", "label_evidence"]
)
def test_a_check_of_other_clusters_says_so_and_is_measured_anew(name):
    async def main():
        session = await begun(Server())
        kind, key = session.derived.check_of(name)
        other = await begun(Server(), checks={key: replace(some(kind), key=key)})
        found = other.derived.get(name)
        assert found.state == "failed"
        assert "measure it again" in str(found.error)
        await ask(other, [name])
        assert other.derived.get(name).ready

    run(main())


def test_a_damaged_check_is_left_out_and_told(kept, tmp_path):
    async def main():
        store = Store(tmp_path / "store")
        analysis = import_analysis(store, kept[-1])
        row = store.checks(analysis)[0][0]
        store.contents.path(row.content).write_bytes(b"damaged")
        session = new_session(Server(store))
        assert await session.open(analysis)
        assert any("1 check cannot be read" in n.text for n in session.jobs.notices)
        assert len(session.checks.held) == len(store.checks(analysis)[0]) - 1

    run(main())


def test_cleaning_up_keeps_what_was_measured(kept, tmp_path, monkeypatch):
    monkeypatch.setattr(contents, "_YOUNG_SECONDS", -10.0)
    store = Store(tmp_path)
    analysis = import_analysis(store, kept[-1])
    rows, _ = store.checks(analysis)
    store.clean()
    kinds = {check.kind for check in read_checks(rows, store.contents)}
    assert kinds == {*KINDS}
