"""Tests of the console command: refusals, and serving."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import urllib.request
from unittest.mock import Mock

import numpy as np
import pandas as pd
import pytest
from playwright.sync_api import Page, expect

import clusterlens as cl
from clusterlens.ui import cli
from clusterlens.ui.server.server import Server
from tests.support.pages import Served, wait_for_content
from tests.ui.loop import run


@pytest.fixture(autouse=True)
def own_home(tmp_path, monkeypatch):
    """Servers of a test keep nothing in the folder of the user."""
    monkeypatch.setenv("CLUSTERLENS_HOME", str(tmp_path / "home"))


@pytest.fixture
def keep_signals():
    """Restore the signal handlers, which serving sets for the process."""
    handlers = {
        name: signal.getsignal(name) for name in (signal.SIGINT, signal.SIGTERM)
    }
    yield
    for name, handler in handlers.items():
        signal.signal(name, handler)


@pytest.fixture
def taken():
    """A port that is in use."""
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        yield holder.getsockname()[1]


def refused(capsys, *arguments) -> str:
    assert cli.main([*map(str, arguments), "--no-browser"]) == 2
    return capsys.readouterr().err


def test_a_missing_file_is_named(capsys, tmp_path):
    assert f"no file {tmp_path / 'a.csv'}" in refused(capsys, tmp_path / "a.csv")


def test_a_folder_without_parquet_is_no_table(capsys, tmp_path):
    (tmp_path / "a.csv").write_text("x\n1\n")
    assert "no file that ends with .parquet, but 'a.csv'" in refused(capsys, tmp_path)


def test_landmarks_are_drawn_of_a_folder_or_on_request(capsys, tmp_path, monkeypatch):
    def serve(*given):
        raise OSError(f"landmarks: {given[4]}.")

    monkeypatch.setattr(cli, "make_server", serve)
    path = tmp_path / "a.parquet"
    pd.DataFrame({"x": range(9)}).to_parquet(path)
    assert "landmarks: 20000." in refused(capsys, tmp_path)
    assert "landmarks: 150." in refused(capsys, path, "--landmarks", 150)
    assert "landmarks: 0." in refused(capsys, path)


def test_too_few_landmarks_are_refused(capsys, tmp_path):
    path = tmp_path / "a.parquet"
    pd.DataFrame({"x": range(9)}).to_parquet(path)
    assert "from 100 to" in refused(capsys, path, "--landmarks", 5)


@pytest.fixture(scope="module")
def run_of_table(tmp_path_factory):
    """Write a table of two blobs and a complete run of it; return both paths."""
    folder = tmp_path_factory.mktemp("run")
    X = np.random.default_rng(0).normal(size=(600, 2)) + np.repeat([[0], [9]], 300, 0)
    table, out = folder / "table.parquet", folder / "out"
    pd.DataFrame(X, columns=["x", "y"]).to_parquet(table)
    pool = [{"clusterer": "k-means", "n_clusters": [2, 3, 4]}]
    cl.run_at_scale(table, out, pool, n_landmarks=150, n_held_back=0, n_jobs=1)
    return table, out


def test_a_run_needs_its_table(capsys, run_of_table, tmp_path):
    table, out = run_of_table
    told = f"clusterlens TABLE --run {out}"
    assert told in refused(capsys, out)
    assert told in refused(capsys, "--run", out)
    other = tmp_path / "other.parquet"
    pd.DataFrame({"x": range(9)}).to_parquet(other)
    assert "is not the table of the run" in refused(capsys, other, "--run", out)
    assert "holds no complete run" in refused(capsys, table, "--run", tmp_path)


def test_the_page_begins_with_a_run(page: Page, run_of_table, tmp_path):
    table, out = map(str, run_of_table)
    with console(table, "--run", out, folder=tmp_path) as (_, address):
        page.goto(address)
        wait_for_content(page)
        page.locator(".cl-nav-all-rows button").click()
        stands = "150 landmarks stand for 600 rows"
        expect(page.locator(".cl-page-all-rows")).to_contain_text(stands)
        page.locator(".cl-nav-consensus button").click()
        expect(page.locator(".cl-page-consensus")).to_contain_text("3 models")


def test_what_is_no_table_is_refused_with_the_formats(capsys, tmp_path):
    path = tmp_path / "picture.png"
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(range(256)))
    assert "give CSV, TSV," in refused(capsys, path)


def test_a_taken_port_is_refused_with_the_way_out(capsys, taken):
    assert f"Port {taken} is taken; give another with --port" in refused(
        capsys, "--port", taken
    )


def test_an_address_of_another_machine_is_refused(capsys):
    assert "Cannot listen on 192.0.2.1" in refused(capsys, "--address", "192.0.2.1")


@pytest.mark.parametrize("port", ["x", "-1", "65536", "1.5"])
def test_what_is_no_port_is_refused(capsys, port):
    with pytest.raises(SystemExit, match="2"):
        cli.main([f"--port={port}"])
    assert f"'{port}' is no port" in capsys.readouterr().err


def test_another_port_is_taken_where_the_usual_one_is(taken, keep_signals, monkeypatch):
    monkeypatch.setattr(cli, "PORT", taken)

    async def main():  # Panel takes the current loop
        server = cli.make_server(None, "127.0.0.1")
        server.stop()
        return server.port

    assert run(main()) not in (0, taken)


@contextlib.contextmanager
def console(*arguments, folder):
    """Run the command in a folder; yield the process and the address it prints."""
    process = subprocess.Popen(
        [sys.executable, "-m", "clusterlens", *arguments, "--port=0", "--no-browser"],
        cwd=folder,
        env=os.environ
        | {
            "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
            "CLUSTERLENS_HOME": str(folder / "home"),
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with process:
        try:
            yield process, process.stdout.readline().split()[3]
        finally:
            process.kill()


def test_the_page_begins_with_the_file_and_ctrl_c_ends_it(page: Page, tmp_path):
    (tmp_path / "small.csv").write_text(
        "width,height\n" + "".join(f"{i},{i * i % 17}\n" for i in range(40))
    )
    with console("small.csv", folder=tmp_path) as (process, address):
        asked = set()
        page.on("request", lambda request: asked.add(request.url))
        page.goto(address)
        wait_for_content(page)
        expect(page.locator(".cl-opening")).to_be_hidden()
        expect(page.locator(".cl-prepared")).to_contain_text("go into the pool")
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 0
    assert "Traceback" not in errors
    here = (address, "data:", "blob:")
    assert [url for url in asked if not url.startswith(here)] == []


def test_a_server_that_is_told_to_end_does_not_wait_for_its_threads():
    code = """
import time
from clusterlens.ui import cli
server, shared = cli.make_server(0, "127.0.0.1"), cli.the_server()
for lane in (shared.kernels, shared.actions, shared.idle):
    for _ in range(40):
        lane.submit(time.sleep, 600)
server.io_loop.call_later(0, print, "ready", flush=True)
cli.run(server)
"""
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as one:
        try:
            assert one.stdout.readline() == b"ready\n"
            one.terminate()
            assert one.wait(60) == 0
        finally:
            one.kill()


def test_panel_serve_that_is_told_to_end_does_not_wait_for_its_threads(tmp_path):
    app = tmp_path / "app.py"
    app.write_text("""
import time
from clusterlens.ui import cli
cli.open_page()
shared = cli.the_server()
for lane in (shared.kernels, shared.actions, shared.idle):
    for _ in range(40):
        lane.submit(time.sleep, 600)
""")
    served = Served(tmp_path, app)
    served.start()
    try:
        urllib.request.urlopen(f"{served.address}/app").close()
        assert served.end() == 0
    finally:
        served.kill()


@pytest.mark.parametrize(
    ("address", "origins", "alone"),
    [
        ("127.0.0.1", [], True),
        ("localhost", [], True),
        ("0.0.0.0", [], False),
        ("127.0.0.1", ["lens.example.org"], False),
    ],
)
def test_one_is_alone_on_this_machine_under_no_other_name(
    monkeypatch, address, origins, alone
):
    given, server = [], Server()
    monkeypatch.setattr(cli, "the_server", lambda: server)

    def serve_page(server, file):
        given.append((server.alone, server.has_manual, file))

    monkeypatch.setattr("clusterlens.ui.server.manual.served_folders", dict)
    monkeypatch.setattr("clusterlens.ui.serving.serve_page", serve_page)
    monkeypatch.setattr(
        "panel.io.server.get_server", lambda page, **_: page() or Mock()
    )
    monkeypatch.setattr("clusterlens.ui.server.one_thread.keep_on", lambda _: None)
    monkeypatch.setattr("clusterlens.ui.server.hosts.guard", lambda *_: None)
    monkeypatch.setattr("clusterlens.ui.server.hardening.harden", lambda *_: None)
    cli.make_server(0, address, origins)
    assert given == [(alone, False, None)]
