"""Tests of the lab in the report: on request, equal to the library, escaped."""

import re

import numpy as np
import pytest

import clusterlens as cl
from clusterlens.ui.components.findings import gather
from clusterlens.ui.composition import new_session
from clusterlens.ui.exports.document import write_report
from clusterlens.ui.pages.fuzzy.nodes import MODELS
from clusterlens.ui.pages.report.preview import ReportPreview
from clusterlens.ui.server.server import Server
from clusterlens.ui.widgets.words import fixed
from tests.ui.exports.test_files import BAD, hostile, on_screen
from tests.ui.loop import run, wait_until_idle

POOL = [
    {"clusterer": "fuzzy c-means", "n_clusters": [2, 3]},
    {"clusterer": "Gaussian mixture", "n_components": 3},
]
LAB = ("cns", "fuzzy", "labels")


async def iris(every=1):
    """Return a session with a saved pair and a visible report, of all or some rows."""
    session = new_session(Server())
    if every == 1:
        await session.act("load example", name="iris")
    else:
        rows = cl.load_example("iris").table.iloc[::every]
        key = session.keep_file(rows.to_csv(index=False).encode())
        await session.act("load file", name="iris.csv", sha256=key)
    await session.act("run pool", pool=POOL, random_state=0)
    u, v = (f"model {name}" for name in session.analysis.ensemble.names[1:3])
    session.act_now("save pair", u=u, v=v)
    panel = ReportPreview(session)
    panel.set_visible(True)
    await wait_until_idle(session)
    return session, panel


def plain(markup):
    return re.sub(r"<[^>]+>", "", markup)


@pytest.fixture(scope="module")
def written():
    """The findings of an analysis with all sections requested."""

    async def main():
        session, panel = await iris()
        for key in LAB:
            panel._switch(key)
        await wait_until_idle(session)
        return session.analysis, gather(session)

    return run(main(), 300)


def section(found, heading):
    return plain(write_report(found).split(f"<h2>{heading}</h2>")[1].split("<h2>")[0])


def test_cns_is_told_as_the_library_solves_it(written):
    analysis, found = written
    text = section(found, "CNS")
    setting = re.search(
        r"Criterion ([\d.]+) at K = (\d+), (\d+) neighbours \((\w+)\), alpha", text
    )
    automatic = cl.CNS().fit(analysis.dataset.X)
    chosen = [automatic.n_clusters_, automatic.n_neighbors_]
    assert [int(setting[2]), int(setting[3])] == chosen
    assert float(setting[1]) == pytest.approx(automatic.criterion_.max(), abs=1e-3)
    sizes = np.bincount(automatic.labels_[automatic.labels_ >= 0])
    assert f"150 samples ({', '.join(map(str, sizes))})" in text


def test_saved_pairs_have_the_values_of_the_library(written):
    analysis, found = written
    text = section(found, "Soft partitions")
    u, v = (analysis.ensemble.memberships[k] for k in (1, 2))
    assert f"NDC {fixed(float(cl.ndc(u, v)), 3)} exact, 150 samples" in text
    for model in MODELS:
        for side in (None, "u", "v"):
            value = cl.adjusted_ndc(u, v, model, side, 0, precision=5e-4)
            assert fixed(float(value), 3) in text


def test_class_labels_are_told_with_both_scores_and_the_pool(written):
    analysis, found = written
    text = section(found, "Class labels")
    labels = analysis.samples.labels_true
    X = analysis.samples.X
    check = cl.label_match(X, labels, n_permutations="adaptive")
    evidence = cl.label_evidence(X, labels, n_permutations="adaptive")
    reached = cl.pool_agreement(analysis.ensemble, labels)
    assert f"CHbtwn {fixed(check.score)}" in text
    assert f"DBCV {fixed(float(evidence.dbcv))}" in text
    assert f"highest ARI of the pool {fixed(float(reached.values.max()))}" in text


def test_the_lab_is_computed_when_it_is_asked_for_and_not_before():
    async def main():
        session, panel = await iris(every=5)
        begun = []
        for lane in ("live", "idle"):
            start = getattr(session.jobs, lane)

            def noted(key, *more_given, start=start, **more):
                begun.append(key)
                return start(key, *more_given, **more)

            setattr(session.jobs, lane, noted)
        session.act_now("write note", text="seen")
        await wait_until_idle(session)
        assert "report" in begun
        assert not [key for key in begun if re.match("cns|fuzzy|label|judged", key)]
        panel._switch("fuzzy")
        await wait_until_idle(session)
        assert "report_fuzzy" in begun
        assert not [key for key in begun if re.match("cns|label", key)]
        assert "✓ Fuzzy" in panel._chips.body
        panel._switch("fuzzy")
        await wait_until_idle(session)
        assert not gather(session).includes("fuzzy")

    run(main(), 300)


def test_what_is_not_there_yet_is_said_in_the_file():
    async def main():
        session, panel = await iris(every=5)
        panel._switch("fuzzy")
        text = write_report(gather(session))
        assert "Still being computed" in text
        assert "… Fuzzy" in panel._chips.body
        await wait_until_idle(session)
        assert "Still being computed" not in write_report(gather(session))

    run(main(), 300)


def test_a_section_without_content_cannot_be_asked_for():
    async def main():
        session, _ = await on_screen(hostile())
        panel = ReportPreview(session)
        panel.set_visible(True)
        await wait_until_idle(session)
        assert "disabled title='Fuzzy: no pair is saved" in panel._chips.body
        assert "disabled title='Class labels: the table has no" in panel._chips.body

    run(main())


def test_hostile_names_are_escaped_in_the_lab():
    async def main():
        session, _ = await on_screen(hostile())
        session.view_state.label_source = "model:0"
        first, second = session.analysis.ensemble.names[:2]
        session.act_now("save pair", u=f"model {first}", v=f"hard {second}")
        session.view_state.report_with = LAB
        session.derived.watch(("report_fuzzy", "report_labels"), lambda results: None)
        await wait_until_idle(session)
        text = write_report(gather(session))
        assert "<h2>Soft partitions</h2>" in text
        assert "U is <b>&lt;script&gt;" in text
        assert BAD not in text

    run(main())


def test_steps_of_the_report_say_what_they_were_about(written):
    text = section(written[1], "Steps")
    names = [key.removeprefix("model ") for key in written[0].fuzzy_pairs[0]]
    assert f"Save the pair ({names[0]} and {names[1]})" in text


def test_clusters_are_told_beside_copies_and_not_by_their_pool():
    async def main():
        session, panel = await iris()
        session.view_state.evaluate("model:0")
        session.view_state.model = 0
        panel._switch("labels")
        for node in ("labels_stability", "chosen_stability"):
            await wait_until_idle(session)
            session.derived.ask(node)
        # Results are computed only while they are watched.
        stop = session.derived.watch(("chosen_stability", "labels_stability"), str)
        await wait_until_idle(session)
        found = gather(session)
        stop()
        return session.derived.get("labels_stability").value, found

    stability, found = run(main(), 300)
    text = section(found, "Class labels")
    assert "groups of their own?" in text
    passed = f"{stability.stable.sum()} of {len(stability.clusters)} clusters"
    assert f"{passed} more than by chance" in text
    assert "pool" not in text
    text = section(found, "Result")
    assert "in copies without groups" in text
    for value in (*stability.jaccard, *stability.by_chance):
        assert f"{value:.2f}" in text
