"""The weights of sparse linear classifiers, one list per label, and their margins for a few labels per row.

The entries of label l are starts[l]..starts[l+1] of `gaps` and `codes`. An entry's feature is the sum of its label's
gaps up to it, minus 1. An entry with code 0 only moves the position along.
"""

from __future__ import annotations

import numpy as np

from xmach._kernels._compile import inlined, int64, kernel
from xmach._kernels.llvm import prefetch
from xmach._kernels.rank.descent import CsrRows
from xmach._kernels.train.weight_lists import WeightLists
from xmach.types import AnyArray, FloatArray, Int32Array, IntArray

_ENTRIES = 64  # of a list at a time: first which of them the row has, without a branch, then their sum
_AHEAD = 2  # the lists of the candidates so many places ahead are asked for
_LINE = 64  # bytes of a cache line
_MOST_LINES = 16  # of a list that are asked for; the processor goes on by itself
_S3, _S5, _ONE = np.uint32(3), np.uint32(5), np.uint32(1)
_LOW5 = np.uint32(31)


@inlined
def _mark(rows: CsrRows, row: int, present: AnyArray, dense: FloatArray) -> None:
    """Write the row's values to `dense` (d,) and set their bits."""
    for j in range(rows.indptr[row], rows.indptr[row + 1]):
        feature = np.uint32(rows.indices[j])
        dense[feature] = rows.values[j]
        present[feature >> _S5] |= _ONE << (feature & _LOW5)


@inlined
def _clear(rows: CsrRows, row: int, present: AnyArray) -> None:
    """Clear the bits of the row."""
    for j in range(rows.indptr[row], rows.indptr[row + 1]):
        present[np.uint32(rows.indices[j]) >> _S5] = np.uint32(0)


@inlined
def _ask_for(label: int, lists: WeightLists, gaps: AnyArray, codes: AnyArray) -> None:
    """Prefetch the list of a label; `gaps` and `codes` are those of `lists` as one row each."""
    start, stop = int64(lists.starts[label]), int64(lists.starts[label + 1])
    each = _LINE // gaps.itemsize
    for e in range(start, min(stop, start + _MOST_LINES * each), each):
        prefetch(gaps, 0, e)
    each = _LINE // codes.itemsize
    for e in range(start, min(stop, start + _MOST_LINES * each), each):
        prefetch(codes, 0, e)


@kernel
def _sum_of(
    label: int, lists: WeightLists, present: AnyArray, dense: FloatArray, hits: AnyArray, factors: FloatArray
) -> np.float32:
    """The sum of value * code over the label's features that the row has, in the order of features."""
    start, stop = int64(lists.starts[label]), int64(lists.starts[label + 1])
    place, total = np.uint32(0xFFFFFFFF), np.float32(0.0)  # -1
    for first in range(start, stop, _ENTRIES):
        count = min(stop - first, _ENTRIES)
        gaps, codes = lists.gaps[first : first + count], lists.codes[first : first + count]
        n_hits = np.uint32(0)
        for e in range(count):
            place = np.uint32(place + np.uint32(gaps[e]))
            hits[n_hits] = place
            factors[n_hits] = codes[e]
            n_hits = np.uint32(n_hits + ((present[place >> _S5] >> (place & _LOW5)) & _ONE))
        for hit in range(n_hits):
            total += dense[hits[hit]] * factors[hit]
    return total


@kernel
def candidate_margins(
    rows: CsrRows, lists: WeightLists, n_features: int, pairs: IntArray, ids: IntArray, out: FloatArray
) -> None:
    """out[c] is the margin of label ids[c] for row i, for c in pairs[i]..pairs[i + 1]; each row by itself.

    The lists must have passed `damaged_feature`, and no row has a feature beyond `n_features`.
    """
    present, dense = np.zeros((n_features + 31) // 32 + 1, np.uint32), np.empty(n_features, np.float32)
    hits, factors = np.empty(_ENTRIES + 1, np.uint32), np.empty(_ENTRIES + 1, np.float32)
    gaps, codes = lists.gaps.reshape(1, -1), lists.codes.reshape(1, -1)
    for i in range(len(pairs) - 1):
        _mark(rows, i, present, dense)
        for c in range(pairs[i], pairs[i + 1]):
            if c + _AHEAD < len(ids):
                _ask_for(ids[c + _AHEAD], lists, gaps, codes)
            label = ids[c]
            total = _sum_of(label, lists, present, dense, hits, factors)
            out[c] = total * lists.scales[label] + lists.biases[label]
        _clear(rows, i, present)


@kernel
def count_label_entries(
    starts: IntArray,
    features: Int32Array,
    values: FloatArray,
    codes: AnyArray,
    threshold: np.float32,
    largest_gaps: IntArray,
    counts: IntArray,
) -> bool:
    """Add the entries of all labels, with fillers, to counts[t] as if largest_gaps[t] were the largest gap.

    Weights below the threshold and those whose code is 0 are left out. False if a label's features do not rise.
    """
    for label in range(len(starts) - 1):
        last = -1
        for e in range(starts[label], starts[label + 1]):
            if e > starts[label] and features[e] <= features[e - 1]:
                return False
            if codes[e] != 0 and abs(values[e]) >= threshold:
                gap = features[e] - last
                last = int64(features[e])
                for t in range(len(largest_gaps)):
                    counts[t] += 1 + (gap - 1) // largest_gaps[t]
    return True


@kernel
def fill_label_entries(
    starts: IntArray,
    features: Int32Array,
    values: FloatArray,
    codes: AnyArray,
    threshold: np.float32,
    largest_gap: int,
    place: int,
    ends: AnyArray,
    out_gaps: AnyArray,
    out_codes: AnyArray,
) -> int:
    """Write the entries that `count_label_entries` counted, from `place` on, and where each label's end.

    A gap above the largest is reached by fillers: the largest gap with code 0. Returns the end of all.
    """
    for label in range(len(starts) - 1):
        last = -1
        for e in range(starts[label], starts[label + 1]):
            if codes[e] == 0 or abs(values[e]) < threshold:
                continue
            gap = features[e] - last
            while gap > largest_gap:
                out_gaps[place] = largest_gap
                out_codes[place] = 0
                gap -= largest_gap
                place += 1
            out_gaps[place] = gap
            out_codes[place] = codes[e]
            place += 1
            last = int64(features[e])
        ends[label] = place
    return place
