"""The sparse first layer: forward, and backward fused with its optimizer."""

from __future__ import annotations

import numpy as np

from xmach._kernels._compile import kernel
from xmach.types import FloatArray, Int32Array, IntArray


@kernel
def sparse_forward(
    indptr: IntArray, indices: Int32Array, values: FloatArray, weights: FloatArray, bias: FloatArray, out: FloatArray
) -> None:
    """out = X @ weights + bias for CSR rows X (n, d), weights (d, H), out (n, H)."""
    width = weights.shape[1]
    for i in range(len(indptr) - 1):
        row = out[i]
        row[:] = bias
        for j in range(indptr[i], indptr[i + 1]):
            value = values[j]
            source = weights[indices[j]]
            for h in range(width):
                row[h] += value * source[h]


def sparse_forward_slow(
    indptr: IntArray, indices: Int32Array, values: FloatArray, weights: FloatArray, bias: FloatArray, out: FloatArray
) -> None:
    """The twin of `sparse_forward`."""
    for i in range(len(indptr) - 1):
        part = slice(indptr[i], indptr[i + 1])
        out[i] = bias + values[part] @ weights[indices[part]]


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
) -> int:
    """Turn a batch's CSR rows into lists by feature, by counting; returns how many features the batch has.

    Feature `features[t]` has entries `starts[t]..starts[t+1]` of `rows` and `row_values`. `counts` (d,) is all zero
    before and after: only what the batch touches is visited, so the cost is O(nnz) however large d is.
    """
    n_touched = 0
    n_rows = len(indptr) - 1
    for j in range(indptr[n_rows]):
        feature = indices[j]
        if counts[feature] == 0:
            features[n_touched] = feature
            n_touched += 1
        counts[feature] += 1
    starts[0] = 0
    for t in range(n_touched):
        feature = features[t]
        starts[t + 1] = starts[t] + counts[feature]
        counts[feature] = starts[t]  # from here on: where the feature's next entry goes
    for i in range(n_rows):
        for j in range(indptr[i], indptr[i + 1]):
            feature = indices[j]
            place = counts[feature]
            rows[place] = i
            row_values[place] = values[j]
            counts[feature] = place + 1
    for t in range(n_touched):
        counts[features[t]] = 0
    return n_touched


@kernel
def sparse_adam(
    n_touched: int,
    features: Int32Array,
    starts: Int32Array,
    rows: Int32Array,
    row_values: FloatArray,
    delta: FloatArray,
    weights: FloatArray,
    first: FloatArray,
    second: FloatArray,
    rate: np.float32,
    beta1: np.float32,
    beta2: np.float32,
    epsilon: np.float32,
    decay: np.float32,
) -> None:
    """Gradient of the touched weight rows, X^T @ delta, fused with their Adam step; delta is (n, H).

    Lazy: rows of features that the batch lacks keep weights and moments as they are. `rate` carries the bias
    correction of the step; `decay` multiplies the weights (decoupled weight decay).
    """
    width = weights.shape[1]
    gradient = np.empty(width, np.float32)
    one = np.float32(1.0)
    for t in range(n_touched):
        gradient[:] = 0.0
        for j in range(starts[t], starts[t + 1]):
            value = row_values[j]
            source = delta[rows[j]]
            for h in range(width):
                gradient[h] += value * source[h]
        w, m, v = weights[features[t]], first[features[t]], second[features[t]]
        for h in range(width):
            g = gradient[h]
            m[h] = beta1 * m[h] + (one - beta1) * g
            v[h] = beta2 * v[h] + (one - beta2) * g * g
            w[h] = decay * w[h] - rate * m[h] / (np.sqrt(v[h]) + epsilon)


def sparse_adam_slow(
    batch: tuple[IntArray, Int32Array, FloatArray],
    delta: FloatArray,
    weights: FloatArray,
    first: FloatArray,
    second: FloatArray,
    rate: float,
    beta1: float,
    beta2: float,
    epsilon: float,
    decay: float,
) -> None:
    """The twin of `transpose_batch` followed by `sparse_adam`: the dense gradient, then Adam on the touched rows."""
    indptr, indices, values = batch
    gradient = np.zeros_like(weights)
    for i in range(len(indptr) - 1):
        part = slice(indptr[i], indptr[i + 1])
        gradient[indices[part]] += values[part, None] * delta[i]
    touched = np.unique(indices)
    g = gradient[touched]
    first[touched] = beta1 * first[touched] + (1 - beta1) * g
    second[touched] = beta2 * second[touched] + (1 - beta2) * g * g
    weights[touched] = decay * weights[touched] - rate * first[touched] / (np.sqrt(second[touched]) + epsilon)
