"""Slow twins of the kernels in `xmach._kernels.train.sparse`: the same results from plain NumPy and Python."""

from __future__ import annotations

import numpy as np

from xmach.types import FloatArray, Int32Array, IntArray


def sparse_forward_slow(
    indptr: IntArray, indices: Int32Array, values: FloatArray, weights: FloatArray, bias: FloatArray, out: FloatArray
) -> None:
    """The twin of `sparse_forward`."""
    for i in range(len(indptr) - 1):
        part = slice(indptr[i], indptr[i + 1])
        out[i] = bias + values[part] @ weights[indices[part]]


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
    """The twin of `count_features`, `transpose_batch` and `sparse_adam`: the dense gradient, then Adam."""
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
