"""Stages of a run at scale: each reads its files from the folder, or makes them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from clusterlens.compute._run.options import RunOptions, stretches
from clusterlens.compute._run.processes import Workers
from clusterlens.compute._validation import (
    DataError,
    FloatArray,
    IntArray,
    check_range,
)
from clusterlens.compute.assigning.fitting import fit_assigner, own_search
from clusterlens.compute.ensemble.ensemble import Ensemble
from clusterlens.compute.notes import Note, as_note
from clusterlens.compute.pool.pool import run_pool
from clusterlens.compute.pool.specs import Pool, pool_specs
from clusterlens.compute.scale.errors import (
    CONSENSUS,
    ERRORS,
    FEWEST_ROWS,
    REFITS,
    compare_with_refits,
    consensus_labels,
    held_back_samples,
    with_typical_votes,
)
from clusterlens.compute.scale.first_pass import (
    count_empty_rows,
    draw_rows,
    first_pass,
    sample_features,
)
from clusterlens.compute.scale.folder import PREPARED, RunFolder
from clusterlens.compute.scale.labels import LabelPlan, write_labels
from clusterlens.compute.scale.landmarks import (
    Landmarks,
    add_rare_landmarks,
    smallest_group_seen,
    uniform_landmarks,
)
from clusterlens.compute.scale.result import MANIFEST, ScaledRun
from clusterlens.compute.scale.source import ParquetSource
from clusterlens.compute.scale.whole import WholeTable, read_whole
from clusterlens.compute.table.projection import project
from clusterlens.compute.table.row_encoder import RowEncoder
from clusterlens.compute.table.streamed_preparation import StreamedPreparation

FEWEST_LANDMARKS = 100
MOST_DRAWN = 10_000_000
MODELS, REFIT = "models.parquet", "held-back-{:02}.parquet"
PROGRESS = 1000
# Shares of the time after which the table is read, models are fitted, fitted to
# held-back rows, assigners are learnt, and all rows are labelled.
_SHARES = (0.1, 0.2, 0.35, 0.4, 0.95)


def check_held_back(n_held_back: int | None, n_landmarks: int) -> int:
    """Check how many rows are held back; None is 19 samples of a quarter as many."""
    if n_held_back is None:
        return REFITS * max(2 * FEWEST_ROWS, n_landmarks // 4)
    found = check_range(n_held_back, 0, MOST_DRAWN, name="n_held_back", integer=True)
    return int(found)


@dataclass
class Sampled:
    """Preparation and landmarks of a table."""

    source: ParquetSource
    encoder: RowEncoder
    row_id: str | None
    landmarks: Landmarks
    held_back: FloatArray
    notes: list[Note]


class Stages:
    """A run: each stage reads its files from the folder, or makes them.

    Parameters
    ----------
    folder : RunFolder
        Folder of the run.
    source : ParquetSource
        The table.
    pool : str or sequence
        As in `run_pool`.
    asked : mapping
        Arguments of the run as plain values.
    run : RunOptions
        Progress in thousandths, cancel, threads, cluster.
    """

    def __init__(
        self,
        folder: RunFolder,
        source: ParquetSource,
        pool: Pool,
        asked: Mapping[str, Any],
        run: RunOptions,
    ) -> None:
        self.folder, self.source, self.pool = folder, source, pool
        self.workers: Workers | None = None
        self.asked, self.seed, self.run = asked, asked["random_state"], run

    def finish(self) -> ScaledRun:
        """Go through all stages, write the results last, and return them."""
        with self.folder.locked():
            made = self.result()
            self.folder.tidy()
            self.folder.write(MANIFEST, made.to_plain())
        self.run.report(PROGRESS, PROGRESS)
        return made

    def result(self) -> ScaledRun:
        """Go through all stages."""
        reading, fitting, again, learning, labelling, ending = self._steps()
        self._enter("Read the table", "rows")
        sampled = self._sampled(reading)
        self._enter("Fit the models")
        models = self._models(MODELS, sampled.landmarks.X, self.pool, fitting)
        labels = self._consensus(models, fitting.quiet)
        refits = self._refits(sampled, again)
        self._enter("Learn to assign rows", "models")
        plan = self._plan(sampled, models, labels, learning)
        errors = self._errors(plan, sampled.held_back, refits, again.quiet)
        self._enter("Label all rows", "rows")
        write_labels(plan, labelling)
        sampled.source.check_unchanged()
        self._enter("Read the labels", "rows")
        whole = read_whole(plan, self.seed, ending)
        return self._result(plan, sampled, models, refits, errors, whole)

    def _steps(self) -> list[RunOptions]:
        """Return the options of each stage, with progress of the whole."""
        return stretches(self.run, PROGRESS, _SHARES)

    def _enter(self, stage: str, unit: str = "") -> None:
        """Begin a stage, with progress in some unit."""

    def _consensus(self, models: Ensemble, run: RunOptions) -> IntArray:
        """Return the partition of the landmarks that all rows get, (n_landmarks,)."""
        return consensus_labels(models, self.seed, run)

    def _refit_consensus(self, refit: Ensemble, run: RunOptions) -> IntArray | None:
        """Return the same partition of a sample, None if there is none."""
        return consensus_labels(refit, self.seed, run)

    def _sampled(self, run: RunOptions) -> Sampled:
        """Read the table, learn the preparation, and draw landmarks."""
        plain, known = self.folder.read(PREPARED), self.folder.read_landmarks()
        if plain is not None and known is not None:
            source = self.source.without_paths(plain.texts("skipped"))
            encoder = RowEncoder.from_plain(plain.part("encoder"))
            notes = list(map(as_note, plain.texts("notes")))
            return Sampled(source, encoder, plain.get("row id"), *known, notes)
        made = self._read(run)
        self.folder.begin()
        self.folder.write_landmarks(made.landmarks, made.held_back)
        left = {file.path for file in made.source.files}
        self.folder.write(
            PREPARED,
            {
                "encoder": made.encoder.to_plain(),
                "row id": made.row_id,
                "notes": list(made.notes),
                "skipped": [f.path for f in self.source.files if f.path not in left],
            },
        )
        return made

    def _read(self, run: RunOptions) -> Sampled:
        asked, n_rows = self.asked, self.source.n_rows
        n_rare = round(asked["n_landmarks"] * asked["rare_share"])
        n_uniform = min(asked["n_landmarks"] - n_rare, n_rows)
        n_held = min(asked["n_held_back"], n_rows - n_uniform)
        drawn = draw_rows(n_rows, n_uniform + n_held, self.seed)
        found = first_pass(self.source, drawn, asked["unreadable"], run)
        rules = {key: asked[key] for key in ("missing", "scale", "categorical")}
        learnt = StreamedPreparation(
            found.stream, asked["roles"], asked["row_id"], **rules
        )
        n_empty = count_empty_rows(found.source, learnt, run.quiet)
        encoder = learnt.fit(n_empty)
        X, rows = sample_features(encoder, found)
        n_known = found.source.n_rows - n_empty
        of_landmarks = np.zeros(len(X), bool)
        n_own = min(len(X), max(round(len(X) * n_uniform / (n_uniform + n_held)), 3))
        rng = np.random.default_rng([self.seed, 3])
        of_landmarks[rng.choice(len(X), n_own, replace=False)] = True
        landmarks = uniform_landmarks(X[of_landmarks], rows[of_landmarks], n_known)
        notes = [*found.source.notes, *learnt.notes]
        if n_rare and n_own < n_known:
            landmarks = add_rare_landmarks(
                landmarks, n_rare, found.source, encoder, self.seed, run.quiet
            )
            notes.append(Note("weights not obeyed"))
        n_landmarks = len(landmarks.X)
        notes.append(Note("landmarks", landmarks=n_landmarks, rows=n_known))
        pool_specs(self.pool, landmarks.X)  # refuses a wrong one early
        held_back = X[~of_landmarks]
        notes += self._too_few(held_back)
        return Sampled(
            found.source, encoder, learnt.row_id, landmarks, held_back, notes
        )

    def _too_few(self, held_back: FloatArray) -> list[Note]:
        """Return a note if errors were requested and too few rows are held back."""
        n_asked, n = self.asked["n_held_back"], len(held_back)
        if not n_asked or held_back_samples(n, self.seed):
            return []
        return [Note("few held-back rows", rows=n, needed=REFITS * FEWEST_ROWS)]

    def _refits(self, sampled: Sampled, run: RunOptions) -> list[Ensemble]:
        """Fit the models of the landmarks to each sample of held-back rows."""
        X = sampled.held_back
        samples = held_back_samples(len(X), self.seed)
        if not samples:
            return []
        self._enter("Fit the models to held-back rows")
        specs = pool_specs(self.pool, sampled.landmarks.X)
        starts = [k / len(samples) for k in range(1, len(samples))]
        parts = stretches(run, PROGRESS, starts)
        own_workers = self.workers is None and run.client is None and run.n_jobs != 1
        if own_workers:
            self.workers = Workers(run.n_workers)
        try:
            return [
                self._models(REFIT.format(k), X[rows], specs, part)
                for k, (rows, part) in enumerate(zip(samples, parts, strict=True), 1)
            ]
        finally:
            if own_workers and self.workers is not None:
                self.workers.close()
                self.workers = None

    def _models(
        self, name: str, X: FloatArray, pool: Pool, run: RunOptions
    ) -> Ensemble:
        """Run a pool on rows (m, d), unless that is done."""
        known = self.folder.read_models(name)
        if known is None:
            known = run_pool(
                X,
                pool,
                self.seed,
                run.n_jobs,
                run.progress,
                run.cancel,
                client=run.client,
                workers=self.workers,
            )
            hard = with_typical_votes(_without_memberships(known), run)
            hard.save(self.folder.path / name)
            known = self.folder.read_models(name)
        if known is None:
            raise DataError(f"{name!r} is gone from {str(self.folder.path)!r}.")
        return known

    def _plan(
        self, sampled: Sampled, models: Ensemble, labels: IntArray, run: RunOptions
    ) -> LabelPlan:
        """Learn the assigners of all models and of the consensus."""
        X = sampled.landmarks.X
        counts = np.maximum(np.round(sampled.landmarks.weights), 1).astype(np.int64)
        search = own_search(X)
        fitted = []
        for done, each in enumerate([*models.labels, labels], 1):
            run.raise_if_cancelled()
            fitted.append(
                fit_assigner(
                    X,
                    np.asarray(each, np.int64),
                    counts=counts,
                    random_state=self.seed,
                    run=run.quiet,
                    search=search,
                )
            )
            run.report(done, models.n_partitions + 1)
        return LabelPlan(
            sampled.source,
            sampled.encoder,
            tuple(fitted[:-1]),
            fitted[-1],
            project(X),
            models.names,
            sampled.row_id,
            self.asked["alpha"],
            str(self.folder.path),
        )

    def _errors(
        self,
        plan: LabelPlan,
        X: FloatArray,
        refits: list[Ensemble],
        run: RunOptions,
    ) -> pd.DataFrame:
        """Compare the labels of held-back rows (m, d) with fits to samples of them."""
        if not refits:
            return pd.DataFrame(np.nan, [*plan.names, CONSENSUS], ERRORS)
        return compare_with_refits(
            plan.names,
            plan.label(X)[: len(plan.names) + 1],
            held_back_samples(len(X), self.seed),
            refits,
            [self._refit_consensus(refit, run) for refit in refits],
        )

    def _result(
        self,
        plan: LabelPlan,
        sampled: Sampled,
        models: Ensemble,
        refits: list[Ensemble],
        errors: pd.DataFrame,
        whole: WholeTable,
    ) -> ScaledRun:
        overlaps = whole.overlaps(models.noise)
        ranking = whole.rank(models, overlaps, self.seed, self.run.quiet)
        order = ranking.ranking.order
        ends = ranking.intervals
        table = pd.DataFrame(
            {
                "model": models.names,
                "family": models.families,
                "column": plan.label_columns,
                "clusters": models.n_clusters,
                "score": ranking.ranking.values,
                "score_low": ends[:, 0],
                "score_high": ends[:, 1],
                **{name: errors[name].to_numpy()[:-1] for name in errors},
            }
        )
        sizes = whole.consensus
        n_uniform = int(sampled.landmarks.uniform.sum())
        seen = [smallest_group_seen(whole.n_rows, n_uniform, k) for k in (1, 10)]
        distances = 1 - overlaps.adjusted_rand
        return ScaledRun(
            folder=str(self.folder.path),
            n_rows=sampled.source.n_rows,
            n_labelled=whole.n_rows,
            n_landmarks=len(sampled.landmarks.X),
            models=table.iloc[order].reset_index(drop=True),
            clusters=pd.DataFrame({"cluster": list(sizes), "rows": sizes.values()}),
            n_nowhere=whole.n_nowhere,
            consensus_error=tuple(errors.iloc[-1].tolist()),
            distances=distances[np.ix_(order, order)],
            smallest_seen=(seen[0], seen[1]),
            notes=(
                *sampled.notes,
                *models.notes,
                *_noise_notes(models),
                *_error_notes(models, refits),
            ),
            profiles=whole.profiles,
        )


def _noise_notes(models: Ensemble) -> list[Note]:
    """Say where the meaning of noise is not obeyed."""
    if models.noise == "silent" and models.n_noise.any():
        return [Note("noise is a cluster on all rows")]
    return []


def _error_notes(models: Ensemble, refits: list[Ensemble]) -> list[Note]:
    """Say which models have no error, because some fits to samples lack them."""
    lacking = {
        name: sum(name not in refit.names for refit in refits) for name in models.names
    }
    return [
        Note("no error", name, samples=n, of=len(refits))
        for name, n in lacking.items()
        if n
    ]


def _without_memberships(ensemble: Ensemble) -> Ensemble:
    """Return an ensemble without memberships and times, so that files are equal."""
    kept = {
        name: getattr(ensemble, name)
        for name in ("names", "families", "specs", "notes")
    }
    return Ensemble(ensemble.labels, **kept)
