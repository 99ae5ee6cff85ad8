"""Makes the parts of the second stage: label profiles, texts, shortlists of training rows, classifiers of labels.

Each part is made in shards, which an executor runs. With a store, a finished shard is kept until the model is finished,
so a run that is killed resumes after it. Bytes do not depend on how the work was divided.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

import numpy as np

from xmach.block_sizes import (
    LABEL_SHARDS,
    LEAST_SHARD_LABELS,
    NEGATIVES_BY_PROFILE,
    NEGATIVES_BY_SKETCH,
    POOLED_OCCURRENCES,
)
from xmach.data import Dataset
from xmach.errors import Interrupted
from xmach.executors import Board, Executor, LocalExecutor
from xmach.files import scratch_folder
from xmach.learners import prepare_rows
from xmach.models.bucket_weights import BucketWeights
from xmach.planning import negative_step
from xmach.predictor import Predictor
from xmach.ranking import LabelWeights, Profiles, ShortlistSizes
from xmach.ranking.label_rows import LabelRows, rows_of_labels, rows_of_parts
from xmach.ranking.label_training import RankerSettings
from xmach.training.bucketing import mean_one
from xmach.training.job import Job
from xmach.training.label_text_profiles import trained_texts
from xmach.training.ranker_budget import RankerBudget, explained_budget
from xmach.training.run import Resources, StageProgress, stopping_on_signals
from xmach.training.shards import (
    Material,
    ProfileShard,
    RankerShard,
    Shard,
    SharedArrays,
    ShortlistShard,
    rows_to_arrays,
    run_shard,
)
from xmach.types import AnyArray, FloatArray, SparseRows

Selection: TypeAlias = Callable[[Sequence[Shard]], Sequence[Shard]]
SHORTLISTS, CLASSIFIERS = "shortlists", "classifiers of labels"  # stages of progress
NEGATIVE_SIZES = ShortlistSizes(mach=NEGATIVES_BY_SKETCH, profile=NEGATIVES_BY_PROFILE)
_LEAST_ROWS, _ROW_SHARDS = 8192, 256  # rows of a shard, at least; shards, at most: each is an open file in the end


@dataclass(frozen=True)
class RankerParts:
    """Makes the parts of a model's second stage. `predictor` knows the sketch."""

    job: Job
    predictor: Predictor
    resources: Resources
    material: Material
    budget: RankerBudget
    scratch: Path | None  # for arrays that worker processes share; None if there are no such processes

    def profiles(self, most_bytes: int | None) -> Profiles:
        """The profiles of all labels."""
        material, data = self.material, self.job.data
        shards = [ProfileShard(_named("profiles", labels), material, labels) for labels in _label_ranges(data.n_labels)]
        arrays = self._run("label profiles", shards, "labels")
        parts = [BucketWeights.from_arrays(s.labels.start, a) for s, a in zip(shards, arrays, strict=True)]
        with explained_budget(self.job.plan):
            return Profiles.join(parts, self.job.plan.n_features, data.n_labels, most_bytes=most_bytes)

    def texts(self) -> Profiles | None:
        """The texts of labels as profiles."""
        if self.job.label_text is None:
            return None
        return trained_texts(self.job, self.material)

    def shortlist_shards(self, profiles: Profiles) -> list[ShortlistShard]:
        """What makes the shortlists of training rows."""
        store, step, n_rows = self.resources.store, self._step, self.job.data.n_rows
        size = step * max(_LEAST_ROWS, -(-n_rows // (_ROW_SHARDS * step)))  # of a shard, the rows between included
        local = self._searcher.workers == 1
        shared = _shared(profiles.arrays(), None if local else self.scratch, "profiles")
        return [
            ShortlistShard(
                _named("shortlists", rows),
                self.material,
                rows,
                self.predictor if local or store is None else store.folder,
                shared,
                NEGATIVE_SIZES,
                self.resources.executor.workers if local else 1,
            )
            for start in range(0, n_rows, size)
            for rows in (range(start, min(start + size, n_rows), step),)
        ]

    def negatives(self, shards: Sequence[ShortlistShard]) -> SharedArrays:
        """The rows that wrongly have each label on their shortlist."""
        step, weights = self._step, _weights(self.job.data)
        arrays = self._run(SHORTLISTS, shards, "rows", self._searcher)
        nothing, n_labels = np.zeros(0, np.float32), self.job.data.n_labels
        wrong = [SparseRows(each["indptr"], each["ids"], nothing, n_labels) for each in arrays]
        lists = rows_of_parts(wrong, step, None if weights is None else weights[::step])
        return _shared(_lists(lists), self.scratch, "negatives")

    def classifiers(self, negatives: SharedArrays, cost: float, most_bytes: int | None) -> LabelWeights:
        """The classifiers of all labels."""
        shards = self._classifier_shards(negatives, cost)
        arrays = self._run(CLASSIFIERS, shards, "labels")
        parts = [BucketWeights.from_arrays(s.labels.start, a) for s, a in zip(shards, arrays, strict=True)]
        with explained_budget(self.job.plan):
            return LabelWeights.join(parts, self.job.plan.n_features, self.job.data.n_labels, most_bytes=most_bytes)

    def make_shortlists(self, shards: Sequence[ShortlistShard], chosen: Selection) -> int:
        """Make the chosen shards of the shortlists and leave them in the store; return how many others it lacks."""
        self._finished(SHORTLISTS, chosen(shards), "rows", self._searcher)
        return self._absent(shards)

    def make_classifiers(self, negatives: SharedArrays, cost: float, chosen: Selection) -> int:
        """Make the chosen shards of the classifiers and leave them in the store; return how many others it lacks."""
        shards = self._classifier_shards(negatives, cost)
        self._finished(CLASSIFIERS, chosen(shards), "labels")
        return self._absent(shards)

    # --- shards

    def _absent(self, shards: Sequence[Shard]) -> int:
        store = self.resources.store
        return 0 if store is None else sum(not store.has_piece(shard.name) for shard in shards)

    @property
    def _step(self) -> int:
        """Every how many rows one gives negatives."""
        return negative_step(self.job.data.n_rows, self.job.data.n_labels)

    @property
    def _searcher(self) -> Executor:
        """Runs the shards of shortlists. A model in memory is not sent to worker processes."""
        executor = self.resources.executor
        return LocalExecutor() if executor.workers == 1 or self.resources.store is None else executor

    def _classifier_shards(self, negatives: SharedArrays, cost: float) -> list[RankerShard]:
        settings = RankerSettings(cost=cost)
        return [
            RankerShard(_named(f"classifiers-{cost:g}", labels), self.material, labels, negatives, settings)
            for labels in _label_ranges(self.job.data.n_labels)
        ]

    def _run(
        self, stage: str, shards: Sequence[Shard], unit: str, executor: Executor | None = None
    ) -> list[Mapping[str, AnyArray]]:
        """The arrays of all shards, in order."""
        found = self._finished(stage, shards, unit, executor)
        arrays = []
        for shard in shards:
            kept = found[shard.name]
            if kept is None:
                assert self.resources.store is not None
                kept = self.resources.store.piece(shard.name)
            arrays.append(kept)
        return arrays

    def _finished(
        self, stage: str, shards: Sequence[Shard], unit: str, executor: Executor | None = None
    ) -> dict[str, Mapping[str, AnyArray] | None]:
        """Run shards; return the arrays of each by name, None for those that the store keeps."""
        total, done = sum(shard.size for shard in shards), 0
        found: dict[str, Mapping[str, AnyArray] | None] = {}
        for result in (executor or self.resources.executor).run(run_shard, shards):
            if not result.finished:
                continue
            found[result.name], done = result.arrays, done + result.size
            if self.resources.on_progress is not None:
                self.resources.on_progress(StageProgress(stage, done, total, unit))
        if len(found) < len(shards):
            raise Interrupted("stopped while the ranker was trained")
        return found


@contextmanager
def ranker_parts(job: Job, predictor: Predictor, resources: Resources) -> Iterator[RankerParts]:
    """Yield what makes the parts. With a store, SIGINT and SIGTERM stop it after the shards in work."""
    if job.data.labels.nnz <= POOLED_OCCURRENCES:
        resources = replace(resources, executor=LocalExecutor())
    board = Board.for_repetitions([0])
    told = board if resources.store is not None else None
    stopping = stopping_on_signals(told, "finished shards of the ranker are kept")
    with _scratch(resources.executor) as scratch, stopping:
        try:
            material = _material(job, predictor, resources, board, scratch)
            yield RankerParts(job, predictor, resources, material, RankerBudget.of(job), scratch)
        finally:
            board.close()


@contextmanager
def _scratch(executor: Executor) -> Iterator[Path | None]:
    """A folder for arrays that worker processes share; None if there are no such processes."""
    if executor.workers == 1:
        yield None
        return
    with scratch_folder() as folder:
        yield folder


def _material(job: Job, predictor: Predictor, resources: Resources, board: Board, scratch: Path | None) -> Material:
    """The scaled rows, and which of them belong to each label."""
    data = job.data
    rows, features, scale = prepare_rows(data.features, predictor.scaler)
    rows = replace(rows, indices=features[rows.indices])
    data.let_go()
    positives = rows_of_labels(data.labels, 0, data.n_labels, _weights(data))
    return Material(
        rows=_shared(rows_to_arrays(rows), scratch, "rows"),
        n_features=job.plan.n_features,
        scale=scale,
        labels=_shared(rows_to_arrays(data.labels), scratch, "labels"),
        n_labels=data.n_labels,
        positives=_shared(_lists(positives), scratch, "positives"),
        seed=job.plan.seed,
        monitor=board,
        store=resources.store,
    )


def _label_ranges(n_labels: int) -> list[range]:
    size = max(LEAST_SHARD_LABELS, -(-n_labels // LABEL_SHARDS))
    return [range(start, min(start + size, n_labels)) for start in range(0, n_labels, size)]


def _named(what: str, numbers: range) -> str:
    """The name of a shard: one that another version of xmach made of other labels or rows is not taken for it."""
    return f"{what}-{numbers.start:09d}-{numbers.stop:09d}"


def _weights(data: Dataset) -> FloatArray | None:
    return None if data.weights is None else mean_one(data.weights, data.n_rows)


def _lists(rows: LabelRows) -> dict[str, AnyArray]:
    return {"starts": rows.starts, "rows": rows.rows, "weights": rows.weights}


def _shared(arrays: Mapping[str, AnyArray], scratch: Path | None, name: str) -> SharedArrays:
    return SharedArrays.of(arrays, None if scratch is None else scratch / name)
