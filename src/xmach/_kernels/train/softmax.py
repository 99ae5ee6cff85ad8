"""Softmax over rows, with loss and gradient: three passes over a row that stays in cache.

NumPy needs five passes over the whole (n, B) matrix, and two more for bias and gradient: 10 ms for 256 x 10,000.
"""

from __future__ import annotations

import numpy as np

from xmach._kernels._compile import kernel
from xmach._kernels.llvm import LINE, power_lines, top_lines
from xmach._kernels.train.dense import TargetBatch
from xmach.types import FloatArray, Int32Array, IntArray

LANES = 64  # in which sampling runs: without fastmath LLVM may not reorder one sum into a vector
_TINY = np.float32(1e-30)
_ONE = np.float32(1.0)


@kernel
def exponentials(row: FloatArray, bias: FloatArray) -> np.float32:
    """row = exp(row + bias - its largest); returns the sum."""
    rest = len(row) - len(row) % LINE
    top = top_lines(row, bias)
    for j in range(rest, len(row)):
        row[j] += bias[j]
        top = max(top, row[j])
    total = power_lines(row, top)
    for j in range(rest, len(row)):
        row[j] = np.exp(row[j] - top)
        total += row[j]
    return total


@kernel
def softmax(logits: FloatArray) -> None:
    """Softmax over the last axis of (n, B), in place."""
    none = np.zeros(logits.shape[1], np.float32)
    for i in range(len(logits)):
        row = logits[i]
        inverse = _ONE / exponentials(row, none)
        for j in range(len(row)):
            row[j] *= inverse


@kernel
def softmax_loss(
    logits: FloatArray, bias: FloatArray, targets: TargetBatch, weights: FloatArray, bias_gradient: FloatArray
) -> float:
    """Turn logits (n, B), still without their bias, into the gradient of the mean loss in place; returns the sum.

    The loss is the weighted cross-entropy with the targets' masses. A row without labels has no target: its gradient
    is zero. `bias_gradient` (B,) becomes the sum of the rows.
    """
    offsets, buckets, masses = targets
    n, loss = len(weights), 0.0
    bias_gradient[:] = 0.0
    for i in range(n):
        row = logits[i]
        if offsets[i] == offsets[i + 1]:
            row[:] = 0.0
            continue
        total = exponentials(row, bias)
        share = weights[i] / np.float32(n)
        scale = share / total
        for t in range(offsets[i], offsets[i + 1]):
            loss -= weights[i] * masses[t] * np.log(max(row[buckets[t]] / total, _TINY))
        for j in range(len(row)):
            row[j] *= scale
            bias_gradient[j] += row[j]
        for t in range(offsets[i], offsets[i + 1]):
            row[buckets[t]] -= share * masses[t]
            bias_gradient[buckets[t]] -= share * masses[t]
    return loss


@kernel
def softmax_sampled(
    logits: FloatArray,
    bias: FloatArray,
    targets: TargetBatch,
    weights: FloatArray,
    below: np.float32,
    draws: FloatArray,
    indptr: IntArray,
    columns: Int32Array,
    values: FloatArray,
) -> float:
    """As `softmax_loss`, but the gradient comes as CSR rows: probabilities under `below` become 0 or `below`.

    Which, is decided by systematic sampling: each lane of the row adds up its small probabilities from a start that
    was drawn (`draws`, (n, LANES), in [0, 1) times `below`), and an entry that lifts the sum over the next multiple
    of `below` is kept. So an entry p is kept with the probability p / below, and its expectation is p. Targets and
    probabilities from `below` up are kept as they are. A row has at most 1 / below + LANES entries beside its targets.
    `logits` are overwritten.
    """
    offsets, buckets, masses = targets
    n, loss, place = len(weights), 0.0, 0
    lanes = np.empty(LANES, np.float32)
    indptr[0] = 0
    for i in range(n):
        row = logits[i]
        if offsets[i] < offsets[i + 1] and weights[i] > 0.0:
            total = exponentials(row, bias)
            share = weights[i] / np.float32(n)
            for t in range(offsets[i], offsets[i + 1]):
                p = row[buckets[t]] / total
                loss -= weights[i] * masses[t] * np.log(max(p, _TINY))
                columns[place] = buckets[t]
                values[place] = share * (p - masses[t])
                row[buckets[t]] = 0.0
                place += 1
            for k in range(LANES):
                lanes[k] = draws[i, k] * below * total
            place = _sample(row, below * total, share / total, lanes, columns, values, place)
        indptr[i + 1] = place
    return loss


@kernel
def _sample(
    row: FloatArray,
    level: np.float32,
    scale: np.float32,
    lanes: FloatArray,
    columns: Int32Array,
    values: FloatArray,
    place: int,
) -> int:
    """Write the entries that are kept from `place` on; returns where they end. `level` and `row` have one scale."""
    n, width = len(row), len(lanes)
    for start in range(0, n, width):
        part = row[start : start + width]
        kept = 0
        for k in range(len(part)):
            lanes[k] += part[k]
        for k in range(len(part)):
            kept += lanes[k] >= level
        if kept > 0:
            for k in range(len(part)):
                if lanes[k] >= level:
                    value = max(part[k], level)
                    lanes[k] -= value
                    columns[place] = start + k
                    values[place] = scale * value
                    place += 1
    return place
