"""Keys (row, column) in any order to rows of distinct columns with counts: a radix sort, and merging.

Keys of many short rows are sorted together: 16,000 keys of about 160 rows took 5 ns each in three passes. The 100 keys
of a single row took 70 ns each, mostly for the histograms.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from xmach._kernels._compile import kernel
from xmach.types import AnyArray, Int32Array, IntArray

ZERO: Any = np.int64(0)  # typed: Numba would compile every function that gets a bare 0 once more
_MOST_DIGIT_BITS = 9


class Counted(NamedTuple):
    """The rows so far: their lengths, and the columns and counts of all rows, in arrays with room for more."""

    lengths: IntArray
    columns: Int32Array
    counts: AnyArray  # uint32


@kernel
def tally(keys: AnyArray, spare: AnyArray, n: int, shift: int, first_row: int, counted: Counted, done: int) -> int:
    """Add n keys, `row - first_row << shift | column`; return the number of columns so far.

    Rows come in order, but `first_row` may have columns already, the last of the `done`. Both arrays of keys are
    overwritten.
    """
    largest = keys[0]
    for i in range(n):
        largest = max(largest, keys[i])
    ordered, spare = _sort(keys, spare, n, largest)
    known, split = counted.lengths[first_row], ZERO
    if known:
        while split < n and ordered[split] >> np.uint64(shift) == 0:
            split += 1
        end = _append(ordered, ZERO, split, shift, first_row, counted, done)
        start = done - known
        done = _merge(counted.columns, counted.counts, start, done, end, spare)
        counted.lengths[first_row] = done - start
    return _append(ordered, split, n, shift, first_row, counted, done)


@kernel
def _sort(keys: AnyArray, spare: AnyArray, n: int, largest: int) -> tuple[AnyArray, AnyArray]:
    """Sort the first n keys by digits, lowest first; return the array with the result, then the other one."""
    bits = 0
    while largest >> np.uint64(bits):
        bits += 1
    passes = (bits + _MOST_DIGIT_BITS - 1) // _MOST_DIGIT_BITS
    if passes == 0:  # all are 0
        return keys, spare
    width = (bits + passes - 1) // passes
    mask = np.uint64((1 << width) - 1)
    places = np.empty(1 << width, np.int64)
    for digit in range(passes):
        low = np.uint64(digit * width)
        places[:] = 0
        for i in range(n):
            places[(keys[i] >> low) & mask] += 1
        total = 0
        for d in range(len(places)):
            places[d], total = total, total + places[d]
        for i in range(n):
            d = (keys[i] >> low) & mask
            spare[places[d]] = keys[i]
            places[d] += 1
        keys, spare = spare, keys
    return keys, spare


@kernel
def _append(ordered: AnyArray, begin: int, end: int, shift: int, first_row: int, counted: Counted, done: int) -> int:
    """Append the distinct ones of sorted keys, with counts."""
    mask = np.uint64((1 << shift) - 1)
    for i in range(begin, end):
        key = ordered[i]
        if i > begin and key == ordered[i - 1]:
            counted.counts[done - 1] += 1
        else:
            counted.columns[done] = np.int32(key & mask)
            counted.counts[done] = 1
            counted.lengths[first_row + np.int64(key >> np.uint64(shift))] += 1
            done += 1
    return done


@kernel
def _merge(columns: Int32Array, counts: AnyArray, start: int, middle: int, end: int, room: AnyArray) -> int:
    """Merge two adjacent sorted stretches in place, from the back; return where the result ends."""
    twice, i = 0, start
    for j in range(middle, end):
        room[j - middle] = np.uint64(counts[j]) << np.uint64(32) | np.uint64(columns[j])
        while i < middle and columns[i] < columns[j]:
            i += 1
        twice += i < middle and columns[i] == columns[j]
    i, j, at = middle - 1, end - middle - 1, end - twice - 1
    while j >= 0:
        column, count = np.int32(room[j] & np.uint64(0xFFFFFFFF)), np.uint32(room[j] >> np.uint64(32))
        while i >= start and columns[i] > column:
            columns[at], counts[at] = columns[i], counts[i]
            i, at = i - 1, at - 1
        if i >= start and columns[i] == column:
            count = np.uint32(count + counts[i])
            i -= 1
        columns[at], counts[at] = column, count
        j, at = j - 1, at - 1
    return end - twice
