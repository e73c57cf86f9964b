"""A segmentation in a file: the same answers, few rows, and nothing hostile."""

import io
import json
import pickle
import zipfile

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.cluster import HDBSCAN

import clusterlens as cl
from clusterlens.compute._plain import largest_unpacked
from clusterlens.compute.assigning import _restored
from tests.compute.assigning.test_segmentation import customers


@pytest.fixture(scope="module")
def table():
    return customers(250, seed=5)


@pytest.fixture(scope="module")
def path(table, tmp_path_factory):
    made = tmp_path_factory.mktemp("kept") / "customers.lens"
    dataset = cl.prepare(table[0], categorical="famd")
    cl.Segmentation(dataset, table[1], ["a", "b"]).save(made)
    return made


RULES = [
    {},
    {"scale": "robust", "categorical": "ordinal"},
    {"scale": "minmax", "transforms": {"age": "rank", "income": "log1p"}},
    {"scale": "none", "missing": "drop rows", "weights": {"age": 2.0}},
    {"categorical": "famd", "pca": 3, "sentinels": [0.0]},
    {"roles": {"children": "categorical", "plan": "ignore"}},
]


@pytest.mark.parametrize("rules", RULES, ids=str)
@pytest.mark.parametrize("rows", [True, False])
def test_a_file_gives_the_answers_of_what_was_saved(table, tmp_path, rules, rows):
    dataset = cl.prepare(table[0], **rules)
    labels = table[1][dataset.positions >= 0]
    seg = cl.Segmentation(dataset, labels, rows=rows)
    seg.save(tmp_path / "a.lens")
    again = cl.load_segmentation(tmp_path / "a.lens")
    fresh, _ = customers(80, seed=6)
    pd.testing.assert_frame_equal(again.assign(fresh), seg.assign(fresh))
    pd.testing.assert_frame_equal(again.to_frame(), seg.to_frame())
    assert repr(again) == repr(seg)
    assert again.assigner.agreement == seg.assigner.agreement


def test_levels_of_every_kind_come_back(tmp_path):
    frame = pd.DataFrame(
        {
            "flag": np.tile([True, False], 20),
            "code": np.tile([3, 1, 2, 1], 10),
            "when": pd.to_datetime(np.tile(["2024-01-01", "2024-05-01"], 20)),
            "size": np.linspace(0, 1, 40),
        }
    )
    roles = dict.fromkeys(["flag", "code", "when"], "categorical")
    seg = cl.Segmentation(cl.prepare(frame, roles=roles), np.arange(40) // 20)
    seg.save(tmp_path / "a.lens")
    assigned = cl.load_segmentation(tmp_path / "a.lens").assign(frame)
    assert assigned.attrs["notes"] == []
    pd.testing.assert_frame_equal(assigned, seg.assign(frame))


def test_without_rows_the_file_holds_no_row(table, tmp_path):
    dataset = cl.prepare(table[0])
    cl.Segmentation(dataset, table[1], rows=False).save(tmp_path / "a.lens")
    with zipfile.ZipFile(tmp_path / "a.lens") as archive:
        rows = pq.read_table(io.BytesIO(archive.read("prototypes.parquet")))
        text = archive.read("segmentation.json").decode()
    assert rows.num_rows == 0
    assert "c5-1" not in text


def test_the_file_holds_no_pickle_and_no_row_ids(path):
    with zipfile.ZipFile(path) as archive:
        assert sorted(archive.namelist()) == [
            *("held-out.parquet", "prototypes.parquet", "segmentation.json")
        ]
        contents = b"".join(map(archive.read, archive.namelist()))
    assert b"c5-1" not in contents


def changed(path, target, name, change):
    """Copy the file with one part changed."""
    with zipfile.ZipFile(path) as archive:
        parts = {part: archive.read(part) for part in archive.namelist()}
    parts[name] = change(parts[name])
    with zipfile.ZipFile(target, "w") as archive:
        for part, data in parts.items():
            archive.writestr(part, data)
    return target


def plain_paths(value, way=()):
    """Ways to every field of a JSON value, lists by their first entry."""
    if isinstance(value, dict):
        for key, part in value.items():
            yield (*way, key)
            yield from plain_paths(part, (*way, key))
    elif isinstance(value, list) and value:
        yield from plain_paths(value[0], (*way, 0))


WRONG = (None, -1, "nowhere", [], {}, 1e300)


def test_no_wrong_field_is_taken_in_or_raises_anything_raw(path, tmp_path):
    with zipfile.ZipFile(path) as archive:
        about = json.loads(archive.read("segmentation.json"))
        parts = {part: archive.read(part) for part in archive.namelist()}
    for way in plain_paths(about):
        for wrong in WRONG:
            given = json.loads(json.dumps(about))
            place = given
            for key in way[:-1]:
                place = place[key]
            place[way[-1]] = wrong
            target = io.BytesIO()
            with zipfile.ZipFile(target, "w") as archive:
                for name, data in parts.items():
                    text = json.dumps(given) if name.endswith("json") else data
                    archive.writestr(name, text)
            try:
                kept = _restored.read_kept(target.getvalue())
            except cl.DataError:
                continue
            assert kept.assigner.assign(kept.assigner.centres).p.shape == (2,)


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("segmentation.json", b"[]"),
        ("segmentation.json", b"[" * 100_000),
        ("segmentation.json", pickle.dumps({"format": 1})),
        ("prototypes.parquet", b"PAR1"),
        ("held-out.parquet", b""),
    ],
)
def test_damaged_parts_are_refused(path, tmp_path, name, data):
    wrong = changed(path, tmp_path / "a.lens", name, lambda _: data)
    with pytest.raises(cl.DataError, match="is no segmentation that can be opened"):
        cl.load_segmentation(wrong)


def as_parquet(columns):
    out = io.BytesIO()
    pq.write_table(pa.table(columns), out)
    return out.getvalue()


@pytest.mark.parametrize(
    "columns",
    [
        {"cluster": [0.0, 7.0], "oddness": [1.0, 1.0]},
        {"cluster": [0.0, 1.0], "oddness": [np.nan, 1.0]},
        {"cluster": ["a", "b"], "oddness": [1.0, 1.0]},
        {"cluster": [[0.0], [1.0]], "oddness": [1.0, 1.0]},
        {"oddness": [1.0]},
    ],
    ids=["another cluster", "no number", "texts", "lists", "a column less"],
)
def test_wrong_rows_are_refused(path, tmp_path, columns):
    data = as_parquet(columns)
    wrong = changed(path, tmp_path / "a.lens", "held-out.parquet", lambda _: data)
    with pytest.raises(cl.DataError, match="is no segmentation that can be opened"):
        cl.load_segmentation(wrong)


def test_claimed_sizes_are_checked_before_memory_is_taken(path, tmp_path, monkeypatch):
    monkeypatch.setattr(_restored, "MAX_BYTES", 100_000)
    bomb = as_parquet({"cluster": np.zeros(20_000), "oddness": np.zeros(20_000)})
    assert len(bomb) < 100_000
    wrong = changed(path, tmp_path / "a.lens", "held-out.parquet", lambda _: bomb)
    with pytest.raises(cl.DataError, match="too many"):
        cl.load_segmentation(wrong)
    wrong = changed(
        path, tmp_path / "b.lens", "segmentation.json", lambda _: b" " * 200_000
    )
    with pytest.raises(cl.DataError, match="claims 200"):
        cl.load_segmentation(wrong)


def test_parts_that_unpack_to_far_more_than_the_file_has_are_refused(path, tmp_path):
    equal = np.zeros(2_000_000)
    bomb = as_parquet({"cluster": equal, "oddness": equal})
    wrong = changed(path, tmp_path / "a.lens", "held-out.parquet", lambda _: bomb)
    with pytest.raises(cl.DataError, match="too many"):
        cl.load_segmentation(wrong)
    with zipfile.ZipFile(tmp_path / "b.lens", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("segmentation.json", b" " * 30_000_000)
    with pytest.raises(cl.DataError, match="claims 30"):
        cl.load_segmentation(tmp_path / "b.lens")
    assert largest_unpacked(10**7, 4 * 10**8) == 4 * 10**8
    assert largest_unpacked(10**6, 4 * 10**8) == 120_000_000


def test_a_later_format_is_named(path, tmp_path):
    def later(data):
        return json.dumps({**json.loads(data), "format": 3, "made by": "X 9"}).encode()

    wrong = changed(path, tmp_path / "a.lens", "segmentation.json", later)
    with pytest.raises(cl.DataError, match="written by X 9 in format 3"):
        cl.load_segmentation(wrong)


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04", b"a,b\n1,2\n"])
def test_other_files_are_refused(tmp_path, content):
    (tmp_path / "a.lens").write_bytes(content)
    with pytest.raises(cl.DataError, match="damaged or no segmentation"):
        cl.load_segmentation(tmp_path / "a.lens")


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(cl.DataError, match="No such file"):
        cl.load_segmentation(tmp_path / "nowhere.lens")


def test_density_decides_alike_after_reading(tmp_path):
    rng = np.random.default_rng(0)
    groups = [rng.normal(c, 0.3, (150, 2)) for c in (0.0, 4.0)]
    table = pd.DataFrame(np.vstack([*groups, rng.uniform(-3, 7, (150, 2))]))
    dataset = cl.prepare(table.add_prefix("x"))
    kept = cl.Segmentation(dataset, HDBSCAN(15, copy=True).fit(dataset.X).labels_)
    kept.save(tmp_path / "kept.lens")
    read = cl.load_segmentation(tmp_path / "kept.lens")
    assert read.assigner.rule == "density"
    new = pd.DataFrame(rng.uniform(-3, 7, (500, 2))).add_prefix("x")
    pd.testing.assert_frame_equal(read.assign(new), kept.assign(new))
    assert read.assigner.repeated == kept.assigner.repeated >= 0.9
    assert repr(read.drift(new)) == repr(kept.drift(new))
    pd.testing.assert_frame_equal(read.drift(new).shares, kept.drift(new).shares)


def test_a_file_of_the_first_format_is_read(path, table, tmp_path):
    def older(data):
        about = json.loads(data) | {"format": 1}
        for key in ("expected", "dispersion", "widening", "repeated"):
            del about["assigner"][key]
        return json.dumps(about).encode()

    changed(path, tmp_path / "a.lens", "segmentation.json", older)
    read, now = cl.load_segmentation(tmp_path / "a.lens"), cl.load_segmentation(path)
    fresh, _ = customers(80, seed=6)
    pd.testing.assert_frame_equal(read.assign(fresh), now.assign(fresh))
    assert read.assigner.expected.sum() == 1
