"""Slow twins of the kernels in `xmach._kernels.decode.scan`: the same results from plain NumPy and Python."""

from __future__ import annotations

import numpy as np

from xmach._kernels.decode.scan import MEAN, MIN
from xmach.types import AnyArray, BoolArray, FloatArray, IntArray


def score_labels_slow(cells: FloatArray, signatures: AnyArray, rule: int) -> FloatArray:
    """The twin of `score_labels`: a dense NumPy gather, (n, m)."""
    n_repetitions = signatures.shape[1]
    gathered = cells[:, np.arange(n_repetitions), signatures.astype(np.int64)]  # (n, m, R)
    if rule == MEAN:
        total = np.zeros(gathered.shape[:2], np.float32)
        for r in range(n_repetitions):  # NumPy's own sum adds in another order
            total += gathered[:, :, r]
        return total / np.float32(n_repetitions)
    result = gathered.min(axis=2) if rule == MIN else np.median(gathered, axis=2)
    return result.astype(np.float32)


def scan_top_k_slow(
    cells: FloatArray, signatures: AnyArray, mask: BoolArray, wanted: bool, rule: int, k: int
) -> tuple[FloatArray, IntArray]:
    """The twin of `start_top_k`, `scan_top_k` and `finish_top_k`: score all, sort by falling score and rising id."""
    every = score_labels_slow(cells, signatures, rule)
    candidates = np.flatnonzero(mask == wanted) if len(mask) else np.arange(len(signatures))
    scores = np.full((len(cells), k), -np.inf, np.float32)
    ids = np.full((len(cells), k), -1, np.int64)
    for i, row in enumerate(every[:, candidates]):
        order = np.lexsort((candidates, -row))[:k]
        scores[i, : len(order)], ids[i, : len(order)] = row[order], candidates[order]
    return scores, ids
