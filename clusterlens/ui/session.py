"""Session: the four kinds of state of one browser session, and how they change."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from typing import Any

from clusterlens.ui.actions import ACTIONS, merge
from clusterlens.ui.address import restore_look
from clusterlens.ui.analysis import Analysis
from clusterlens.ui.derived import Derived
from clusterlens.ui.history import History, Step, plain_values
from clusterlens.ui.jobs import Job, Jobs, explain
from clusterlens.ui.look import Look
from clusterlens.ui.memory.memory import Kept, Memory, read
from clusterlens.ui.memory.store import Store
from clusterlens.ui.nodes import NODES


class Session:
    """What was decided, what is looked at, what follows from it, and what is under way.

    Nothing here knows of widgets. `act`, `undo` and `redo` are the only ways in which
    the analysis changes.

    Parameters
    ----------
    store : Store, optional
        Where the analysis is kept; without one it ends with the session.
    """

    def __init__(self, store: Store | None = None) -> None:
        self.history = History()
        self.look = Look()
        self.jobs = Jobs()
        self.derived = Derived(NODES, self.history, self.look, self.jobs)
        self.memory = Memory(store, self.history, self.look, self.jobs.notify)
        self.files = self.memory.files

    @property
    def analysis(self) -> Analysis:
        """The analysis in force."""
        return self.history.analysis

    def keep_file(self, content: bytes) -> str:
        """Keep the content of an uploaded file; return its SHA-256 for the log."""
        key = hashlib.sha256(content).hexdigest()
        self.files[key] = content
        return key

    async def act(self, kind: str, /, **values: Any) -> bool:
        """Do an action and wait until it is saved; return whether it was done.

        What failed becomes a notice.
        """
        action = ACTIONS[kind]
        if not action.slow:
            done = self.act_now(kind, **values)
            await self.memory.settled()
            return done
        plain_values(values)

        def begin() -> Callable[[Job], tuple[Analysis, Analysis]]:
            base = self.analysis

            def work(job: Job) -> tuple[Analysis, Analysis]:
                job.files = self.files
                return base, action.apply(base, values, job)

            return work

        done = await self.jobs.act(action.title, begin)
        if done is None:
            return False
        try:
            merged = merge(*done, self.analysis)
        except ValueError as error:
            self.jobs.notify("warning", f"{action.title}: {explain(error)}")
            return False
        self._commit(kind, values, merged)
        await self.memory.settled()
        return True

    def act_now(self, kind: str, /, **values: Any) -> bool:
        """Do a quick action at once; return whether it was done."""
        action = ACTIONS[kind]
        plain_values(values)
        try:
            result = action.apply(self.analysis, values, None)
        except ValueError as error:
            self.jobs.notify("warning", f"{action.title}: {explain(error)}")
            return False
        self._commit(kind, values, result)
        return True

    def _commit(self, kind: str, values: dict[str, Any], analysis: Analysis) -> None:
        self._move(
            lambda: self.history.do(Step(kind, ACTIONS[kind].title, analysis, values))
        )
        if not self.jobs.busy:
            self._forget_files()

    def _forget_files(self) -> None:
        """Keep only uploads that a step can be done again from."""
        named = {step.values.get("sha256") for step in self.history.steps}
        for key in self.files.keys() - named:
            del self.files[key]

    async def open(self, analysis: str, look: Mapping[str, Any] | None = None) -> bool:
        """Open an analysis of the store; return whether it is there.

        Parameters
        ----------
        analysis : str
            Its id.
        look : mapping, optional
            What to look at instead of what was looked at last, plain values.
        """
        store = self.memory.store
        if store is None:
            self.jobs.notify(
                "warning", "Nothing is kept here, so nothing can be opened."
            )
            return False
        await self.memory.settled()

        def begin() -> Callable[[Job], Any]:
            return lambda job: read(store, analysis, job.report)

        found = await self.jobs.act("Open the analysis", begin)
        if found is None:
            return False
        kept, notes, looked = found
        self._adopt(kept)
        restore_look(self.look, looked if look is None else look)
        for text in notes:
            self.jobs.notify("warning", text)
        return True

    def _adopt(self, kept: Kept) -> None:
        self._move(lambda: self.memory.adopt(kept))

    def close(self) -> None:
        """Stop everything for good."""
        self.memory.forget()
        self.jobs.close()

    def undo(self) -> None:
        """Take the latest action back."""
        self._move(self.history.undo)

    def redo(self) -> None:
        """Do the next undone action again."""
        self._move(self.history.redo)

    def _move(self, move: Callable[[], None]) -> None:
        """Put another analysis in force; another run is looked at from its leader."""
        before, dataset = self.analysis.ensemble, self.analysis.dataset
        with self.derived.paused():
            move()
            if self.analysis.ensemble is not before:
                self.look.forget_samples()
            if self.analysis.dataset is not dataset:
                self.look.forget_table()
            if (self.analysis.ensemble, self.analysis.dataset) != (before, dataset):
                self.look.judge("labels")
