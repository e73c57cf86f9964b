"""A page that loses its connection: the run goes on and is there again."""

import asyncio
import threading

import numpy as np
import pytest

from benchmarks.sessions import Visitor
from clusterlens.compute.ensemble.ensemble import Ensemble
from clusterlens.ui import shell
from clusterlens.ui.actions import pools
from clusterlens.ui.cli import make_server
from clusterlens.ui.memory.store import Store
from clusterlens.ui.session import Session
from tests.ui.loop import run

pytestmark = pytest.mark.filterwarnings("ignore")  # of the served libraries
POOL = [{"clusterer": "k-means", "n_clusters": [2, 3]}]


def test_a_run_goes_on_without_its_page_and_is_there_when_it_opens_again(
    tmp_path, monkeypatch
):
    store, sessions = Store(tmp_path), []
    begun, may_end = threading.Event(), threading.Event()

    def slow_pool(X, pool, **options):
        begun.set()
        assert may_end.wait(60)
        return Ensemble(np.random.default_rng(0).integers(0, 3, (6, len(X))))

    class Watched(Session):
        def __init__(self, *given):
            super().__init__(*given)
            sessions.append(self)

    monkeypatch.setattr(pools, "run_pool", slow_pool)
    monkeypatch.setattr(shell, "shared_store", lambda: store)
    monkeypatch.setattr(shell, "Session", Watched)

    async def main():
        server = make_server(0, "127.0.0.1")
        server.start()
        try:
            visitor = await Visitor.open(f"http://127.0.0.1:{server.port}/")
            await visitor.ping()
            session = sessions[0]
            assert await session.act("load example", name="iris")
            running = asyncio.create_task(session.act("run pool", pool=POOL))
            while not begun.is_set():
                await asyncio.sleep(0.01)
            visitor.close()
            (connected,) = server.get_sessions()
            while connected.connection_count:
                await asyncio.sleep(0.01)
            may_end.set()
            assert await running
            assert session.memory.state == "saved"
        finally:
            server.stop()
        again = Session(Store(tmp_path))
        assert await again.open(session.memory.analysis)
        assert again.analysis.ensemble.n_partitions == 6

    run(main())
