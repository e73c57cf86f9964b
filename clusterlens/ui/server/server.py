"""Server: the one owner of what all sessions share.

It is made once at start (`ui/cli.py`; `explore` makes one for a notebook), handed to
every session, and closed when the process ends. Work reaches it by its job
(`job.server`). Tests make their own.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Self
from weakref import WeakSet

from clusterlens.compute._run.processes import Workers
from clusterlens.compute.pool.estimate import MEMORY_LIMIT
from clusterlens.ui.server.manual import is_served_by_panel
from clusterlens.ui.server.memory.database import HOME, StoreError
from clusterlens.ui.server.memory.store import Store, home
from clusterlens.ui.work.collector import Collector
from clusterlens.ui.work.results import Results
from clusterlens.ui.work.turns import Turns
from clusterlens.ui.work.warm import Warming

# Of CLUSTERLENS_HOME: nothing is kept.
OFF = "off"
# One goes on to read while a file keeps the other.
_N_READERS = 2


class Server:
    """What the sessions of a process share.

    Parameters
    ----------
    store : Store, optional
        Where analyses are kept; without one they end with their sessions.
    told : str, default ""
        What every analyst is told of the store.

    Attributes
    ----------
    kernels : ThreadPoolExecutor
        Kernels of all sessions take turns on it.
    workers : Workers
        Fits of all sessions run in these processes, one for each core, and need no more
        memory together than one run may; they can be ended, and wait for the next run.
    readers : Workers
        Files that come are read in these processes, which may die of them.
    actions, live, idle : ThreadPoolExecutor
        Threads of the lanes of `Jobs`.
    writing : ThreadPoolExecutor
        Threads that make what is written to the store, and read it; its database has
        a thread of its own.
    results : Results
        What took long and others may ask for, too.
    warming : Warming
        Makes kernels and workers ready.
    turns : Turns
        Steps of long work on the event loop.
    collector : Collector
        The garbage collector.
    pages : WeakSet of Shell
        Those that are open.
    left : WeakSet of Session
        Those whose page has gone while an action of theirs is under way, or a step is
        not saved.
    memories : WeakSet of Memory
        Those of all sessions, so that pages on one analysis see each other's actions.
    alone : bool
        Whether nobody else can reach it, so that a script that came as a file may be
        run when the analyst wants it; who serves the page says so.
    has_manual : bool
        Whether it serves the manual beside the page.
    """

    def __init__(self, store: Store | None = None, told: str = "") -> None:
        n_cores = os.cpu_count() or 1
        self.store, self.told = store, told
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
        self.turns, self.collector = Turns(), Collector()
        self.pages: WeakSet[Any] = WeakSet()
        self.left: WeakSet[Any] = WeakSet()
        self.memories: WeakSet[Any] = WeakSet()
        self.alone, self.has_manual = False, is_served_by_panel()

    @classmethod
    def at_home(cls) -> Self:
        """Make one that keeps analyses where CLUSTERLENS_HOME says, if it can."""
        if os.environ.get(HOME) == OFF:
            return cls()
        try:
            store = Store(home())
        except (StoreError, OSError) as error:
            return cls(told=f"Nothing is kept: {error}")
        return cls(store, store.told)

    def close(self) -> None:
        """Save what is to be saved; end its processes, store and threads.

        Threads finish what they do, but nobody waits for that, unless it is saved.
        """
        self.workers.close()
        self.readers.close()
        for executor in (self.actions, self.live, self.idle, self.kernels):
            executor.shutdown(wait=False, cancel_futures=True)
        self.writing.shutdown()
        if self.store is not None:
            self.store.close()
