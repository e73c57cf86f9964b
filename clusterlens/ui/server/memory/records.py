"""Records: an analysis as plain values and typed bytes, and back.

A step is recorded as the fields that it changed. Tables are stored as Parquet files and
ensembles as NumPy archives, each once under its hash. Prepared tables are prepared
again from their rules; a fingerprint detects whether another version of a library
prepares them differently.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, fields, replace
from functools import partial
from typing import Any

import numpy as np

from clusterlens.compute.pool.preset_versions import PresetUsed, preset_of
from clusterlens.compute.table.dataset import Dataset, prepare
from clusterlens.compute.table.reading import SEPARATOR_NAMES
from clusterlens.compute.table.storing import dataset_from_parquet, dataset_to_parquet
from clusterlens.ui.jobs.arrays import arrays_from_bytes, arrays_to_bytes
from clusterlens.ui.server.memory.contents import Contents, is_key
from clusterlens.ui.server.memory.packed import (
    RecordError,
    pack,
    pack_soft,
    plain,
    unpack,
    unpack_soft,
)
from clusterlens.ui.server.memory.schema import STEPS
from clusterlens.ui.server.memory.store import Row
from clusterlens.ui.state.analysis import (
    Analysis,
    AnalysisResult,
    ClusterName,
    KeptPartition,
    LargeTable,
    Link,
    Run,
    SoftTable,
    Succession,
)
from clusterlens.ui.state.history import Step

_CLOSE = 1e-6


class Records:
    """Writer and reader of steps, with bytes in `contents`.

    Parameters
    ----------
    contents : Contents
        Storage of tables and results.
    max_bytes : int
        Largest size of a table in memory.

    Attributes
    ----------
    notes : list of str
        Differences from the recorded analysis, found while reading.
    """

    def __init__(self, contents: Contents, *, max_bytes: int = 2_000_000_000) -> None:
        self.contents, self._max_bytes = contents, max_bytes
        self._alive, self._keys = contents.alive, contents.keys
        self.notes: list[str] = []
        self._held: set[str] = set()

    def write(
        self, step: Step, before: Analysis | None, files: Mapping[str, bytes]
    ) -> Row:
        """Record a step as the changes from the analysis before it.

        Parameters
        ----------
        step : Step
            Step to record.
        before : Analysis or None
            The analysis of the step before; None records every field.
        files : mapping of str to bytes
            Uploaded files by SHA-256; files named in the values are stored.
        """
        self._held = set()
        changes = {
            name: self._write_field(name, step.analysis)
            for name in _FIELDS
            if before is None
            or getattr(step.analysis, name) is not getattr(before, name)
        }
        for value in step.values.values():
            if isinstance(value, str) and value in files:
                self._held.add(self.contents.put(files[value]))
            elif is_key(value) and self.contents.renew(value):
                self._held.add(value)
        return Row(
            step.kind,
            step.title,
            step.at,
            step.values,
            changes,
            frozenset(self._held),
        )

    def _write_field(self, name: str, analysis: Analysis) -> Any:
        value = getattr(analysis, name)
        if name in _WRITERS and value is not None:
            return _WRITERS[name](self, value, analysis)
        return plain(value)

    def read(
        self,
        rows: Sequence[Row],
        progress: Callable[[int, int], None] = lambda *_: None,
    ) -> tuple[Step, ...]:
        """Return the steps of an analysis.

        Raises
        ------
        RecordError
            If the rows, or their contents, do not form an analysis.
        """
        steps: list[Step] = []
        known = _defaults()
        for k, row in enumerate(rows):
            progress(k, len(rows))
            try:
                check_row(row)
                known = known | self._read_fields(row.changes, known)
                made = Analysis(**known)
                _check_whole(made)
                steps.append(Step(row.kind, row.title, made, row.given, row.at))
            except (TypeError, ValueError, KeyError, AttributeError) as error:
                raise RecordError(
                    f"step {k + 1}, {row.title!r:.80}, cannot be read: {error}"
                ) from error
        if not steps:
            raise RecordError("it has no steps")
        return tuple(steps)

    def _read_fields(
        self, changes: Mapping[str, Any], known: Mapping[str, Any]
    ) -> dict[str, Any]:
        made: dict[str, Any] = {}
        for name in _FIELDS:  # the table before results that depend on it
            if name in changes:
                value = changes[name]
                if name in _READERS and value is not None:
                    value = _READERS[name](self, value, {**known, **made})
                made[name] = value
        return made

    def _write_table(self, table: Dataset, analysis: Analysis) -> str:
        return self._keep(table, lambda: dataset_to_parquet(table))

    def _read_table(self, key: str, known: Mapping[str, Any]) -> Dataset:
        return self._find(
            key, lambda data: dataset_from_parquet(data, max_bytes=self._max_bytes)
        )

    def _write_dataset(self, dataset: Dataset, analysis: Analysis) -> dict[str, Any]:
        """Record a prepared table by the table as read, and the rules."""
        table = analysis.table
        if table is None or not _same_frame(table, dataset):
            table = replace(dataset, prepared=None)
        return {
            "table": self._write_table(table, analysis),
            "settings": plain(dataset.settings),
            "fingerprint": _fingerprint(dataset),
        }

    def _read_dataset(self, record: Any, known: Mapping[str, Any]) -> Dataset:
        rules = json.dumps(record, sort_keys=True)
        name = hashlib.sha256(rules.encode()).hexdigest()
        table, found = self._read_table(record["table"], known), self._alive.get(name)
        if found is None or found.table is not table.table:
            found = self._alive[name] = prepare(table, **record["settings"])
        if not _same(_fingerprint(found), record["fingerprint"]):
            self.notes.append(
                "A table is prepared differently by the versions installed now; what "
                "earlier runs found still belongs to the features of then."
            )
        return found

    def _write_runs(self, runs: Iterable[Run], analysis: Analysis) -> list[Any]:
        return [
            {
                "id": run.id,
                "name": run.name,
                "dataset": self._write_dataset(run.dataset, analysis),
                "pool": plain(run.pool),
                "random_state": run.random_state,
                "found": self._keep(run.ensemble, partial(pack, run.ensemble)),
                "kept": plain(run.kept),
                "votes": run.votes,
                "stopped of": run.stopped_of,
                "preset": None if run.preset is None else list(run.preset),
            }
            for run in runs
        ]

    def _read_runs(self, records: Any, known: Mapping[str, Any]) -> tuple[Run, ...]:
        before = {run.id: run for run in known.get("runs", ())}
        return tuple(self._read_run(record, before, known) for record in records)

    def _read_run(
        self, record: Any, before: Mapping[str, Run], known: Mapping[str, Any]
    ) -> Run:
        dataset = self._read_dataset(record["dataset"], known)
        ensemble = self._find(record["found"], unpack)
        if ensemble.n_samples != len(dataset.X):
            raise RecordError(
                f"run {record['name']!r} has labels of {ensemble.n_samples} samples "
                f"for {len(dataset.X)} rows"
            )
        run = Run(
            record["id"],
            record["name"],
            dataset,
            tuple(record["pool"]),
            record["random_state"],
            ensemble,
            tuple(record.get("kept", ())),
            votes=record.get("votes", "models"),
            stopped_of=record.get("stopped of", 0),
            preset=_preset(record, len(dataset.X)),
        )
        same = before.get(run.id)
        # The same object if nothing changed, as it was when it was recorded.
        return same if same and vars(same) == vars(run) else run

    def _write_result(
        self, result: AnalysisResult, analysis: Analysis
    ) -> dict[str, Any]:
        return {
            "run": result.run_id,
            "dataset": self._write_dataset(result.dataset, analysis),
            "made": plain(result.made),
            "title": result.title,
            "found": self._keep(
                result, lambda: arrays_to_bytes({"clusters": result.clusters}, {})
            ),
            "numbers": plain(result.numbers),
            "links": _plain_links(result.links),
            "chosen on": result.chosen_on,
        }

    def _read_result(self, record: Any, known: Mapping[str, Any]) -> AnalysisResult:
        dataset = self._read_dataset(record["dataset"], known)
        clusters = arrays_from_bytes(self.contents.get(record["found"]))[0]["clusters"]
        if clusters.shape != (len(dataset.X),) or clusters.dtype.kind not in "iu":
            raise RecordError("its result has no cluster for each row")
        numbers = tuple((label, k) for label, k in record["numbers"])
        if not set(np.unique(clusters).tolist()) <= {k for _, k in numbers}:
            raise RecordError("its result has clusters without a number")
        result = AnalysisResult(
            record["run"],
            dataset,
            record["made"],
            record["title"],
            clusters.astype(np.int64),
            numbers,
            _links(record["links"]),
            record["chosen on"],
        )
        runs = (run for run in known.get("runs", ()) if run.id == result.run_id)
        for run in runs:
            model = result.model_of(run.id)
            if model is not None and model >= run.ensemble.n_partitions:
                raise RecordError(f"its result is model {model} of {run.name!r}")
        return result

    def _write_segmentations(
        self, kept: Iterable[KeptPartition], analysis: Analysis
    ) -> list[Any]:
        return [
            {
                "name": one.name,
                "result": self._write_result(one.result, analysis),
                "names": plain(one.names),
                **({"follows": plain(asdict(one.follows))} if one.follows else {}),
            }
            for one in kept
        ]

    def _read_segmentations(
        self, records: Any, known: Mapping[str, Any]
    ) -> tuple[KeptPartition, ...]:
        return tuple(self._read_segmentation(record, known) for record in records)

    def _read_segmentation(
        self, record: Any, known: Mapping[str, Any]
    ) -> KeptPartition:
        result = self._read_result(record["result"], known)
        names = tuple((cluster, name) for cluster, name in record["names"])
        if not {k for k, _ in names} <= set(np.unique(result.clusters).tolist()):
            raise RecordError(f"{record['name']!r} has names of no clusters")
        follows = record.get("follows")
        return KeptPartition(
            record["name"], result, names, _succession(follows) if follows else None
        )

    def _write_soft(self, tables: Iterable[SoftTable], analysis: Analysis) -> list[Any]:
        return [
            {"name": t.name, "rows": self._keep(t, partial(pack_soft, t), t.name)}
            for t in tables
        ]

    def _read_soft(
        self, records: Any, known: Mapping[str, Any]
    ) -> tuple[SoftTable, ...]:
        return tuple(
            self._find(
                record["rows"],
                partial(unpack_soft, record["name"]),
                record["name"],
            )
            for record in records
        )

    def _keep(self, thing: Any, pack: Callable[[], bytes], name: str = "") -> str:
        """Store a table or a result, unless it is stored already; return its key.

        `name` distinguishes objects in memory with equal contents.
        """
        key = self._keys.get(thing)
        if key is None or not self.contents.renew(key):
            key = self._keys[thing] = self.contents.put(pack())
            self._alive[key + name] = thing
        self._held.add(key)
        return key

    def _find(self, key: str, unpack: Callable[[bytes], Any], name: str = "") -> Any:
        found = self._alive.get(key + name)
        if found is None:
            found = self._alive[key + name] = unpack(self.contents.get(key))
            self._keys[found] = key
        return found


_FIELDS = tuple(field.name for field in fields(Analysis))
_WRITERS: dict[str, Callable[[Records, Any, Analysis], Any]] = {
    "table": Records._write_table,
    "dataset": Records._write_dataset,
    "runs": Records._write_runs,
    "counted_fully": lambda self, runs, analysis: sorted(runs),
    "links": lambda self, links, analysis: _plain_links(links),
    "result": Records._write_result,
    "segmentations": Records._write_segmentations,
    "new_table": Records._write_table,
    "cluster_names": lambda self, names, analysis: [
        [name.text, list(name.rows)] for name in names
    ],
    "memberships": Records._write_soft,
    "large": lambda self, large, analysis: asdict(large),
}
_READERS: dict[str, Callable[[Records, Any, Mapping[str, Any]], Any]] = {
    "table": Records._read_table,
    "dataset": Records._read_dataset,
    "runs": Records._read_runs,
    "part": lambda self, part, known: tuple(part),
    "parts": lambda self, parts, known: tuple(parts),
    "new_part": lambda self, part, known: tuple(part),
    "new_parts": lambda self, parts, known: tuple(parts),
    "counted_fully": lambda self, runs, known: frozenset(runs),
    "links": lambda self, links, known: _links(links),
    "unsure": lambda self, pairs, known: tuple(map(tuple, pairs)),
    "result": Records._read_result,
    "segmentations": Records._read_segmentations,
    "new_table": Records._read_table,
    "cluster_names": lambda self, names, known: tuple(
        ClusterName(text, tuple(rows)) for text, rows in names
    ),
    "memberships": Records._read_soft,
    "fuzzy_pairs": lambda self, pairs, known: tuple(map(tuple, pairs)),
    "cns": lambda self, setting, known: tuple(setting),
    "large": lambda self, large, known: LargeTable(**large),
    "labelled": lambda self, labelled, known: tuple(labelled),
}


def _check_whole(analysis: Analysis) -> None:
    """Refuse inconsistent fields, because pages rely on their consistency."""
    made = (analysis.dataset, analysis.result, *analysis.runs, *analysis.segmentations)
    if analysis.table is None and any(one is not None for one in made):
        raise RecordError("it has results, but no table")
    for part, parts in (
        (analysis.part, analysis.parts),
        (analysis.new_part, analysis.new_parts),
    ):
        marks = {*part[1:], *parts} if part[:1] == ("separator",) else set()
        if odd := marks - SEPARATOR_NAMES.keys():
            raise RecordError(f"{min(odd)!r:.60} separates no cells")


def _succession(record: Mapping[str, Any]) -> Succession:
    named = (tuple(record[state]) for state in ("stays", "gone", "new"))
    return Succession(record["of"], record["rows"], *named)


def _plain_links(links: Iterable[Link]) -> list[Any]:
    return [[link.kind, link.a, link.b, *filter(None, [link.by])] for link in links]


def _links(records: Iterable[Any]) -> tuple[Link, ...]:
    return tuple(Link(*record) for record in records)


def same_table(contents: Contents, one: Dataset | None, other: Dataset | None) -> bool:
    """Return whether two tables are the same, or are stored as the same."""
    if one is None or other is None or one is other:
        return one is other
    keys = [contents.keys.get(table) for table in (one, other)]
    return keys[0] is not None and keys[0] == keys[1]


def _same_frame(one: Dataset, other: Dataset) -> bool:
    return one.table is other.table or one.table.equals(other.table)


def check_row(row: Row) -> None:
    """Refuse an invalid step before its values are used.

    Parameters
    ----------
    row : Row
        Row as read.

    Raises
    ------
    ValueError
        If a value has an invalid form.
    """
    shape = STEPS.get(row.kind) if isinstance(row.kind, str) else None
    if shape is None:
        raise RecordError(f"this version does not know the action {row.kind!r:.60}")
    shape({name: value for name, value in vars(row).items() if name != "holds"})


def _defaults() -> dict[str, Any]:
    """Return the fields of an empty analysis; a record may lack newer ones."""
    return dict(vars(Analysis()))


def _preset(record: Mapping[str, Any], n_samples: int) -> PresetUsed | None:
    """Return the preset of a run; earlier versions only wrote its entries."""
    if "preset" not in record:
        return preset_of(record["pool"], n_samples)
    return PresetUsed(*record["preset"]) if record["preset"] else None


def _fingerprint(dataset: Dataset) -> dict[str, Any]:
    """Return values that distinguish prepared tables, except in their last bits."""
    X, rows = dataset.X, dataset.row_ids
    names = json.dumps([*dataset.feature_names, str(rows[0]), str(rows[-1])])
    weights = np.cos(np.arange(len(X)))
    return {
        "shape": list(X.shape),
        "names": hashlib.sha256(names.encode()).hexdigest(),
        "sums": [float(np.abs(X).sum()), float(np.abs(weights @ X).sum())],
    }


def _same(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    exact = all(one[name] == other[name] for name in ("shape", "names"))
    return exact and np.allclose(one["sums"], other["sums"], rtol=_CLOSE, atol=_CLOSE)
