"""Session: the four kinds of state of one browser session, and how they change."""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from clusterlens.ui.actions import ACTIONS, merge
from clusterlens.ui.actions.action import Action
from clusterlens.ui.jobs.derived import Derived
from clusterlens.ui.jobs.lanes import Job, Jobs, Notice, explain
from clusterlens.ui.jobs.nodes import Node
from clusterlens.ui.jobs.reading import read_in_process
from clusterlens.ui.server.memory.archive import SUFFIX, import_analysis
from clusterlens.ui.server.memory.memory import Memory, SavedHistory, read
from clusterlens.ui.server.memory.pools import OwnPools
from clusterlens.ui.server.memory.store import Intent
from clusterlens.ui.server.server import Server
from clusterlens.ui.server.uploads import NEW_TABLE, Upload
from clusterlens.ui.state.address import restore_view_state
from clusterlens.ui.state.analysis import Analysis, Link, Run
from clusterlens.ui.state.checks import Checks
from clusterlens.ui.state.drafts import PoolDraft
from clusterlens.ui.state.history import History, Step, plain_values
from clusterlens.ui.state.links import LinkError
from clusterlens.ui.state.partial_run import PartialRun
from clusterlens.ui.state.view_state import ViewState

# Pages that show the table and the pool, not a run.
OF_DATA = ("data", "pool")
# A partial run is shown from so many models on, and shown again after it has grown by a
# factor, at intervals of some seconds.
LEAST_MODELS = 3
STEP = 1.2
STEP_SECONDS = 2.0
# Polling interval while a closed session stops.
ENDED_SECONDS = 0.1


class Session:
    """Session state: the history, the view state, derived results and running work.

    Nothing here knows of widgets. `act`, `undo` and `redo` are the only ways to change
    the analysis.

    Parameters
    ----------
    server : Server
        Owner of the resources that all sessions share.
    nodes : mapping of str to Node
        Derived results by name.
    view_state : ViewState
        View state of a new session.
    in_lesson : bool, default False
        Whether it belongs to a lesson; its pages omit what no lesson needs.
    """

    def __init__(
        self,
        server: Server,
        nodes: Mapping[str, Node],
        view_state: ViewState,
        *,
        in_lesson: bool = False,
    ) -> None:
        self.server, self.nodes, self.in_lesson = server, nodes, in_lesson
        self.history = History()
        self.view_state = view_state
        self.jobs = Jobs(server)
        self.checks = Checks()
        self.derived = Derived(
            nodes, self.history, self.view_state, self.jobs, self.checks
        )
        self.memory = Memory(
            server, self.history, self.view_state, self.checks, self.jobs.notify
        )
        self.files = self.memory.files
        self.own_pools = OwnPools(server.store)
        self._formed_at = 0.0
        self._n_acting = 0
        # Position of the step that the running slow action builds on.
        self._began_at = 0
        # Intents of the requested nodes, by name.
        self._asked: dict[str, str] = {}
        self.jobs.param.watch(self._form, "partial")
        self.view_state.param.watch(self._form, ["page", "so_far"])
        self.jobs.param.watch(self._tell_memory, "shown")
        self.memory.param.watch(self._show_other_pages, "on_other_pages")

    @property
    def analysis(self) -> Analysis:
        """The displayed analysis: the one in force, or one with the partial run."""
        return self.history.shown

    def keep_file(self, content: bytes) -> str:
        """Store the content of an uploaded file; return its SHA-256 for the log."""
        key = hashlib.sha256(content).hexdigest()
        self.files[key] = content
        return key

    def for_lessons(self) -> Session:
        """Return a new session of the same server in which lessons are taken."""
        return Session(self.server, self.nodes, type(self.view_state)(), in_lesson=True)

    async def act(
        self,
        kind: str,
        /,
        *,
        view_state: Mapping[str, Any] | None = None,
        intent: str = "",
        **values: Any,
    ) -> bool:
        """Run an action and wait until it is saved; return whether it succeeded.

        A failure becomes a notice. `view_state` is the view to show after the action;
        it is applied at its end, because the analyst may have opened another view
        afterwards.
        `intent` is the id of the interrupted action that is repeated.
        """
        action = ACTIONS[kind]
        self._n_acting += 1
        try:
            if action.slow:
                done = await self._act_slowly(action, kind, values, view_state, intent)
            else:
                with self.derived.paused():
                    done = self.act_now(kind, **values)
                    if done and view_state:
                        self.view_state.param.update(**view_state)
            await self.memory.settled()
            return done
        finally:
            self._n_acting -= 1

    async def _act_slowly(
        self,
        action: Action,
        kind: str,
        values: dict[str, Any],
        view_state: Mapping[str, Any] | None,
        intent: str,
    ) -> bool:
        plain = plain_values(values)
        if self._is_unfinished(action):
            return False
        of = self.analysis.run_id
        intent = intent or self.memory.begin(kind, action.title, values, view_state)
        refused: list[tuple[Link, ...]] = [()]

        def begin() -> Callable[[Job], tuple[Analysis, Analysis]]:
            base, self._began_at = self.history.analysis, self.history.cursor

            def work(job: Job) -> tuple[Analysis, Analysis]:
                job.files = self.files
                action.takes(plain)
                if action.of_run and base.run_id != of:
                    raise ValueError("another run is selected now; repeat it there.")
                try:
                    return base, action.apply(base, values, job)
                except LinkError as error:
                    refused[0] = error.chain
                    raise

            return work

        done = await self.jobs.act(action.title, begin, kind=kind)
        self._began_at = 0
        if refused[0]:
            self.view_state.refused = refused[0]
        filled = self.history.partial_run is not None
        with self.derived.paused():
            self._look_at(None)
            is_done = done is not None and self._merge(kind, values, *done)
            self.memory.end(intent)
            if is_done and view_state:
                self.view_state.param.update(**view_state)
            elif is_done and filled:
                self.derived.fill()
        return is_done

    def _tell_memory(self, event: Any) -> None:
        """Report requested nodes and the progress of the work to the memory."""
        asked, memory = self.derived.asked_for, self.memory
        for name in self._asked.keys() - asked:
            memory.end(self._asked.pop(name))
        for name in asked - self._asked.keys():
            title, view_state = self.nodes[name].title, {"page": self.view_state.page}
            given: dict[str, Any] = {"node": name}
            if check := self.derived.check_of(name):
                given["check"] = [*check]
            self._asked[name] = memory.begin("", title, given, view_state)
        if (shown := event.new) is not None:
            memory.progress(shown.kind, shown.title, shown.done, shown.total)

    async def again(self, intent: Intent) -> bool:
        """Repeat interrupted work unless another page does; return whether it ran."""
        if not await self.memory.take(intent):
            self.jobs.notify("info", f"{intent.title} was taken up on another page.")
            return False
        if intent.kind:
            return await self.act(
                intent.kind,
                view_state=intent.view_state,
                intent=intent.id,
                **intent.given,
            )
        self.memory.end(intent.id)
        if (node := intent.given["node"]) not in self.nodes:
            self.jobs.notify("warning", f"This version does not know {node!r:.60}.")
            return False
        restore_view_state(self.view_state, intent.view_state)
        self.derived.ask(node)
        return True

    def _merge(
        self, kind: str, values: dict[str, Any], base: Analysis, result: Analysis
    ) -> bool:
        """Merge the result of a slow action with actions made in the meantime."""
        try:
            merged = merge(base, result, self.history.analysis)
        except ValueError as error:
            self.jobs.notify("warning", f"{ACTIONS[kind].title}: {explain(error)}")
            return False
        self._commit(kind, values, merged)
        return True

    def act_now(self, kind: str, /, **values: Any) -> bool:
        """Run a quick action at once; return whether it succeeded."""
        action = ACTIONS[kind]
        plain = plain_values(values)
        if self._is_unfinished(action):
            return False
        try:
            action.takes(plain)
            result = action.apply(self.history.analysis, values, None)
        except ValueError as error:
            self.view_state.refused = (
                error.chain if isinstance(error, LinkError) else ()
            )
            self.jobs.notify("warning", f"{action.title}: {explain(error)}")
            return False
        self._commit(kind, values, result)
        return True

    def _is_unfinished(self, action: Action) -> bool:
        """Return whether an action needs a finished run; if so, notify the analyst."""
        if not action.of_run or self.history.partial_run is None:
            return False
        self.jobs.notify(
            "warning",
            f"{action.title}: this run is not finished; wait, or stop and keep it.",
        )
        return True

    def _form(self, *events: Any) -> None:
        """Show the partial run in steps, on request or if it is the first run."""
        run_so_far = self.jobs.partial
        if run_so_far is None:
            self.view_state.so_far = False
            if not self.jobs.busy:  # the partial run was of another session
                self._look_at(None)
        elif not self._is_wanted():
            self._look_at(None)
        elif self.view_state.page not in OF_DATA and self._is_time(run_so_far):
            self._formed_at = time.monotonic()
            self.jobs.live(
                "so far", "Partial run", lambda job: run_so_far.run, self._made
            )

    def _is_wanted(self) -> bool:
        """Return whether a partial run exists and should be shown."""
        is_first = self.history.analysis.run is None
        return self.jobs.partial is not None and (is_first or self.view_state.so_far)

    def _made(self, run: Run | None, error: BaseException | None) -> None:
        """Show the partial run made by a thread."""
        if error is not None:
            self.jobs.fail("Reading the run so far", error)
        elif self._is_wanted():
            self._look_at(run)

    def _is_time(self, run_so_far: PartialRun) -> bool:
        """Return whether the partial run has grown enough to show it again."""
        formed, n_models = self.history.partial_run, len(run_so_far.models)
        if formed is None:
            return n_models >= LEAST_MODELS
        if time.monotonic() - self._formed_at < STEP_SECONDS:
            return False
        if self.derived.filling:
            return False
        return n_models >= STEP * formed.ensemble.n_partitions

    def _look_at(self, run: Run | None) -> None:
        """Show a partial run or none; all of its steps count as the same run."""
        before = self.history.partial_run
        with self.derived.paused():
            self.history.partial_run = run
            if (before is None) != (run is None):
                self.view_state.forget(*self.view_state.reset_at("run"))
            elif run is not None:
                self.derived.fill()

    def _commit(self, kind: str, values: dict[str, Any], analysis: Analysis) -> None:
        self._move(
            lambda: self.history.do(Step(kind, ACTIONS[kind].title, analysis, values))
        )
        if not self.jobs.busy:
            self._forget_files()

    def _forget_files(self) -> None:
        """Keep only the uploads that a step needs to be repeated."""
        named = {step.values.get("sha256") for step in self.history.steps}
        for key in self.files.keys() - named:
            del self.files[key]

    async def open(
        self, analysis: str, view_state: Mapping[str, Any] | None = None
    ) -> bool:
        """Open an analysis of the store; return whether it exists.

        Parameters
        ----------
        analysis : str
            Id of the analysis.
        view_state : mapping, optional
            View to show instead of the stored one, as plain values.
        """
        store = self.memory.store
        if store is None:
            self.jobs.notify(
                "warning", "Nothing is kept here, so nothing can be opened."
            )
            return False
        if not await self._is_saved():
            return False
        page = self.view_state.page

        def begin() -> Callable[[Job], Any]:
            return lambda job: read(store, analysis, job.report)

        found = await self.jobs.act("Open the analysis", begin)
        if found is None or not await self._is_saved():
            return False
        kept, notes, looked = found
        wanted = dict(looked if view_state is None else view_state)
        if (
            self.view_state.page != page
        ):  # the analyst has opened another page meanwhile
            wanted["page"] = self.view_state.page
        # The page comes first, because a page left at once would be made and computed
        # in vain.
        restore_view_state(
            self.view_state, {name: wanted[name] for name in wanted if name == "page"}
        )
        self._adopt(kept)
        restore_view_state(self.view_state, wanted, self._ends())
        for text in notes:
            self.jobs.notify("warning", text)
        await self.memory.find_work()
        return True

    async def _is_saved(self) -> bool:
        """Wait until all steps are stored; notify the analyst if that fails."""
        if await self.memory.settled():
            return True
        self.jobs.notify(
            "error",
            "Nothing else is opened, as what is not saved would be lost. "
            f"{self.memory.problem}",
        )
        return False

    def _show_other_pages(self, event: Any) -> None:
        """Show notices of work on other pages while it runs."""
        before, now = (
            dict.fromkeys(_other_page_notice(intent) for intent in intents)
            for intents in (event.old, event.new)
        )
        self.jobs.dismiss(*(notice for notice in before if notice not in now))
        for notice in now:
            if notice not in before:
                self.jobs.notify(notice.severity, notice.text)
        if now:
            self.jobs.follow(self._find_left, lambda: bool(self.memory.on_other_pages))

    def _find_left(self) -> Jobs | None:
        """Find the closed page with the work of another page, as after a reload.

        Its progress then replaces the notice. A pool draft of that page is copied,
        unless there is another draft here.
        """
        for other in self.server.left:
            own = {intent.id for intent in other.memory.under_way}
            shown = [
                intent for intent in self.memory.on_other_pages if intent.id in own
            ]
            if shown:
                self.jobs.dismiss(*map(_other_page_notice, shown))
                begins = self.jobs not in other.jobs.followers
                if begins and vars(self.view_state.pool_draft) == vars(PoolDraft()):
                    self.view_state.pool_draft = other.view_state.pool_draft
                return other.jobs
        return None

    def _ends(self) -> dict[str, int]:
        """Return the numbers of models and samples, as limits of view parameters."""
        ensemble, dataset = self.analysis.ensemble, self.analysis.dataset
        n_samples = 0 if dataset is None else len(dataset.X)
        n_models = 0 if ensemble is None else ensemble.n_partitions
        return {"model": n_models, "inspected": n_samples, "cns_sample": n_samples}

    async def arrival(self, upload: Upload, *, kind: str = "") -> bytes | None:
        """Wait for an uploaded file; return None, and show a notice, if it fails."""
        if upload.others:
            self.jobs.notify(
                "info",
                f"Only {upload.name} is read; {upload.others} dropped with it were "
                "left out.",
            )
        title = f"Upload {upload.name}"
        content = await self.jobs.act(title, lambda: upload.content, kind=kind)
        upload.end()
        return content

    async def receive(self, upload: Upload) -> bool:
        """Receive an uploaded file: a table, or the file of an analysis."""
        content = await self.arrival(upload, kind="load file")
        if content is None:
            return False
        if upload.name.endswith(SUFFIX):
            return await self.take_in(content)
        key = await self.server.in_thread(self.keep_file, content)
        if upload.rows_of == NEW_TABLE:
            taken = await self.act(
                "take new table",
                view_state={"page": "new-rows"},
                name=upload.name,
                sha256=key,
            )
            if taken:
                self.view_state.forget("new_row", "new_rows_view")
            return taken
        view_state = {"page": "data", "starting": False}
        return await self.act(
            "load file", view_state=view_state, name=upload.name, sha256=key
        )

    async def take_in(self, content: bytes) -> bool:
        """Import the file of an analysis as an analysis of its own, and open it."""
        store = self.memory.store
        if store is None:
            self.jobs.notify("warning", "Nothing is kept here: there is no store.")
            return False

        def begin() -> Callable[[Job], str]:
            return lambda job: import_analysis(
                store,
                content,
                apart=partial(read_in_process, job, "the analysis", content),
            )

        made = await self.jobs.act("Read the analysis", begin, kind="take in")
        return made is not None and await self.open(made)

    def _adopt(self, kept: SavedHistory) -> None:
        self._move(lambda: self.memory.adopt(kept))

    @property
    def is_kept(self) -> bool:
        """Return whether nothing would be lost if this session ended."""
        return self.analysis.table is None or self.memory.state not in ("off", "failed")

    def close(self) -> None:
        """Stop all work finally."""
        self.memory.forget()
        self.jobs.close()

    async def ended(self) -> None:
        """Wait until a closed session has stopped and is saved."""
        while self._n_acting or not self.jobs.at_rest:
            await asyncio.sleep(ENDED_SECONDS)
        await self.memory.settled()

    def undo(self) -> None:
        """Undo the latest action."""
        self.go(self.history.cursor - 1)

    def redo(self) -> None:
        """Redo the next undone action."""
        self.go(self.history.cursor + 1)

    def go(self, cursor: int) -> None:
        """Put the step at a position in force.

        Steps before a running action are refused: its result would replace the steps
        that could be redone.
        """
        if cursor < self._began_at:
            self.jobs.notify(
                "info",
                "An action is under way that builds on this step; cancel it, or wait "
                "until it is done, to undo further.",
            )
            return
        self._move(lambda: self.history.go(cursor))

    def put(self, steps: tuple[Step, ...], cursor: int) -> None:
        """Replace all steps."""
        self._move(lambda: self.history.replace(steps, cursor))

    def _move(self, move: Callable[[], None]) -> None:
        """Put another analysis in force, and reset the affected parts of the view."""
        before, dataset = self.analysis.ensemble, self.analysis.dataset
        cns = self.analysis.cns
        with self.derived.paused():
            move()
            self.view_state.refused = ()
            if self.analysis.ensemble is not before:
                self.view_state.forget(*self.view_state.reset_at("run"))
            if self.analysis.dataset is not dataset:
                self.view_state.forget(*self.view_state.reset_at("table"))
            if self.analysis.cns != cns:
                self.view_state.param.update(
                    cns_preview=None, cns_step=None, cns_version=""
                )
            if (self.analysis.ensemble, self.analysis.dataset) != (before, dataset):
                self.view_state.forget(*self.view_state.reset_at("either"))


def _other_page_notice(intent: Intent) -> Notice:
    """Return a notice of work on another page."""
    return Notice(
        "info",
        f"{intent.title} is under way on another page of this analysis, or on one that "
        "was closed; what comes of it will be here as soon as it is done.",
    )
