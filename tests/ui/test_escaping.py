"""Tests of escaping: strings of the data are text on every page."""

from dataclasses import replace

import numpy as np
import pytest

from clusterlens.compute.fuzzy.partition import FuzzyPartition
from clusterlens.ui.composition import new_session
from clusterlens.ui.pages import page_class
from clusterlens.ui.server.server import Server
from clusterlens.ui.session import Session
from clusterlens.ui.state.analysis import ClusterName, SoftTable
from clusterlens.ui.state.history import Step
from clusterlens.ui.state.pages import PAGES
from tests.ui.exports.test_files import BAD, hostile
from tests.ui.loop import run, wait_until_idle

pytestmark = pytest.mark.filterwarnings("ignore:The inplace keyword")
# Components with texts that become text nodes or attributes, never markup.
WRITES_TEXT = {"Select", "TextInput", "RankedRows"}


def marked_up() -> Session:
    """Return a session of an analysis with markup in every name and note."""
    analysis = hostile()
    ids = analysis.samples.row_ids
    rows = FuzzyPartition(np.random.default_rng(0).dirichlet(np.ones(3), len(ids)))
    analysis = replace(
        analysis,
        cluster_names=(ClusterName(BAD, tuple(ids[:20])), ClusterName(BAD, (ids[-1],))),
        memberships=(SoftTable(BAD, ids, rows),),
        part=("sheet", BAD),
        parts=(BAD, "b"),
    )
    session = new_session(Server())
    session.history.do(Step("load file", BAD, analysis, {"name": BAD, "sha256": BAD}))
    return session


@pytest.mark.parametrize(
    ("key", "make"),
    [(key, page_class(key)) for key, *_ in PAGES if key != "lessons"],
)
def test_no_name_of_data_is_markup_on_a_page(key, make):
    async def main():
        session = marked_up()
        session.view_state.page = key
        shown = make(session)
        shown.make()
        shown.set_visible(True)
        await wait_until_idle(session)
        for model in shown.view.select():
            if type(model).__name__ in WRITES_TEXT:
                continue
            for name in model.param:
                value = getattr(model, name, "")
                if isinstance(value, str):
                    assert BAD not in value, (type(model).__name__, name)
        session.close()

    run(main())
