"""The cost and the passes of linear buckets, chosen on rows that are not trained on.

A small part of the work decides: some buckets of the first repetition, on a sample of the rows. What is compared is the
average precision over all pairs of a held-out row and a bucket. It chose the cost with the best P@1 on citeulike_t,
tate and bibtex; the bucket's own loss would choose larger ones.
"""

from __future__ import annotations

from dataclasses import replace
from math import log

import numpy as np

from xmach._kernels.train.descent import positive_masks
from xmach._kernels.train.sparse import sparse_forward
from xmach.block_sizes import LANES
from xmach.config import AUTO, LinearSettings
from xmach.data.arrays import as_sparse_rows
from xmach.learners.linear import Descent, prepare_rows
from xmach.learners.network import stream
from xmach.learners.task import LabelledRows
from xmach.types import BoolArray, DoubleArray, FloatArray, IntArray, Rows, SparseRows, take_rows

COSTS = (0.1, 0.3, 1.0, 3.0)
PASSES = (3, 5, 8)
FALLBACK = 1.0, PASSES[-1]  # if nothing can be compared
PROBED_BUCKETS = 2 * LANES
MOST_ROWS, MOST_HELD_OUT = 50_000, 5_000  # of the sample
_HELD_OUT_SHARE = 5  # one row in five, if no validation rows are given
_ENOUGH = 0.995  # of the best average precision: fewer passes that reach it are taken


def choose_settings(
    settings: LinearSettings, rows: LabelledRows, validation: LabelledRows | None, seed: int
) -> LinearSettings:
    """The settings with `auto` replaced by what did best on held-out rows."""
    if AUTO not in (settings.cost, settings.passes):
        return settings
    costs = COSTS if settings.cost == AUTO else (settings.cost,)
    passes = PASSES if settings.passes == AUTO else (settings.passes,)
    probe = _Probe.draw(rows, validation, seed)
    scores = None if probe is None else np.array([probe.scores(settings, cost, passes) for cost in costs])
    if probe is None or scores is None or not scores.any():
        cost, number = FALLBACK
        return replace(
            settings,
            cost=cost if settings.cost == AUTO else settings.cost,
            passes=number if settings.passes == AUTO else settings.passes,
        )
    # of costs that do equally well the most usual one: a small one would leave weights that are pruned
    best = max(range(len(costs)), key=lambda i: (scores[i, -1], -abs(log(costs[i]))))
    enough = int(np.argmax(scores[best] >= _ENOUGH * scores[best].max()))
    return replace(settings, cost=costs[best], passes=passes[enough])


class _Probe:
    """Sampled rows to train on, and held-out rows with the buckets that are theirs."""

    def __init__(
        self, trained: LabelledRows, rows: SparseRows, held_out: SparseRows, truth: list[BoolArray], seed: int
    ) -> None:
        self._trained, self._rows, self._held_out, self._truth, self._seed = trained, rows, held_out, truth, seed

    @classmethod
    def draw(cls, rows: LabelledRows, validation: LabelledRows | None, seed: int) -> _Probe | None:
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
        trained = _taken(rows, np.sort(order[:MOST_ROWS]))
        held_out = _taken(asked, np.sort(which))
        prepared = prepare_rows(_stacked(trained.features, held_out.features), rows.scaler).rows
        n_rows = trained.n_rows
        truth = [_buckets_of(held_out, first) for first in range(0, min(PROBED_BUCKETS, rows.hashes.n_buckets), LANES)]
        return cls(trained, prepared.slice(0, n_rows), prepared.slice(n_rows, prepared.n_rows), truth, seed)

    def scores(self, settings: LinearSettings, cost: float, passes: tuple[int, ...]) -> list[float]:
        """The average precision after each of the given numbers of passes."""
        descent = Descent(self._rows, self._trained, replace(settings, cost=cost, passes=passes[-1]), self._seed)
        margins: list[list[FloatArray]] = [[] for _ in passes]
        for group in range(len(self._truth)):
            for number, lanes in enumerate(descent.run(group * LANES), 1):
                if number in passes:
                    kept = np.where(np.abs(lanes.weights) < settings.prune_below, np.float32(0.0), lanes.weights)
                    out = np.empty((self._held_out.n_rows, LANES), np.float32)
                    held_out = self._held_out
                    sparse_forward(held_out.indptr, held_out.indices, held_out.values, kept, lanes.bias, out)
                    margins[passes.index(number)].append(out)
        truth = np.hstack(self._truth).ravel()
        return [average_precision(np.hstack(each).ravel(), truth) for each in margins]


def average_precision(scores: FloatArray, truth: BoolArray) -> float:
    """The mean, over the true ones, of the precision at their rank; 0 if nothing is true. Ties rank as they come."""
    ranked = truth[np.argsort(-scores, kind="stable")]
    places = np.flatnonzero(ranked) + 1
    precisions: DoubleArray = np.arange(1, len(places) + 1) / places
    return float(precisions.mean()) if len(places) else 0.0


def _taken(rows: LabelledRows, which: IntArray) -> LabelledRows:
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
