"""Tests of partitions of other tools, which take part in the consensus."""

import base64

import numpy as np
import pandas as pd
import pytest

from clusterlens.ui.pages.consensus.headline import Headline
from clusterlens.ui.pages.pool.import_partitions import ImportPartitions
from clusterlens.ui.server.uploads import Upload
from tests.ui.loop import run, wait_until_idle
from tests.ui.test_session import made_run, session_with

# Panel's table is not yet ready for pandas 4.
pytestmark = pytest.mark.filterwarnings("ignore:The inplace keyword")


def csv(ids, **columns):
    return pd.DataFrame({"id": ids, **columns}).to_csv(index=False).encode()


def imported(session, content, *, mixed):
    async def main():
        key = session.keep_file(content)
        return await session.act(
            "import partitions", name="mine.csv", sha256=key, mixed=mixed
        )

    return run(main())


def test_dropped_partitions_join_the_models_by_row_id_and_undo_takes_them_back():
    session = session_with(made_run(1))
    ids = np.arange(30)[::-1]
    content = csv(ids, ours=np.where(ids < 10, "a", "b"), other=ids % 3)

    async def main():
        panel = ImportPartitions(session)
        panel.set_visible(True)
        await wait_until_idle(session)
        assert panel._mixed.visible
        upload = Upload("mine.csv", len(content))
        upload.take(base64.b64encode(content).decode())
        await panel._take(upload)

    run(main())
    ensemble = session.analysis.ensemble
    assert ensemble.names[-2:] == ("ours", "other")
    assert ensemble.n_partitions == 7
    assert len(set(ensemble.codes[5][:10])) == 1
    assert ensemble.codes[5][0] != ensemble.codes[5][10]
    assert session.view_state.page == "consensus"
    session.undo()
    assert session.analysis.ensemble.n_partitions == 5


def test_alone_they_are_a_run_without_a_pool_that_can_be_read():
    session = session_with(made_run(1))
    columns = {
        name: np.arange(30) // width for name, width in (("a", 10), ("b", 9), ("c", 8))
    }
    assert imported(session, csv(np.arange(30), **columns), mixed=False)
    assert session.analysis.ensemble.n_partitions == 3
    assert session.analysis.run.pool == ()

    async def main():
        panel = Headline(session)
        panel.set_visible(True)
        await wait_until_idle(session)
        return panel._text.body

    body = run(main())
    assert "Closest to what this pool agrees on" in body
    assert "No pool was run" in body


def test_rows_that_a_model_left_out_are_no_clusters_and_are_said_with_numbers():
    session = session_with(made_run(1))
    parts = {
        name: pd.array(np.arange(30) % k, dtype="Int64")
        for name, k in (("half", 2), ("some", 3))
    }
    parts["half"][:15], parts["some"][25:] = pd.NA, pd.NA
    assert imported(session, csv(np.arange(30), **parts), mixed=True)
    ensemble = session.analysis.ensemble
    assert ensemble.n_missing.tolist() == [0] * 5 + [15, 5]
    nodes = ("agreement", "ranking", "robustness", "tree_order", "disagreement")
    more = ("hubs", "model_map", "model_table", "clusters", "partition_tree")

    async def main():
        panel = Headline(session)
        panel.set_visible(True)
        session.view_state.model = 5
        await wait_until_idle(session)
        stop = session.derived.watch(nodes + more, lambda *_: None)
        session.derived.refresh()
        await wait_until_idle(session)
        states = {name: session.derived.get(name).state for name in nodes + more}
        stop()
        return panel._text.body, states

    body, states = run(main())
    assert set(states.values()) == {"ready"}, states
    assert "2 of 7 models left out 5–15 of 30 samples" in body
    assert "counted over the models that saw both" in body


def test_unknown_rows_are_named_and_nothing_changes():
    session = session_with(made_run(1))
    assert not imported(session, csv([*range(29), 77], a=[0, 1] * 15), mixed=True)
    assert "77" in session.jobs.notices[0].text
    assert len(session.analysis.runs) == 1
