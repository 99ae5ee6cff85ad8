"""Slow twins of the kernels in `xmach._kernels.decode.beam` and `beam_lists`, from plain NumPy and Python."""

from __future__ import annotations

import numpy as np
from tests.reference.scan import score_labels_slow

from xmach._kernels.decode.beam_lists import MOST_READ
from xmach.types import AnyArray, BoolArray, FloatArray, IntArray


def best_buckets_slow(cells: FloatArray, m: int) -> IntArray:
    """The twin of `best_buckets`: (R, m), by falling cell, then by rising bucket."""
    return np.argsort(-cells.astype(np.float64), axis=1, kind="stable")[:, :m]


def ordinary_slow(row: FloatArray) -> float:
    """The twin of `_median`, of at least 127 cells if there are that many."""
    some = row[:: max(1, len(row) // 127)][: len(row) // max(1, len(row) // 127)]
    return float(np.sort(some)[::-1][(len(some) + 1) // 2 - 1])


def partial_sums_slow(cells: FloatArray, signatures: AnyArray, m: int) -> tuple[dict[int, int], int]:
    """The sum of every label in a kept list, and how many labels were read."""
    buckets = best_buckets_slow(cells, m)
    values = np.take_along_axis(cells, buckets, axis=1).astype(np.float64)
    ordinary = [min(ordinary_slow(row), kept[-1]) for row, kept in zip(cells, values, strict=True)]
    total = 0.0
    for kept, base in zip(values, ordinary, strict=True):
        total += kept[0] - base
    scale = 60_000.0 / total if total > 0 else 0.0
    sums: dict[int, int] = {}
    read = 0
    for r, row in enumerate(buckets):
        left = MOST_READ // len(cells)
        for bucket, value in zip(row, values[r], strict=True):
            members = np.flatnonzero(signatures[:, r] == bucket)[:left]
            for label in members.tolist():
                sums[label] = sums.get(label, 0) + 1 + int((value - ordinary[r]) * scale)
            left -= len(members)
            read += len(members)
    return sums, read


def beam_top_k_slow(
    cells: FloatArray, signatures: AnyArray, mask: BoolArray, rule: int, m: int, c: int, k: int
) -> tuple[FloatArray, IntArray, IntArray]:
    """The twin of `beam_top_k`: scores and ids (n, k), and how many labels were scored (n,)."""
    scores, ids = np.full((len(cells), k), -np.inf, np.float32), np.full((len(cells), k), 2**31 - 1)
    n_scored = np.zeros(len(cells), np.int64)
    for i, row in enumerate(cells):
        sums = partial_sums_slow(row, signatures, m)[0]
        met = [label for label in sums if not len(mask) or mask[label]]
        chosen = np.array(sorted(met, key=lambda label: (-sums[label], label))[:c], np.int64)
        n_scored[i] = len(chosen)
        if len(chosen):
            every = score_labels_slow(row[None], signatures[chosen], rule)[0]
            order = np.lexsort((chosen, -every))[:k]
            scores[i, : len(order)], ids[i, : len(order)] = every[order], chosen[order]
    return scores, ids, n_scored
