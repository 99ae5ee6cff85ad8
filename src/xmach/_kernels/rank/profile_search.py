"""Cosines of rows with label profiles, from the profiles' lists by feature (`weight_lists.WeightLists`, no biases).

A row's lists are added up in an array of K sums. A label is written down when its sum is first added to, so that
looking for the best labels and clearing the sums take time proportional to the labels met, not to K.

One core of an AMD EPYC, GeoNames, 234,908 labels with 8.1 million weights, rows of 14 values that meet 19,000 entries,
the 50 best: 0.06 ms a row; 0.26 ms with every label four times. Marking touched cache lines and reading those took 0.22
and 0.85 ms, as nearly all have a touched label. Prefetching lists, sums or scales gained nothing.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from xmach._kernels._compile import float64, int64, kernel
from xmach._kernels.decode.heap import sift_down, sort_heap
from xmach._kernels.train.weight_lists import WeightLists
from xmach.types import BoolArray, FloatArray, Int32Array, IntArray

_ENTRIES = 64  # multiplied at a time, in vectors
_NOBODY = 2**31  # above every id
_BEFORE_FIRST = np.uint64(2**64 - 1)  # wraps around to 0 with the first gap of 1
# A sum that nothing was added to is -0.0. Any sum of terms that are not -0.0 differs from it, also one that cancels.
_UNTOUCHED = np.float32(-0.0)
_UNTOUCHED_BITS = np.int32(-(2**31))
_ZERO = np.float32(0.0)


class SearchSums(NamedTuple):
    """The working memory of a thread."""

    sums: FloatArray  # (K,) all untouched between rows
    found: Int32Array  # (K + 1,) the labels touched by the row at hand


def make_search_sums(n_labels: int) -> SearchSums:
    """Allocate working memory for K labels."""
    return SearchSums(np.full(n_labels, _UNTOUCHED, np.float32), np.empty(n_labels + 1, np.int32))


@kernel
def _add_list(
    value: np.float32,
    feature: int,
    lists: WeightLists,
    terms: FloatArray,
    sums: FloatArray,
    found: Int32Array,
    n_found: int,
) -> int:
    """sums[label] += value * code for the entries of one feature; `terms` is scratch space.

    Appends labels whose sum was untouched to `found`, and returns their number. Fillers add 0 to a label.
    """
    place, gaps, codes, bits = _BEFORE_FIRST, lists.gaps, lists.codes, sums.view(np.int32)
    start, stop = int64(lists.starts[feature]), int64(lists.starts[feature + 1])
    for first in range(start, stop, _ENTRIES):
        count = min(stop - first, _ENTRIES)
        some_gaps, some_codes = gaps[first : first + count], codes[first : first + count]
        for e in range(count):
            terms[e] = value * np.float32(some_codes[e]) + _ZERO  # makes 0.0 of -0.0
        for e in range(count):
            place += np.uint64(some_gaps[e])
            found[n_found] = place  # overwritten by the next unless it is new
            n_found += bits[place] == _UNTOUCHED_BITS
            sums[place] += terms[e]
    return n_found


@kernel
def _inverse_length(values: FloatArray) -> float:
    """1 / |row|; 0 for a row without values."""
    square = 0.0
    for j in range(len(values)):
        square += float64(values[j]) * float64(values[j])
    return 1.0 / np.sqrt(square) if square > 0.0 else 0.0


@kernel
def _add_row(indices: Int32Array, values: FloatArray, lists: WeightLists, terms: FloatArray, scratch: Any) -> int:
    """Add up the lists of a row's features, scaled to unit length, in the order of its values.

    Returns how many labels were found.
    """
    inverse, n_found = _inverse_length(values), int64(0)
    for j in range(len(indices)):
        value = np.float32(float64(values[j]) * inverse)
        n_found = _add_list(value, int64(indices[j]), lists, terms, scratch.sums, scratch.found, n_found)
    return n_found


@kernel
def _take_best(
    found: Int32Array, scales: FloatArray, allowed: BoolArray, sums: FloatArray, best: FloatArray, ids: IntArray
) -> None:
    """Fill best and ids (m,) with the highest positive cosines, best first, and clear the sums."""
    best[:] = 0.0
    ids[:] = _NOBODY
    for i in range(len(found)):
        label = int64(found[i])
        cosine = sums[label] * scales[label]
        sums[label] = _UNTOUCHED
        if cosine < best[0] or not cosine > _ZERO:  # most labels
            continue
        if (cosine > best[0] or label < ids[0]) and (len(allowed) == 0 or allowed[label]):
            sift_down(best, ids, len(ids), cosine, label)
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
    sums, scales, terms = scratch.sums, lists.scales, np.empty(_ENTRIES, np.float32)
    for i in range(len(indptr) - 1):
        start, stop = indptr[i], indptr[i + 1]
        found = scratch.found[: _add_row(indices[start:stop], values[start:stop], lists, terms, scratch)]
        for c in range(candidates[i], candidates[i + 1]):
            own[c] = sums[ids[c]] * scales[ids[c]] + _ZERO
        if best.shape[1] > 0:
            _take_best(found, scales, allowed, sums, best[i], best_ids[i])
        else:
            for label in found:
                sums[label] = _UNTOUCHED
