"""Cosines of rows with label profiles, from the profiles' lists by feature (`weight_lists.WeightLists`, no biases).

A row's lists are added up in an array of K sums. A byte per 16 labels (a cache line of sums) says which lines were
touched; only those are read and cleared afterwards.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from xmach._kernels._compile import float64, int64, kernel
from xmach._kernels.decode.heap import sift_down, sort_heap
from xmach._kernels.llvm import prefetch
from xmach._kernels.train.weight_lists import WeightLists
from xmach.types import AnyArray, BoolArray, FloatArray, Int32Array, IntArray

BLOCK = 16  # labels whose sums share a cache line, and a mark
_BLOCK_BITS = np.uint64(4)
_ENTRIES = 64  # multiplied at a time, in vectors
_SOON = 2  # lists are prefetched this many lists ahead
_NOBODY = 2**31  # above every id
_BEFORE_FIRST = np.uint64(2**64 - 1)  # wraps around to 0 with the first gap of 1


class SearchSums(NamedTuple):
    """The working memory of a thread, all zero between rows."""

    sums: FloatArray  # (K,)
    marks: AnyArray  # (K / 16,) uint8, padded to whole words


def make_search_sums(n_labels: int) -> SearchSums:
    """Allocate working memory for K labels."""
    n_words = -(-n_labels // (8 * BLOCK))
    return SearchSums(np.zeros(n_labels, np.float32), np.zeros(8 * n_words, np.uint8))


@kernel
def _add_list(
    value: np.float32, feature: int, lists: WeightLists, terms: FloatArray, sums: FloatArray, marks: AnyArray
) -> None:
    """sums[label] += value * code for the entries of one feature; `terms` is scratch space.

    Fillers add 0 to a label and mark its line, which costs a little time and changes nothing.
    """
    place, gaps, codes = _BEFORE_FIRST, lists.gaps, lists.codes
    start, stop = int64(lists.starts[feature]), int64(lists.starts[feature + 1])
    for first in range(start, stop, _ENTRIES):
        count = min(stop - first, _ENTRIES)
        some_gaps, some_codes = gaps[first : first + count], codes[first : first + count]
        for e in range(count):
            terms[e] = value * np.float32(some_codes[e])
        for e in range(count):
            place += np.uint64(some_gaps[e])
            sums[place] += terms[e]
            marks[place >> _BLOCK_BITS] = 1


@kernel
def _inverse_length(values: FloatArray) -> float:
    """1 / |row|; 0 for a row without values."""
    square = 0.0
    for j in range(len(values)):
        square += float64(values[j]) * float64(values[j])
    return 1.0 / np.sqrt(square) if square > 0.0 else 0.0


@kernel
def _add_row(
    indices: Int32Array, values: FloatArray, lists: WeightLists, terms: FloatArray, sums: FloatArray, marks: AnyArray
) -> None:
    """Add up the lists of a row's features, scaled to unit length, in the order of its values."""
    inverse = _inverse_length(values)
    gaps, codes = lists.gaps.reshape(1, -1), lists.codes.reshape(1, -1)
    for j in range(len(indices)):
        if j + _SOON < len(indices):
            soon = int64(lists.starts[indices[j + _SOON]])
            prefetch(gaps, 0, soon)
            prefetch(codes, 0, soon)
        _add_list(np.float32(float64(values[j]) * inverse), int64(indices[j]), lists, terms, sums, marks)


@kernel
def _clear(sums: FloatArray, marks: AnyArray) -> None:
    """Clear the touched lines."""
    for block in range(len(marks)):
        if marks[block] != 0:
            sums[block * BLOCK : (block + 1) * BLOCK] = np.float32(0.0)
    marks[:] = 0


@kernel
def _take_line(
    first: int,
    scales: FloatArray,
    allowed: BoolArray,
    sums: FloatArray,
    cosines: FloatArray,
    best: FloatArray,
    ids: IntArray,
) -> None:
    """Offer the labels of one line to the heap and clear their sums; `cosines` is scratch space.

    Labels come by rising id, so that on a tie the one in the heap stays.
    """
    count, above, bar = min(len(sums) - first, BLOCK), 0, best[0]
    line, line_scales = sums[first : first + count], scales[first : first + count]
    for i in range(count):
        cosine = line[i] * line_scales[i]
        line[i] = np.float32(0.0)
        cosines[i] = cosine
        above += cosine > bar
    if above == 0:
        return
    for i in range(count):
        if cosines[i] > best[0] and (len(allowed) == 0 or allowed[first + i]):
            sift_down(best, ids, len(ids), cosines[i], first + i)


@kernel
def _take_best(
    scales: FloatArray, allowed: BoolArray, scratch: Any, cosines: FloatArray, best: FloatArray, ids: IntArray
) -> None:
    """Fill best and ids (m,) with the highest positive cosines, best first, and clear the sums."""
    sums, marks = scratch.sums, scratch.marks
    words = marks.view(np.uint64)
    best[:] = 0.0
    ids[:] = _NOBODY
    for w in range(len(words)):
        if words[w] == np.uint64(0):
            continue
        for block in range(8 * w, 8 * w + 8):
            if marks[block] != 0:
                marks[block] = 0
                _take_line(block * BLOCK, scales, allowed, sums, cosines, best, ids)
    sort_heap(best, ids)
    for i in range(len(ids)):
        if ids[i] == _NOBODY:
            ids[i] = -1


@kernel
def search_profiles(
    indptr: IntArray,
    indices: Int32Array,
    values: FloatArray,
    lists: WeightLists,
    scratch: Any,
    candidates: IntArray,
    ids: IntArray,
    allowed: BoolArray,
    own: FloatArray,
    best: FloatArray,
    best_ids: IntArray,
) -> None:
    """Compute the cosines of CSR rows (n, d) with their own candidates and with the best labels.

    Row i has the candidates ids[candidates[i]:candidates[i + 1]], whose cosines go to the same places of `own`. `best`
    and `best_ids` (n, m) get the labels with the highest positive cosine, of those `allowed` (K,; empty: all). The
    lists must have passed `damaged_feature`.
    """
    sums, marks, scales = scratch.sums, scratch.marks, lists.scales
    terms, cosines = np.empty(_ENTRIES, np.float32), np.empty(BLOCK, np.float32)
    for i in range(len(indptr) - 1):
        start, stop = indptr[i], indptr[i + 1]
        _add_row(indices[start:stop], values[start:stop], lists, terms, sums, marks)
        for c in range(candidates[i], candidates[i + 1]):
            own[c] = sums[ids[c]] * scales[ids[c]]
        if best.shape[1] > 0:
            _take_best(scales, allowed, scratch, cosines, best[i], best_ids[i])
        else:
            _clear(sums, marks)
