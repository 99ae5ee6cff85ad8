"""Softmax over rows, and what training makes of it: loss and gradient in three passes over a row that stays in cache.

NumPy needs five passes over the whole (n, B) matrix and two more for bias and gradient: 10 ms for 256 x 10,000, here 2.
"""

from __future__ import annotations

from typing import cast

import numpy as np

from xmach._kernels._compile import kernel
from xmach.types import DoubleArray, FloatArray, Int32Array, IntArray

LANES = 64  # sums and maxima run in so many lanes: without fastmath LLVM may not reorder one sum into a vector
_BLOCK = 1024  # numbers whose powers of two are on hand at a time
_LOG2_E = np.float32(1.4426950408889634)
_LN2_HIGH, _LN2_LOW = (
    np.float32(0.693359375),
    np.float32(-2.12194440054690583e-4),
)  # the first has 9 bits: k * it is exact
_LOWEST = np.float32(-88.0)  # from here down exp is taken as 0: k is -127, whose bits are those of 0.0
_TINY = np.float32(1e-30)
_ONE, _HALF = np.float32(1.0), np.float32(0.5)
_C3, _C4, _C5 = np.float32(1 / 6), np.float32(1 / 24), np.float32(1 / 120)
_C6, _C7 = np.float32(1 / 720), np.float32(1 / 5040)


@kernel
def exponentials(row: FloatArray, lanes: FloatArray, bits: Int32Array) -> np.float32:
    """row = exp(row - its largest); returns the sum. `lanes` (LANES,) and `bits` (a block) are room to work in.

    exp(x) = 2^k * exp(r) with |r| <= ln 2 / 2, by Taylor to r^7: a relative error of 1e-7. Numba's own exp is scalar.
    """
    n, width = len(row), len(lanes)
    lanes[:] = row[0]
    for start in range(0, n, width):
        part = row[start : start + width]
        for k in range(len(part)):
            lanes[k] += max(part[k] - lanes[k], np.float32(0.0))  # a plain maximum would not become vectors
    top = lanes[0]
    for k in range(width):
        top = max(top, lanes[k])
    powers = bits.view(np.float32)
    for start in range(0, n, len(bits)):
        block = row[start : start + len(bits)]
        for j in range(len(block)):
            x = max(block[j] - top, _LOWEST)
            power = np.floor(x * _LOG2_E + _HALF)
            r = x - power * _LN2_HIGH - power * _LN2_LOW
            bits[j] = (np.int32(power) + 127) << 23
            tail = _C3 + r * (_C4 + r * (_C5 + r * (_C6 + r * _C7)))
            block[j] = _ONE + r * (_ONE + r * (_HALF + r * tail))
        for j in range(len(block)):
            block[j] *= powers[j]
    lanes[:] = 0.0
    for start in range(0, n, width):
        part = row[start : start + width]
        for k in range(len(part)):
            lanes[k] += part[k]
    total = np.float32(0.0)
    for k in range(width):
        total += lanes[k]
    return total


@kernel
def softmax(logits: FloatArray) -> None:
    """Softmax over the last axis of (n, B), in place."""
    lanes, bits = np.empty(LANES, np.float32), np.empty(_BLOCK, np.int32)
    for i in range(len(logits)):
        row = logits[i]
        inverse = _ONE / exponentials(row, lanes, bits)
        for j in range(len(row)):
            row[j] *= inverse


@kernel
def softmax_loss(
    logits: FloatArray,
    bias: FloatArray,
    offsets: IntArray,
    buckets: Int32Array,
    masses: FloatArray,
    weights: FloatArray,
    bias_gradient: FloatArray,
) -> float:
    """Turn logits (n, B), still without their bias, into the gradient of the mean loss in place; returns the sum.

    The loss is the weighted cross-entropy with the targets' masses. A row without labels has no target: its gradient
    is zero. `bias_gradient` (B,) becomes the sum of the rows.
    """
    n, loss = len(weights), 0.0
    lanes, bits = np.empty(LANES, np.float32), np.empty(_BLOCK, np.int32)
    bias_gradient[:] = 0.0
    for i in range(n):
        row = logits[i]
        if offsets[i] == offsets[i + 1]:
            row[:] = 0.0
            continue
        for j in range(len(row)):
            row[j] += bias[j]
        total = exponentials(row, lanes, bits)
        share = weights[i] / np.float32(n)
        scale = share / total
        for t in range(offsets[i], offsets[i + 1]):
            loss -= weights[i] * masses[t] * np.log(max(row[buckets[t]] / total, _TINY))
        for j in range(len(row)):
            row[j] *= scale
        for t in range(offsets[i], offsets[i + 1]):
            row[buckets[t]] -= share * masses[t]
        for j in range(len(row)):
            bias_gradient[j] += row[j]
    return loss


@kernel
def softmax_sampled(
    logits: FloatArray,
    bias: FloatArray,
    offsets: IntArray,
    buckets: Int32Array,
    masses: FloatArray,
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
    n, loss, place = len(weights), 0.0, 0
    lanes, bits = np.empty(LANES, np.float32), np.empty(_BLOCK, np.int32)
    indptr[0] = 0
    for i in range(n):
        row = logits[i]
        if offsets[i] < offsets[i + 1] and weights[i] > 0.0:
            for j in range(len(row)):
                row[j] += bias[j]
            total = exponentials(row, lanes, bits)
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


def softmax_slow(logits: FloatArray) -> DoubleArray:
    """The twin of `softmax`, in float64."""
    wide = logits.astype(np.float64)
    powers = np.exp(wide - wide.max(axis=1, keepdims=True))
    return cast(DoubleArray, powers / powers.sum(axis=1, keepdims=True))


def sample_slow(probabilities: DoubleArray, below: float, starts: DoubleArray) -> DoubleArray:
    """The twin of the sampling in `softmax_sampled`: one row, of which lane k has every LANES-th entry from k on."""
    out = np.where(probabilities >= below, probabilities, 0.0)
    for k in range(min(LANES, len(probabilities))):
        small = np.where(probabilities < below, probabilities, 0.0)[k::LANES]
        crossed = np.diff(np.floor((starts[k] + np.cumsum(small)) / below), prepend=0.0)
        out[k::LANES] += below * crossed
    return out
