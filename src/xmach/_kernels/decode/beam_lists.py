"""Reading posting lists for the beam search: adds up a sum per label, and lists the labels met with their sums."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from xmach._kernels._compile import float64, int64, kernel
from xmach._kernels.decode.heap import sift_down, sort_heap
from xmach._kernels.decode.index import members
from xmach._kernels.decode.lists import LISTS, MOST, TOUCHED
from xmach._kernels.llvm import prefetch
from xmach.types import AnyArray, BoolArray, FloatArray, Int32Array, IntArray

MOST_READ = 1 << 20  # labels read for a row at most
_MOST_SUMS = 21  # there are at most 2^21 sums; if labels are more, each that is met takes a free one
MOST_REPETITIONS = 5000  # or the sums could overflow
_FULL = 60_000.0  # about the highest sum; each repetition may add 1 to it by rounding
ABOVE = 2**31 - 1  # every bucket and every label
_SOON, _SOON_LINES = 4, 4  # how many lists ahead a list is prefetched, and how many cache lines of it


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
def _sort_buckets(values: FloatArray, buckets: IntArray) -> None:
    """Sort the kept buckets (R, m) of each repetition, best first."""
    for r in range(len(values)):
        best, ids = values[r], buckets[r]
        cells, places = best.copy(), ids.copy()
        best[:], ids[:] = -np.inf, ABOVE
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
def read_kept_lists(
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
def take_sums(n_touched: int, n_labels: int, mask: BoolArray, scratch: Any) -> int:
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
