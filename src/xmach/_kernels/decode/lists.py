"""Reading posting lists for the pruned search: adds up a sum per label, and scores labels whose sum is large enough."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from xmach._kernels._compile import float64, int64, kernel
from xmach._kernels.decode.heap import offer
from xmach._kernels.decode.index import members, signature
from xmach._kernels.decode.peaks import BLOCK
from xmach._kernels.llvm import prefetch
from xmach.types import AnyArray, BoolArray, FloatArray, Int32Array, IntArray

LISTS, TOUCHED, SCORED, SCANNED = 0, 1, 2, 3  # columns of the statistics
MOST = 65_535  # the largest sum
_MOST_SUMS = 22  # at most 2^22 sums: more labels share them, which only costs time
_RECENT = 1 << 12
_SOON = 4  # lists are prefetched this many lists ahead


class Scratch(NamedTuple):
    """The working memory of a thread: 8 bytes per cell of the sketch, plus at most 10 MB for any number of labels."""

    maxima: Int32Array  # (R, blocks)
    repetitions: Int32Array  # (R * B,) the lists at hand
    buckets: Int32Array  # (R * B,)
    sums: AnyArray  # 16-bit, all zero between readings
    recent: Int32Array  # labels scored lately, to skip most of the repeats; all -1 between rows
    members: Int32Array  # (1, room for the longest list)
    found: Int32Array  # labels to be scored


def make_scratch(n_labels: int, n_repetitions: int, n_buckets: int, longest: int) -> Scratch:
    """Allocate the working memory for queries of one shape."""
    sums = min(_MOST_SUMS, max(6, (n_labels - 1).bit_length()))
    room = n_repetitions * n_buckets
    return Scratch(
        maxima=np.empty((n_repetitions, -(-n_buckets // BLOCK)), np.int32),
        repetitions=np.empty(room, np.int32),
        buckets=np.empty(room, np.int32),
        sums=np.zeros(1 << sums, np.uint16),
        recent=np.full(_RECENT, -1, np.int32),
        members=np.empty((1, longest), np.int32),
        found=np.empty(longest + (1 << 15), np.int32),
    )


@kernel
def _add(
    table: Int32Array,
    row: int,
    start: int,
    stop: int,
    amount: int,
    enough: int,
    shared: bool,
    sums: AnyArray,
    found: Int32Array,
    n_found: int,
) -> int:
    """Add an amount to the sums of a list's labels, table[row, start:stop]; write down those that come to have enough,
    and return how many are down. Where labels share sums it may be a neighbour that had enough: then all are."""
    last = len(sums) - 1
    for j in range(start, stop):
        label = table[row, j]
        place = int(label) & last
        before = int(sums[place])
        total = before + amount
        if total >= enough:  # seldom: no branch missed, and nothing more to do for most labels
            if shared or before < enough:
                found[n_found] = label
                n_found += 1
            total = min(total, MOST)
        sums[place] = total
    return n_found


@kernel
def read_lists(
    first: int,
    count: int,
    cells: FloatArray,
    base: float,
    scale: float,
    enough: int,
    index: Any,
    table: Int32Array,
    offsets: IntArray,
    repetitions: Int32Array,
    buckets: Int32Array,
    members_of: Int32Array,
    sums: AnyArray,
    found: Int32Array,
    statistics: IntArray,
) -> tuple[int, int]:
    """Add to the labels of lists first, first + 1, ... below `count` what their cells exceed `base` by, times `scale`.

    Rounded up, never too little. Stops when there is no more room to write labels down; returns the next list to read
    and how many labels are down. Arrays come by themselves and no list is cut out of its table: taking an array from
    a tuple or a view of one counts references, which made reading a list of 26 labels three times as long.
    """
    stored, shared, i = table.shape[1] > 0, index.n_labels > len(sums), first
    n_found, nothing = int64(0), int64(0)
    room = len(found) - members_of.shape[1]
    while i < count and n_found <= room:
        r, bucket = int64(repetitions[i]), int64(buckets[i])
        amount = 1 + int(min(max(0.0, (float64(cells[r, bucket]) - base) * scale + 1e-3), MOST))
        if stored:
            if i + _SOON < count:  # at 670,000 labels lists come from afar
                soon = repetitions[i + _SOON]
                place = offsets[soon, buckets[i + _SOON]]
                prefetch(table, soon, place)
                prefetch(table, soon, place + 16)
            start, stop = offsets[r, bucket], offsets[r, bucket + 1]
            n_found = _add(table, r, start, stop, amount, enough, shared, sums, found, n_found)
            statistics[TOUCHED] += stop - start
        else:
            size = members(index, r, bucket, members_of[0])
            n_found = _add(members_of, nothing, nothing, size, amount, enough, shared, sums, found, n_found)
            statistics[TOUCHED] += size
        i += 1
    statistics[LISTS] += i - first
    return i, n_found


@kernel
def score_found(
    n_found: int,
    cells: FloatArray,
    index: Any,
    signatures: AnyArray,
    mask: BoolArray,
    found: Int32Array,
    recent: Int32Array,
    row: IntArray,
    scores: FloatArray,
    ids: IntArray,
) -> int:
    """Score the labels written down, but for those that were scored before, and keep the best; returns how many.

    Cells are added in the scan's order. A row of signatures is a cache line from anywhere: the eighth next is asked
    for ahead of time.
    """
    fresh = 0
    for i in range(n_found):
        label = found[i]
        if recent[label % _RECENT] != label and (len(mask) == 0 or mask[label]):
            recent[label % _RECENT] = label
            found[fresh] = label
            fresh += 1
    stored, ahead = len(signatures) > 0, 0
    for i in range(fresh):
        label = int(found[i])
        total = np.float32(0.0)
        if stored:
            ahead += signatures[found[min(i + 8, fresh - 1)], 0]
            for r in range(len(cells)):
                total += cells[r, signatures[label, r]]
        else:
            signature(index, label, row)
            for r in range(len(cells)):
                total += cells[r, row[r]]
        offer(scores, ids, total / np.float32(len(cells)), label)
    row[0] = ahead  # or the compiler would not ask
    return fresh
