"""The weights of sparse linear classifiers, one list per label, and their margins for a few labels per row.

The entries of label l are starts[l]..starts[l+1] of `gaps` and `codes`. An entry's feature is the sum of its label's
gaps up to it, minus 1. An entry with code 0 only moves the position along.
"""

from __future__ import annotations

import numpy as np

from xmach._kernels._compile import inlined, int64, kernel
from xmach._kernels.llvm import prefetch
from xmach._kernels.rank.descent import CsrRows
from xmach._kernels.train.weight_lists import WeightLists, write_gap
from xmach.types import AnyArray, FloatArray, Int32Array, IntArray

BLOCK = 32  # entries that are read together; a block begins at a multiple of it, or where its list begins
_SHIFT = 5  # 2^5 = BLOCK
_LONG = 256  # entries; of longer lists, blocks without a feature of the row are left out
_AHEAD = 4  # the lists of the candidates 4 places ahead are prefetched, and where the lists 8 places ahead begin
_LINE = 64  # bytes of a cache line
_ASKED = 512  # entries of a list that are asked for, at most; the processor goes on by itself
_S5, _LOW5, _ONE = np.uint32(5), np.uint32(31), np.uint32(1)
_BEFORE_FIRST = np.uint32(0xFFFFFFFF)  # feature -1


@kernel
def block_ends(starts: AnyArray, gaps: AnyArray, out: AnyArray) -> None:
    """out[b] is the feature of the last entry of the b-th whole block of entries.

    The lists must have passed `damaged_feature`.
    """
    for label in range(len(starts) - 1):
        feature = _BEFORE_FIRST
        for e in range(int64(starts[label]), int64(starts[label + 1])):
            feature = np.uint32(feature + np.uint32(gaps[e]))
            if (e + 1) % BLOCK == 0:
                out[e >> _SHIFT] = feature


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


@kernel
def candidate_margins(
    rows: CsrRows, lists: WeightLists, ends: AnyArray, n_features: int, pairs: IntArray, ids: IntArray, out: FloatArray
) -> None:
    """out[c] is the margin of label ids[c] for row i, for c in pairs[i]..pairs[i + 1]; each row by itself.

    The lists must have passed `damaged_feature`, `ends` are their `block_ends`, and no row has a feature beyond
    `n_features`. A label's sum is in the order of its features. In a block, first the features are added up, then those
    that the row has are listed without a branch, then these are multiplied: in one loop it took 1.3 to 1.5 times as
    long. A call per candidate would count references to the arrays, which took a third of the time.
    """
    starts, gaps, codes = lists.starts, lists.gaps, lists.codes
    all_starts, all_gaps, all_codes = starts.reshape(1, -1), gaps.reshape(1, -1), codes.reshape(1, -1)
    present, dense = np.zeros((n_features + 31) // 32 + 1, np.uint32), np.empty(n_features, np.float32)
    places, hits = np.empty(BLOCK, np.uint32), np.empty(BLOCK + 1, np.uint8)
    for i in range(len(pairs) - 1):
        _mark(rows, i, present, dense)
        for c in range(pairs[i], pairs[i + 1]):
            if c + 2 * _AHEAD < len(ids):
                prefetch(all_starts, 0, ids[c + 2 * _AHEAD])
                soon = ids[c + _AHEAD]
                e, stop = int64(starts[soon]), min(int64(starts[soon + 1]), int64(starts[soon]) + _ASKED)
                for line in range(e, stop, _LINE // 2):
                    prefetch(all_gaps, 0, line)
                for line in range(e, stop, _LINE):
                    prefetch(all_codes, 0, line)
            label, feature, total = ids[c], _BEFORE_FIRST, np.float32(0.0)
            e, stop = int64(starts[label]), int64(starts[label + 1])
            is_long, j, last = stop - e > _LONG, rows.indptr[i], rows.indptr[i + 1]
            while e < stop:
                following = ((e >> _SHIFT) + 1) << _SHIFT
                if is_long:
                    while j < last and rows.indices[j] <= np.int32(feature):
                        j += 1
                    if j == last:
                        break
                    if following <= stop and np.uint32(rows.indices[j]) > ends[e >> _SHIFT]:
                        feature, e = ends[e >> _SHIFT], following
                        continue
                count, n_hits = min(stop, following) - e, np.uint32(0)
                for k in range(count):
                    feature = np.uint32(feature + np.uint32(gaps[np.uint64(e + k)]))
                    places[k] = feature
                for k in range(count):
                    hits[n_hits] = k
                    bit = (present[places[k] >> _S5] >> (places[k] & _LOW5)) & _ONE
                    n_hits = np.uint32(n_hits + bit)
                for h in range(n_hits):
                    total += dense[places[hits[h]]] * np.float32(codes[np.uint64(e + hits[h])])
                e = following
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
            place = write_gap(features[e] - last, largest_gap, place, out_gaps, out_codes)
            out_codes[place] = codes[e]
            place += 1
            last = int64(features[e])
        ends[label] = place
    return place
