"""The full scan: every label's score from its R bucket scores, the k best kept in a heap."""

from __future__ import annotations

from typing import Any

import numpy as np

from xmach._kernels._compile import kernel
from xmach.types import AnyArray, BoolArray, FloatArray, IntArray

MEAN, MIN, MEDIAN = 0, 1, 2


@kernel
def _sift_down(scores: FloatArray, ids: IntArray, size: int, score: np.float32, label: int) -> None:
    """Put (score, label) at the root of a heap whose root is the worst: lowest score, at equality the largest id."""
    place = 0
    while True:
        child = 2 * place + 1
        if child >= size:
            break
        right = child + 1
        if right < size and (
            scores[right] < scores[child] or (scores[right] == scores[child] and ids[right] > ids[child])
        ):
            child = right
        if scores[child] < score or (scores[child] == score and ids[child] > label):
            scores[place], ids[place] = scores[child], ids[child]
            place = child
        else:
            break
    scores[place], ids[place] = score, label


@kernel
def _sort_heap(scores: FloatArray, ids: IntArray, size: int) -> None:
    """Turn the heap into a list, best first."""
    for end in range(size - 1, 0, -1):
        worst_score, worst_id = scores[0], ids[0]
        _sift_down(scores, ids, end, scores[end], ids[end])
        scores[end], ids[end] = worst_score, worst_id


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
def scan_top_k(
    cells: FloatArray,
    signatures: AnyArray,
    mask: BoolArray,
    wanted: bool,
    rule: int,
    scores: FloatArray,
    ids: IntArray,
) -> None:
    """The k best labels of each row among those with `mask[label] == wanted` (an empty mask: all), best first.

    cells (n, R, B), signatures (K, R); scores and ids (n, k) are filled with the answer, places without one are
    -inf and -1. Ties go to the smaller id. Memory beyond the arguments: R floats.
    """
    n, k = scores.shape
    n_labels, n_repetitions = signatures.shape
    buffer = np.empty(n_repetitions, np.float32)
    for i in range(n):
        row_scores, row_ids, row_cells = scores[i], ids[i], cells[i]
        row_scores[:] = -np.inf
        row_ids[:] = n_labels  # an empty place is worse than any label, -inf scores included
        for label in range(n_labels):
            if len(mask) > 0 and mask[label] != wanted:
                continue
            score = _label_score(row_cells, signatures[label], rule, buffer)
            # labels come by rising id, so at equality the one already in the heap stays
            if score > row_scores[0] or (row_ids[0] == n_labels and score == row_scores[0]):
                _sift_down(row_scores, row_ids, k, score, label)
        _sort_heap(row_scores, row_ids, k)
        for j in range(k):
            if row_ids[j] == n_labels:
                row_ids[j] = -1


@kernel
def score_labels(cells: FloatArray, signatures: AnyArray, rule: int, out: FloatArray) -> None:
    """The score of every given label: cells (n, R, B), signatures (m, R), out (n, m)."""
    buffer = np.empty(signatures.shape[1], np.float32)
    for i in range(len(cells)):
        for label in range(len(signatures)):
            out[i, label] = _label_score(cells[i], signatures[label], rule, buffer)


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
    """The twin of `scan_top_k`: score all, sort by falling score and rising id."""
    every = score_labels_slow(cells, signatures, rule)
    candidates = np.flatnonzero(mask == wanted) if len(mask) else np.arange(len(signatures))
    scores = np.full((len(cells), k), -np.inf, np.float32)
    ids = np.full((len(cells), k), -1, np.int64)
    for i, row in enumerate(every[:, candidates]):
        order = np.lexsort((candidates, -row))[:k]
        scores[i, : len(order)], ids[i, : len(order)] = row[order], candidates[order]
    return scores, ids
