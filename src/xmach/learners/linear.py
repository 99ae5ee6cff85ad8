"""Sparse linear classifiers, one per bucket, trained one against the rest by dual coordinate descent.

Buckets do not depend on each other, so a part of a repetition is a range of them: it can be trained anywhere, and its
weights have the same bits however the buckets were divided.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from typing import NamedTuple

import numpy as np

from xmach._kernels.train.descent import logistic_pass, positive_masks, squared_hinge_pass, squared_norms
from xmach.block_sizes import LANES, PART_GROUPS, SCALING_ROWS
from xmach.config import AUTO, LINEAR, LOGISTIC, SQUARED_HINGE, LinearSettings
from xmach.data.arrays import as_sparse_rows
from xmach.data.npy import map_array
from xmach.errors import Diverged
from xmach.features import Scaler
from xmach.learners.network import stream
from xmach.learners.task import LabelledRows, Outcome, Task
from xmach.models.linear import BucketWeights, LinearModel, weights_of_lanes
from xmach.types import (
    AnyArray,
    BoolArray,
    DoubleArray,
    FloatArray,
    Int32Array,
    IntArray,
    Progress,
    Rows,
    SparseRows,
    row_batches,
    slice_rows,
)

PART = PART_GROUPS * LANES  # buckets that are trained together and lost together if the process is killed
SMALLEST_MOVE = np.float32(1e-3)  # of a dual variable; smaller ones change no ranking and cost as much as large ones

# With many rows, most visits find nothing to do. GeoNames (a million names), 320 buckets, C = 1, average precision of
# held-out names: 8 whole passes 0.323 in 11.7 s per 64 buckets, 3 whole passes 0.297 in 4.0 s, the passes below 0.321
# in 3.6 s. A sample of the negative rows alone, corrected for its size: 0.24 with a tenth of them, 0.20 with 3 %.
MANY_ROWS = 200_000
EARLY_PASSES = 3  # visit the rows with a label of the group and a sample of the others
EARLY_SHARE = 0.1  # of the others
COARSE_MOVE = np.float32(1e-2)  # `SMALLEST_MOVE` of many rows: a quarter less time


@dataclass(frozen=True, eq=False)
class LinearLearner:
    """Trains the linear classifiers of a repetition's buckets."""

    settings: LinearSettings  # with cost and passes decided
    normalised: bool = False  # multiclass logistic: bucket probabilities that sum to 1
    features: Int32Array | Path | None = None  # the feature of each column, if rows were prepared; a path: in a file
    scale: float = 1.0  # what prepared rows were divided by

    @property
    def kind(self) -> str:
        """Its name in plan.json."""
        return LINEAR

    def parts(self, n_buckets: int) -> list[range]:
        """The ranges of buckets that are trained apart."""
        return [range(start, min(start + PART, n_buckets)) for start in range(0, n_buckets, PART)]

    def rows_to_visit(self, buckets: range, n_rows: int) -> int:
        """The rows that the training of a range of buckets visits, each as often as it does."""
        return int(self.settings.passes) * ceil(len(buckets) / LANES) * n_rows

    def train(self, task: Task) -> Outcome | None:
        """Train all buckets; None if the monitor asks to stop. Nothing is saved on the way."""
        parts = []
        for buckets in self.parts(task.n_buckets):
            part = self.train_part(task, buckets)
            if part is None:
                return None
            parts.append(part)
        return self.join(parts, task.n_features, task.n_buckets, task.repetition)

    def train_part(self, task: Task, buckets: range) -> BucketWeights | None:
        """Train a range of buckets, 64 at a time; None if the monitor asks to stop."""
        rows, features, scale = prepared_rows(task.rows, self.features, self.scale)
        settings = self.settings.of_repetition(task.repetition)
        descent = Descent(rows, task.rows, settings, task.seed)
        total = self.rows_to_visit(buckets, rows.n_rows)
        trained, done = [], 0
        for first in range(buckets.start, buckets.stop, LANES):
            for _ in descent.run(first):
                if task.monitor.should_stop():
                    return None
                done += rows.n_rows
                task.monitor.report(task.repetition, Progress(done, total, np.nan), buckets.start // PART)
            n_lanes, lanes = min(LANES, buckets.stop - first), descent.lanes
            if not (np.isfinite(lanes.weights).all() and np.isfinite(lanes.bias).all()):
                raise Diverged(
                    f"repetition {task.repetition}: the weights of buckets {first} to {first + n_lanes - 1} are not "
                    "finite; scale the features (scaling='l2')"
                )
            threshold = settings.prune_below
            weights = weights_of_lanes(first, lanes.weights, lanes.bias, n_lanes, features, threshold)
            trained.append(weights._replace(values=weights.values / np.float32(scale)))
        return _consecutive(trained)

    def join(self, parts: Sequence[BucketWeights], n_features: int, n_buckets: int, repetition: int) -> Outcome:
        """The model of all parts of a repetition."""
        loss = self.settings.of_repetition(repetition).linear_loss
        bits = 8 if self.settings.store_bits == AUTO else int(self.settings.store_bits)
        model = LinearModel.join(
            parts, n_features, n_buckets, loss, bits=bits, normalised=self.normalised and loss == LOGISTIC
        )
        return Outcome(model, [{"passes": float(self.settings.passes), "weights": float(model.n_weights)}])


def _consecutive(groups: Sequence[BucketWeights]) -> BucketWeights:
    """The weights of groups of buckets that follow each other."""
    counts = np.concatenate([np.diff(group.starts) for group in groups])
    starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
    arrays = {name: np.concatenate([getattr(group, name) for group in groups]) for name in ("features", "values")}
    return BucketWeights(groups[0].first, starts, **arrays, biases=np.concatenate([group.biases for group in groups]))


@dataclass(frozen=True)
class Lanes:
    """64 classifiers in training."""

    weights: FloatArray  # (d', 64)
    bias: FloatArray  # (64,)


class Descent:
    """Descends on one group of buckets after the other; arrays are reused.

    Of many rows, only the fourth pass visits all. The first three visit the rows with a label of the group and a tenth
    of the others, and those after the fourth the rows that moved when last visited. Few passes visit all rows.
    """

    def __init__(self, rows: SparseRows, labelled: LabelledRows, settings: LinearSettings, seed: int) -> None:
        self.passes = int(settings.passes)
        self._rows, self._labelled, self._seed = rows, labelled, seed
        self._pass = squared_hinge_pass if settings.linear_loss == SQUARED_HINGE else logistic_pass
        self._norms = np.empty(rows.n_rows, np.float32)
        squared_norms(rows.indptr, rows.values, self._norms)
        weights = labelled.weights
        self._costs = np.full(rows.n_rows, settings.cost, np.float32)
        self._used: BoolArray | None = None  # rows that have a weight
        if weights is not None:
            self._costs *= weights
            self._used = self._costs > 0
        self._early: BoolArray | None = None  # rows that early passes visit whatever their labels
        if rows.n_rows >= MANY_ROWS and self.passes > EARLY_PASSES:
            self._early = stream(seed, labelled.repetition, "early").random(rows.n_rows) < EARLY_SHARE
        self._smallest = SMALLEST_MOVE if self._early is None else COARSE_MOVE
        self._masks = np.empty(rows.n_rows, np.uint64)
        self._moved = np.zeros(rows.n_rows, np.bool_)
        self._duals = np.empty((rows.n_rows, LANES), np.float32)
        self.lanes = Lanes(np.empty((rows.n_columns, LANES), np.float32), np.empty(LANES, np.float32))

    def run(self, first: int) -> Iterator[Lanes]:
        """Train the 64 buckets from `first` on; yields them after each pass. The next group overwrites them."""
        rows, labels, lanes = self._rows, self._labelled.labels, self.lanes
        rule = self._labelled.hashes.rule(self._labelled.repetition)
        positive_masks(labels.indptr, labels.indices, *rule, first, self._masks)
        for array in (lanes.weights, lanes.bias, self._duals):
            array[...] = 0.0
        for number in range(self.passes):
            order = stream(self._seed, self._labelled.repetition, "descent", number).permutation(self._rows_of(number))
            self._pass(
                rows.indptr, rows.indices, rows.values, self._norms, self._costs, self._masks, order, self._smallest,
                lanes.weights, lanes.bias, self._duals, self._moved,
            )  # fmt: skip
            yield lanes

    def _rows_of(self, number: int) -> IntArray:
        """The rows that a pass visits."""
        if self._early is None or number == EARLY_PASSES:
            visited = np.ones(self._rows.n_rows, np.bool_)
        elif number < EARLY_PASSES:
            visited = self._early | (self._masks != 0)
        else:
            visited = self._moved
        rows: IntArray = np.flatnonzero(visited if self._used is None else visited & self._used)
        return rows


class PreparedRows(NamedTuple):
    """Rows as descent takes them."""

    rows: SparseRows  # scaled, then divided by `scale`; columns are the features that occur, the most frequent first
    features: Int32Array  # the feature of each column
    scale: float  # a power of two: dividing by it loses nothing


def prepare_rows(features: Rows, scaler: Scaler) -> PreparedRows:
    """Scale the rows, order their columns by frequency, and bring the median norm near 1.

    Weights of frequent features then lie together, which saves a quarter of a pass over 128,000 features (tate). Costs,
    `prune_below` and `SMALLEST_MOVE` are meant for rows whose norm is about 1: rows of pixels from 0 to 255 would not
    move any weight.
    """

    def scaled(start: int, stop: int) -> SparseRows:
        return as_sparse_rows(scaler.apply(slice_rows(features, start, stop)))

    n_rows, n_features = features.shape
    counts = np.zeros(n_features, np.int64)
    lengths = np.zeros(n_rows + 1, np.int64)
    norms = np.zeros(n_rows)
    for start, stop in row_batches(n_rows, SCALING_ROWS):
        part = scaled(start, stop)
        counts += np.bincount(part.indices, minlength=n_features)
        lengths[start + 1 : stop + 1] = np.diff(part.indptr)
        norms[start:stop] = _norms(part)
    scale = _power_of_two(norms)
    present = np.flatnonzero(counts)
    order: Int32Array = present[np.argsort(-counts[present], kind="stable")].astype(np.int32)
    columns: AnyArray = np.empty(n_features, np.int32)
    columns[order] = np.arange(len(order), dtype=np.int32)
    indptr = np.cumsum(lengths)
    indices, values = np.empty(indptr[-1], np.int32), np.empty(indptr[-1], np.float32)
    for start, stop in row_batches(n_rows, SCALING_ROWS):
        part = scaled(start, stop)
        place = slice(indptr[start], indptr[stop])
        indices[place], values[place] = columns[part.indices], part.values / np.float32(scale)
    return PreparedRows(SparseRows(indptr, indices, values, len(order)), order, scale)


def prepared_rows(rows: LabelledRows, features: Int32Array | Path | None, scale: float) -> PreparedRows:
    """The rows of a repetition as linear learners take them; prepared now, unless `features` says that they are."""
    if features is None:
        return prepare_rows(rows.features, rows.scaler)
    assert isinstance(rows.features, SparseRows)
    return PreparedRows(rows.features, map_array(features) if isinstance(features, Path) else features, scale)


def _norms(rows: SparseRows) -> DoubleArray:
    """(n,) the norms of rows, in float64: squares of large values overflow float32."""
    norms = np.zeros(rows.n_rows)
    filled = np.flatnonzero(np.diff(rows.indptr))
    if len(filled):
        norms[filled] = np.sqrt(np.add.reduceat(np.square(rows.values, dtype=np.float64), rows.indptr[filled]))
    return norms


def _power_of_two(norms: DoubleArray) -> float:
    """The power of two nearest to the median of the norms that are not 0, within what weights can be divided by."""
    norms = norms[norms > 0]
    if not len(norms):
        return 1.0
    return float(2.0 ** np.clip(np.round(np.log2(np.median(norms))), -64, 126))
