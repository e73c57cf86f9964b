"""Server: the owner of all resources that sessions share.

It is made once at start (`ui/cli.py`; `explore` makes one for a notebook), passed to
every session, and closed when the process ends. Work accesses it through its job
(`job.server`). Tests make their own.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any, Self
from weakref import WeakSet

from clusterlens.compute._run.processes import Workers
from clusterlens.compute.pool.estimate import MEMORY_LIMIT
from clusterlens.ui.jobs.collector import Collector
from clusterlens.ui.jobs.scheduler import FairScheduler
from clusterlens.ui.jobs.shared_results import Results
from clusterlens.ui.jobs.warm import Warming
from clusterlens.ui.server.classes import Classes
from clusterlens.ui.server.large_tables import LargeTables
from clusterlens.ui.server.manual import is_served_by_panel
from clusterlens.ui.server.memory.database import HOME, StoreError
from clusterlens.ui.server.memory.store import Store, home

# Value of CLUSTERLENS_HOME that disables the store.
OFF = "off"
# Two, so that reading continues while a large file occupies one.
_N_READERS = 2


class Server:
    """Resources shared by the sessions of a process.

    Parameters
    ----------
    store : Store, optional
        Store of analyses; without one they end with their sessions.
    startup_notice : str, default ""
        Notice about the store for every analyst.

    Attributes
    ----------
    kernels : ThreadPoolExecutor
        Threads for the kernels of all sessions.
    workers : Workers
        Processes for the fits of all sessions, one for each core, with the memory limit
        of one run in total. They can be ended, and wait for the next run.
    readers : Workers
        Processes that read uploaded files; a crash costs one reading.
    actions, live, idle : ThreadPoolExecutor
        Threads of the lanes of `Jobs`.
    writing : ThreadPoolExecutor
        Threads that encode and decode contents of the store; its database has a thread
        of its own.
    results : Results
        Cache of expensive results.
    warming : Warming
        Thread that prepares kernels and workers.
    scheduler : FairScheduler
        Scheduler of long work on the event loop.
    collector : Collector
        The garbage collector.
    opening : asyncio.Lock
        Lock under which frames of pages are filled, one after the other.
    pages : WeakSet of Shell
        Open pages.
    left : WeakSet of Session
        Sessions without a page that have a running action or an unsaved step.
    memories : WeakSet of Memory
        Memories of all sessions, so that pages on one analysis see each other's
        actions.
    classes : Classes
        At which step of a lesson the pages of a class are.
    alone : bool
        Whether nobody else can reach it, so that the script of an imported analysis may
        be run; set by the code that serves the page.
    has_manual : bool
        Whether it serves the manual beside the page.
    tables : LargeTables
        Tables on this disk that may be opened.
    """

    def __init__(self, store: Store | None = None, startup_notice: str = "") -> None:
        _import_dask()
        n_cores = os.cpu_count() or 1
        self.store, self.startup_notice = store, startup_notice
        self.kernels = ThreadPoolExecutor(n_cores, thread_name_prefix="kernel")
        self.workers = Workers(n_cores, MEMORY_LIMIT)
        self.readers = Workers(_N_READERS, MEMORY_LIMIT)
        self.actions = ThreadPoolExecutor(16, thread_name_prefix="action")
        self.live = ThreadPoolExecutor(8, thread_name_prefix="live")
        self.idle = ThreadPoolExecutor(8, thread_name_prefix="idle")
        self.writing = ThreadPoolExecutor(8, thread_name_prefix="memory")
        self.results = Results()
        if store is not None:
            self.results = Results(folder=store.found, writer=store.name)
        self.warming = Warming(self.workers, self.readers)
        self.scheduler, self.collector = FairScheduler(), Collector()
        self.opening = asyncio.Lock()
        self.pages: WeakSet[Any] = WeakSet()
        self.left: WeakSet[Any] = WeakSet()
        self.memories: WeakSet[Any] = WeakSet()
        self.classes = Classes()
        self.alone, self.has_manual = False, is_served_by_panel()
        self.tables = LargeTables.named()

    @classmethod
    def at_home(cls) -> Self:
        """Make a server with a store at CLUSTERLENS_HOME, if possible."""
        if os.environ.get(HOME) == OFF:
            return cls()
        try:
            store = Store(home())
        except (StoreError, OSError) as error:
            return cls(startup_notice=f"Nothing is kept: {error}")
        return cls(store, store.repair_report)

    def in_thread(self, work: Callable[..., Any], *given: Any) -> asyncio.Future[Any]:
        """Run short work on a thread; await the result."""
        return asyncio.get_running_loop().run_in_executor(self.writing, work, *given)

    def close(self) -> None:
        """Finish pending writes; end its processes, store and threads.

        Only writing threads are waited for; other threads finish on their own.
        """
        self.workers.close()
        self.readers.close()
        for executor in (self.actions, self.live, self.idle, self.kernels):
            executor.shutdown(wait=False, cancel_futures=True)
        self.writing.shutdown()
        if self.store is not None:
            self.store.close()


def _import_dask() -> None:
    """Import dask.array, if it is installed, before other threads use SciPy.

    SciPy takes it from the imported modules, and raises an error if another thread is
    importing it at that moment: Datashader imports it for the first picture.
    """
    with suppress(ImportError):
        import dask.array  # noqa: F401
