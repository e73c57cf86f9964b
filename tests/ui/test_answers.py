"""Tests of answers on the page Consensus without a browser."""

import re
from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

import clusterlens as cl
from clusterlens.compute.ensemble.ensemble import NOISE, Ensemble
from clusterlens.compute.formatting import percent
from clusterlens.compute.ranking.answers import answer_posterior
from clusterlens.ui.components.commands import choose_result
from clusterlens.ui.components.findings import NEEDED, gather
from clusterlens.ui.exports.document import _answer, _votes
from clusterlens.ui.pages.clusters.page import ClustersPage
from clusterlens.ui.results.answers import broken_by_all
from clusterlens.ui.state.analysis import EVIDENCE, Link
from clusterlens.ui.state.history import Step
from clusterlens.ui.state.links import as_constraints
from clusterlens.ui.state.partitions import choice_from
from clusterlens.ui.state.view_parameters import Brush, Viewport
from tests.ui.test_linking import run_scenario

pytestmark = [
    pytest.mark.filterwarnings("ignore:The inplace keyword"),
    pytest.mark.filterwarnings("ignore:Both 'variant' and 'button_style'"),
]
# The third model of the run cuts the first column into four parts.
TRUTH = 2


def answer_by(session, truth, n):
    """Answer the first n pairs of distant rows, as a model would."""
    labels = session.analysis.ensemble.labels[truth]
    for k in range(n):
        a, b = (7 * k) % 150, (11 * k + 75) % 150
        kind = "must" if labels[a] == labels[b] else "cannot"
        session.act_now("add link", kind=kind, a=a, b=b)


def test_bars_say_how_likely_each_model_is_and_turn_back_to_scores_by_their_word():
    async def scenario(opened):
        session = opened.session
        table = opened.ranking._table
        assert "cl-posterior" not in table.css_classes
        assert not opened.advice._column.visible
        answer_by(session, TRUTH, 12)
        await opened.wait_until_idle()
        found = session.derived.get("answers").value
        agreement = session.derived.get("agreement").value
        links = session.derived.get("constraints").value
        expected = answer_posterior(agreement, links)
        assert np.allclose(found.posterior.values, expected.values)
        rows = session.derived.get("rows").value
        shown = opened.ranking.shown
        bar = shown["values"]["fit"]
        assert np.allclose(bar["score"], found.fits[rows], atol=1e-5)
        assert np.allclose(bar["tick"], found.before[rows], atol=1e-5)
        assert np.all(np.diff(bar["score"]) <= 1e-5)
        assert found.fits[rows].sum() == pytest.approx(1)
        assert "cl-posterior" in table.css_classes
        assert shown["columns"][3]["head"] == "fits your answers"
        curve = session.derived.get("by_answer").value
        ordered = session.analysis.links
        assert curve.counts.tolist() == list(range(len(ordered) + 1))
        positions = session.derived.get("row_positions").value
        for k in (0, 3, len(ordered)):
            some = answer_posterior(agreement, as_constraints(ordered[:k], positions))
            assert np.allclose(curve.fits[k], some.values)
        names, leaders = session.analysis.ensemble.names, curve.leaders
        assert leaders[0] != leaders[-1]
        last = int(np.flatnonzero(leaders[1:] != leaders[:-1])[-1]) + 1
        body = opened.curve._text.body
        assert "By the first answers alone, another model leads from answer" in body
        assert f"{last} ({names[leaders[-1]]})" in body
        assert f"→ {curve.fits[-1].max():.0%}" in body
        assert body.count("<polyline") == 3
        opened.ranking._count_from("distance")
        await opened.wait_until_idle()
        assert opened.ranking.shown["columns"][3]["head"] == "distance"
        assert "cl-posterior" not in table.css_classes
        assert opened.ranking.shown["values"]["distance"]["tick"][0] is None
        assert "Bars: distance, and orange" in opened.ranking._note.body
        session.act_now("set score", score="aari")
        await opened.wait_until_idle()
        assert "Bars: likeness, and orange" in opened.ranking._note.body
        opened.ranking._count_from("fits")
        await opened.wait_until_idle()
        assert "show likeness and ranges" in opened.ranking._note.body
        for _ in range(13):
            session.undo()
        await opened.wait_until_idle()
        assert not opened.advice._column.visible
        assert not opened.curve._text.visible

    run_scenario(scenario)


def test_the_headline_says_who_fits_and_who_led_before():
    async def scenario(opened):
        session = opened.session
        before = session.derived.get("ranking").value.order[0]
        answer_by(session, TRUTH, 20)
        await opened.wait_until_idle()
        found = session.derived.get("answers").value
        names = session.analysis.ensemble.names
        body = opened.headline._text.body
        assert before != TRUTH == int(found.posterior.values.argmax())
        assert f"After 20 answers: <b>{names[TRUTH]}</b>" in body
        assert f"; without answers {names[before]}." in body
        assert "Most likely yours among these 12" in body
        assert "differ in <b>0 of 20</b>" in opened.advice._rate.body
        rate = found.posterior.error_rate
        assert f"<b>{rate:.0%}</b> of such answers" in opened.advice._rate.body

    run_scenario(scenario)


def test_near_copies_of_the_leader_are_told_with_it_and_not_as_rivals():
    async def scenario(opened):
        session = opened.session
        analysis = session.analysis
        near = np.tile(analysis.ensemble.labels[TRUTH], (3, 1))
        near[[1, 2], [0, 1]] += 1
        others = np.delete(analysis.ensemble.labels, TRUTH, axis=0)
        names = [*(f"near {k}" for k in range(3)), *(f"far {k}" for k in range(11))]
        ensemble = Ensemble(np.concatenate([near, others]), names)
        made = replace(analysis.runs[0], ensemble=ensemble)
        session.history.do(Step("test", "Test", replace(analysis, runs=(made,))))
        answer_by(session, 0, 20)
        await opened.wait_until_idle()
        first = session.derived.get("ranking").value.order[0]
        fits = session.derived.get("answers").value.fits
        assert fits[:3].max() < 0.5 < fits[:3].sum()
        sentence = f"<b>near {first}</b> with 2 near-copies ({percent(fits[:3].sum())})"
        assert sentence in opened.headline._text.body
        assert "still open" not in opened.headline._text.body
        found = session.derived.get("answers").value.posterior
        assert found.likeness.argmax() < 3
        assert "cl-likest" not in opened.advice._enough.body

    run_scenario(scenario)


def test_the_model_most_like_the_right_one_is_named_where_another_is_first():
    async def scenario(opened):
        session = opened.session
        answer_by(session, 3, 5)
        await opened.wait_until_idle()
        found = session.derived.get("answers").value.posterior
        safest_model = int(found.likeness.argmax())
        assert safest_model != found.values.argmax()
        name = session.analysis.ensemble.names[safest_model]
        sentence = f"<b>{name}</b> is expected to be most like yours"
        assert sentence in opened.advice._enough.body
        assert f'data-do="look {safest_model}"' in opened.advice._enough.body
        headline = opened.headline._text.body
        assert f"After 5 answers: <b>{name}</b> is <span" in headline
        assert "expected to be most like yours</span>, likeliest are <b>" in headline
        assert "The likeliest model " in headline
        opened.advice._do(f"look {safest_model}")
        assert (session.view_state.model, session.view_state.tab) == (
            safest_model,
            "model",
        )

    run_scenario(scenario)


def test_enough_is_said_with_its_reason_only_where_the_library_says_so():
    async def scenario(opened):
        session = opened.session
        answer_by(session, TRUTH, 3)
        await opened.wait_until_idle()
        ahead = session.derived.get("outlook").value
        assert not ahead.enough
        assert ahead.leader_change > 0
        assert "Not settled" in opened.advice._enough.body
        assert "cl-enough-chip" not in opened.headline._text.body
        answer_by(session, TRUTH, 40)
        await opened.wait_until_idle()
        ahead = session.derived.get("outlook").value
        assert ahead.enough
        advice, headline = opened.advice._enough.body, opened.headline._text.body
        assert f"{len(session.analysis.links)} answers: enough." in advice
        assert "cl-enough-chip" in headline
        for text in (advice, headline):
            assert "among these 12 models only" in text
            assert "joined" not in text
        assert "among the models there are now only" in opened.closer._text.body
        opened.advice._do("clusters")
        assert (session.view_state.page, session.view_state.partition) == (
            "clusters",
            "model",
        )

    run_scenario(scenario)


def test_answers_that_no_model_fits_are_said_to_and_broken_links_are_shown():
    async def scenario(opened):
        session = opened.session
        ensemble = session.analysis.ensemble
        first = ensemble.labels[:, 0]
        alike = np.flatnonzero((ensemble.labels == first[:, None]).all(axis=0))
        for row in alike[1:].tolist():
            session.act_now("add link", kind="cannot", a=0, b=row)
        await opened.wait_until_idle()
        assert session.derived.get("answers").value.posterior.none_fits
        assert "No model of this pool fits" in opened.advice._enough.body
        assert "no model of this pool fits them" in opened.headline._text.body
        assert opened.links._text.body.count("broken by all") == len(alike) - 1
        opened.advice._do("pool")
        assert session.view_state.page == "pool"

    run_scenario(scenario)


def test_a_link_that_one_model_keeps_is_not_broken_by_all():
    async def scenario(opened):
        ensemble = opened.session.analysis.ensemble
        positions = opened.session.derived.get("row_positions").value
        together = (ensemble.labels[:, 0] == ensemble.labels[:, 1:].T).sum(axis=1)
        some = 1 + int(np.flatnonzero((together > 0) & (together < 12))[0])
        every = 1 + int(np.flatnonzero(together == 12)[0])
        lone = Link("cannot", 0, every)
        links = (Link("must", 0, some), Link("cannot", 0, some), lone)
        given = positions, EVIDENCE
        assert broken_by_all(ensemble, links, *given) == {lone}
        assert broken_by_all(ensemble, (), *given) == frozenset()
        assert broken_by_all(ensemble, (Link("must", 0, 999),), *given) == set()

    run_scenario(scenario)


@pytest.mark.parametrize(("weight", "broken"), [(EVIDENCE, 1), (0.2, 2)])
def test_answers_about_noise_are_counted_alike_all_over_the_page(weight, broken):
    async def scenario(opened):
        session = opened.session
        analysis = session.analysis
        labels = analysis.ensemble.labels.astype(int)
        alike = np.flatnonzero((labels == labels[:, :1]).all(axis=0)).tolist()
        noise, *_, one, twin = alike
        labels[:, noise] = NOISE
        made = replace(analysis.runs[0], ensemble=Ensemble(labels))
        session.history.do(Step("test", "Test", replace(analysis, runs=(made,))))
        session.act_now("set link weight", weight=weight)
        session.act_now("add link", kind="must", a=noise, b=149)
        session.act_now("add link", kind="cannot", a=one, b=149)
        session.act_now("add link", kind="cannot", a=one, b=twin)
        session.view_state.model = 0
        await opened.wait_until_idle()
        ranking = session.derived.get("ranking").value
        assert ranking.violated[0] == pytest.approx(broken / 3)
        states = session.derived.get("link_states").value
        assert sum(state.broken for state in states) == broken
        assert [state.uncertain for state in states] == [broken == 1, False, False]
        assert len(session.derived.get("broken_by_all").value) == broken
        if weight == EVIDENCE:
            found = session.derived.get("answers").value
            best = found.posterior.values.argmax()
            assert found.broken == round(3 * ranking.violated[best])
            assert "uncertain" in opened.links._text.body

    run_scenario(scenario)


def test_pairs_in_a_row_come_by_themselves_and_none_is_asked_twice():
    async def scenario(opened):
        session, asked = opened.session, []
        await opened.press("s")
        assert len(session.derived.get("suggestions").value) == 6
        for k in range(8):
            asked.append(session.view_state.pair)
            assert len(asked[-1]) == 2
            assert ("cl-so-far" in opened.pair._text.body) == (k > 1)
            await opened.press("ucm"[k % 3] if k < 3 else "u")
        assert len(set(asked)) == 8
        assert "2 answers: not settled" in opened.pair._text.body
        assert (len(session.analysis.links), len(session.analysis.unsure)) == (2, 6)
        assert "6 pairs unsure" in opened.links._text.body
        answered = {frozenset((one.a, one.b)) for one in session.analysis.links}
        for some in session.derived.get("suggestions").value:
            assert frozenset(some.pair) not in {*map(frozenset, asked), *answered}
        await opened.press("escape")
        assert (session.view_state.streak, session.view_state.pair) == (False, ())
        opened.links._do("again 0")
        await opened.wait_until_idle()
        assert len(session.analysis.unsure) == 5
        assert session.jobs.notices == ()

    run_scenario(scenario)


def test_the_consensus_listens_to_the_answers_until_the_pool_alone_is_wished():
    async def scenario(opened):
        session, derived = opened.session, opened.session.derived
        opened.session.view_state.matrix_view = Viewport(width=60, height=60)
        await opened.wait_until_idle()
        alone = derived.get("consensus").value.tile.values
        ensemble = session.analysis.ensemble
        assert derived.get("weighted_ensemble").value is ensemble
        assert "pool alone" not in opened.matrix._note.body
        answer_by(session, TRUTH, 20)
        await opened.wait_until_idle()
        weighted = derived.get("weighted_ensemble").value
        fits = derived.get("answers").value.posterior
        assert weighted.votes.tolist() == np.floor(1000 * fits.values).tolist()
        asked = derived.get("threshold_in_force").value / ensemble.n_votes
        needed = derived.get("binarised_at").value
        assert needed - 1 < asked * weighted.n_votes <= needed
        order = derived.get("order").value
        joined = [row[order][:, None] == row[order] for row in weighted.labels]
        matrix = np.average(joined, axis=0, weights=weighted.votes)
        listening = derived.get("consensus").value.tile.values
        assert listening.mean() == pytest.approx(matrix.mean(), abs=0.02)
        assert np.abs(listening - alone).mean() > 0.05
        voted = f"after which about {fits.n_effective:.1f} of 12 models have a vote"
        effective = f"title='{voted} (effective number: 1 / sum p²)'>"
        assert f"{effective}With your 20 answers<" in opened.matrix._note.body
        weighed = "share of the 12 models, each by how likely it is"
        assert weighed in opened.matrix._note.body
        opened.matrix._switch_votes("alone")
        await opened.wait_until_idle()
        assert derived.get("weighted_ensemble").value is ensemble
        assert weighed not in opened.matrix._note.body
        assert "with your answers" in opened.matrix._note.body
        opened.matrix._switch_votes("answers")
        await opened.wait_until_idle()
        assert derived.get("weighted_ensemble").value is weighted

    run_scenario(scenario)


@pytest.mark.parametrize("threshold", [3, 9])
def test_pair_card_and_matrices_read_a_pair_alike_by_the_one_threshold(threshold):
    async def scenario(opened):
        session, derived = opened.session, opened.session.derived
        ensemble, words = session.analysis.ensemble, set()
        session.view_state.matrix_view = Viewport(width=60, height=60)
        session.act_now("set threshold", threshold=threshold)
        answer_by(session, TRUTH, 20)
        await opened.wait_until_idle()
        likely = derived.get("answers").value.posterior.values
        joins = ensemble.labels[:, :, None] == ensemble.labels[:, None, :]
        counts = joins.sum(axis=0)
        split = np.argwhere(joins[TRUTH] & (counts < threshold))[0].tolist()
        for pair in (tuple(split), (0, 140), (0, 60), (50, 60), (3, 4)):
            session.view_state.pair = pair
            await opened.wait_until_idle()
            joined = ensemble.labels[:, pair[0]] == ensemble.labels[:, pair[1]]
            cross, body = derived.get("cross").value, opened.pair._text.body
            pooled = f"<h3>Together in {joined.sum()} of 12 models<"
            assert pooled in body
            pool_says, answers_say = re.findall(r"(\d+) needed: <b>(\w+)</b>", body)
            word = "together" if joined.sum() >= threshold else "apart"
            assert pool_says == (str(threshold), word)
            models = re.search(r"With your answers ([\d.]+) of 12 models", body)[1]
            assert float(models) == pytest.approx(12 * likely[joined].sum(), abs=0.2)
            word = "together" if float(models) >= threshold else "apart"
            assert answers_say == (str(threshold), word)
            assert cross.binarised == word
            read = re.fullmatch(
                r"together in ([\d.]+) of 12 models, with your answers", cross.consensus
            )
            assert read[1] == models
            assert f"at least {threshold} of 12 models" in opened.binarised._note.body
            words.add((pool_says[1], answers_say[1]))
        assert words >= {("apart", "together"), ("together", "together")}
        session.view_state.pool_alone = True
        await opened.wait_until_idle()
        body = opened.pair._text.body
        assert body.count("needed: ") == 1
        alone = f"together in {joined.sum()} of 12 models"
        assert derived.get("cross").value.consensus == alone

    run_scenario(scenario)


def test_agreement_inside_is_that_of_the_pool_with_the_answers_beside_it():
    async def scenario(opened):
        session, derived = opened.session, opened.session.derived
        page = ClustersPage(session)
        page.set_visible(True)
        shown = {type(panel).__name__: panel for panel in page.cards}
        session.view_state.param.update(partition="model", model=TRUTH)
        session.view_state.brush = Brush(np.arange(50), "box")
        await opened.wait_until_idle()
        ensemble, inside = session.analysis.ensemble, {}
        sentence, table = shown["PartitionBar"]._text, shown["ClusterProfilesTable"]
        chosen = derived.get("chosen").value

        def within(votes):
            """Return the mean consensus of the pairs inside each cluster."""
            found = []
            for k in chosen.sizes:
                own = ensemble.labels[:, chosen.clusters == k]
                joined = (own[:, :, None] == own[:, None, :]).sum(axis=(1, 2))
                n = own.shape[1]
                found.append(np.average((joined - n) / (n * (n - 1)), weights=votes))
            return [percent(share) for share in found]

        pool = within(np.ones(12))
        of_pool = sentence.body.split("cl-with-answers")[0]
        assert "cl-with-answers" not in sentence.body
        answer_by(session, TRUTH, 20)
        await opened.wait_until_idle()
        weighted = derived.get("weighted_ensemble").value
        inside = within(weighted.votes)
        assert inside != pool
        assert sentence.body.startswith(of_pool[: of_pool.index("</div>")])
        answered_text = sentence.body.split("cl-with-answers")[1]
        assert "With your 20 answers: " in answered_text
        assert "after which about" in answered_text
        rows = re.findall(
            r"</div></div>(\d+%) <span [^>]+>answers (\d+%)<", table._table.body
        )
        assert rows == list(zip(pool, inside, strict=True))
        ends = re.findall(r"(\d+%) inside", answered_text)
        assert set(ends) <= set(inside)
        tab = opened.page.cards
        place = {type(one).__name__: one for one in tab}["Inspector"].tabs["model"]
        session.view_state.param.update(page="consensus", tab="model")
        await opened.wait_until_idle()
        model = place.card
        read = re.findall(
            r"inside (\d+%)</span> · with your answers (\d+%)", model.text.body
        )
        assert read == list(zip(pool, inside, strict=True))
        session.view_state.tab = "selection"
        await opened.wait_until_idle()
        among = ensemble.labels[:, :50]
        alike = (among[:, :, None] == among[:, None, :]).sum(axis=(1, 2))
        shares = (alike - 50) / (50 * 49)
        body = opened.selection.text.body
        assert f"<b>{percent(shares.mean())}</b>" in body
        answered = percent(np.average(shares, weights=weighted.votes))
        assert f"with your answers {answered}" in body
        session.view_state.param.update(inspected=0, tab="sample")
        await opened.wait_until_idle()
        votes = re.findall(r"(\d+) of 12<", opened.sample.text.body)
        joined = (ensemble.labels == ensemble.labels[:, :1]).sum(axis=0)[1:]
        assert [int(n) for n in votes] == sorted(joined, reverse=True)[:5]

    run_scenario(scenario)


def test_a_consensus_by_answers_is_made_again_by_action_and_script():
    async def scenario(opened):
        session = opened.session
        page = ClustersPage(session)
        page.set_visible(True)
        answer_by(session, TRUTH, 20)
        session.view_state.param.update(partition="consensus", partition_k=4)
        await opened.wait_until_idle()
        chosen = session.derived.get("chosen").value
        weighted = session.derived.get("weighted_ensemble").value
        assert chosen.title == "consensus tree k=4 by answers"
        expected = cl.consensus_tree(weighted, 20, 0).cut(4)
        assert np.array_equal(chosen.labels, expected)
        truth = session.analysis.ensemble.labels[TRUTH]
        assert adjusted_rand_score(truth, chosen.labels) > 0.9
        labels, clusters = chosen.labels, chosen.clusters
        assert await choose_result(session, chosen.choice, labels, clusters)
        result = session.analysis.result
        assert result.made["votes"] == weighted.votes.tolist()
        assert np.array_equal(result.clusters, chosen.clusters)
        choice = choice_from(result.made, session.analysis.samples)
        assert choice == chosen.choice
        ensemble = session.analysis.ensemble
        written = choice.python(ensemble, 4, ())
        assert np.array_equal(eval(written, {"cl": cl, "ensemble": ensemble}), labels)
        session.view_state.pool_alone = True
        session.view_state.partition = "consensus"
        await opened.wait_until_idle()
        assert session.derived.get("chosen").value.title == "consensus tree k=4"

    run_scenario(scenario)


def test_the_report_says_how_many_answers_their_errors_and_what_they_changed():
    async def scenario(opened):
        session = opened.session
        names = session.analysis.ensemble.names
        before = names[session.derived.get("ranking").value.order[0]]
        answer_by(session, TRUTH, 20)
        session.act_now("leave unsure", a=0, b=3)
        stop = session.derived.watch(
            [*NEEDED, "answers", "weighted_ensemble"], lambda _: None
        )
        await opened.wait_until_idle()
        found = gather(session)
        stop()
        answers = found.answers
        text = _answer(found)
        assert "By 20 answers of the analyst and 1 pair left unsure" in text
        assert f"<b>{names[TRUTH]}</b> is likeliest" in text
        assert f"about {answers.posterior.error_rate:.0%} of such answers" in text
        assert "contradicts 0 of them" in text
        assert f"Without answers <b>{before}</b> would be first" in text
        assert found.weighted_ensemble is session.derived.get("weighted_ensemble").value
        assert "models vote by how likely" in _votes(found)

    run_scenario(scenario)


def test_a_closer_look_adds_the_finer_settings_most_like_the_safest_choice():
    async def scenario(opened):
        session, closer = opened.session, opened.closer
        assert closer._button.disabled
        assert "Answer a pair first" in closer._text.body
        answer_by(session, TRUTH, 10)
        await opened.wait_until_idle()
        assert not closer._button.disabled
        plan = session.derived.get("closer_look").value
        assert f"<b>{plan.n_fitted} models</b>" in closer._text.body
        assert "keeps the 30 most like" in closer._text.body
        before = session.analysis.run
        await closer._start(None)
        await opened.wait_until_idle()
        run = session.analysis.run
        posterior = answer_posterior(
            before.ensemble, session.derived.get("constraints").value
        )
        expected = cl.closer_models(posterior, before.dataset.X)
        assert run.ensemble.names[:12] == before.ensemble.names
        assert np.array_equal(run.ensemble.labels[12:], expected.labels)
        assert run.ensemble.notes[-1] == expected.notes[-1]
        assert run.ensemble.n_votes == 42
        assert list(run.pool[len(before.pool) :]) == list(expected.specs)
        found = session.derived.get("answers").value
        assert found.n_answers == 10
        values, names = found.posterior.values, run.ensemble.names
        before_alone = values[:12] / values[:12].sum()
        sentence = (
            f"30 models joined and have {percent(values[12:].sum())} of the "
            "probability; among the 12 before them alone "
            f"<b>{names[before_alone.argmax()]}</b> has {percent(before_alone.max())}."
        )
        assert sentence in opened.headline._text.body
        assert sentence in opened.advice._enough.body
        session.undo()
        await opened.wait_until_idle()
        assert session.analysis.run is before

    run_scenario(scenario)


def test_models_are_made_for_answers_and_judged_by_those_held_out():
    async def scenario(opened):
        session, made = opened.session, opened.made
        assert made._button.disabled
        assert "Answer a pair first" in made._text.body
        answer_by(session, TRUTH, 10)
        await opened.wait_until_idle()
        plan = session.derived.get("models_to_make").value
        assert not made._button.disabled
        assert f"<b>{plan.n_models} models</b>" in made._text.body
        assert "10 links" in made._text.body
        before = session.analysis.run
        await made._start(None)
        await opened.wait_until_idle()
        run = session.analysis.run
        assert run.ensemble.n_partitions == 12 + plan.n_models
        assert run.ensemble.names[-1] == f"10 links: spectral k={plan.n_clusters[-1]}"
        assert set(run.ensemble.families[12:]) == {"made for answers"}
        assert run.kept[-1]["must_link"] == [
            [link.a, link.b] for link in session.analysis.links if link.kind == "must"
        ]
        ranking = session.derived.get("ranking").value
        links = session.derived.get("constraints").value
        parts = cl.models_for_answers(
            before.ensemble, links, before.dataset.X, plan.n_clusters
        )
        held_out = parts.posterior.outcomes[12:, 0] / 10
        assert np.allclose(ranking.violated[12:], held_out)
        assert held_out.any()
        assert (links.violations(run.ensemble)[12:] == 0).any()
        assert made._button.disabled
        assert "Models were made for these links" in made._text.body
        session.undo()
        await opened.wait_until_idle()
        assert session.analysis.run is before
        assert not made._button.disabled

    run_scenario(scenario)


def test_a_share_shows_no_probabilities():
    async def scenario(opened):
        answer_by(opened.session, TRUTH, 3)
        opened.session.act_now("set link weight", weight=1.0)
        await opened.wait_until_idle()
        assert opened.session.derived.get("answers").state == "empty"
        assert "cl-posterior" not in opened.ranking._table.css_classes
        assert "Closest to what this pool agrees on" in opened.headline._text.body

    run_scenario(scenario)
