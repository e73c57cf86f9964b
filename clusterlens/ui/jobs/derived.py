"""Derived results: everything computed from the analysis and the view state.

Each result has a definition, its node (`nodes.py`). Results are cached under a key made
of all inputs, so nothing on screen can be stale, and undo finds earlier results. Only
watched nodes and their inputs are computed.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

from clusterlens.compute._run.options import Cancelled
from clusterlens.ui.jobs.lanes import Job, Jobs, explain
from clusterlens.ui.jobs.nodes import Node
from clusterlens.ui.jobs.result_cache import ResultCache
from clusterlens.ui.state.checks import Check, Checks
from clusterlens.ui.state.history import History
from clusterlens.ui.state.view_state import ViewState
from clusterlens.ui.widgets.words import duration

_LOG = logging.getLogger(__name__)
# Bytes of the cached results of a session, beside the latest one of each node.
MOST_BYTES = 300_000_000
DEBOUNCE_SECONDS = 0.2
# Largest factor by which the time of a check is assumed to differ from its estimate.
_LARGEST_PACE = 100.0
State = Literal["empty", "pending", "ready", "failed", "declined"]
Watcher = Callable[[Mapping[str, "Result"]], None]


@dataclass(frozen=True, eq=False)
class Result:
    """State of a node, with its value if ready and its error if failed.

    `check` is the check that was measured. If the node is declined, it is the check
    that was stopped, or one of another session, which is available at once. `pace` is
    the time of the last check of this kind, divided by its estimate.
    """

    state: State
    value: Any = None
    error: BaseException | None = None
    check: Check | None = None
    pace: float = 1.0

    @property
    def ready(self) -> bool:
        """Return whether there is a value."""
        return self.state == "ready"

    @property
    def stopped(self) -> str:
        """Progress of a check that was stopped, with a semicolon; else empty."""
        stopped = self.check.stopped if self.check and not self.ready else ""
        return f"{stopped}; " if stopped else ""

    @property
    def settings(self) -> str:
        """Settings of the check; empty without one."""
        return self.check.settings if self.check else ""

    @property
    def failure(self) -> str:
        """Description of the error; empty without one."""
        return explain(self.error) if self.error else ""

    def cost(self, seconds: float) -> str:
        """Return the expected time of a check in words, given its estimate."""
        if self.check is not None and self.check.is_whole:
            return "at once"
        return duration(seconds * self.pace)


_EMPTY, _PENDING, _DECLINED = Result("empty"), Result("pending"), Result("declined")


class _Same:
    """Key of an input that cannot be compared by value: the identity of the object."""

    def __init__(self, thing: Any) -> None:
        self.thing = thing

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.thing is self.thing

    def __hash__(self) -> int:
        return id(self.thing)


class _Key:
    """Key of an input or of a result. Its hash is computed once."""

    def __init__(self, value: Any) -> None:
        self.value, self._hash = value, hash(value)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, _Key)
            and self._hash == other._hash
            and (self.value is other.value or self.value == other.value)
        )

    def __hash__(self) -> int:
        return self._hash


def _key(value: Any) -> _Key | _Same:
    try:
        return _Key(value)
    except TypeError:
        return _Same(value)


@dataclass(frozen=True)
class _Watch:
    """Subscription to results. Subscriptions that are `first` are notified first."""

    names: tuple[str, ...]
    on_change: Watcher
    first: bool


class Derived:
    """The results of all nodes for the displayed analysis and view state."""

    def __init__(
        self,
        nodes: Mapping[str, Node],
        history: History,
        view_state: ViewState,
        jobs: Jobs,
        checks: Checks,
    ) -> None:
        self.nodes, self._history, self._view_state, self._jobs = (
            nodes,
            history,
            view_state,
            jobs,
        )
        self._checks, self._paces = checks, dict[str, float]()
        self._known = ResultCache[Result](MOST_BYTES)
        self._under_way: dict[str, Any] = {}
        self._asked: dict[str, Any] = {}
        self._asked_early: set[str] = set()
        self._watchers: dict[object, _Watch] = {}
        self._notified: dict[object, Any] = {}
        self._refreshing = self._again = False
        self._filling = False
        history.param.watch(self.refresh, ["steps", "cursor", "partial_run"])
        view_state.param.watch(self._notify_now, list(view_state.param.values()))
        checks.param.watch(self.refresh, "held")

    def watch(
        self, names: Sequence[str], on_change: Watcher, *, first: bool = False
    ) -> Callable[[], None]:
        """Notify of named results now and at each change; return a stop function.

        Names are as in the inputs of a node. Watchers that are `first` are notified
        before others.
        """
        token = object()
        self._watchers[token] = _Watch(tuple(names), on_change, first)
        self._notify_now()

        def stop() -> None:
            self._watchers.pop(token, None)
            self._notified.pop(token, None)

        return stop

    def get(self, name: str) -> Result:
        """Return the present state of a result; start its computation if necessary."""
        return self._look_up(name, {})[1]

    def ask(self, name: str) -> None:
        """Compute a node on request, or retry a failed one.

        Failed and cancelled inputs are retried, too.
        """
        seen: dict[str, Any] = {}
        self._asked[name], found = self._look_up(name, seen)
        if found.state == "pending":  # its key may change once its inputs are ready
            self._asked_early.add(name)
        for needed, (key, result) in seen.items():
            if result.state in ("failed", "declined"):
                self._known.drop(needed, key)
                if result.state == "failed" and result.check:  # the value does not fit
                    self._checks.drop(result.check.key)
        self.refresh()

    def check_of(self, name: str) -> tuple[str, str] | None:
        """Return kind and key of a check; None for other nodes."""
        node = self.nodes[name]
        key = self.get(node.inputs[0]).value if node.check else None
        return (node.check, key) if key else None

    @property
    def asked_for(self) -> set[str]:
        """Names of the requested nodes that are being computed."""
        return {name for name in self._under_way if self.nodes[name].asked_for}

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Postpone notifications of several changes to the end of the block."""
        before, self._refreshing = self._refreshing, True
        try:
            yield
        finally:
            self._refreshing = before
            self.refresh()

    def refresh(self, *events: Any) -> None:
        """Bring every watched result up to date and notify its watchers."""
        if self._refreshing:
            self._again = True
            return
        self._refreshing = True
        try:
            self._again = True
            while self._again:
                self._again = False
                seen: dict[str, Any] = {}
                self._tell(seen)
                self._jobs.attend_to(seen)
        finally:
            self._refreshing = False

    @property
    def filling(self) -> bool:
        """Return whether watchers wait for more models of a run."""
        return self._filling

    def fill(self) -> None:
        """Postpone notifications until all results of a larger run are ready.

        Otherwise a headline would describe more models than the picture beside it.
        Results of the idle lane and requested results are not waited for.
        """
        self._filling = True

    def _notify_now(self, *events: Any) -> None:
        """Notify at once after an action of the analyst."""
        self._filling = False
        self.refresh()

    def _is_drawn(self, seen: dict[str, Any]) -> bool:
        """Return whether no watched result is being drawn."""
        for watch in self._watchers.values():
            for name in watch.names:
                self._look_up(name, seen)
        return not any(
            result.state == "pending"
            and self._under_way.get(name) == key
            and self.nodes[name].lane == "live"
            and not self.nodes[name].asked_for
            for name, (key, result) in seen.items()
        )

    def _tell(self, seen: dict[str, Any]) -> None:
        if self._filling and not self._is_drawn(seen):
            return
        self._filling = False
        for token, watch in sorted(
            self._watchers.items(), key=lambda one: not one[1].first
        ):
            found = {name: self._look_up(name, seen) for name in watch.names}
            state = tuple(
                (key, result.state, result.check) for key, result in found.values()
            )
            if token in self._watchers and self._notified.get(token) != state:
                self._notified[token] = state
                results = {name.rstrip("?"): r for name, (_, r) in found.items()}
                try:
                    watch.on_change(results)
                except Exception as error:
                    # A view that cannot draw must not block the others.
                    self._jobs.fail("Drawing", error)

    def _look_up(self, name: str, seen: dict[str, Any]) -> tuple[Any, Result]:
        """Return key and result of an input."""
        if name.endswith("~"):
            key, result = self._look_up(name.rstrip("~"), seen)
            return (key, result) if result.ready else (None, Result("ready", None))
        optional, name = name.endswith("?"), name.rstrip("?")
        if name not in seen:
            is_node = name in self.nodes
            seen[name] = self._evaluate(name, seen) if is_node else self._read(name)
        key, result = seen[name]
        if optional and result.state == "empty":
            result = Result("ready", None)
        return key, result

    def _read(self, name: str) -> tuple[Any, Result]:
        """Return key and result of a field of the analysis or of the view state."""
        if name.startswith("view."):
            value = getattr(self._view_state, name.removeprefix("view."))
        else:
            value = getattr(self._history.shown, name)
        return _key(value), _EMPTY if value is None else Result("ready", value)

    def _evaluate(self, name: str, seen: dict[str, Any]) -> tuple[Any, Result]:
        node = self.nodes[name]
        found = [self._look_up(given, seen) for given in node.inputs]
        key = _Key(tuple(_known_by(part, result) for part, result in found))
        known = self._known.get(name, key)
        if known is not None:
            return key, known
        for state in ("empty", "failed", "declined", "pending"):
            for _, result in found:
                if result.state == state:
                    return key, result
        values = [result.value for _, result in found]
        if node.lane == "now":
            return key, self._keep(name, key, *_outcome_of(node.compute, values))
        check = self._checks.held.get(values[0]) if node.check else None
        if check is not None and check.is_whole:
            fitted = _outcome_of(node.fitted, [check.value, *values])
            return key, self._keep(name, key, *fitted, check)
        if name in self._asked_early:
            self._asked_early.discard(name)
            self._asked[name] = key
        if node.asked_for and self._asked.get(name) != key:
            if not node.check:
                return key, _DECLINED
            at_hand = check or self._jobs.at_hand(values[0])
            pace = self._paces.get(node.check, 1.0)
            return key, Result("declined", check=at_hand, pace=pace)
        self._begin(name, key, values)
        return key, _PENDING

    def _begin(self, name: str, key: Any, values: list[Any]) -> None:
        if self._under_way.get(name) == key:
            return
        self._under_way[name] = key
        node = self.nodes[name]
        begun: list[Job] = []
        estimate = self.get(node.cost).value if node.cost else None
        seconds = float(getattr(estimate, "seconds", estimate) or 0.0)

        def work(job: Job) -> Any:
            begun[:] = [job]
            if not node.check:
                return node.compute(job, *values)
            return self._measure(job, node, values, seconds)

        def outcome(value: Any, error: BaseException | None) -> None:
            if self._under_way.get(name) == key:
                del self._under_way[name]
            if not node.check or (error and not isinstance(error, Cancelled)):
                self._keep(name, key, value, error)
            elif error is None:
                self._checks.put(value)
            else:
                (job,) = begun
                check = Check(values[0], node.check, done=job.done, total=job.total)
                if node.asked_for:
                    self._asked.pop(name, None)
                else:
                    self._keep(name, key, None, error, check)
                self._checks.put(check)
            self.refresh()

        title = node.title or name
        debounce = DEBOUNCE_SECONDS if node.debounced else 0.0
        if node.lane == "idle":
            self._jobs.idle(name, title, work, outcome, debounce=debounce)
        else:
            self._jobs.live(
                name, title, work, outcome, long=node.asked_for, debounce=debounce
            )

    def _measure(
        self, job: Job, node: Node, values: list[Any], estimate: float
    ) -> Check:
        """Measure a check once for all sessions; time it for later estimates."""

        def measure() -> tuple[Check, bool]:
            begun = time.monotonic()
            check = Check(values[0], node.check, node.compute(job, *values))
            if estimate > 0:
                pace = (time.monotonic() - begun) / estimate
                self._paces[node.check] = min(
                    max(pace, 1 / _LARGEST_PACE), _LARGEST_PACE
                )
            return check, True

        return job.server.results.get(values[0], measure, job.cancelled)

    def _keep(
        self,
        name: str,
        key: Any,
        value: Any,
        error: BaseException | None,
        check: Check | None = None,
    ) -> Result:
        if isinstance(error, Cancelled):
            result = Result("declined", check=check)
        elif error is not None:
            result = Result("failed", error=error, check=check)
        else:
            result = _EMPTY if value is None else Result("ready", value, check=check)
        self._known.put(name, key, result, self.nodes[name].keep)
        return result


def _known_by(key: Any, result: Result) -> Any:
    """Return the key of an input.

    A plain value is its own key, so that equal inputs share later results.
    """
    plain = isinstance(result.value, (bool, int, float, str, type(None)))
    return (type(result.value), result.value) if result.ready and plain else key


def _outcome_of(
    compute: Callable[..., Any], values: list[Any]
) -> tuple[Any, BaseException | None]:
    try:
        return compute(*values), None
    except Exception as error:
        if not isinstance(error, (ValueError, MemoryError)):
            _LOG.error("%s failed", compute.__name__, exc_info=error)
        return None, error
