"""The cost and the passes of linear buckets, chosen on rows that are not trained on.

A small part of the work decides: some buckets of the first repetition, on a sample of the rows. What is compared is the
average precision over all pairs of a held-out row and a bucket. It chose the cost with the best P@1 on citeulike_t,
tate and bibtex; the bucket's own loss would choose larger ones.

The weights that these buckets kept tell how many a whole repetition will keep.
"""

from __future__ import annotations

from dataclasses import replace
from math import log, log2
from typing import NamedTuple

import numpy as np

from xmach._kernels.train.descent import positive_masks
from xmach._kernels.train.sparse import sparse_forward
from xmach.block_sizes import HASHED_LABELS, LANES, MOST_HELD_OUT, MOST_PROBED_ROWS, PROBED_BUCKETS
from xmach.config import AUTO, BOTH, LOGISTIC, SQUARED_HINGE, LinearSettings
from xmach.data.arrays import as_sparse_rows
from xmach.learners.linear import MANY_ROWS, Descent, Lanes, prepare_rows
from xmach.learners.network import stream
from xmach.learners.task import LabelledRows
from xmach.planning import LOSS_SHARES
from xmach.types import BoolArray, DoubleArray, FloatArray, IntArray, Rows, SparseRows, row_batches, take_rows

COSTS = {SQUARED_HINGE: (0.1, 0.3, 1.0, 3.0), LOGISTIC: (0.5, 1.5, 5.0, 15.0)}
USUAL_COST = {SQUARED_HINGE: 1.0, LOGISTIC: 5.0}  # if costs do equally well, or cannot be compared
PASSES = (3, 5, 8)
_HELD_OUT_SHARE = 5  # one row in five, if no validation rows are given
_MANY_MORE_ROWS = 1.5  # times the sampled rows; from here on a second sample tells how weights grow with the rows
_ENOUGH = 0.995  # of the best average precision: fewer passes that reach it are taken


class Choice(NamedTuple):
    """What was chosen, and what it will make."""

    settings: LinearSettings  # without `auto`
    expected_weights: int | None = None  # of a repetition; None: no bucket was trained to tell


def choose_settings(settings: LinearSettings, rows: LabelledRows, validation: LabelledRows | None, seed: int) -> Choice:
    """The settings with `auto` replaced by what did best on held-out rows."""
    if AUTO not in (settings.cost, settings.passes):
        return Choice(settings)
    if settings.linear_loss == BOTH:  # the squared hinge decides: it is faster, and the other cost follows from its
        chosen, weights = choose_settings(replace(settings, linear_loss=SQUARED_HINGE), rows, validation, seed)
        weights = None if weights is None else round(LOSS_SHARES[BOTH] * weights)
        return Choice(replace(chosen, linear_loss=BOTH), weights)
    usual = USUAL_COST[settings.linear_loss]
    costs = COSTS[settings.linear_loss] if settings.cost == AUTO else (settings.cost,)
    usual_passes = PASSES if rows.n_rows < MANY_ROWS else PASSES[-1:]  # later passes of many rows take little time
    passes = usual_passes if settings.passes == AUTO else (settings.passes,)
    # a pass takes the logistic loss six times as long
    probe = _Probe.draw(rows, validation, seed, LANES if settings.linear_loss == LOGISTIC else PROBED_BUCKETS)
    trials = [] if probe is None else [probe.trials(settings, cost, passes) for cost in costs]
    scores = np.array([[trial.score for trial in of_cost] for of_cost in trials])
    if probe is None or not scores.any():
        return Choice(
            replace(
                settings,
                cost=usual if settings.cost == AUTO else settings.cost,
                passes=passes[-1],
            )
        )
    # of costs that do equally well the most usual one: a small one would leave weights that are pruned
    best = max(range(len(costs)), key=lambda i: (scores[i, -1], -abs(log(costs[i] / usual))))
    enough = int(np.argmax(scores[best] >= _ENOUGH * scores[best].max()))
    chosen = replace(settings, cost=costs[best], passes=passes[enough])
    return Choice(chosen, probe.expected_weights(trials[best][enough].weights, rows, chosen))


class Trial(NamedTuple):
    """What the probed buckets were like after a number of passes."""

    score: float  # the average precision on held-out rows
    weights: IntArray  # (b,) the weights that each bucket kept


class _Probe:
    """Sampled rows to train on, and held-out rows with the buckets that are theirs."""

    def __init__(
        self, trained: LabelledRows, rows: SparseRows, held_out: SparseRows, truth: list[BoolArray], seed: int
    ) -> None:
        self._trained, self._rows, self._held_out, self._truth, self._seed = trained, rows, held_out, truth, seed

    @classmethod
    def draw(
        cls, rows: LabelledRows, validation: LabelledRows | None, seed: int, n_probed: int = PROBED_BUCKETS
    ) -> _Probe | None:
        """Sample the rows; None if there are too few to hold some out."""
        draw = stream(seed, 0, "probe")
        order = draw.permutation(rows.n_rows)
        if validation is None:
            n_held_out = min(MOST_HELD_OUT, rows.n_rows // _HELD_OUT_SHARE)
            asked, which, order = rows, order[:n_held_out], order[n_held_out:]
        else:
            asked, which = validation, draw.permutation(validation.n_rows)[:MOST_HELD_OUT]
        if len(which) == 0:
            return None
        trained = taken(rows, np.sort(order[:MOST_PROBED_ROWS]))
        held_out = taken(asked, np.sort(which))
        prepared = prepare_rows(_stacked(trained.features, held_out.features), rows.scaler).rows
        n_rows = trained.n_rows
        n_probed = min(n_probed, rows.hashes.n_buckets)
        truth = [_buckets_of(held_out, first) for first in range(0, n_probed, LANES)]
        return cls(trained, prepared.slice(0, n_rows), prepared.slice(n_rows, prepared.n_rows), truth, seed)

    def trials(self, settings: LinearSettings, cost: float, passes: tuple[int, ...]) -> list[Trial]:
        """What came of a cost after each of the given numbers of passes."""
        descent = Descent(self._rows, self._trained, replace(settings, cost=cost, passes=passes[-1]), self._seed)
        margins: list[list[FloatArray]] = [[] for _ in passes]
        weights: list[list[IntArray]] = [[] for _ in passes]
        for group in range(len(self._truth)):
            for number, lanes in enumerate(descent.run(group * LANES), 1):
                if number in passes:
                    out, kept = self._pruned(lanes, settings.prune_below)
                    margins[passes.index(number)].append(out)
                    weights[passes.index(number)].append(kept)
        truth = np.hstack(self._truth).ravel()
        return [
            Trial(average_precision(np.hstack(each).ravel(), truth), np.concatenate(counts))
            for each, counts in zip(margins, weights, strict=True)
        ]

    def _pruned(self, lanes: Lanes, threshold: float) -> tuple[FloatArray, IntArray]:
        """The margins of held-out rows (n, 64) by the weights that pruning keeps, and how many those are (64,)."""
        rows, out = self._held_out, np.empty((self._held_out.n_rows, LANES), np.float32)
        kept = np.where(np.abs(lanes.weights) < threshold, np.float32(0.0), lanes.weights)
        sparse_forward(rows.indptr, rows.indices, rows.values, kept, lanes.bias, out)
        return out, np.count_nonzero(kept, axis=0)

    def expected_weights(self, kept: IntArray, rows: LabelledRows, settings: LinearSettings) -> int:
        """The weights of a repetition trained on all `rows`, by those that the probed buckets kept."""
        n_probed = min(len(kept), rows.hashes.n_buckets)  # lanes beyond the last bucket have no labels
        sampled, every = _labels_of_buckets(self._trained), _labels_of_buckets(rows)
        n_features, some = rows.features.shape[1], (kept[:n_probed], sampled[:n_probed])
        by_labels = scaled_weights(*some, every, n_features)
        if rows.n_rows < _MANY_MORE_ROWS * self._trained.n_rows:
            return by_labels
        half = int(self._kept_by(settings, 2).sum())
        times = float(every.sum()) / max(1.0, float(sampled.sum()))
        by_rows = grown(scaled_weights(*some, sampled, n_features), half, int(kept.sum()), times)
        return min(by_labels, by_rows)  # weights grow ever more slowly with the rows, so both tend to be too high

    def _kept_by(self, settings: LinearSettings, step: int) -> IntArray:
        """The weights that the probed buckets keep if only every `step`-th sampled row is trained on."""
        some = np.arange(0, self._trained.n_rows, step)
        descent = Descent(self._rows.take(some), taken(self._trained, some), settings, self._seed)
        counts = []
        for group in range(len(self._truth)):
            *_, lanes = descent.run(group * LANES)
            counts.append(np.count_nonzero(np.abs(lanes.weights) >= settings.prune_below, axis=0))
        kept: IntArray = np.concatenate(counts)
        return kept


def grown(weights: int, half: int, kept: int, times: float) -> int:
    """Estimate the weights kept by `times` as many rows as the sample has; the sample keeps `weights`.

    `half`, `kept`: what half of the sample and all of it kept in some buckets.
    """
    if not half or not kept:
        return round(weights * times)
    power: float = min(1.0, max(0.0, log2(kept / half)))
    return round(float(weights * times**power))


def scaled_weights(kept: IntArray, probed: IntArray, every: IntArray, n_features: int) -> int:
    """The weights of all buckets, by those that some buckets kept; `probed` and `every` are their label occurrences.

    A few buckets have most of the labels, so buckets are not simply counted. A bucket of m label occurrences is taken
    to keep a m^g weights, with the a and g that fit the probed buckets, and at most one for each feature.
    """
    some = (kept > 0) & (probed > 0)
    if not some.any():
        return 0
    x, y = np.log(probed[some]), np.log(kept[some])
    spread = float(((x - x.mean()) ** 2).sum())
    power = float(((x - x.mean()) * (y - y.mean())).sum()) / spread if spread > 0 else 1.0
    power = min(1.0, max(0.0, power))
    share = kept.sum() / (probed[some].astype(np.float64) ** power).sum()
    return round(float(np.minimum(share * every[every > 0].astype(np.float64) ** power, n_features).sum()))


def average_precision(scores: FloatArray, truth: BoolArray) -> float:
    """The mean, over the true ones, of the precision at their rank; 0 if nothing is true. Ties rank as they come."""
    ranked = truth[np.argsort(-scores, kind="stable")]
    places = np.flatnonzero(ranked) + 1
    precisions: DoubleArray = np.arange(1, len(places) + 1) / places
    return float(precisions.mean()) if len(places) else 0.0


def taken(rows: LabelledRows, which: IntArray) -> LabelledRows:
    """The given rows, copied."""
    weights = None if rows.weights is None else rows.weights[which]
    return replace(rows, features=take_rows(rows.features, which), labels=rows.labels.take(which), weights=weights)


def _stacked(first: Rows, second: Rows) -> Rows:
    """The rows of both: dense if both are."""
    if isinstance(first, np.ndarray) and isinstance(second, np.ndarray):
        return np.concatenate([first, second])
    first, second = as_sparse_rows(first), as_sparse_rows(second)
    indptr = np.concatenate([first.indptr, first.indptr[-1] + second.indptr[1:]])
    indices, values = (np.concatenate([getattr(first, name), getattr(second, name)]) for name in ("indices", "values"))
    return SparseRows(indptr, indices, values, first.n_columns)


def _buckets_of(rows: LabelledRows, first: int) -> BoolArray:
    """(n, 64): whether a row has a label of each of the 64 buckets from `first` on."""
    masks = np.empty(rows.n_rows, np.uint64)
    rule = rows.hashes.rule(rows.repetition)
    positive_masks(rows.labels.indptr, rows.labels.indices, *rule, first, masks)
    bits: BoolArray = (masks[:, None] >> np.arange(LANES, dtype=np.uint64)) & np.uint64(1) != 0
    return bits


def _labels_of_buckets(rows: LabelledRows) -> IntArray:
    """(B,): how often the labels of each bucket occur."""
    labels, n_buckets = rows.labels.indices, rows.hashes.n_buckets
    counts = np.zeros(n_buckets, np.int64)
    for start, stop in row_batches(len(labels), HASHED_LABELS):
        counts += np.bincount(rows.hashes.buckets(labels[start:stop], rows.repetition), minlength=n_buckets)
    return counts
