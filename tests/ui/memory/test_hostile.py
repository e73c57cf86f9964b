"""Tests of hostile analysis files: refused, or treated as data."""

import copy
import io
import json
import random
import zipfile
from collections import Counter
from contextlib import closing, suppress
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from clusterlens.ui.actions.partitions import PARTITION
from clusterlens.ui.exports.script import write_card, write_script
from clusterlens.ui.results.result import ExportPartition, export_partition
from clusterlens.ui.server.memory.archive import ArchiveError, import_analysis
from clusterlens.ui.server.memory.records import RecordError, Records
from clusterlens.ui.server.memory.store import Row, Store
from clusterlens.ui.state.analysis import Analysis
from clusterlens.ui.state.shapes import ShapeError
from tests.support.hostile_analyses import (
    forbidden,
    hostile_values,
    make_analysis,
    mutate_analysis,
    use_analysis,
)
from tests.ui.loop import run
from tests.ui.memory.test_archive import changed, saved  # noqa: F401

CODE = "x', a=print('ran')) #"


def steps_of(data: bytes) -> list:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return json.loads(archive.read("analysis.json"))["steps"]


def run_of(steps: list) -> dict:
    return steps[2]["changes"]["runs"][0]


def put(where, name, value):
    def change(steps):
        where(steps)[name] = value

    return change


CHANGES = lambda steps: steps[2]["changes"]  # noqa: E731
GIVEN = lambda steps: steps[1]["given"]  # noqa: E731


@pytest.mark.parametrize(
    "change",
    [
        put(CHANGES, "part", [CODE, "a"]),
        put(CHANGES, "part", ["sheet", "a", "b"]),
        put(CHANGES, "threshold", CODE),
        put(CHANGES, "threshold", True),
        put(CHANGES, "score", CODE),
        put(CHANGES, "link_weight", CODE),
        put(CHANGES, "preparation", {CODE: 1}),
        put(CHANGES, "preparation", {"scale": CODE}),
        put(CHANGES, "preparation", {"roles": {"a": CODE}}),
        put(CHANGES, "run_id", {"a": 1}),
        put(CHANGES, "note", "\ud800"),
        put(CHANGES, "links", [["must", [1], 2]]),
        put(run_of, "random_state", CODE),
        put(run_of, "random_state", 1.5),
        put(run_of, "votes", CODE),
        put(run_of, "pool", [CODE]),
        put(run_of, "pool", [{"clusterer": {"a": 1}}]),
        put(run_of, "name", ["a"]),
        put(run_of, "stopped of", -1),
        put(GIVEN, "name", [CODE]),
        put(GIVEN, "sha256", f"{'0' * 63}\n"),
        put(lambda steps: steps[1], "kind", CODE),
        put(lambda steps: steps[1], "at", CODE),
        put(lambda steps: steps[1], "at", "0001-01-01T00:00:00"),
        put(lambda steps: steps[1], "title", None),
        put(lambda steps: steps[1], "other", 1),
    ],
)
def test_what_does_not_belong_into_a_step_is_refused_with_its_place(
    saved,  # noqa: F811
    tmp_path,
    change,
):
    steps = steps_of(saved[1])
    change(steps)
    store = Store(tmp_path / "two")
    with pytest.raises(ArchiveError, match=r"belongs|does not know"):
        import_analysis(store, changed(saved[1], steps=steps))
    assert store.entries() == []


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (put(CHANGES, "part", ["separator", CODE]), "separates no cells"),
        (put(CHANGES, "new_part", ["separator", "x"]), "separates no cells"),
        (put(CHANGES, "table", None), "results, but no table"),
        (
            lambda steps: steps[2]["changes"].update(
                part=["separator", ","], parts=[",", CODE]
            ),
            "separates no cells",
        ),
    ],
)
def test_fields_that_do_not_belong_together_are_refused(
    saved,  # noqa: F811
    tmp_path,
    change,
    words,
):
    steps = steps_of(saved[1])
    change(steps)
    with pytest.raises(ArchiveError, match=words):
        import_analysis(Store(tmp_path), changed(saved[1], steps=steps))


@pytest.mark.parametrize("kind", ["model", "group"])
def test_a_partition_without_what_its_kind_needs_is_refused(kind):
    with pytest.raises(ShapeError, match=r"a mapping with '(model|rows)'"):
        PARTITION({"kind": kind})
    for value in ({"kind": "labels"}, {"kind": "model", "model": 1}):
        PARTITION(value)


@pytest.fixture(scope="module")
def base(tmp_path_factory) -> bytes:
    """The file of an analysis with almost everything that one can contain."""
    return run(make_analysis(tmp_path_factory.mktemp("base")))


def test_mutants_of_a_file_are_refused_or_open_and_run_nothing(base, tmp_path):
    marker, store = tmp_path / "ran", Store(tmp_path / "store")
    outcomes = Counter()
    for k in range(30):
        _, data = mutate_analysis(base, random.Random(k), marker)
        try:
            name = import_analysis(store, data)
        except ArchiveError:
            outcomes["refused"] += 1
            continue
        assert run(use_analysis(store, name)) == "", k
        outcomes["opened"] += 1
    assert not marker.exists()
    assert min(outcomes["refused"], outcomes["opened"]) > 0, outcomes


def partition_of(analysis: Analysis) -> ExportPartition:
    """Return the exported partition of an analysis; raise ValueError without a run."""
    if analysis.run is None:
        raise ValueError("there is no run")
    found, names = analysis.result, analysis.cluster_names
    return export_partition(
        None, 0, analysis.run, analysis.ensemble.labels[0], found, None, names, ()
    )


CODE_TEXTS = [v for v in hostile_values(Path("ran")) if isinstance(v, str)]
HOSTILE = st.recursive(
    st.sampled_from(CODE_TEXTS)
    | st.text()
    | st.integers()
    | st.floats()
    | st.booleans()
    | st.none(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(CODE_TEXTS) | st.text(), inner, max_size=3)
    ),
    max_leaves=6,
)


@pytest.fixture(scope="module")
def recorded(base, tmp_path_factory):
    """The steps of the file with their reader, kept alive for speed."""
    with closing(Store(tmp_path_factory.mktemp("recorded"))) as store:
        rows = store.read(import_analysis(store, base)).rows
        steps = Records(store.contents).read(rows)
    return rows, store.contents, steps


@settings(max_examples=150)
@given(
    place=st.integers(0, 2**32),
    name=st.none() | st.sampled_from(CODE_TEXTS),
    value=HOSTILE,
)
@example(place=166223, name=None, value=None)  # a run without its table
def test_a_value_of_any_kind_in_any_field_is_refused_or_written_as_data(
    recorded, place, name, value
):
    rows, contents, _ = recorded
    rows = [dict(vars(row)) for row in copy.deepcopy(rows)]
    rng = random.Random(place)
    inner, at = rng.choice(rows), rng.choice(["given", "changes"])
    while isinstance(inner[at], (dict, list)) and inner[at] and rng.random() < 0.8:
        inner = inner[at]
        at = rng.choice(range(len(inner)) if isinstance(inner, list) else [*inner])
    if name is None or isinstance(inner, list) or inner in rows:
        inner[at] = value
    else:
        inner[name] = value
    try:
        steps = Records(contents).read([Row(**row) for row in rows])
    except RecordError:
        return
    analysis = steps[-1].analysis
    for write in (
        lambda: write_card(steps[1:], lambda lines: [lines.samples(analysis)]),
        lambda: write_card(
            steps[1:], lambda lines: [lines.ensemble(str(analysis.run_id))]
        ),
        lambda: write_script(steps[1:], partition_of(steps[-1].analysis)),
    ):
        with suppress(ValueError):
            assert forbidden(write()) == ""
