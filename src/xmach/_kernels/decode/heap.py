"""The k best so far: a heap whose root is the worst of them, that is the lowest score, ties by largest id."""

from __future__ import annotations

import numpy as np

from xmach._kernels._compile import kernel
from xmach.types import FloatArray, IntArray


@kernel
def sift_down(scores: FloatArray, ids: IntArray, size: int, score: np.float32, label: int) -> None:
    """Replace the root by (score, label)."""
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
def offer(scores: FloatArray, ids: IntArray, score: np.float32, label: int) -> None:
    """Keep a label if it is one of the k best so far and not there already; empty places have an id above all."""
    if score < scores[0] or (score == scores[0] and label >= ids[0]):
        return
    again = 0
    for j in range(len(ids)):  # to the end: so it is compiled to compare four at a time
        again += ids[j] == label
    if again > 0:
        return
    sift_down(scores, ids, len(ids), score, label)


@kernel
def sort_heap(scores: FloatArray, ids: IntArray) -> None:
    """Turn the heap into a list, best first."""
    for end in range(len(ids) - 1, 0, -1):
        worst_score, worst_id = scores[0], ids[0]
        sift_down(scores, ids, end, scores[end], ids[end])
        scores[end], ids[end] = worst_score, worst_id
