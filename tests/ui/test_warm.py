"""Tests of the thread that prepares kernels: once in a process, step by step."""

import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest

from clusterlens.ui.components.status_bar import job_bar
from clusterlens.ui.composition import new_session
from clusterlens.ui.jobs import warm
from clusterlens.ui.jobs.lanes import Progress
from clusterlens.ui.server.server import Server

DONE = "compiled", "loaded"
ROOT = Path(__file__).parents[2]
# Prints the kernels that a pool and its consensus need and no first step loads.
FIRST_CONSENSUS = """
import itertools
import numpy as np
import clusterlens as cl
from sklearn.datasets import make_blobs
from clusterlens.compute._run import kernels
from clusterlens.compute.warm import N_FIRST, STEPS
from clusterlens.ui.state.analysis import Analysis, Run
from clusterlens.ui.state.history import Step
from clusterlens.ui.pages.consensus.page import ConsensusPage
from clusterlens.ui.server.server import Server
from clusterlens.ui.composition import new_session
from clusterlens.ui.session import Session
from tests.ui.loop import run, wait_until_idle

asked = set()
load = kernels._KernelFiles.load_overload

def note(files, sig, context):
    asked.add(f"{files._stem()}{kernels._argument_types(sig)}")
    return load(files, sig, context)

kernels._KernelFiles.load_overload = note

async def look(X):
    dataset = cl.prepare(cl.make_dataset(X))
    pool = cl.pool_grids("default", len(X))[0]
    ensemble = cl.run_pool(dataset.X, pool, n_jobs=1)
    made = Run("r1", "run 1", dataset, tuple(pool), 0, ensemble)
    session = new_session(Server())
    page = ConsensusPage(session)
    page.set_visible(True)
    session.view_state.page = "consensus"
    analysis = Analysis(dataset, {}, dataset, (made,), 1, "r1")
    session.history.do(Step("test", "Test", analysis))
    await wait_until_idle(session)

for step in itertools.islice(STEPS.values(), N_FIRST):
    step()
print(len(asked))
blobs = make_blobs(1000, 11, centers=6, cluster_std=3.0, random_state=0)[0]
noise = np.random.default_rng(0).normal(size=(1000, 11))
for X in (blobs, noise, blobs[:, :4]):
    first = set(asked)
    run(look(X))
    print(*(asked - first))
"""


@pytest.fixture
def steps(monkeypatch):
    """Steps in place of the real ones, the first two first, without a thread."""
    made = {name: (lambda: None) for name in ("one", "two", "three")}
    monkeypatch.setattr(warm, "_steps", lambda: (made, 2))
    monkeypatch.setattr(warm, "all_on_disk", lambda: True)
    for name in ("_start", "_draw", "_read_colours", "_calibrate"):
        monkeypatch.setattr(warm, name, lambda *workers: None)
    return made


def begun():
    warming = Server().warming
    warming.start()
    return warming


def test_all_is_made_ready_without_an_error(caplog):
    warming = begun()
    # However long a busy machine takes to compile; an error would end the thread, too.
    warming._thread.join()
    assert warming.ended.is_set()
    assert [one for one in caplog.records if one.name == warm.__name__] == []


def test_the_thread_starts_once_however_many_sessions_ask(steps):
    runs = []
    steps["one"] = lambda: runs.append(threading.current_thread().name)
    warming = Server().warming
    with ThreadPoolExecutor(8) as pool:
        for _ in range(50):
            pool.submit(warming.start)
    warming.ended.wait()
    assert runs == ["warm"]


def test_a_step_that_fails_is_left_to_its_first_user_and_logged(steps, caplog):
    def fail():
        raise RuntimeError("no such thing")

    runs = []
    steps.update(one=fail, two=lambda: runs.append("two"))
    begun().ended.wait()
    assert runs == ["two"]
    assert "The kernels of one could not be made ready" in caplog.text
    assert "no such thing" in caplog.text


def test_a_step_is_loaded_once_it_is_compiled_and_the_wait_has_words(
    steps, monkeypatch
):
    warming, begins, order, messages = Server().warming, threading.Event(), [], []

    def compile_beside():
        begins.wait()
        for name in ("one", "two", "three"):
            messages.append(warming.message)
            order.append(f"{name} compiled")
            yield

    for name in steps:
        steps[name] = partial(order.append, f"{name} loaded")
    monkeypatch.setattr(warm, "all_on_disk", lambda: False)
    monkeypatch.setattr(warm, "_compile_beside", compile_beside)
    warming.start()
    begins.set()
    warming.ended.wait()
    assert order == [f"{name} {did}" for name in steps for did in DONE]
    words = "compiling for this machine, once"
    assert messages == [f"{words}: 0 of 2", f"{words}: 1 of 2", ""]


def test_nothing_is_said_where_all_is_on_disk(steps):
    warming = Server().warming
    assert warming.message == ""
    warming.start()
    warming.ended.wait()
    assert warming.message == ""


def test_another_process_compiles_and_says_when_a_step_is_done(monkeypatch):
    monkeypatch.setattr(warm, "_COMPILE", "print('1 3'); print('2 3')")
    assert list(warm._compile_beside()) == [None, None]


def test_the_first_steps_are_enough_for_the_first_consensus():
    command = [sys.executable, "-W", "ignore", "-c", FIRST_CONSENSUS]
    environment = os.environ | {"PYTHONPATH": str(ROOT), "CLUSTERLENS_HOME": "off"}
    ended = subprocess.run(
        command, env=environment, cwd=ROOT, capture_output=True, text=True, check=True
    )
    n_first, *more = ended.stdout.split("\n")[:4]
    assert int(n_first) > 10
    assert more == ["", "", ""]


def test_the_bar_of_the_work_says_that_kernels_are_compiled():
    session = new_session(Server())
    bar = job_bar(session)
    text = bar.objects[0]
    session.server.warming.message = "compiling once: 1 of 2"
    session.jobs.shown = Progress("Run the pool", 3, 56, 4)
    assert "3 of 56 · 4 s · compiling once: 1 of 2" in text.body
    session.server.warming.message = ""
    session.jobs.shown = Progress("Run the pool", 3, 56, 5)
    assert "compiling" not in text.body


def test_a_first_picture_finds_datashader_imported_and_compiled():
    code = """
import sys
from numba.core import event
from clusterlens.ui.jobs import warm
from clusterlens.ui.plots import matrix
assert "datashader" not in sys.modules
warm._draw()
import numpy as np
from clusterlens.compute.consensus.tiles import Tile
edges = np.arange(11)
with event.install_recorder("numba:compile") as compiled:
    for kind in ("consensus", "binarised"):
        tile = Tile(np.random.rand(10, 10).astype("f4"), edges, edges, kind, None, True)
        for shading in ("linear", "eq_hist"):
            matrix.draw_matrix(tile, shading)
print(len(compiled.buffer))
"""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "0"
