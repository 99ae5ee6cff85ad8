"""Exact top k without looking at every label: the scan's labels and bits from a small part of the posting lists.

A label's score is the mean of its R cells. If all of them lie below a level v, so does the score. So two readings:

1. Find a bar that the k best labels surely reach. Read the lists (labels of a bucket) of the highest cells, ever lower
   ones, and add up for each label by how much its cells stand out from an ordinary cell; whenever that is as much as
   the k-th best label so far stands out, score the label in full.
2. Take a level v below the bar. Read all lists above it, and add up by how much a label's cells exceed v: only labels
   whose sum could lift them from v to the bar are scored in full. No other label can be among the k best.

Where the second reading would cost more than half a scan (flat distributions, k beyond what stands out), give up and
say so. Bounds are sums in float64 with a margin for the rounding of the float32 sum that is the score; at equality a
label is scored. Nothing here depends on luck but the time.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from xmach._kernels._compile import float64, int64, kernel
from xmach._kernels.decode.heap import sort_heap
from xmach._kernels.decode.lists import LISTS, MOST, SCANNED, SCORED, read_lists, score_found
from xmach._kernels.decode.peaks import LOWEST, block_maxima, collect, count_cells, key_of_value, level_of, value_of
from xmach.types import BoolArray, FloatArray, Int32Array, IntArray

# Nanoseconds: to begin a list, to add a label of it, to score one, to scan a cell of one. They choose the way, not the
# answer.
_LIST, _ADD, _SCORE, _SCAN = 40.0, 1.8, 100.0, 1.2
_SHARE = 0.25  # lists of the first reading, as a share of what its own bar says is needed
_DEEPER = 1.5  # lists of the second, as a multiple of that
_FEW = 8  # lists that the first reading begins with before it looks at what they gave
_FULL = 60_000  # the sum that reaches the bar, in units of the second reading
_ABOVE = 2**31 - 1  # a key above all
_HUGE = np.float32(1e30)  # sums of larger cells could overflow, and bounds with them


@kernel
def _nanoseconds(per_list: float, n_sums: int) -> float:
    """What reading a list takes, about. A label of it took 2.3 ns where sums were in the second cache (50,000 labels),
    6.5 at 670,000, 10 to 15 beyond 4 million."""
    return _LIST + _ADD * per_list * (1.0 + n_sums / 2**19)


@kernel
def _ordinary(cells: FloatArray) -> float:
    """The median of some 63 cells, by insertion: NumPy's sort would take seconds to compile."""
    flat = cells.reshape(-1)
    step = max(1, len(flat) // 63)
    some = np.empty((len(flat) + step - 1) // step, np.float32)
    for i in range(len(some)):
        value, place = flat[i * step], i
        while place > 0 and some[place - 1] > value:
            some[place] = some[place - 1]
            place -= 1
        some[place] = value
    return float64(some[len(some) // 2])


@kernel
def _find_bar(
    cells: FloatArray,
    bits: Int32Array,
    index: Any,
    mask: BoolArray,
    scratch: Any,
    scores: FloatArray,
    ids: IntArray,
    statistics: IntArray,
    budget: float,
) -> int:
    """The first reading; returns how many lists its bar says are needed, -1 where there is no telling."""
    n_repetitions, n_buckets = cells.shape
    n_labels, maxima, repetitions, buckets = index.n_labels, scratch.maxima, scratch.repetitions, scratch.buckets
    table, offsets, signatures, members_of = index.labels, index.offsets, index.signatures, scratch.members
    sums, found, recent, row = scratch.sums, scratch.found, scratch.recent, np.empty(n_repetitions, np.int64)
    a_list = _nanoseconds(n_labels / n_buckets, len(sums))
    ordinary = _ordinary(cells)
    unit = max(n_repetitions * (float64(value_of(int64(maxima.max()))) - ordinary) / _FULL, 1e-38)
    wanted = n_repetitions + 2 * len(ids) * n_buckets // n_labels
    below, needed = int64(_ABOVE), -1
    while True:
        level = min(below - 1, level_of(bits, maxima, wanted))
        count = collect(bits, maxima, level, below, repetitions, buckets)
        if count * a_list > budget:  # too many cells are equal
            return -1
        i = int64(0)
        while i < count:
            enough = int64(1)  # until k labels are known, every one is worth knowing
            if ids[0] != n_labels:
                enough = int(min(max(1.0, n_repetitions * (float64(scores[0]) - ordinary) / unit), MOST))
            i, n_found = read_lists(
                i, min(i + _FEW + i // 8, count), cells, ordinary, 1.0 / unit, enough,
                index, table, offsets, repetitions, buckets, members_of, sums, found, statistics,
            )  # fmt: skip
            statistics[SCORED] += score_found(n_found, cells, index, signatures, mask, found, recent, row, scores, ids)
        if ids[0] != n_labels:
            needed = count_cells(bits, maxima, key_of_value(scores[0]))
            if statistics[LISTS] >= _SHARE * needed:
                return needed
        if statistics[LISTS] * a_list + statistics[SCORED] * _SCORE > 0.2 * budget or level <= LOWEST:
            return needed
        wanted = 2 * max(wanted, int(statistics[LISTS]))  # lists are not spread evenly over repetitions
        if needed >= 0:  # every round looks at all cells: no more of them than it takes
            wanted = max(wanted, min(2 * wanted, int(_SHARE * needed) + 1))
        below = level


@kernel
def _frontier(maxima: Int32Array, level: float) -> tuple[float, float]:
    """Of R cells below a level: the highest sum, and a margin for what float32 may make of it.

    The margin covers R additions of the largest terms that a label can have, and the division by R.
    """
    total, largest = 0.0, 0.0
    for r in range(len(maxima)):
        highest = float64(value_of(int64(maxima[r].max())))
        total += min(level, highest)
        largest += max(abs(level), abs(highest))
    return total, 2.4e-7 * (len(maxima) + 2) * largest + 1e-36


@kernel
def _reach_bar(
    cells: FloatArray,
    bits: Int32Array,
    index: Any,
    mask: BoolArray,
    scratch: Any,
    scores: FloatArray,
    ids: IntArray,
    statistics: IntArray,
    budget: float,
    needed: int,
) -> bool:
    """The second reading; False where a scan is cheaper. What the first one scored is kept, and not scored again."""
    n_repetitions, n_buckets = cells.shape
    maxima, repetitions, buckets = scratch.maxima, scratch.repetitions, scratch.buckets
    table, offsets, signatures, members_of = index.labels, index.offsets, index.signatures, scratch.members
    sums, found, recent, row = scratch.sums, scratch.found, scratch.recent, np.empty(n_repetitions, np.int64)
    per_list = index.n_labels / n_buckets
    a_list = _nanoseconds(per_list, len(sums))
    bar = float64(scores[0])
    wanted = int(_DEEPER * needed) + n_repetitions
    if wanted * a_list > budget:
        return False
    if index.n_labels > len(sums) and wanted * per_list > len(sums):  # too many labels share a sum
        return False
    key = min(level_of(bits, maxima, wanted), int(key_of_value(scores[0])) - 1)
    level = float64(value_of(int64(key)))
    total, margin = _frontier(maxima, level)
    need = bar * n_repetitions - total - margin
    if key <= LOWEST or not need > 0.0:
        return False
    count = collect(bits, maxima, key, int64(_ABOVE), repetitions, buckets)
    if count * a_list > 2.0 * budget:
        return False
    i = int64(0)
    while i < count:
        i, n_found = read_lists(
            i, count, cells, level, _FULL / need, int64(_FULL),
            index, table, offsets, repetitions, buckets, members_of, sums, found, statistics,
        )  # fmt: skip
        statistics[SCORED] += score_found(n_found, cells, index, signatures, mask, found, recent, row, scores, ids)
    return True


@kernel
def pruned_top_k(
    cells: FloatArray,
    index: Any,
    mask: BoolArray,
    scratch: Any,
    patience: float,
    scores: FloatArray,
    ids: IntArray,
    statistics: IntArray,
) -> None:
    """The k best labels of each row, of those in the mask (empty: all), which holds at least k of them, best first.

    cells (n, R, B); scores and ids (n, k) are filled; statistics (n, 4) tell lists read, labels touched and scored, and
    1 where the row was given up and has to be scanned: reading lists would have taken `patience` times as long.
    """
    budget = patience * _SCAN * cells.shape[1] * index.n_labels  # in nanoseconds
    for i in range(len(cells)):
        scores[i, :] = -np.inf
        ids[i, :] = index.n_labels
        statistics[i, :] = 0
        bits = cells[i].view(np.int32)
        block_maxima(bits, scratch.maxima)
        if value_of(int64(scratch.maxima.max())) > _HUGE:
            statistics[i, SCANNED] = 1
            continue
        needed = _find_bar(cells[i], bits, index, mask, scratch, scores[i], ids[i], statistics[i], budget)
        found = False
        scratch.sums[:] = 0
        if needed >= 0:
            found = _reach_bar(cells[i], bits, index, mask, scratch, scores[i], ids[i], statistics[i], budget, needed)
            scratch.sums[:] = 0
        scratch.recent[:] = -1
        statistics[i, SCANNED] = 0 if found else 1
        sort_heap(scores[i], ids[i])
