"""Tests of the log as Python: scripts and calls of pages reproduce the pages.

One process runs them all: a script or card for each kind of run, and for each origin of
compared or evaluated partitions.
"""

import json
from types import SimpleNamespace as Some

import numpy as np
import pandas as pd
import pytest

import clusterlens as cl
from clusterlens.ui.actions import ACTIONS
from clusterlens.ui.composition import new_session
from clusterlens.ui.exports.script import write_script
from clusterlens.ui.pages.fuzzy.headline import FuzzyHeadline
from clusterlens.ui.pages.fuzzy.nodes import Pair, fuzzy_choices
from clusterlens.ui.pages.labels.headline import LabelsHeadline
from clusterlens.ui.pages.new_rows.nodes import segmentation
from clusterlens.ui.results.evaluated_labels import evaluated_labels
from clusterlens.ui.results.result import export_partition
from clusterlens.ui.server.server import Server
from clusterlens.ui.state.links import as_constraints
from clusterlens.ui.state.partitions import clusters_of_result, number_of
from clusterlens.ui.state.view_parameters import Brush
from tests.ui.exports.test_script import said_by
from tests.ui.loop import run

JOB = Some(kernels={}, cancelled=None, server=Server())
N = 48
K_MEANS = {"clusterer": "k-means", "n_clusters": [2, 3], "copies": 2}
POOL = [
    K_MEANS,
    {"clusterer": "agglomerative", "n_clusters": [2, 3], "linkage": ["ward", "single"]},
]
TREE = {"kind": "consensus", "k": 3, "method": "bisecting-kmeans", "obeys": False}
OBEYING = {**TREE, "method": "kmeans", "obeys": True}
CNS = {"n_neighbors": 6, "alpha": 0.3, "n_clusters": 3}
# Actions with values that are written where they are used, or that no script needs.
SET_VALUES = {
    *("read run", "rename run", "delete run", "write note", "name cluster"),
    *("set score", "set threshold", "count fully", "set CNS"),
    *("add link", "leave unsure", "ask again", "join rows", "import links"),
    *("remove link", "swap link", "set link weight", "save pair", "drop pair"),
}
# Actions whose Python is run by tests/ui/test_all_rows.py and test_opened_run.py.
OF_LARGE_TABLES = {"load landmarks", "label rows", "open run"}
# Each pool is run once, however many scripts use it.
RUN_ALL = """
import json, warnings
import numpy as np
import clusterlens as cl

run_pool, runs = cl.run_pool, {}

def run_once(dataset, pool, random_state):
    key = repr([dataset.X.tobytes(), pool, random_state])
    if key not in runs:
        runs[key] = run_pool(dataset, pool, random_state=random_state)
    return runs[key]

cl.run_pool = run_once

def soft(rows):
    return rows if isinstance(rows, cl.FuzzyPartition) else cl.FuzzyPartition(rows)

def card(made):
    if "U" in made:
        return [soft(made[it]).memberships.tolist() for it in "UV"]
    return [np.asarray(made["labels"]).tolist()]

def of(rows):
    return rows["cluster"].tolist()

def script(found):
    ensemble, table = found["ensemble"], found["dataset"].table
    return {
        "names": ensemble.names,
        "labels": ensemble.labels.tolist(),
        "weights": ensemble.weights.tolist(),
        "ranking": found["ranking"].values.tobytes().hex(),
        "clusters": found["clusters"],
        "kept": {name: of(one.assign(table)) for name, one in found["kept"].items()},
        "assigned": {name: of(rows) for name, rows in found["assigned"].items()},
    }

if __name__ == "__main__":
    warnings.simplefilter("ignore")
    told = {}
    for name, text in json.load(open("texts.json")).items():
        made = {"__name__": "retold"}
        exec(text, made)
        told[name] = script(made["analyse"]()) if "analyse" in made else card(made)
    print(json.dumps(told))
"""


def table() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    centres = np.array([[0, 0], [3, 0], [1.5, 2.5]])[np.arange(N) % 3]
    frame = pd.DataFrame(centres + rng.normal(0, 0.9, (N, 2)), columns=["x", "y"])
    frame["kind"] = [f"k{k % 3}" for k in range(N)]
    return frame.set_axis([f"r{k}" for k in range(N)]).rename_axis("row")


def foreign_partitions(**more) -> pd.DataFrame:
    """Return partitions of another tool by row ids, one named like a model."""
    at = np.arange(N)[::-1]
    named = {"ours": np.where(at < 20, "a", "b"), "k-means k=2 run 1": at % 4}
    frame = pd.DataFrame({**named, **more})
    return frame.set_axis([f"r{k}" for k in at]).rename_axis("id")


def shares() -> pd.DataFrame:
    rows = np.random.default_rng(1).dirichlet([1, 1, 1], N) * 2
    return pd.DataFrame(rows, [f"r{k}" for k in range(N)], list("abc"))


class Worked:
    """A log with every action that writes Python, on runs of every origin.

    `texts` are scripts and cards by name, `shown` the values on the pages for each.
    """

    def __init__(self):
        self.session, self.texts, self.shown = new_session(Server()), {}, {}

    async def act(self, kind, /, **values):
        done = await self.session.act(kind, **values)
        assert done, (kind, self.session.jobs.notices)

    async def read(self, kind, name, content, **values):
        key = self.session.keep_file(content.to_csv().encode())
        await self.act(kind, name=name, sha256=key, **values)

    async def choose(self, partition):
        numbers = [[k, 4 - k] for k in range(5)]
        await self.act("choose result", partition=partition, numbers=numbers, on="X")

    async def work(self):
        act = self.act
        await act("load example", name="iris")
        await self.read("load file", "a 'b'.csv", table())
        roles = {"kind": "label", "row": "row id"}
        await act("prepare", scale="robust", roles=roles)
        await act("run pool", pool=POOL, random_state=3, distinct_only=True)
        await act("add link", kind="must", a="r0", b="r1")
        await act("add link", kind="cannot", a="r0", b="r3")
        await self.choose(OBEYING)
        await act("keep segmentation", name="one \"'")
        # The earlier choice depends on votes and links that change next.
        await self.choose(TREE)
        await act("keep segmentation", name="two")
        await act("weigh models", by="families")
        await act("swap link", a="r0", b="r1")
        await act("set link weight", weight=0.5)
        await self.read("take new table", "new.csv", table().iloc[:9])
        self.add_script("pool, distinct, of families")
        await act("add models", pool=[K_MEANS])
        self.add_script("models added, of families")
        self.cards("added")
        await act("look closer", kept=3)
        self.add_script("closer models, of families")
        await act("make for answers", n_clusters=[2])
        self.add_script("models made for answers, of families")
        await act("add CNS", **CNS)
        await act("add CNS", metric="cosine", **CNS)
        await act("weigh models", by="typical")
        await act("make for answers", n_clusters=[3])
        self.add_script("CNS and models made for answers, of the typical half")
        await self.read(
            "import partitions", "mine.csv", foreign_partitions(), mixed=True
        )
        await act("weigh models", by="hubs")
        self.add_script("partitions imported, of hubs")
        votes = [k % 3 for k in range(self.session.analysis.ensemble.n_partitions)]
        for k, one in enumerate((TREE, {**OBEYING, "votes": votes})):
            await act("keep partition", partition=one, name=f"kept {{{k}}}\n'")
            votes.append(0)
        await act("weigh models", by="models")
        await self.choose({"kind": "model", "model": len(votes) - 2})
        self.add_script("kept")
        await self.read("add memberships", "soft.csv", shares(), normalize=True)
        self.cards("kept")
        first = self.session.analysis.runs[0].id
        await act("read run", id=first)
        await act("add models", pool=POOL[1:])
        await act("delete run", id=first)
        self.add_script("models added to a run that is gone")
        gaps = pd.array(np.arange(N) // 10, dtype="Int64")
        gaps[:3] = pd.NA
        gone = foreign_partitions(gaps=gaps)
        await self.read("import partitions", "gaps.csv", gone, mixed=False)
        await act("add CNS", **CNS)
        await act("add CNS", metric="cosine", **CNS)
        self.add_script("partitions imported, then CNS")
        await act("prepare", scale="standard", weights={"x": 2.0})
        await act("run pool", pool=POOL[1:], random_state=1, votes="typical")
        await act("cluster rows", rows=[f"r{k}" for k in range(40)], name="most")
        await act("cluster rows", rows=[f"r{k}" for k in range(30)], name="of them")
        group = {"kind": "group", "rows": [f"r{k}" for k in range(9)]}
        await act("keep partition", partition=group, name="a group")
        await act("keep partition", partition={"kind": "labels"}, name="labels")
        await act("set threshold", threshold=2)
        self.add_script("rows of rows")
        self.cards("rows")
        await act("prepare", scale="none")
        self.cards("rows, another table")
        await act("run pool", pool=[K_MEANS], random_state=2)
        await act("weigh models", by="families")
        await self.choose({"kind": "model", "model": 0})
        await act("keep segmentation", name="three")
        await act("refit", of="three", rows="both", name="four")
        await self.read("take new table", "newer.csv", table().iloc[:8])
        self.add_script("refitted")
        return self

    def add_script(self, name):
        """Add a script of the selected run, and the values on the page."""
        analysis, steps = self.session.analysis, self.session.history.done
        run, result = analysis.run, analysis.result
        here = clusters_of_result(result, run.dataset)
        model = run.ensemble.labels[0]
        names = analysis.cluster_names
        shown = export_partition(
            JOB, 0, run, model, result, here, names, analysis.links
        )
        places = {row: k for k, row in enumerate(run.dataset.row_ids)}
        ranking = cl.rank_partitions(
            cl.count_agreements(run.ensemble),
            threshold=analysis.threshold,
            constraints=as_constraints(analysis.links, places),
            constraint_weight=analysis.link_weight,
        )
        made = {one.name: segmentation(JOB, one) for one in analysis.segmentations}
        self.texts[name] = write_script(steps, shown)
        self.shown[name] = {
            "names": list(run.ensemble.names),
            "labels": run.ensemble.labels.tolist(),
            "weights": run.ensemble.weights.tolist(),
            "ranking": ranking.values.tobytes().hex(),
            "clusters": [number_of(k) for k in result.clusters.tolist()],
            "kept": {
                name: one.assign(run.dataset.table)["cluster"].tolist()
                for name, one in made.items()
            },
            "assigned": {
                name: one.assign(analysis.new_table)["cluster"].tolist()
                for name, one in made.items()
            },
        }

    def cards(self, name):
        """Add the cards of the pages with code, and their values."""
        session, analysis = self.session, self.session.analysis
        samples, ensemble = analysis.samples, analysis.ensemble
        card, page = LabelsHeadline(session), FuzzyHeadline(session)
        sources = ("labels", "result", "consensus:3", "column:kind", "group")
        twins = [
            k for k, one in enumerate(ensemble.names) if one == "k-means k=2 run 1"
        ]
        here = clusters_of_result(analysis.result, samples)
        group = Brush(np.arange(7), "box"), analysis.result, here, analysis.run_id, None
        for source in (*sources, *(f"model:{k}" for k in twins)):
            given = (JOB, analysis.dataset, samples, ensemble, source)
            classes = np.unique(evaluated_labels(*given, (), *group).codes)
            two = (tuple(classes[:2].tolist()),) if len(classes) > 2 else ()
            shown = evaluated_labels(*given, two, *group)
            text = card._script(shown, None).partition("check = ")[0]
            self.texts[f"{name}, {source}"] = text
            self.shown[f"{name}, {source}"] = [shown.codes.tolist()]
        if not analysis.memberships:
            return
        listed = fuzzy_choices("table", samples, ensemble, analysis.memberships)
        keys = [one.key for one in listed.listed]
        for u, v in zip(keys, [*keys[1:], keys[0]], strict=True):
            text = page._script(listed, Pair(u, v)).partition("print(")[0]
            self.texts[f"{name}, {u}, {v}"] = text
            self.shown[f"{name}, {u}, {v}"] = [
                listed.make[key]().memberships.tolist() for key in (u, v)
            ]


@pytest.fixture(scope="module")
def worked():
    return run(Worked().work(), 300)


@pytest.fixture(scope="module")
def found(worked, tmp_path_factory):
    """Return the results of scripts and cards in a separate process, by name."""
    place = tmp_path_factory.mktemp("retold")
    for step in worked.session.history.done:
        if "sha256" in step.values:
            content = worked.session.files[step.values["sha256"]]
            (place / step.values["name"]).write_bytes(content)
    (place / "texts.json").write_text(json.dumps(worked.texts))
    (place / "all.py").write_text(RUN_ALL)
    return said_by("all.py", place)


def test_every_action_says_python_or_sets_a_value(worked):
    scripted = {kind for kind, action in ACTIONS.items() if action.python}
    assert scripted == ACTIONS.keys() - SET_VALUES
    done = {step.kind for step in worked.session.history.done}
    assert scripted - OF_LARGE_TABLES <= done


def test_scripts_and_cards_find_what_the_pages_show(worked, found):
    assert found.keys() == worked.shown.keys()
    for name, shown in worked.shown.items():
        if isinstance(shown, dict):
            assert found[name].keys() == shown.keys()
            for what in shown:
                assert found[name][what] == shown[what], (name, what)
        else:
            assert found[name] == shown, (name, worked.texts[name])


def test_uses_what_is_asked_for_and_nothing_else(worked):
    text = worked.texts["kept, labels"]
    assert "run_pool" not in text
    assert "load_example" not in text
    assert text.count("cl.prepare(") == 1
