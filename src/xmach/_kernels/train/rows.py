"""Gathers and scales the sparse rows of a batch, one row at a time, so that its bits do not depend on the batch."""

from __future__ import annotations

import numpy as np

from xmach._kernels._compile import kernel
from xmach.types import FloatArray, Int32Array, IntArray

_ONE, _LAST = np.float32(1.0), np.float32(255.0)
_LOGS = (1.0 + np.log(np.maximum(np.arange(256), 1))).astype(np.float32)  # 1 + log of a count


@kernel
def gather_rows(
    indptr: IntArray,
    indices: Int32Array,
    values: FloatArray,
    which: IntArray,
    new_indptr: IntArray,
    new_indices: Int32Array,
    new_values: FloatArray,
) -> None:
    """Copy the rows `which`, in that order; `new_indptr` (len(which) + 1,) is given, the others are filled."""
    for i in range(len(which)):
        start, stop = indptr[which[i]], indptr[which[i] + 1]
        new_indices[new_indptr[i] : new_indptr[i + 1]] = indices[start:stop]
        new_values[new_indptr[i] : new_indptr[i + 1]] = values[start:stop]


@kernel
def tfidf_rows(indices: Int32Array, values: FloatArray, idf: FloatArray, out: FloatArray) -> None:
    """out = the sublinear term frequency of each value times its column's idf.

    The frequency is 1 + log v if v >= 1, otherwise v: continuous and monotone, so weights in (0, 1) do not become
    negative. Logarithms of small counts are in a table: computing them took half the time of assembling a batch.
    """
    for j in range(len(values)):
        v = values[j]
        if v > _ONE:
            count = int(min(v, _LAST))
            v = _LOGS[count] if v == count else _ONE + np.log(v)
        out[j] = v * idf[indices[j]]


@kernel
def unit_rows(indptr: IntArray, values: FloatArray, out: FloatArray) -> None:
    """out = values divided by the length of their row, summed in float64; rows of zeros stay zero."""
    for i in range(len(indptr) - 1):
        squares = 0.0
        for j in range(indptr[i], indptr[i + 1]):
            squares += np.float64(values[j]) * np.float64(values[j])
        scale = 1.0 / np.sqrt(squares) if squares > 0.0 else 0.0
        for j in range(indptr[i], indptr[i + 1]):
            out[j] = values[j] * scale
