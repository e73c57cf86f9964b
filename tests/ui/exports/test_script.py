"""Tests of the script: the same labels and scores in a fresh process, to the bit."""

import ast
import asyncio
import json
import os
import subprocess
import sys
from contextlib import closing
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
import pytest

import clusterlens as cl
from clusterlens.compute._run.options import Cancelled
from clusterlens.compute.pool.preset_versions import PresetUsed
from clusterlens.ui.composition import new_session
from clusterlens.ui.exports.replay import replay
from clusterlens.ui.exports.script import ScriptError, write_card, write_script
from clusterlens.ui.jobs.lanes import Job
from clusterlens.ui.pages.new_rows.nodes import segmentation
from clusterlens.ui.results.result import ExportPartition, export_partition
from clusterlens.ui.server.memory.store import Store
from clusterlens.ui.server.server import Server
from clusterlens.ui.session import Session
from clusterlens.ui.state.links import as_constraints
from tests.folders import ROOT
from tests.ui.loop import run

POOL = [
    {"clusterer": "k-means", "n_clusters": [2, 3, 4]},
    {"clusterer": "Gaussian mixture", "n_components": [2, 3]},
    {"clusterer": "agglomerative", "n_clusters": [2, 3], "linkage": ["ward", "single"]},
]
DENSE = {"clusterer": "DBSCAN", "eps": 0.6, "min_samples": 3}
COMPARE = """
import json, sys
sys.path.insert(0, {folder!r})
from script import analyse

if __name__ == "__main__":
    found = analyse()
    ens, values = found["ensemble"], found["ranking"].values
    print(json.dumps([ens.names, ens.labels.tolist(), values.tobytes().hex()]))
"""
SMALL = cl.Ensemble([[0, 1], [0, 0], [1, 1]], names=list("abc"))
NAME = "a \"b\"\n{0} 'c'.csv"


async def analysed(
    *, distinct: bool, again: bool = False, store: Store | None = None
) -> Session:
    """Return a session: a file with row ids, a preparation, a run, links, a threshold.

    With `again` the run is of some clustered rows; with `distinct` noise is silent.
    """
    session = new_session(Server(store))
    rng = np.random.default_rng(0)
    lines = ["row,x,y,<b>,kind"] + [
        f"r{k},{a:.4f},{b:.4f},{c},k{k % 3}"
        for k, (a, b, c) in enumerate(rng.normal(size=(60, 3)).round(3))
    ]
    key = session.keep_file("\n".join(lines).encode())
    assert await session.act("load file", name=NAME, sha256=key)
    roles = {"kind": "label", "row": "row id"}
    assert await session.act("prepare", scale="robust", roles=roles)
    more = {"distinct_only": True, "noise": "silent"} if distinct else {}
    pool = [*POOL, *([DENSE] if distinct else [])]
    assert await session.act("run pool", pool=pool, random_state=3, **more)
    if again:
        rows = [f"r{k}" for k in range(45)]
        assert await session.act("cluster rows", rows=rows, name="half")
        rows = rows[:40]
        assert await session.act("cluster rows", rows=rows, name="half of it")
    assert await session.act("add link", kind="must", a="r1", b="r2")
    assert await session.act("add link", kind="cannot", a="r1", b="r7")
    assert await session.act("set threshold", threshold=3)
    return session


def partition_of(session: Session, model: int) -> ExportPartition:
    """Return the exported partition of a model, clusters numbered by their labels."""
    analysis = session.analysis
    run_ = analysis.run
    labels = run_.ensemble.labels[model]
    return export_partition(None, model, run_, labels, None, None, (), analysis.links)


def said_by(script, folder):
    """Return the last JSON line that a script prints in a fresh process."""
    done = subprocess.run(
        [sys.executable, script],
        cwd=folder,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("kind", ["all", "distinct", "rows of rows"])
def test_a_fresh_process_finds_the_same_labels_and_scores(tmp_path, kind):
    again = kind == "rows of rows"
    session = run(analysed(distinct=kind == "distinct", again=again), 300)
    analysis = session.analysis
    text = write_script(session.history.done, partition_of(session, 1))
    content = session.files[session.history.done[0].values["sha256"]]
    text = text.replace(f"FILE = {NAME!r}", "FILE = 'table.csv'")
    (tmp_path / "script.py").write_text(text, encoding="utf-8")
    (tmp_path / "table.csv").write_bytes(content)
    (tmp_path / "compare.py").write_text(COMPARE.format(folder=str(tmp_path)))
    names, labels, values = said_by("compare.py", tmp_path)
    ensemble = analysis.ensemble
    assert names == list(ensemble.names)
    assert ensemble.is_partial == (kind == "distinct")
    np.testing.assert_array_equal(labels, ensemble.labels)
    assert ensemble.n_samples == (40 if again else 60)
    positions = {row: k for k, row in enumerate(analysis.samples.row_ids)}
    ranking = cl.rank_partitions(
        cl.count_agreements(ensemble),
        threshold=3,
        constraints=cl.Constraints(
            [(positions["r1"], positions["r2"])], [(positions["r1"], positions["r7"])]
        ),
        constraint_weight=analysis.link_weight,
    )
    assert values == ranking.values.tobytes().hex()


ASSIGN = """
import json, sys
sys.path.insert(0, {folder!r})
from script import analyse

if __name__ == "__main__":
    found = analyse()["assigned"]
    told = [[name, rows.to_json(orient="split")] for name, rows in found.items()]
    print(json.dumps(told))
"""


async def kept_twice() -> Session:
    """Return a session with two kept results, one named, and another table."""
    session = await analysed(distinct=False)
    labels = session.analysis.ensemble.labels
    kept = ("model", "consensus")
    made = ({"model": 1}, {"k": 3, "method": "average", "obeys": False})
    for kind, values in zip(kept, made, strict=True):
        count = len(np.unique(labels[1])) if kind == "model" else 3
        numbers = [[k, count - 1 - k] for k in range(count)]
        partition = {"kind": kind, **values}
        assert await session.act(
            "choose result", partition=partition, numbers=numbers, on="Clusters"
        )
        given = {"kind": "result"}
        await session.act("name cluster", partition=given, cluster=0, name=f"'{kind}")
        assert await session.act("keep segmentation", name=f'{kind} "\n{{0}}')
    table = session.analysis.table.table.iloc[20:50, ::-1]
    key = session.keep_file(table.to_csv().encode())
    assert await session.act("take new table", name="../new {0}.csv", sha256=key)
    return session


def test_a_fresh_process_places_new_rows_as_the_page_does(tmp_path):
    session = run(kept_twice(), 300)
    new = session.analysis.new_table
    text = write_script(session.history.done, partition_of(session, 1))
    text = text.replace(f"FILE = {NAME!r}", "FILE = 'table.csv'")
    assert "NEW_FILE = 'new {0}.csv'" in text
    (tmp_path / "script.py").write_text(text, encoding="utf-8")
    for name, step in (("table.csv", 0), ("new {0}.csv", -1)):
        content = session.files[session.history.done[step].values["sha256"]]
        (tmp_path / name).write_bytes(content)
    (tmp_path / "assign.py").write_text(ASSIGN.format(folder=str(tmp_path)))
    found = dict(said_by("assign.py", tmp_path))
    assert len(found) == 2
    for one in session.analysis.segmentations:
        made = segmentation(Job("", session.server), one)
        shown = made.assign(new).to_json(orient="split")
        assert "'" in shown
        assert found[one.name] == shown


def test_the_script_uses_public_names_only():
    session = run(analysed(distinct=False), 300)
    text = write_script(session.history.done, partition_of(session, 0))
    assert ", preset " not in text
    run_, (*steps, last) = session.analysis.run, session.history.done
    used = replace(run_, preset=PresetUsed("q\nx", 2, len(run_.pool)))
    last = replace(last, analysis=replace(last.analysis, runs=(used,)))
    text = write_script([*steps, last], partition_of(session, 0))
    assert ", preset q x, version 2" in text.partition("\nimport")[0]
    tree = ast.parse(text)
    imported = [node for node in ast.walk(tree) if isinstance(node, ast.Import)]
    assert [alias.name for node in imported for alias in node.names] == ["clusterlens"]
    used = {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == "cl"
    }
    assert used <= set(cl.__all__)
    assert {"load_table", "prepare", "run_pool", "rank_partitions"} <= used


def test_a_run_that_the_log_does_not_make_is_refused_with_the_reason():
    session = run(analysed(distinct=False), 300)
    steps = [step for step in session.history.done if step.kind != "run pool"]
    with pytest.raises(ScriptError, match="does not say how its run was made"):
        write_script(steps, partition_of(session, 0))


def test_without_a_run_there_is_no_script():
    session = new_session(Server())
    run(session.act("load example", name="iris"))
    with pytest.raises(ScriptError, match="no run"):
        write_script(session.history.done, None)


def ranked(session: Session) -> cl.Ranking:
    """Return the ranking on screen."""
    analysis = session.analysis
    places = {row: k for k, row in enumerate(analysis.samples.row_ids)}
    return cl.rank_partitions(
        cl.count_agreements(analysis.ensemble),
        threshold=analysis.threshold,
        constraints=as_constraints(analysis.links, places),
        constraint_weight=analysis.link_weight,
    )


def test_a_replay_of_a_stored_file_whatever_its_name_gives_the_same(tmp_path):
    with closing(Store(tmp_path)) as store:
        session = run(analysed(distinct=False, store=store), 300)
        assert not list(session.files)
        steps = session.history.done
        what = partition_of(session, 1)
        script, clusters = write_script(steps, what), what.clusters
        run_again = partial(replay, script, steps, session.files, ranked(session))
        for limited in (False, True):
            found = run_again(clusters, lambda: False, limited=limited)
            assert found.difference == ""
        found = run_again(1 - clusters, lambda: False, limited=False)
        assert "clusters of the result" in found.difference


def difference(session: Session) -> str:
    """Return the difference between the selected run's script and the page."""
    steps, what = session.history.done, partition_of(session, 1)
    script = write_script(steps, what)
    asked = session.files, ranked(session), what.clusters, lambda: False
    return replay(script, steps, *asked, limited=False).difference


async def import_some(session: Session, *names: str, mixed: bool) -> None:
    rng = np.random.default_rng(len(names))
    frame = pd.DataFrame({name: rng.integers(0, 3, 60) for name in names})
    key = session.keep_file(frame.to_csv(index=False).encode())
    called = f"{''.join(names)}.csv"
    done = await session.act("import partitions", name=called, sha256=key, mixed=mixed)
    assert done, session.jobs.notices


def test_the_script_has_all_of_partitions_imported_into_imported_ones():
    async def imported() -> Session:
        session = await analysed(distinct=False)
        await import_some(session, "A", "B", "C", mixed=False)
        await import_some(session, "D", "E", mixed=True)
        return session

    session = run(imported(), 300)
    assert session.analysis.ensemble.names == ("A", "B", "C", "D", "E")
    assert difference(session) == ""


def test_the_script_of_imported_partitions_takes_the_meaning_of_noise_of_their_run():
    async def imported() -> Session:
        session = await analysed(distinct=True)
        await import_some(session, "A", "B", mixed=True)
        return session

    session = run(imported(), 300)
    assert session.analysis.noise == "silent"
    assert difference(session) == ""


async def with_a_link_meanwhile(session: Session, kind: str, **values) -> None:
    """Run a slow action; add a link meanwhile."""
    under_way = asyncio.create_task(session.act(kind, **values))
    await asyncio.sleep(0)
    assert session.act_now("add link", kind="cannot", a="r2", b="r3")
    assert await under_way, session.jobs.notices


def test_the_script_of_models_for_answers_has_no_link_that_was_added_meanwhile():
    async def made() -> Session:
        session = await analysed(distinct=False)
        await with_a_link_meanwhile(session, "make for answers", n_clusters=[2, 3])
        return session

    session = run(made(), 300)
    assert len(session.analysis.links) == 3
    assert difference(session) == ""


async def kept_obeying() -> Session:
    """Return a session with a kept partition that obeys links, and a later link."""
    session = await analysed(distinct=False)
    made = {"kind": "consensus", "k": 3, "method": "kmeans", "obeys": True}
    await with_a_link_meanwhile(session, "keep partition", partition=made, name="mine")
    return session


def ensemble_in_python(steps) -> str:
    run_id = steps[-1].analysis.run_id
    return write_card(steps, lambda lines: [lines.ensemble(run_id)])


def test_the_script_of_a_kept_partition_has_no_link_that_was_added_meanwhile():
    session = run(kept_obeying(), 300)
    assert len(session.analysis.links) == 3
    assert '"cannot_link": [["r1", "r7"]]}' in ensemble_in_python(session.history.done)
    assert difference(session) == ""


def test_a_partition_kept_before_its_links_were_recorded_obeys_those_of_the_log():
    *steps, last = run(kept_obeying(), 300).history.done
    run_ = last.analysis.run
    (entry,) = run_.kept
    links = {name: entry[name] for name in ("must_link", "cannot_link")}
    assert links == {"must_link": [["r1", "r2"]], "cannot_link": [["r1", "r7"]]}
    older = {name: value for name, value in entry.items() if name not in links}
    runs = (*last.analysis.runs[:-1], replace(run_, kept=(older,)))
    last = replace(last, analysis=replace(last.analysis, runs=runs))
    written = ensemble_in_python([*steps, last])
    assert '"cannot_link": [["r1", "r7"], ["r2", "r3"]]}' in written


@pytest.mark.parametrize(
    ("names", "labels", "values", "words"),
    [
        ("abc", [[0, 1], [0, 0], [1, 1]], [0.1, 0.2, 0.3], ""),
        ("abc", [[0, 1], [0, 1], [1, 1]], [0.1, 0.2, 0.3], "1 of 3 models"),
        ("abc", [[0, 1], [0, 0], [1, 1]], [0.1, 0.2, 0.4], "scores are not"),
        ("ab", [[0, 1], [0, 0]], [0.1, 0.2], "2 models, the run has 3"),
    ],
)
def test_a_replay_says_what_differs(names, labels, values, words):
    script = (
        "import numpy as np\nfrom types import SimpleNamespace as Some\n"
        f"ens = Some(names={list(names)}, labels=np.array({labels}))\n"
        f"ranking = Some(values=np.array({values}))\n"
        "def analyse():\n"
        "    return dict(ensemble=ens, ranking=ranking, clusters=[1, -1])\n"
    )
    ranking = replace(cl.rank_partitions(SMALL), values=np.array([0.1, 0.2, 0.3]))
    clusters = np.array([0, -1])
    run_again = partial(replay, script, [], {}, ranking, clusters)
    found = run_again(lambda: False, limited=False).difference
    assert words in found
    assert bool(found) == bool(words)


def test_a_script_that_fails_or_is_cancelled_is_told():
    ranking = cl.rank_partitions(SMALL)
    with pytest.raises(ValueError, match="ZeroDivisionError"):
        replay("1 / 0", [], {}, ranking, np.zeros(2), lambda: False, limited=False)
    run_again = partial(replay, "while True: pass", [], {}, ranking, np.zeros(2))
    with pytest.raises(Cancelled):
        run_again(lambda: True, limited=False)
