"""Approximate top k in bounded work: look only at labels of each repetition's best buckets.

1. Keep the m best buckets of each repetition.
2. Read their posting lists, and add up for each label by how much its cells exceed an ordinary cell of their
   repetition: the median. A label that is not in a kept bucket counts as if its cell were ordinary. (As if it were the
   lowest kept one: then four times as many labels must be scored in full to miss as few.)
3. Score the c labels with the highest sums by their whole signature, as the scan does, and keep the k best.

A label that is found has the scan's score, bit for bit. A label is missed if c others have a higher sum. Sums are whole
numbers, so they do not depend on the order of lists, and ties go to the smaller id: answers do not depend on the index,
unless lists are too long to be read as a whole.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from xmach._kernels._compile import int64, kernel
from xmach._kernels.decode.beam_lists import ABOVE, read_kept_lists, take_sums
from xmach._kernels.decode.heap import sift_down, sort_heap
from xmach._kernels.decode.index import signature
from xmach._kernels.decode.lists import SCANNED, SCORED
from xmach._kernels.decode.peaks import key_of, value_of
from xmach._kernels.decode.scan import score_labels
from xmach._kernels.decode.selection import keep_best, median
from xmach._kernels.llvm import prefetch
from xmach.types import AnyArray, BoolArray, FloatArray, Int32Array, IntArray

_LINES = 16  # signatures are prefetched this many labels ahead
_SOME_CELLS = 127  # whose median is an ordinary cell


@kernel
def best_buckets(cells: FloatArray, scratch: Any, values: FloatArray, buckets: IntArray, ordinary: FloatArray) -> None:
    """The m best buckets of each repetition, ascending, and their cells: cells (R, B), values and buckets (R, m).

    `ordinary` (R,) gets the median of some cells, or the lowest kept cell if that is lower.
    """
    n_buckets, m = cells.shape[1], buckets.shape[1]
    places, keys, some = scratch.places, scratch.keys, scratch.some
    step = max(1, n_buckets // _SOME_CELLS)
    for r in range(len(cells)):
        bits = cells[r].view(np.int32)
        for i in range(n_buckets):
            places[i], keys[i] = i, key_of(bits[i])
        for i in range(n_buckets // step):
            some[i] = keys[i * step]
        lowest = median(some[: n_buckets // step])
        keep_best(n_buckets, m, places, keys, some)
        for i in range(m):
            buckets[r, i], values[r, i] = places[i], cells[r, places[i]]
            lowest = min(lowest, key_of(bits[places[i]]))
        ordinary[r] = value_of(int64(lowest))


@kernel
def _gather(index: Any, signatures: AnyArray, labels: Int32Array, count: int, row: IntArray, out: AnyArray) -> None:
    """The signatures of labels: stored ones from the table, which is read ahead, others by the hash."""
    n_repetitions = out.shape[1]
    if len(signatures) == 0:
        for i in range(count):
            signature(index, int64(labels[i]), row)
            for r in range(n_repetitions):
                out[i, r] = row[r]
        return
    for i in range(count):
        if i + _LINES < count:
            prefetch(signatures, int64(labels[i + _LINES]), int64(0))
        label = labels[i]
        for r in range(n_repetitions):
            out[i, r] = signatures[label, r]


@kernel
def beam_top_k(
    cells: FloatArray,
    index: Any,
    mask: BoolArray,
    scratch: Any,
    rule: int,
    m: int,
    c: int,
    scores: FloatArray,
    ids: IntArray,
    statistics: IntArray,
) -> None:
    """The k best labels of each row among those that the beam meets, of those in the mask (empty: all), best first.

    cells (n, R, B); scores and ids (n, k) are filled; statistics (n, 4) tell lists read, labels touched and scored, and
    1 if fewer than k labels were met: then the last ids are 2^31 - 1.
    """
    n_repetitions = cells.shape[1]
    values, buckets = np.empty((n_repetitions, m), np.float32), np.empty((n_repetitions, m), np.int64)
    signatures, room = index.signatures, np.empty((c, n_repetitions), index.signatures.dtype)
    ordinary = np.empty(n_repetitions, np.float32)
    scored, row = np.empty((1, c), np.float32), np.empty(n_repetitions, np.int64)
    for i in range(len(cells)):
        best, best_ids = scores[i], ids[i]
        best[:], best_ids[:], statistics[i, :] = -np.inf, ABOVE, 0
        best_buckets(cells[i], scratch, values, buckets, ordinary)
        n_touched = read_kept_lists(
            values, buckets, ordinary, index, index.labels, index.offsets, scratch.members,
            scratch.sums, scratch.owners, scratch.labels, statistics[i],
        )  # fmt: skip
        count = take_sums(n_touched, index.n_labels, mask, scratch)
        count = keep_best(count, c, scratch.labels, scratch.found, scratch.some)
        _gather(index, signatures, scratch.labels, count, row, room)
        score_labels(cells[i : i + 1], room[:count], rule, scored[:, :count])
        for j in range(count):
            score, label = scored[0, j], int64(scratch.labels[j])
            if score > best[0] or (score == best[0] and label < best_ids[0]):
                sift_down(best, best_ids, len(best), score, label)
        sort_heap(best, best_ids)
        statistics[i, SCORED], statistics[i, SCANNED] = count, count < len(best)
