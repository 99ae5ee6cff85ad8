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

from typing import Any, NamedTuple

import numpy as np

from xmach._kernels._compile import float64, int64, kernel
from xmach._kernels.decode.heap import sift_down, sort_heap
from xmach._kernels.decode.index import members, signature
from xmach._kernels.decode.lists import LISTS, MOST, SCANNED, SCORED, TOUCHED
from xmach._kernels.decode.peaks import key_of, value_of
from xmach._kernels.decode.scan import score_labels
from xmach._kernels.decode.selection import keep_best, median
from xmach._kernels.llvm import prefetch
from xmach.types import AnyArray, BoolArray, FloatArray, Int32Array, IntArray

MOST_READ = 1 << 20  # labels read for a row at most
_MOST_SUMS = 21  # at most 2^21 sums; more labels than that look for a free one
MOST_REPETITIONS = 5000
_FULL = 60_000.0  # about the highest sum; each repetition may add 1 to it by rounding
_ABOVE = 2**31 - 1  # a key above all
_SOON, _SOON_LINES = 4, 4  # so many lines of a list are prefetched, so many lists ahead
_LINES = 16  # signatures are prefetched this many labels ahead
_SOME_CELLS = 127  # whose median is an ordinary cell


class BeamScratch(NamedTuple):
    """The working memory of a thread: at most 30 MB, and 12 bytes per bucket, for any number of labels."""

    places: Int32Array  # (B,)
    keys: Int32Array  # (B,)
    sums: AnyArray  # 16-bit, all zero between rows
    owners: Int32Array  # the label of each sum, -1 between rows; empty if every label has a sum of its own
    members: Int32Array  # (1, room for the longest list)
    labels: Int32Array  # the places of the labels read, and then the labels
    found: Int32Array  # their sums
    some: Int32Array


def make_beam_scratch(n_labels: int, n_buckets: int, longest: int) -> BeamScratch:
    """Allocate the working memory for queries of one shape."""
    bits = max(1, (n_labels - 1).bit_length())
    shared, n_sums = bits > _MOST_SUMS, 1 << min(bits, _MOST_SUMS)
    room = min(n_sums, MOST_READ) + 1  # a damaged table may have labels beyond the last
    return BeamScratch(
        places=np.empty(n_buckets, np.int32),
        keys=np.empty(n_buckets, np.int32),
        sums=np.zeros(n_sums, np.uint16),
        owners=np.full(n_sums if shared else 0, -1, np.int32),
        members=np.empty((1, min(longest, MOST_READ)), np.int32),
        labels=np.empty(room, np.int32),
        found=np.empty(room, np.int32),
        some=np.empty(max(room, n_buckets), np.int32),
    )


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
def _sort_buckets(values: FloatArray, buckets: IntArray) -> None:
    """Sort the kept buckets (R, m) of each repetition, best first."""
    for r in range(len(values)):
        best, ids = values[r], buckets[r]
        cells, places = best.copy(), ids.copy()
        best[:], ids[:] = -np.inf, _ABOVE
        for i in range(len(ids)):
            sift_down(best, ids, len(ids), cells[i], places[i])
        sort_heap(best, ids)


@kernel
def _add(
    table: Int32Array,
    row: int,
    start: int,
    stop: int,
    amount: int,
    sums: AnyArray,
    owners: Int32Array,
    touched: Int32Array,
    n_touched: int,
) -> int:
    """Add an amount to the sums of a list's labels, table[row, start:stop]; write down the places of new sums, and
    return how many are down."""
    last, shared = len(sums) - 1, len(owners) > 0
    for j in range(start, stop):
        label = table[row, j]
        place = int64(label) & last  # a damaged table cannot make it write anywhere else
        if shared:
            while owners[place] != label and owners[place] >= 0:
                place = (place + 1) & last
            owners[place] = label
        before = sums[place]
        touched[n_touched] = place
        n_touched += before == 0
        sums[place] = min(before + amount, MOST)
    return n_touched


@kernel
def _read_lists(
    values: FloatArray,
    buckets: IntArray,
    ordinary: FloatArray,
    index: Any,
    table: Int32Array,
    offsets: IntArray,
    members_of: Int32Array,
    sums: AnyArray,
    owners: Int32Array,
    touched: Int32Array,
    statistics: IntArray,
) -> int:
    """Read the lists of the kept buckets; return the number of labels met.

    Reads at most `MOST_READ` labels, an equal share in each repetition, and then best lists first.
    """
    n_repetitions, m = buckets.shape
    stored, nothing, n_touched, total = table.shape[1] > 0, int64(0), int64(0), 0.0
    length = int64(0) if stored else n_repetitions * m * members_of.shape[1]
    for r in range(n_repetitions):
        total += float64(values[r].max()) - float64(ordinary[r])
        if stored:
            for j in range(m):
                length += offsets[r, buckets[r, j] + 1] - offsets[r, buckets[r, j]]
    if length > MOST_READ:
        _sort_buckets(values, buckets)
    scale = _FULL / total if total > 0.0 else 0.0
    for r in range(n_repetitions):
        left, base = int64(MOST_READ // n_repetitions), float64(ordinary[r])
        for j in range(m):
            if left <= 0:
                break
            bucket = buckets[r, j]
            amount = 1 + int64((float64(values[r, j]) - base) * scale)  # never 0: that is a label not met
            if stored:
                if j + _SOON < m:
                    soon = offsets[r, buckets[r, j + _SOON]]
                    for line in range(_SOON_LINES):
                        prefetch(table, r, soon + 16 * line)
                start = offsets[r, bucket]
                size = min(left, offsets[r, bucket + 1] - start)
                n_touched = _add(table, r, start, start + size, amount, sums, owners, touched, n_touched)
            else:
                size = min(left, members(index, r, bucket, members_of[0]))
                n_touched = _add(members_of, nothing, nothing, size, amount, sums, owners, touched, n_touched)
            left -= size
            statistics[LISTS] += 1
            statistics[TOUCHED] += size
    return n_touched


@kernel
def _take_sums(n_touched: int, n_labels: int, mask: BoolArray, scratch: Any) -> int:
    """Turn places into labels and their sums, without those outside the mask, and clear the places; return how many."""
    sums, owners, labels, found = scratch.sums, scratch.owners, scratch.labels, scratch.found
    shared, masked, count = len(owners) > 0, len(mask) > 0, 0
    for i in range(n_touched):
        place = label = int64(labels[i])
        if shared:
            label = int64(owners[place])
            owners[place] = -1
        labels[count], found[count] = label, sums[place]
        sums[place] = 0
        count += 0 <= label < n_labels and (not masked or mask[label])
    return count


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
        best[:], best_ids[:], statistics[i, :] = -np.inf, _ABOVE, 0
        best_buckets(cells[i], scratch, values, buckets, ordinary)
        n_touched = _read_lists(
            values, buckets, ordinary, index, index.labels, index.offsets, scratch.members,
            scratch.sums, scratch.owners, scratch.labels, statistics[i],
        )  # fmt: skip
        count = _take_sums(n_touched, index.n_labels, mask, scratch)
        count = keep_best(count, c, scratch.labels, scratch.found, scratch.some)
        _gather(index, signatures, scratch.labels, count, row, room)
        score_labels(cells[i : i + 1], room[:count], rule, scored[:, :count])
        for j in range(count):
            score, label = scored[0, j], int64(scratch.labels[j])
            if score > best[0] or (score == best[0] and label < best_ids[0]):
                sift_down(best, best_ids, len(best), score, label)
        sort_heap(best, best_ids)
        statistics[i, SCORED], statistics[i, SCANNED] = count, count < len(best)
