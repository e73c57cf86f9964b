"""Tests of nodes: computed on demand, once per set of inputs, and never stale."""

from __future__ import annotations

import asyncio
import inspect
import threading
from dataclasses import replace
from functools import partial
from graphlib import TopologicalSorter
from types import SimpleNamespace

import pytest

from clusterlens.compute._run.options import Cancelled, raise_if_cancelled
from clusterlens.ui.composition import NODES, AppViewState
from clusterlens.ui.jobs import derived
from clusterlens.ui.jobs.derived import Derived, Result
from clusterlens.ui.jobs.lanes import Job, Jobs
from clusterlens.ui.jobs.nodes import Later, Node, collect_nodes, node
from clusterlens.ui.server.server import Server
from clusterlens.ui.state.analysis import Analysis
from clusterlens.ui.state.checks import COPIES, Check, Checks
from clusterlens.ui.state.history import History, Step
from tests.ui.loop import run, wait_until_idle


class Bench:
    """Nodes over an analysis and a view state, with a record of computations."""

    def __init__(self, server: Server | None = None, **nodes: Node) -> None:
        self.history, self.view_state = History(), AppViewState()
        self.jobs = Jobs(server or Server())
        self.checks = Checks()
        self.derived = Derived(
            nodes, self.history, self.view_state, self.jobs, self.checks
        )

    def decide(self, **fields) -> None:
        analysis = replace(self.history.analysis, **fields)
        self.history.do(Step("test", "Test", analysis))

    async def wait_until_idle(self) -> None:
        await wait_until_idle(self)


def states(notified, name):
    return [results[name].state for results in notified]


def test_a_node_is_computed_once_for_the_same_inputs_also_after_undo():
    calls = []

    def loud(score):
        calls.append(score)
        return score.upper()

    bench = Bench(loud=Node(("score",), loud))
    notified = []
    bench.derived.watch(["loud"], notified.append)
    bench.decide(score="b")
    bench.history.go(bench.history.cursor - 1)
    bench.history.go(bench.history.cursor + 1)
    assert calls == ["discotec-binary", "b"]
    assert [r["loud"].value for r in notified] == [
        "DISCOTEC-BINARY",
        "B",
        "DISCOTEC-BINARY",
        "B",
    ]


def test_a_node_that_nobody_watches_is_not_computed():
    calls = []
    bench = Bench(costly=Node(("score",), calls.append))
    stop = bench.derived.watch(["costly"], lambda results: None)
    stop()
    bench.decide(score="b")
    assert calls == ["discotec-binary"]


def test_results_of_results_follow_and_are_told_of_together():
    bench = Bench(
        twice=Node(("runs_made",), lambda n: 2 * n),
        sentence=Node(("twice", "score"), lambda t, s: f"{s} {t}"),
    )
    notified = []
    bench.derived.watch(["twice", "sentence"], notified.append)
    bench.decide(runs_made=1, score="x")
    assert [r["sentence"].value for r in notified] == ["discotec-binary 0", "x 2"]


@pytest.mark.parametrize("lane", ["live", "idle"])
def test_slow_nodes_are_pending_until_their_thread_has_ended(lane):
    bench = Bench(slow=Node(("score",), lambda job, score: score + "!", lane))
    notified = []

    async def main():
        bench.derived.watch(["slow"], notified.append)
        await bench.wait_until_idle()

    run(main())
    assert states(notified, "slow") == ["pending", "ready"]
    assert notified[-1]["slow"].value == "discotec-binary!"


def test_a_result_that_comes_too_late_is_never_shown_for_other_inputs():
    gates = {"a": threading.Event(), "b": threading.Event()}
    begun = threading.Event()

    def slow(job, score):
        begun.set()
        gates[score].wait(20)
        return score

    bench = Bench(slow=Node(("score",), slow, "live"))
    shown = []

    async def main():
        bench.decide(score="a")
        bench.derived.watch(
            ["slow"],
            lambda r: shown.append((bench.history.analysis.score, r["slow"].value)),
        )
        while not begun.is_set():
            await asyncio.sleep(0.01)
        bench.decide(score="b")
        gates["a"].set()
        gates["b"].set()
        await bench.wait_until_idle()
        bench.history.go(bench.history.cursor - 1)

    run(main())
    assert all(value in (None, score) for score, value in shown)
    assert shown[-2:] == [("b", "b"), ("a", "a")]


def test_what_is_missing_makes_what_follows_empty_unless_it_may_be_missing():
    bench = Bench(
        needs=Node(("run_id",), str),
        may=Node(("run_id?",), lambda run_id: run_id or "none"),
    )
    assert bench.derived.get("needs").state == "empty"
    assert bench.derived.get("may").value == "none"


def test_what_is_not_waited_for_is_none_until_it_is_ready():
    release = threading.Event()

    def slow(job, score):
        release.wait(60)
        return score.upper()

    async def main():
        bench = Bench(
            slow=Node(("score",), slow, "live"),
            soon=Node(("score", "slow~"), lambda score, later: (score, later)),
        )
        notified = []
        bench.derived.watch(["soon"], notified.append)
        release.set()
        await bench.wait_until_idle()
        return [results["soon"].value for results in notified]

    first, last = run(main())
    assert first == ("discotec-binary", None)
    assert last == ("discotec-binary", "DISCOTEC-BINARY")


def test_a_failure_is_told_with_its_reason_and_can_be_tried_again():
    broken = [True]

    def fragile(score):
        if broken[0]:
            raise ValueError("no luck")
        return "fine"

    bench = Bench(
        fragile=Node(("score",), fragile), after=Node(("fragile",), str.upper)
    )
    notified = []
    bench.derived.watch(["after"], notified.append)
    assert str(notified[-1]["after"].error) == "no luck"
    broken[0] = False
    bench.derived.ask("after")
    assert notified[-1]["after"].value == "FINE"


def test_a_node_to_be_asked_for_waits_until_it_is_and_asks_again_for_other_inputs():
    bench = Bench(
        check=Node(("score",), lambda job, score: score, "live", asked_for=True)
    )
    notified = []

    async def main():
        bench.derived.watch(["check"], notified.append)
        bench.derived.ask("check")
        await bench.wait_until_idle()
        bench.decide(score="b")

    run(main())
    assert states(notified, "check") == ["declined", "pending", "ready", "declined"]


def test_cancelled_work_is_declined_and_can_be_asked_for():
    stops = [True]

    def check(job, score):
        if stops[0]:
            raise Cancelled
        return "checked"

    bench = Bench(check=Node(("score",), check, "idle"))
    notified = []

    async def main():
        bench.derived.watch(["check"], notified.append)
        await bench.wait_until_idle()
        assert states(notified, "check") == ["pending", "declined"]
        stops[0] = False
        bench.derived.ask("check")
        await bench.wait_until_idle()

    run(main())
    assert notified[-1]["check"].value == "checked"


def test_several_changes_in_a_pause_are_told_of_once():
    bench = Bench(both=Node(("score", "view.page"), lambda s, p: (s, p)))
    notified = []
    bench.derived.watch(["both"], notified.append)
    with bench.derived.paused():
        bench.view_state.page = "consensus"
        bench.decide(score="b")
    assert [r["both"].value for r in notified[1:]] == [("b", "consensus")]


def test_an_input_is_hashed_once_a_turn_however_much_follows_from_it():
    class Counted(tuple):
        hashed = 0

        def __hash__(self):
            Counted.hashed += 1
            return super().__hash__()

    bench = Bench(
        a=Node(("links",), lambda links: [links]),
        b=Node(("links", "a"), lambda *given: [given]),
        c=Node(("links", "a", "b"), lambda *given: [given]),
        d=Node(("a", "b", "c"), lambda *given: [given]),
    )
    bench.derived.watch(["b", "c", "d"], lambda results: None)
    bench.decide(links=Counted([1, 2]))
    Counted.hashed = 0
    bench.derived.refresh()
    assert Counted.hashed == 1


def test_who_is_first_is_told_before_those_who_watched_earlier():
    bench = Bench(loud=Node(("score",), str.upper))
    notified = []
    for name, first in (("a", False), ("b", True), ("c", False), ("d", True)):
        watcher = partial(lambda name, results: notified.append(name), name)
        bench.derived.watch(["loud"], watcher, first=first)
    notified.clear()
    bench.decide(score="x")
    assert notified == ["b", "d", "a", "c"]


def test_few_results_are_kept():
    calls = []
    bench = Bench(loud=Node(("score",), lambda s: calls.append(s) or s, keep=2))
    for score in "abcbac":
        bench.decide(score=score)
        assert bench.derived.get("loud").value == score
    assert calls == list("abcac")


def test_a_watcher_may_change_the_look_while_it_is_told():
    bench = Bench(echo=Node(("view.page",), str))
    notified = []

    def watcher(results):
        notified.append(results["echo"].value)
        bench.view_state.page = "consensus"

    bench.derived.watch(["echo"], watcher)
    assert notified == ["data", "consensus"]


def test_an_analysis_without_a_run_has_neither_partitions_nor_samples():
    assert Analysis().run is None
    assert Analysis().ensemble is None
    assert Analysis().samples is None


def test_equal_plain_results_share_what_follows():
    calls = []
    bench = Bench(
        size=Node(("score",), len),
        text=Node(("size",), lambda size: calls.append(size)),
    )
    bench.derived.watch(["text"], lambda results: None)
    for score in ("ab", "cd", "ef"):
        bench.decide(score=score)
    assert calls == [len("discotec-binary"), 2]


def test_true_is_not_taken_for_one():
    bench = Bench(echo=Node(("link_weight",), repr))
    bench.decide(link_weight=1)
    assert bench.derived.get("echo").value == "1"
    bench.decide(link_weight=True)
    assert bench.derived.get("echo").value == "True"


def test_a_view_that_cannot_draw_does_not_keep_others_from_it(caplog):
    bench = Bench(echo=Node(("score",), str))
    notified = []

    def broken(results):
        raise KeyError("gone")

    bench.derived.watch(["echo"], broken)
    bench.derived.watch(["echo"], notified.append)
    bench.decide(score="b")
    assert notified[-1]["echo"].value == "b"
    assert "gone" in bench.jobs.notices[0].text


def a_file(*functions, **more):
    """Return a module of nodes with these functions."""
    for function in functions:
        function.__module__ = "a_page.nodes"
    names = {function.__name__: function for function in functions}
    return SimpleNamespace(__name__="a_page.nodes", **names, **more)


def test_inputs_of_a_node_are_the_names_and_types_of_its_parameters():
    @node("live", "Trying", keep=8, debounced=True)
    def tried(
        job: Job,
        score: str,
        view_model: int | None,
        view_page: str,
        leader: Later[int],
    ) -> str:
        """Join the inputs."""

    assert collect_nodes(
        [a_file(tried, NODES={"leader": Node(("run_id?",), len)})],
        ["score", "run_id", "view.model", "view.page"],
    ) == {
        "tried": Node(
            ("score", "view.model?", "view.page", "leader~"),
            tried,
            "live",
            "Trying",
            keep=8,
            debounced=True,
        ),
        "leader": Node(("run_id?",), len),
    }


def test_an_input_that_is_nowhere_is_refused_with_function_and_parameter():
    @node()
    def joined(score: str, view_nowhere: str) -> str:
        """Join the inputs."""

    with pytest.raises(TypeError, match=r"parameter view_nowhere of the node joined\b"):
        collect_nodes([a_file(joined)], ["score", "view.page"])


def test_a_node_that_computes_for_long_takes_the_job_first():
    with pytest.raises(TypeError, match="first parameter of echo must be job"):

        @node("live", "Trying")
        def echo(score: str) -> str:
            """Return the input."""


def test_two_nodes_of_one_name_are_refused():
    with pytest.raises(TypeError, match="Two nodes are named"):
        collect_nodes(
            [SimpleNamespace(__name__=page, NODES=NODES) for page in "ab"], []
        )


def test_no_node_needs_itself():
    needs = {name: [i.rstrip("?~") for i in one.inputs] for name, one in NODES.items()}
    TopologicalSorter(needs).prepare()


def test_types_of_inputs_are_read_as_they_are_written():
    for name, one in NODES.items():
        if hasattr(one.compute, "node"):
            assert "annotations" in one.compute.__globals__, name


def test_a_node_takes_as_many_arguments_as_it_has_inputs():
    for name, one in NODES.items():
        taken = inspect.signature(one.compute).parameters.values()
        needed = [it for it in taken if it.default is it.empty]
        assert len(needed) == len(one.inputs) + (one.lane != "now"), name


def test_more_of_a_run_is_told_when_all_of_it_is_there():
    gates = {name: threading.Event() for name in ("quick", "slow", "idle")}
    for gate in gates.values():
        gate.set()

    def made(name):
        def make(job, score):
            gates[name].wait(60)
            return f"{name} {score}"

        return make

    async def main():
        lanes = {"quick": "live", "slow": "live", "idle": "idle"}
        nodes = {name: Node(("score",), made(name), lanes[name]) for name in gates}
        bench, notified = Bench(**nodes), []
        for name in gates:
            bench.derived.watch([name, "score"], notified.append)
        await bench.wait_until_idle()

        def on_screen():
            return {n: result.value for one in notified for n, result in one.items()}

        assert on_screen()["slow"] == "slow discotec-binary"
        notified.clear()
        gates["slow"].clear()
        gates["idle"].clear()
        with bench.derived.paused():
            bench.decide(score="aari")
            bench.derived.fill()
        while not bench.derived.get("quick").ready:
            await asyncio.sleep(0.01)
        assert bench.derived.filling
        assert notified == []
        gates["slow"].set()
        while not bench.derived.get("slow").ready:
            await asyncio.sleep(0.01)
        assert not bench.derived.filling
        seen = on_screen()
        assert (seen["quick"], seen["slow"]) == ("quick aari", "slow aari")
        assert seen["score"] == "aari"
        assert seen["idle"] is None
        gates["idle"].set()
        await bench.wait_until_idle()

    run(main())


def test_what_the_analyst_turns_to_does_not_wait_for_more_of_a_run():
    gate = threading.Event()

    def slow(job, score):
        gate.wait(60)
        return score

    async def main():
        bench, notified = Bench(slow=Node(("score",), slow, "live")), []
        bench.derived.watch(["slow", "view.page"], notified.append)
        with bench.derived.paused():
            bench.decide(score="aari")
            bench.derived.fill()
        before = len(notified)
        bench.view_state.page = "report"
        assert len(notified) == before + 1
        assert notified[-1]["view.page"].value == "report"
        gate.set()
        await bench.wait_until_idle()

    run(main())


@pytest.mark.parametrize("lane", ["live", "idle"])
def test_what_is_watched_does_not_wait_behind_checks_of_what_was_left(lane):
    begun, seen, order = threading.Event(), threading.Event(), []

    def check(job, score):
        begun.set()
        if not (seen.is_set() or job.stop.wait(5)):
            order.append("the check goes on")
        if job.cancelled():
            raise Cancelled
        order.append("check")

    def draw(job, score):
        seen.set()
        order.append("card")

    bench = Bench(
        check=Node(("score",), check, "idle"), card=Node(("score",), draw, lane)
    )

    async def main():
        leave = bench.derived.watch(["check"], lambda results: None)
        await asyncio.to_thread(begun.wait, 20)
        leave()
        bench.derived.watch(["card"], lambda results: None)
        await bench.wait_until_idle()

    run(main())
    assert order == ["card", "check"]


def checked(measure, **how) -> dict[str, Node]:
    """Return a check of the score, of the kind "copies", that costs ten seconds."""
    asked = {"asked_for": True, "check": COPIES, "cost": "cost", **how}
    return {
        "key": Node(("score",), lambda score: f"key of {score}"),
        "cost": Node(("score",), lambda score: 10.0),
        "check": Node(("key", "score"), measure, "live", **asked),
    }


async def measured(bench) -> Result:
    """Request the check, and return its result."""
    bench.derived.ask("check")
    bench.derived.get("check")
    await bench.wait_until_idle()
    return bench.derived.get("check")


def test_a_check_that_sessions_ask_for_at_once_is_measured_once():
    drawn, may_end = [], threading.Event()

    def measure(job, key, score):
        drawn.append(score)
        may_end.wait()
        return [score]

    async def main():
        server = Server()
        benches = [Bench(server, **checked(measure)) for _ in range(4)]
        benches[-1].decide(score="other")
        for bench in benches:
            bench.derived.watch(["check"], lambda results: None)
            bench.derived.ask("check")
        while len(drawn) < 2:
            await asyncio.sleep(0.01)
        may_end.set()
        for bench in benches:
            await bench.wait_until_idle()
        found = [bench.derived.get("check").value for bench in benches]
        assert sorted(drawn) == ["discotec-binary", "other"]
        assert all(one is found[0] for one in found[:3])
        assert found[3] == ["other"]

    run(main())


def test_what_another_session_measured_is_at_hand_at_once():
    async def main():
        server, nodes = Server(), checked(lambda job, key, score: [score])
        first, second = Bench(server, **nodes), Bench(server, **nodes)
        assert second.derived.get("check").cost(200) == "about 3 min"
        await measured(first)
        found = second.derived.get("check")
        assert (found.state, found.cost(200)) == ("declined", "at once")
        check = (await measured(second)).check
        assert check is first.derived.get("check").check

    run(main())


def test_a_check_teaches_what_others_of_its_kind_take(monkeypatch):
    clock = iter([100.0, 105.0])
    monkeypatch.setattr(derived, "time", SimpleNamespace(monotonic=clock.__next__))

    async def main():
        bench = Bench(**checked(lambda job, key, score: [score]))
        assert bench.derived.get("check").cost(600) == "about 10 min"
        await measured(bench)
        bench.decide(score="another")
        assert bench.derived.get("check").cost(600) == "about 5 min"

    run(main())


def test_a_check_that_is_stopped_says_how_far_it_was_and_can_be_asked_again():
    may_end = threading.Event()

    def measure(job, key, score):
        job.report(40, 100)
        while not may_end.is_set():
            raise_if_cancelled(job.cancelled)
        return [score]

    async def main():
        bench, notified = Bench(**checked(measure)), []
        bench.derived.watch(["check"], notified.append)
        bench.derived.ask("check")
        while bench.jobs.shown is None:
            await asyncio.sleep(0.01)
        bench.jobs.cancel()
        await bench.wait_until_idle()
        assert notified[-1]["check"].state == "declined"
        assert notified[-1]["check"].stopped == "stopped at 40 of 100; "
        may_end.set()
        await measured(bench)
        assert notified[-1]["check"].ready
        assert notified[-1]["check"].check.is_whole

    run(main())


def test_a_check_that_nobody_asked_for_is_not_begun_again_when_it_is_stopped():
    begun = []

    def measure(job, key, score):
        begun.append(score)
        raise Cancelled

    async def main():
        bench = Bench(**checked(measure, asked_for=False))
        bench.derived.watch(["check"], lambda results: None)
        await bench.wait_until_idle()
        assert begun == ["discotec-binary"]
        assert bench.derived.get("check").state == "declined"

    run(main())


def test_a_kept_check_that_does_not_fit_says_so_and_is_measured_anew():
    def fitted(value, key, score):
        if value != [score]:
            raise ValueError("what was kept is of another score; measure it again.")
        return value

    async def main():
        bench = Bench(**checked(lambda job, key, score: [score], fitted=fitted))
        bench.checks.put(Check("key of discotec-binary", COPIES, ["other"]))
        found = bench.derived.get("check")
        assert found.state == "failed"
        assert "of another score" in str(found.error)
        assert (await measured(bench)).value == ["discotec-binary"]

    run(main())
