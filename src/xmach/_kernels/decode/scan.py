"""The full scan: computes every label's score from its R bucket scores, and keeps the k best in a heap.

Between `start_top_k` and `finish_top_k` the labels may come in any number of pieces.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from xmach._kernels._compile import kernel
from xmach._kernels.decode.heap import sift_down, sort_heap
from xmach.types import AnyArray, BoolArray, FloatArray, IntArray

MEAN, MIN, MEDIAN = 0, 1, 2
_NOBODY = 2**31  # above every id
_BLOCK = 4096  # labels whose sums are made together


@kernel
def _label_score(cells: FloatArray, signature: AnyArray, rule: int, buffer: FloatArray) -> Any:
    """One label's score: the mean, minimum or median of its R cells; cells is (R, B), signature (R,)."""
    n_repetitions = len(signature)
    if rule == MEAN:
        total = np.float32(0.0)
        for r in range(n_repetitions):  # in this order: float32 sums depend on it
            total += cells[r, signature[r]]
        return total / np.float32(n_repetitions)
    if rule == MIN:
        least = cells[0, signature[0]]
        for r in range(1, n_repetitions):
            least = min(least, cells[r, signature[r]])
        return least
    for r in range(n_repetitions):  # insertion sort: R is small
        value = cells[r, signature[r]]
        place = r
        while place > 0 and buffer[place - 1] > value:
            buffer[place] = buffer[place - 1]
            place -= 1
        buffer[place] = value
    middle = n_repetitions // 2
    if n_repetitions % 2 == 1:
        return buffer[middle]
    return (buffer[middle - 1] + buffer[middle]) * np.float32(0.5)


@kernel
def start_top_k(scores: FloatArray, ids: IntArray) -> None:
    """Empty heaps (n, k): an empty place is worse than any label, -inf scores included."""
    scores[:] = -np.inf
    ids[:] = _NOBODY


@kernel
def scan_top_k(
    cells: FloatArray,
    signatures: AnyArray,
    first: int,
    mask: BoolArray,
    wanted: bool,
    rule: int,
    scores: FloatArray,
    ids: IntArray,
) -> None:
    """Offer labels first, first + 1, ... to the heaps (n, k) of each row, those with `mask[label] == wanted` or all.

    cells (n, R, B), signatures (m, R) of m labels. Ties go to the smaller id, for labels come by rising id. Memory
    beyond the arguments: R floats.
    """
    k = scores.shape[1]
    buffer = np.empty(signatures.shape[1], np.float32)
    for i in range(len(cells)):
        row_scores, row_ids, row_cells = scores[i], ids[i], cells[i]
        for place in range(len(signatures)):
            label = first + place
            if len(mask) > 0 and mask[label] != wanted:
                continue
            score = _label_score(row_cells, signatures[place], rule, buffer)
            # on a tie the one already in the heap stays
            if score > row_scores[0] or (row_ids[0] == _NOBODY and score == row_scores[0]):
                sift_down(row_scores, row_ids, k, score, label)


@kernel
def _add_up(cells: FloatArray, signatures: AnyArray, sums: FloatArray) -> None:
    """The sums of m labels' cells in the order of repetitions: cells (R, B), signatures (m, R), sums (m,).

    By repetition, four at a time, so that their rows of cells stay in the first caches: 2.5 times as fast as label by
    label at R = 32, B = 10,000, bit for bit the same.
    """
    sums[:] = 0.0
    n_repetitions = len(cells)
    for r in range(0, n_repetitions - 3, 4):
        a, b, c, d = cells[r], cells[r + 1], cells[r + 2], cells[r + 3]
        for i in range(len(sums)):
            total = sums[i] + a[signatures[i, r]]
            total += b[signatures[i, r + 1]]
            total += c[signatures[i, r + 2]]
            sums[i] = total + d[signatures[i, r + 3]]
    for r in range(n_repetitions - n_repetitions % 4, n_repetitions):
        row = cells[r]
        for i in range(len(sums)):
            sums[i] += row[signatures[i, r]]


@kernel
def scan_means(
    cells: FloatArray,
    signatures: AnyArray,
    first: int,
    mask: BoolArray,
    wanted: bool,
    scores: FloatArray,
    ids: IntArray,
) -> None:
    """Do the same as `scan_top_k` with the mean, but faster."""
    k, n_repetitions = scores.shape[1], np.float32(cells.shape[1])
    sums = np.empty(min(_BLOCK, len(signatures)), np.float32)
    for i in range(len(cells)):
        row_scores, row_ids = scores[i], ids[i]
        for start in range(0, len(signatures), _BLOCK):
            block = signatures[start : start + _BLOCK]
            _add_up(cells[i], block, sums[: len(block)])
            for place in range(len(block)):
                score = sums[place] / n_repetitions
                if score > row_scores[0] or (row_ids[0] == _NOBODY and score == row_scores[0]):
                    label = first + start + place
                    if len(mask) == 0 or mask[label] == wanted:
                        sift_down(row_scores, row_ids, k, score, label)


@kernel
def finish_top_k(scores: FloatArray, ids: IntArray) -> None:
    """Convert heaps to lists, best first; places without a label are -inf and -1."""
    for i in range(len(ids)):
        sort_heap(scores[i], ids[i])
        for j in range(ids.shape[1]):
            if ids[i, j] == _NOBODY:
                ids[i, j] = -1


@kernel
def score_labels(cells: FloatArray, signatures: AnyArray, rule: int, out: FloatArray) -> None:
    """The score of every given label: cells (n, R, B), signatures (m, R), out (n, m)."""
    buffer = np.empty(signatures.shape[1], np.float32)
    for i in range(len(cells)):
        if rule == MEAN:
            _add_up(cells[i], signatures, out[i])
            out[i] /= np.float32(cells.shape[1])
            continue
        for label in range(len(signatures)):
            out[i, label] = _label_score(cells[i], signatures[label], rule, buffer)
