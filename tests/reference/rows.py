"""Slow twins of the kernels in `xmach._kernels.train.rows`: the same results from plain NumPy and Python."""

from __future__ import annotations

import numpy as np

from xmach.types import DoubleArray, FloatArray, Int32Array, IntArray


def tfidf_rows_slow(indices: Int32Array, values: FloatArray, idf: FloatArray) -> DoubleArray:
    """The twin of `tfidf_rows`."""
    wide = values.astype(np.float64)
    return (np.minimum(wide, 1) + np.log(np.maximum(wide, 1))) * idf[indices]


def unit_rows_slow(indptr: IntArray, values: FloatArray) -> DoubleArray:
    """The twin of `unit_rows`."""
    out = values.astype(np.float64)
    for i in range(len(indptr) - 1):
        row = out[indptr[i] : indptr[i + 1]]
        row /= np.linalg.norm(row) or 1.0
    return out
