"""The one owner of what sessions share: where it keeps things, and how it ends."""

import pytest

from clusterlens.compute._run.processes import Workers
from clusterlens.ui.server.memory.store import Store
from clusterlens.ui.server.server import Server


def test_a_server_keeps_where_it_is_told_or_says_why_not(tmp_path, monkeypatch):
    monkeypatch.setenv("CLUSTERLENS_HOME", str(tmp_path / "home"))
    server = Server.at_home()
    assert server.store.folder == tmp_path / "home"
    assert (server.results.folder, server.told) == (server.store.found, "")
    monkeypatch.setenv("CLUSTERLENS_HOME", "off")
    assert (Server.at_home().store, Server.at_home().told) == (None, "")
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("CLUSTERLENS_HOME", str(tmp_path / "file"))
    refused = Server.at_home()
    assert refused.store is None
    assert refused.told.startswith("Nothing is kept: ")


def test_a_closed_server_leaves_no_process_no_thread_and_no_open_store(tmp_path):
    server = Server(Store(tmp_path))
    server.workers = Workers(1)
    server.workers.start(bytes.upper)
    (worker,) = server.workers._spare
    last = server.writing.submit(server.store.entries)
    server.close()
    assert not worker.is_alive
    assert last.result() == []
    for lane in ("kernels", "actions", "live", "idle", "writing"):
        with pytest.raises(RuntimeError, match="shutdown"):
            getattr(server, lane).submit(print)
    assert not Store(tmp_path)._presence.others()
