"""A sparse layer: forward, and backward fused with its optimizer.

It serves the first layer, whose rows are sparse, and the output layer if small gradients are skipped.
"""

from __future__ import annotations

import numpy as np

from xmach._kernels._compile import kernel
from xmach._kernels.llvm import add_four_lines, add_lines
from xmach._kernels.train.dense import AdamRates, adam_ahead
from xmach.types import BoolArray, FloatArray, Int32Array, IntArray

_AHEAD = 3  # rows of weights and moments are prefetched this many features ahead
_LATER = 2048  # numbers by which rows that are added are asked for in advance, at least four rows: more than 8 KB push
# out of a first-level cache of 32 KB what is about to be read (rows of 500: 13.3 ms at 16 rows, 11.2 at 4), and rows of
# 32 come late at 4 (0.5 ms; 0.24 at 64)
BLOCK = 64  # features that share a mark


@kernel
def add_scaled(out: FloatArray, value: np.float32, source: FloatArray, soon: FloatArray) -> None:
    """Compute out += value * source, and prefetch a row that is needed soon."""
    for h in range(add_lines(out, value, source, soon), len(out)):
        out[h] += value * source[h]


@kernel
def add_rows(
    out: FloatArray, start: int, stop: int, indices: Int32Array, values: FloatArray, source: FloatArray
) -> None:
    """out += the sum of values[j] * source[indices[j]] for start <= j < stop, added in that order.

    Four at a time: `out` is loaded and stored once for four rows (12.6 ms instead of 16.8 for 85,000 rows of 500).
    """
    j, last, ahead = start, len(indices) - 1, max(4, _LATER // len(out))
    while j + 4 <= stop:
        w, x, y, z = values[j], values[j + 1], values[j + 2], values[j + 3]
        a, b = source[indices[j]], source[indices[j + 1]]
        c, d = source[indices[j + 2]], source[indices[j + 3]]
        later = min(j + ahead, last - 3)
        soon = (
            source[indices[later]], source[indices[later + 1]], source[indices[later + 2]], source[indices[later + 3]],
        )  # fmt: skip
        for h in range(add_four_lines(out, (w, x, y, z), (a, b, c, d), soon), len(out)):
            out[h] = out[h] + w * a[h] + x * b[h] + y * c[h] + z * d[h]
        j += 4
    while j < stop:
        add_scaled(out, values[j], source[indices[j]], source[indices[min(j + ahead, last)]])
        j += 1


@kernel
def sparse_forward(
    indptr: IntArray, indices: Int32Array, values: FloatArray, weights: FloatArray, bias: FloatArray, out: FloatArray
) -> None:
    """out = X @ weights + bias for CSR rows X (n, d), weights (d, H), out (n, H).

    Rows of weights are read again whenever the caches have lost them. Iterating by feature, which reads each row once,
    was not faster with 85,000 entries of 30,700 rows of 500, and slower in all other cases.
    """
    for i in range(len(indptr) - 1):
        out[i] = bias
        add_rows(out[i], indptr[i], indptr[i + 1], indices, values, weights)


@kernel
def count_features(indptr: IntArray, indices: Int32Array, counts: Int32Array, blocks: BoolArray) -> None:
    """Count each feature's entries into `counts` (d,) and mark the `blocks` that have any; all zero before."""
    for j in range(indptr[len(indptr) - 1]):
        feature = indices[j]
        counts[feature] += 1
        blocks[feature // BLOCK] = True


@kernel
def list_features(counts: Int32Array, blocks: BoolArray, features: Int32Array) -> int:
    """Write the features that were counted, ascending, and clear the marks; returns their number.

    `features` has room for one more than that. A sort of those that occur took 0.7 ms for 30,000, this 0.1.
    """
    n_features = 0
    for block in range(len(blocks)):
        if blocks[block]:
            blocks[block] = False
            for feature in range(block * BLOCK, min(len(counts), (block + 1) * BLOCK)):
                features[n_features] = feature  # overwritten by the next unless it occurs: no branch to guess wrong
                n_features += counts[feature] != 0
    return n_features


@kernel
def transpose_batch(
    indptr: IntArray,
    indices: Int32Array,
    values: FloatArray,
    counts: Int32Array,
    features: Int32Array,
    starts: Int32Array,
    rows: Int32Array,
    row_values: FloatArray,
) -> None:
    """Turn a batch's CSR rows into lists by feature, in the order of `features`, by counting.

    Feature `features[t]` has entries `starts[t]..starts[t+1]` of `rows` and `row_values`. `counts` (d,) is as
    `count_features` left it, and all zero afterwards: only what the batch touches is visited, so the cost is O(nnz)
    however large d is.
    """
    starts[0] = 0
    for t in range(len(features)):
        feature = features[t]
        starts[t + 1] = starts[t] + counts[feature]
        counts[feature] = starts[t]  # from here on: where the feature's next entry goes
    for i in range(len(indptr) - 1):
        for j in range(indptr[i], indptr[i + 1]):
            feature = indices[j]
            place = counts[feature]
            rows[place] = i
            row_values[place] = values[j]
            counts[feature] = place + 1
    for t in range(len(features)):
        counts[features[t]] = 0


@kernel
def sparse_adam(
    features: Int32Array,
    starts: Int32Array,
    rows: Int32Array,
    row_values: FloatArray,
    delta: FloatArray,
    weights: FloatArray,
    first: FloatArray,
    second: FloatArray,
    rates: AdamRates,
) -> None:
    """Gradient of the touched weight rows, X^T @ delta, fused with their Adam step; delta is (n, H).

    Lazy: features that are not in the batch keep their weights and moments unchanged. Weight decay is decoupled.
    Wide rows are bound by memory: a step on 30,700 rows of 500 takes 19 ms, and reading and writing their weights and
    moments alone takes 15 to 17 ms.
    """
    total = np.empty(weights.shape[1], np.float32)
    one = np.float32(1.0)
    for t in range(len(features)):
        f, soon, j = features[t], features[min(t + _AHEAD, len(features) - 1)], starts[t]
        scale, gradient = row_values[j], delta[rows[j]]  # of most features all: it need not be stored on the way
        if starts[t + 1] != j + 1:
            total[:] = 0.0
            add_rows(total, j, starts[t + 1], rows, row_values, delta)
            scale, gradient = one, total
        adam_ahead(
            weights[f], scale, gradient, first[f], second[f], rates, (weights[soon], first[soon], second[soon])
        )  # fmt: skip
