"""Tests of the lessons: every step can be done, and every claim is true."""

import asyncio
import html
import re

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from clusterlens.compute.ensemble.overlaps import sample_disagreement
from clusterlens.compute.formatting import percent, whole
from clusterlens.compute.pool.pool import run_pool
from clusterlens.compute.table.dataset import prepare
from clusterlens.compute.table.examples import load_example
from clusterlens.ui.actions import ACTIONS
from clusterlens.ui.components.more_models import MoreModels
from clusterlens.ui.composition import new_session
from clusterlens.ui.lessons import (
    LESSONS,
    answers,
    crowd,
    later,
    noise,
    one_link,
    rings,
    smoothing,
)
from clusterlens.ui.lessons.classroom import Classroom
from clusterlens.ui.pages.consensus.links_tab import LinksTab
from clusterlens.ui.pages.consensus.ranking import RankingTable
from clusterlens.ui.pages.fuzzy.page import SIDE, FuzzyPage
from clusterlens.ui.pages.lessons.page import PLACES, LessonsPage
from clusterlens.ui.pages.new_rows.page import AREAS, NewRowsPage
from clusterlens.ui.server.server import Server
from clusterlens.ui.state.address import from_query, restore_view_state, to_query
from tests.ui.loop import run

# Pools are fitted once for all tests of this file, as for a class.
SERVER = Server()


class Pupil:
    """A user of a lesson, with access to the results of its claims."""

    def __init__(self, key, classroom=None):
        self.classroom, self.key = classroom or Classroom(new_session(SERVER)), key
        self.session = self.classroom.session

    async def wait_until_idle(self):
        while not self.session.jobs.at_rest:
            await asyncio.sleep(0.01)

    async def open(self):
        await self.classroom.open(self.key)
        await self.wait_until_idle()

    async def do(self):
        """Do the task of the step; return the text on its outcome."""
        assert not self.classroom.reached
        await self.classroom.show()
        await self.wait_until_idle()
        assert self.classroom.reached
        return self.classroom.task.after

    async def next(self):
        """Press Next, twice if it first shows the outcome of the step."""
        here = self.classroom.key, self.classroom.step
        await self.classroom.next()
        await self.wait_until_idle()
        if (self.classroom.key, self.classroom.step) == here:
            assert self.classroom.reached
            await self.classroom.next()
            await self.wait_until_idle()

    async def get(self, node):
        # A node's inputs are computed step by step only while it is watched.
        stop = self.session.derived.watch([node], lambda results: None)
        await self.wait_until_idle()
        stop()
        result = self.session.derived.get(node)
        assert result.ready, (node, result)
        return result.value

    async def rank(self, model):
        ranking = await self.get("ranking")
        return int(ranking.ranks[ranking.ensemble.names.index(model)])

    async def leader(self):
        ranking = await self.get("ranking")
        return ranking.ensemble.names[ranking.order[0]]

    def ari(self, model):
        run = self.session.analysis.run
        labels = run.ensemble.labels[run.ensemble.names.index(model)]
        return adjusted_rand_score(run.dataset.labels_true, labels)


def taken(key, scenario):
    async def main():
        pupil = Pupil(key)
        await pupil.open()
        try:
            await scenario(pupil)
        finally:
            pupil.classroom.session.close()

    run(main(), 300)


def assert_numbers(text, *numbers):
    """Assert that the bold numbers of a text are these, in order."""
    assert re.findall(r"<b>([^<]*\d[^<]*)</b>", text) == list(numbers)


def signed(value):
    return f"{value:.2f}".replace("-", "−")


# What a task names in bold that is no word of the working page.
NOT_OF_THE_PAGE = {"first row", "undo"}


def words_on(page):
    """Return all words of a page, also of what is hidden, as plain text."""
    found = []

    def take(value):
        if isinstance(value, (str, int, float)):
            found.append(str(value))
        elif isinstance(value, dict):
            take([*value, *value.values()])
        elif isinstance(value, (list, tuple)):
            for one in value:
                take(one)

    for part in page.view.select():
        take([v for k, v in part.param.values().items() if k not in ("name", "sx")])
    return html.unescape(re.sub("<[^>]*>", "", " ".join(found)))


@pytest.mark.parametrize("key", LESSONS)
def test_a_lesson_is_walked_from_its_start_to_its_end_by_names_on_the_page(key):
    lesson = LESSONS[key]
    assert 4 <= len(lesson.steps) <= 6
    assert lesson.page in PLACES

    async def main():
        session = new_session(SERVER)
        page = LessonsPage(session)
        page.set_visible(True)
        pupil = Pupil(key, page.classroom)
        await pupil.open()
        for k, task in enumerate(lesson.steps):
            assert (pupil.classroom.step, pupil.classroom.opening) == (k, False)
            assert bool(task.task) == bool(task.done) == bool(task.way and task.after)
            assert task.button or task.target or not task.task
            named = set(re.findall("<b>(.*?)</b>", task.task)) - NOT_OF_THE_PAGE
            words = words_on(page.places[lesson.page])
            assert not {name for name in named if html.unescape(name) not in words}
            if task.done:
                await pupil.do()
            await pupil.next()
            assert not pupil.session.jobs.notices
        assert pupil.classroom.lesson is None
        assert key in pupil.classroom.finished
        page.set_visible(False)
        page.close()
        session.close()

    run(main(), 300)


def test_next_shows_what_a_step_finds_before_it_goes_on():
    async def scenario(pupil):
        classroom = pupil.classroom
        await classroom.next()
        await pupil.wait_until_idle()
        assert (classroom.step, classroom.reached) == (0, True)
        await classroom.next()
        await pupil.wait_until_idle()
        assert (classroom.step, classroom.reached) == (1, False)
        await pupil.do()
        await classroom.next()
        await pupil.wait_until_idle()
        assert classroom.step == 2

    taken("rings", scenario)


def test_a_must_link_in_place_of_a_cannot_link_gets_a_hint():
    async def scenario(pupil):
        classroom, session = pupil.classroom, pupil.session
        await pupil.next()
        a, b = one_link.FIRST
        assert await session.act("add link", kind="must", a=a, b=b)
        await pupil.wait_until_idle()
        assert (classroom.mistaken, classroom.reached) == (True, False)
        assert "<b>⇌</b>" in classroom.task.hint
        assert await session.act("swap link", a=a, b=b)
        await pupil.wait_until_idle()
        assert (classroom.mistaken, classroom.reached) == (False, True)

    taken("one link", scenario)


def test_a_lesson_opens_at_a_step_with_the_steps_before_it_done():
    async def scenario(pupil):
        for _ in range(3):
            await pupil.next()
        walked = pupil.session
        other = Pupil("rings")
        await other.classroom.open("rings", 3)
        await other.wait_until_idle()
        assert (other.classroom.step, other.classroom.opening) == (3, False)
        assert other.session.view_state.model == walked.view_state.model
        assert other.session.view_state.colour_by == walked.view_state.colour_by
        other.classroom.back()
        assert other.classroom.step == 2
        other.session.close()

    taken("rings", scenario)


def test_the_address_brings_back_the_lesson_its_step_and_finished_ones():
    async def main():
        first = new_session(SERVER)
        page = LessonsPage(first)
        page.set_visible(True)
        page.classroom.finished = frozenset({"noise"})
        await page.classroom.open("rings", 2)
        analysis, view_state = from_query(to_query(None, first.view_state))
        assert analysis is None
        second = new_session(SERVER)
        again = LessonsPage(second)
        restore_view_state(second.view_state, view_state)
        assert again.classroom.key == ""
        again.set_visible(True)
        while again.classroom.step < 2 or again.classroom.opening:
            await asyncio.sleep(0.01)
        assert again.classroom.key == "rings"
        assert again.classroom.finished == {"noise"}
        for one in (page, again):
            one.close()
        for session in (first, second):
            session.close()

    run(main(), 300)


@pytest.mark.parametrize(
    "plain", [{"lesson": "none"}, {"lesson": 3}, {"lesson_step": -1}]
)
def test_an_address_of_no_lesson_opens_the_list(plain):
    async def main():
        session = new_session(SERVER)
        page = LessonsPage(session)
        restore_view_state(session.view_state, plain)
        page.set_visible(True)
        assert page.classroom.key == ""
        page.close()
        session.close()

    run(main())


def test_next_does_what_was_not_done_back_restores_and_reset_begins_again():
    async def scenario(pupil):
        session, classroom = pupil.session, pupil.classroom
        begun = (
            session.analysis,
            session.view_state.colour_by,
            session.view_state.model,
        )
        for _ in range(3):
            await pupil.next()
        asked = session.analysis
        assert session.view_state.model == session.analysis.ensemble.names.index(
            rings.RINGS
        )
        await pupil.do()
        assert session.analysis.threshold == 22
        classroom.back()
        await pupil.wait_until_idle()
        assert (classroom.step, classroom.reached) == (2, False)
        assert session.analysis is asked
        assert session.view_state.model is None
        await pupil.next()
        await pupil.do()
        classroom.reset()
        await pupil.wait_until_idle()
        assert (classroom.step, classroom.reached) == (0, False)
        now = (session.analysis, session.view_state.colour_by, session.view_state.model)
        assert now == begun
        session.undo()
        assert session.analysis is begun[0]

    taken("rings", scenario)


def test_a_step_is_reached_in_any_way_and_stays_so():
    async def scenario(pupil):
        view_state = pupil.session.view_state
        view_state.colour_by = "disagreement"
        assert not pupil.classroom.reached
        view_state.colour_by = "labels"
        assert pupil.classroom.reached
        view_state.colour_by = "model"
        assert pupil.classroom.reached

    taken("rings", scenario)


def test_the_coach_tells_an_outcome_only_while_the_page_shows_it():
    async def main():
        session = new_session(SERVER)
        page = LessonsPage(session)
        page.set_visible(True)
        pupil = Pupil("matrix", page.classroom)
        await pupil.open()
        coach = page.view.select(lambda part: "cl-coach-text" in part.css_classes)[0]
        view_state = pupil.session.view_state
        names = pupil.session.analysis.ensemble.names
        for name, told in (("k=2", True), ("k=4", False), ("k=2", True)):
            view_state.model = names.index(f"k-means {name}")
            await pupil.wait_until_idle()
            assert pupil.classroom.reached
            assert ("The map shows its two clusters" in coach.body) is told
            assert ("<figcaption" in coach.body) is told
            assert ("Do it once more" in coach.body) is not told
        page.set_visible(False)
        page.close()
        session.close()

    run(main(), 300)


def test_an_outcome_that_lasts_is_told_after_the_smoothing_has_ended():
    async def scenario(pupil):
        await pupil.next()
        await pupil.do()
        pupil.session.view_state.cns_step = None
        await pupil.wait_until_idle()
        assert pupil.classroom.holds

    taken("smoothing", scenario)


def test_forty_pupils_share_what_one_run_found():
    async def main():
        pupils = [Pupil("crowd") for _ in range(40)]
        await asyncio.gather(*(pupil.open() for pupil in pupils))
        found = {id(pupil.session.analysis.ensemble) for pupil in pupils}
        for pupil in pupils:
            pupil.session.close()
        assert len(found) == 1

    run(main(), 300)


def test_the_links_of_a_lesson_offer_no_more_models():
    for in_lesson, offered in ((False, 2), (True, 0)):
        session = new_session(SERVER, in_lesson=in_lesson)
        parts = LinksTab(session).parts
        assert sum(isinstance(part, MoreModels) for part in parts) == offered
        session.close()
    classroom = Classroom(new_session(SERVER))
    assert classroom.session.in_lesson
    classroom.session.close()


def test_what_is_done_in_a_lesson_is_an_action_with_plain_values():
    async def scenario(pupil):
        for _ in LESSONS["crowd"].steps[:-1]:
            await pupil.next()
        kinds = [step.kind for step in pupil.session.history.steps]
        assert set(kinds) <= set(ACTIONS)

    taken("crowd", scenario)


def test_claims_about_a_consensus_matrix():
    async def scenario(pupil):
        ensemble = pupil.session.analysis.ensemble
        pairs = np.triu_indices(ensemble.n_samples, 1)
        joined = np.array([(one[:, None] == one)[pairs] for one in ensemble.labels])
        models, mean = joined.sum(axis=0), joined.mean()
        # The ranking writes the number of clusters in a column of its own.
        assert_numbers(pupil.classroom.task.task, "2")
        assert "<b>k-means</b>" in pupil.classroom.task.task
        after = await pupil.do()
        assert ensemble.names == tuple(f"k-means k={k}" for k in range(2, 7))
        assert_numbers(after, *(f"{joined[t].mean():.0%}" for t in (0, 4)))
        assert whole(len(pairs[0])) in html.unescape(after)
        await pupil.next()
        after = await pupil.do()
        assert_numbers(after, *(f"{(models == t).mean():.0%}" for t in (5, 0)))
        await pupil.next()
        await pupil.do()
        await pupil.next()
        text = pupil.classroom.task.text
        assert f"in {mean:.0%} of" in text
        assert await pupil.get("threshold_in_force") == 2
        assert_numbers(text, f"{(models >= 2).mean():.0%}")
        assert_numbers(await pupil.do(), f"{(models >= 3).mean():.0%}")
        assert await pupil.get("threshold_in_force") == 3
        await pupil.next()
        after = await pupil.do()
        assert_numbers(after, f"{(await pupil.get('disagreement') > 0.3).mean():.0%}")

    taken("matrix", scenario)


def test_claims_about_smoothing():
    async def scenario(pupil):
        rings_of = pupil.session.analysis.run.dataset.labels_true

        async def found():
            await pupil.get("cns_exact")
            summary = await pupil.get("cns_summary")
            agreement = adjusted_rand_score(rings_of, summary.solution.labels)
            return summary, f"{agreement:.2f}"

        assert pupil.session.analysis.cns == smoothing.AUTOMATIC
        automatic = await pupil.get("cns_automatic")
        assert tuple(vars(automatic.setting).values()) == smoothing.AUTOMATIC
        _, pieces = await found()
        after = await pupil.do()
        summary, agreement = await found()
        assert_numbers(after, pieces, agreement, str(summary.undecided))
        await pupil.next()
        after = await pupil.do()
        settled = {
            step.iterations: step.settled for step in await pupil.get("cns_steps")
        }
        assert_numbers(after, percent(settled[5]), percent(settled[50]))
        await pupil.next()
        after = await pupil.do()
        few, agreement = await found()
        assert few.undecided == 0
        assert_numbers(after, agreement, f"{abs(pupil.ari('k-means k=3')):.2f}")
        await pupil.next()
        after = await pupil.do()
        many, agreement = await found()
        assert (await pupil.get("cns_graph")).max_neighbors == smoothing.MANY[0]
        criteria = (many.criterion, few.criterion, automatic.criterion)
        assert_numbers(after, agreement, *(f"{value:.3f}" for value in criteria))

    taken("smoothing", scenario)


def test_claims_about_the_rings():
    async def scenario(pupil):
        await pupil.next()
        after = await pupil.do()
        assert await pupil.leader() == rings.LEADER
        assert_numbers(after, f"{abs(pupil.ari(rings.LEADER)):.2f}")
        await pupil.next()
        after = await pupil.do()
        rank, total = await pupil.rank(rings.RINGS), 42
        assert pupil.session.analysis.ensemble.n_partitions == total
        found = [pupil.ari(name) for name in pupil.session.analysis.ensemble.names]
        assert np.isclose(found, 1).sum() == 1
        assert_numbers(after, f"{pupil.ari(rings.RINGS):.2f}", f"{rank} of {total}")
        await pupil.next()
        after = await pupil.do()
        both = [await pupil.rank(name) for name in (rings.LEADER, rings.RINGS)]
        assert_numbers(after, *map(str, both))
        await pupil.next()
        after = await pupil.do()
        ranking = await pupil.get("ranking")
        first = [ranking.ensemble.names[t] for t in np.flatnonzero(ranking.ranks == 1)]
        assert first[0] == rings.RINGS
        assert [name.split()[0] for name in first[1:]] == ["HDBSCAN"] * 3
        assert_numbers(after, str(await pupil.rank(rings.RINGS)))

    taken("rings", scenario)


def test_claims_about_noise():
    async def scenario(pupil):
        # The first row is not marked before it is chosen.
        names = pupil.session.analysis.ensemble.names
        assert names[pupil.session.view_state.model] == noise.OTHER
        assert await pupil.rank(noise.OTHER) > 1
        after = await pupil.do()
        assert await pupil.leader() == noise.LEADER
        robust = await pupil.get("robustness")
        lead = int((await pupil.get("ranking")).order[0])
        assert_numbers(after, str(int(robust.highest[lead])))
        await pupil.next()
        after = await pupil.do()
        blobs = prepare(load_example("blobs")).X
        other = sample_disagreement(run_pool(blobs, list(noise.POOL), random_state=0))
        here = await pupil.get("disagreement")
        assert (here > 0.3).all()
        assert_numbers(after, f"{100 * (other > 0.3).mean():.0f}%")
        await pupil.next()
        after = await pupil.do()
        found = await pupil.get("null_check")
        assert_numbers(after, f"{max(found.p_values.values()):.1g}")
        assert "no evidence of structure" in found.sentence
        await pupil.next()
        after = await pupil.do()
        assert_numbers(after, str(await pupil.rank(noise.LEADER)))

    taken("noise", scenario)


def test_claims_about_a_crowd():
    async def scenario(pupil):
        after = await pupil.do()
        lonely, first = "HDBSCAN size=9", "ward linkage k=3"
        ranking = await pupil.get("ranking")
        assert (ranking.ranks == 1).sum() == 2
        assert 0.95 < pupil.ari(lonely) < 1
        assert_numbers(
            after,
            "0.95",
            str(await pupil.rank(lonely)),
            f"{pupil.ari(first):.2f}",
        )
        await pupil.next()
        after = await pupil.do()
        assert (await pupil.leader()).startswith("k-means k=2")
        robust = await pupil.get("robustness")
        lead = int((await pupil.get("ranking")).order[0])
        assert robust.highest[lead] == 1
        assert_numbers(after, str(await pupil.rank(first)))
        spread = len(set((await pupil.get("copies")).tolist()))
        await pupil.next()
        await pupil.do()
        await pupil.next()
        after = await pupil.do()
        assert (await pupil.leader()).startswith("k-means k=4")
        robust = await pupil.get("robustness")
        assert robust.ranks_majority[(await pupil.get("ranking")).order[0]] == 1
        await pupil.next()
        after = await pupil.do()
        assert_numbers(after, str(pupil.session.analysis.ensemble.n_partitions))
        assert f"that {spread} stay" in after
        assert await pupil.leader() == first
        done = await pupil.session.act(
            "run pool", pool=crowd.with_crowd(2), distinct_only=True
        )
        assert done
        assert await pupil.leader() not in (first, "average linkage k=3")

    taken("crowd", scenario)


def test_claims_about_one_link():
    async def scenario(pupil):
        after = await pupil.do()
        before = await pupil.leader()
        assert before.startswith("HDBSCAN")
        assert (
            pupil.session.analysis.ensemble.n_clusters[
                pupil.session.analysis.ensemble.names.index(before)
            ]
            == 2
        )
        assert_numbers(after, f"{pupil.ari(before):.2f}")
        await pupil.next()
        after = await pupil.do()
        now = await pupil.leader()
        assert_numbers(
            after, now, str(await pupil.rank(before)), f"{pupil.ari(now):.2f}"
        )
        assert f"One pair of {whole(150 * 149 // 2)}" in html.unescape(after)
        assert not (await pupil.get("ranking")).decided_by_violations
        await pupil.next()
        await pupil.do()
        assert (await pupil.get("ranking")).decided_by_violations
        await pupil.next()
        after = await pupil.do()
        now = await pupil.leader()
        assert_numbers(after, now.replace(" (full)", ""), f"{pupil.ari(now):.2f}")
        pupil.session.act_now("set link weight", weight=0.2)
        assert await pupil.leader() == before
        await pupil.next()
        await pupil.do()
        assert await pupil.leader() == before

    taken("one link", scenario)


def test_claims_about_labels():
    async def scenario(pupil):
        after = await pupil.do()
        found = await pupil.get("label_pair")
        assert_numbers(after, signed(found.score))
        await pupil.next()
        after = await pupil.do()
        evidence = await pupil.get("label_evidence")
        assert_numbers(after, signed(evidence.check.score), signed(evidence.dbcv))
        assert f"shuffled {signed(evidence.shuffled['dbcv'].mean())}" in after
        await pupil.next()
        after = await pupil.do()
        evidence = await pupil.get("label_evidence")
        assert_numbers(after, signed(evidence.dbcv))
        assert f"shuffled {signed(evidence.shuffled['dbcv'].mean())}" in after
        assert (await pupil.get("label_verdict")).answer.lower() in re.sub(
            "<[^>]*>|clusters, ", "", after.replace("Hence the verdict: ", "yes, ")
        )
        await pupil.next()
        after = await pupil.do()
        found = await pupil.get("label_pair")
        evidence = await pupil.get("label_evidence")
        pairs = evidence.pairs.set_index(["class_a", "class_b"])
        assert_numbers(after, signed(found.score), signed(pairs.loc[(1, 2), "dbcv"]))
        for pair in ((0, 1), (0, 2)):
            assert signed(pairs.loc[pair, "score"]) in after
        before = (await pupil.get("label_check")).score
        await pupil.next()
        after = await pupil.do()
        assert_numbers(
            after, signed(before), signed((await pupil.get("label_check")).score)
        )

    taken("labels", scenario)


def test_claims_about_random_models():
    async def scenario(pupil):
        text = pupil.classroom.task.text
        assert_numbers(text, f"{float(await pupil.get('fuzzy_ndc')):.3f}")
        for _ in range(2):
            await pupil.next()
        after = await pupil.do()
        assert_numbers(
            after, signed((await pupil.get("fuzzy_permutation"))[None].value)
        )
        for side in (None, "v"):
            await pupil.next()
            after = await pupil.do()
            assert_numbers(after, signed((await pupil.get("fuzzy_flat"))[side].value))

    taken("random model", scenario)


def test_claims_about_the_same_customers_later():
    async def scenario(pupil):
        names = pupil.session.analysis.ensemble.names
        assert names[1] == "k-means k=4"
        result = pupil.session.analysis.result
        sizes = np.bincount(result.clusters)
        assert (np.diff(sizes) < 0).all()
        assert (later.FIRMS, len(later.KINDS)) == (40, len(sizes))
        await pupil.do()
        kept = await pupil.get("segmentation")
        assert tuple(kept.names.values()) == later.KINDS
        await pupil.next()
        after = await pupil.do()
        placed = await pupil.get("placed")
        assert_numbers(after, str(placed.n_rows), str(placed.nowhere.rows))
        await pupil.next()
        after = await pupil.do()
        assigned = await pupil.get("assigned")
        far = assigned[assigned["nowhere"].fillna(False)]
        is_firm = far.index >= "K0600"
        assert_numbers(
            after, str((far["name"] == "families").sum()), str(is_firm.sum())
        )
        await pupil.next()
        text, after = pupil.classroom.task.text, await pupil.do()
        found = await pupil.get("drifted")
        assert found.drift.moved == ["basket"]
        assert "basket is the only one that moved" in text
        assert found.drift.verdict == "refit"
        back = found.returned
        moved = (back.counts.loc[2, -1], back.counts.loc[3, 4])
        share = percent(back.n_stayed / back.n_returned)
        assert_numbers(after, str(back.n_returned), share, *map(str, moved))

    taken("later", scenario)


def test_the_pair_of_a_lesson_is_what_it_says():
    labels = load_example("iris").table["species"]
    for pair in (one_link.FIRST, one_link.SECOND):
        assert {labels[row] for row in pair} == {"versicolor", "virginica"}


def test_claims_about_answers():
    async def scenario(pupil):
        def short(name):
            return name.replace(" (full)", "")

        async def found():
            posterior = (await pupil.get("answers")).posterior
            return (
                posterior,
                percent(posterior.values.max()),
                percent(posterior.error_rate),
            )

        dataset = pupil.session.analysis.run.dataset
        before = await pupil.leader()
        assert f"{pupil.ari(before):.2f}" in pupil.classroom.task.text
        length, width = np.asarray(dataset.X)[:, :2].T
        third = np.digitize(length, np.quantile(length, [1 / 3, 2 / 3]))
        for rule, given in (
            (third, answers.ANN),
            (width > np.median(width), answers.BO),
            (dataset.labels_true, answers.CY),
        ):
            assert all((rule[a] == rule[b]) == (k == "must") for k, a, b in given)
        after = await pupil.do()
        posterior, likely, rate = await found()
        now = await pupil.leader()
        assert posterior.outcomes[posterior.values.argmax()].tolist() == [0, 0]
        assert_numbers(after, short(now), likely, rate, f"{pupil.ari(now):.2f}")
        assert pupil.ari(now) < pupil.ari(before)
        await pupil.next()
        after = await pupil.do()
        posterior, *_ = await found()
        assert posterior.none_fits
        n_broken = posterior.outcomes[posterior.values.argmax(), 0]
        assert_numbers(after, f"{n_broken} of 12", f"{posterior.odds_of_chance:.0f}")
        await pupil.next()
        after = await pupil.do()
        right = await pupil.leader()
        assert_numbers(
            after, short(right), f"{pupil.ari(right):.2f}", (await found())[1]
        )
        await pupil.next()
        after = await pupil.do()
        _, likely, rate = await found()
        wrong = await pupil.leader()
        five = [*answers.MISTAKE, *answers.ECHOES]
        species = dataset.labels_true
        assert all(species[a] == species[b] for _, a, b in five)
        await pupil.next()
        last = await pupil.do()
        assert await pupil.leader() == right
        alone = (await found())[1]
        assert_numbers(
            after, alone, short(wrong), likely, f"{pupil.ari(wrong):.2f}", rate
        )
        assert_numbers(last, short(right))

    taken("answers", scenario)


@pytest.mark.parametrize("key", ["matrix", "noise"])
def test_the_ranking_has_only_the_columns_that_a_lesson_speaks_of(key):
    async def scenario(pupil):
        table = RankingTable(pupil.session)
        table.set_visible(True)
        await pupil.wait_until_idle()
        keys = {column["key"] for column in table.shown["columns"]}
        checks = keys & {"without_family", "majority"}
        assert len(checks) == (2 if LESSONS[key].robust else 0)
        assert {"rank", "model", "k", "distance"} <= keys

    assert [LESSONS[one].robust for one in ("matrix", "noise")] == [False, True]
    taken(key, scenario)


def test_a_lesson_that_speaks_of_other_ranks_shows_them():
    for lesson in LESSONS.values():
        words = " ".join(step.text + step.after for step in lesson.steps)
        assert lesson.robust == bool(re.search("left out|majority must", words))


async def shown_by_step(pupil, places):
    """Walk a lesson to its last step; name the places that each step shows."""
    shown = []
    for task in LESSONS[pupil.key].steps:
        shown.append([name for name, place in places.items() if place.visible])
        if task.done:
            await pupil.do()
            await pupil.next()
    return shown


def test_new_rows_come_card_by_card_in_the_lesson_and_together_at_its_end():
    async def scenario(pupil):
        page = NewRowsPage(pupil.session)
        page.set_visible(True)
        assert await shown_by_step(pupil, page._places) == [
            ["kept"],
            ["table"],
            ["map", "list"],
            ["drift", "list", "row"],
            list(AREAS),
        ]
        pupil.classroom.back()
        assert page._places["row"].visible
        assert not page._places["kept"].visible

    taken("later", scenario)


def test_the_lesson_on_random_models_shows_the_guide_alone_until_its_end():
    async def scenario(pupil):
        page = FuzzyPage(pupil.session)
        page.set_visible(True)
        shown = await shown_by_step(pupil, page._side)
        assert shown == [["guide"]] * 5 + [list(SIDE)]

    taken("random model", scenario)
