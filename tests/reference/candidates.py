"""Slow twins of the kernels in `xmach._kernels.decode.candidates`: the same results from plain NumPy and Python."""

from __future__ import annotations

import numpy as np
from tests.reference.index import signature_slow
from tests.reference.scan import score_labels_slow

from xmach._kernels.decode.index import Index
from xmach.types import FloatArray, IntArray


def gather_signatures_slow(index: Index, ids: IntArray) -> IntArray:
    """The twin of `gather_signatures`, label by label."""
    rows = [signature_slow(index, x) if index.prime else index.signatures[x] for x in ids.tolist()]
    return np.array(rows, np.int64).reshape(-1, len(index.a))


def score_pairs_slow(cells: FloatArray, index: Index, indptr: IntArray, ids: IntArray, rule: int) -> FloatArray:
    """The twin of `score_pairs`, pair by pair."""
    out = np.empty(len(ids), np.float32)
    for i in range(len(cells)):
        for j in range(indptr[i], indptr[i + 1]):
            signatures = gather_signatures_slow(index, ids[j : j + 1])
            out[j] = score_labels_slow(cells[i : i + 1], signatures, rule)[0, 0]
    return out
