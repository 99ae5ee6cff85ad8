"""The forward pass of sparse linear classifiers whose weights are stored as one list per feature.

The entries of feature j are starts[j]..starts[j+1] of `gaps` and `codes`. An entry's bucket is the sum of its feature's
gaps up to it, minus 1. An entry with code 0 only moves the position along.

One core of an AMD EPYC (Zen 4), d = 130,000 Zipf features, B = 1,000, 2.5 million weights, 2,000 rows of up to 30
values that meet 14,000 entries each:

                           ms    billion entries/s    MB of weights
    sparse_margins, int8   20    1.3                  5.6
    sparse_margins, float  20    1.4                  13.6
    SciPy, CSR @ CSR       59    0.46                 20.5
    SciPy, CSR @ dense     17    (all B buckets)      520
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from xmach._kernels._compile import inlined, int64, kernel
from xmach.types import AnyArray, FloatArray, Int32Array, IntArray

_ENTRIES = 64  # multiplied at a time, in vectors; adding is one by one. One loop for both took 1.3 times as long


class WeightLists(NamedTuple):
    """The arrays of a linear model."""

    starts: AnyArray  # (d + 1,)
    gaps: AnyArray  # (m,)
    codes: AnyArray  # (m,)
    scales: FloatArray  # (B,)
    biases: FloatArray  # (B,)


@inlined
def write_gap(gap: int, largest_gap: int, place: int, out_gaps: AnyArray, out_codes: AnyArray) -> int:
    """Write an entry's gap, after the fillers that a gap above the largest needs; return the place of the entry."""
    while gap > largest_gap:
        out_gaps[place] = largest_gap
        out_codes[place] = 0
        gap -= largest_gap
        place += 1
    out_gaps[place] = gap
    return place


@kernel
def _add_list(value: np.float32, feature: int, lists: WeightLists, terms: FloatArray, sums: FloatArray) -> None:
    """sums[bucket + 1] += value * code for the entries of one feature; `terms` is scratch space.

    Places are unsigned, so that the compiler adds no code for negative indices.
    """
    place, gaps, codes = np.uint64(0), lists.gaps, lists.codes
    start, stop = int64(lists.starts[feature]), int64(lists.starts[feature + 1])
    for first in range(start, stop, _ENTRIES):
        count = min(stop - first, _ENTRIES)
        some_gaps, some_codes = gaps[first : first + count], codes[first : first + count]
        for e in range(count):
            terms[e] = value * np.float32(some_codes[e])
        for e in range(count):
            place += np.uint64(some_gaps[e])
            sums[place] += terms[e]


@kernel
def _finish(sums: FloatArray, scales: FloatArray, biases: FloatArray, out: FloatArray) -> None:
    """out = sums * scales + biases, and clear the sums for the next row."""
    for bucket in range(len(biases)):
        out[bucket] = sums[bucket + 1] * scales[bucket] + biases[bucket]
        sums[bucket + 1] = np.float32(0.0)


@kernel
def sparse_margins(
    indptr: IntArray, indices: Int32Array, values: FloatArray, lists: WeightLists, out: FloatArray
) -> None:
    """out (n, B) = (X @ codes) * scales + biases for CSR rows X (n, d); each row by itself, in the order of its values.

    The lists must have passed `damaged_feature`.
    """
    sums, terms = np.zeros(len(lists.biases) + 1, np.float32), np.empty(_ENTRIES, np.float32)
    for i in range(len(indptr) - 1):
        for j in range(indptr[i], indptr[i + 1]):
            _add_list(values[j], int64(indices[j]), lists, terms, sums)
        _finish(sums, lists.scales, lists.biases, out[i])


@kernel
def dense_margins(rows: FloatArray, lists: WeightLists, out: FloatArray) -> None:
    """The same for dense rows (n, d), with the same bits: zeros are left out."""
    sums, terms = np.zeros(len(lists.biases) + 1, np.float32), np.empty(_ENTRIES, np.float32)
    for i in range(len(rows)):
        for feature in range(rows.shape[1]):
            value = rows[i, feature]
            if value != np.float32(0.0):  # NaN is not zero
                _add_list(value, int64(feature), lists, terms, sums)
        _finish(sums, lists.scales, lists.biases, out[i])


@kernel
def damaged_feature(starts: AnyArray, gaps: AnyArray, n_buckets: int) -> int:
    """The first feature whose list is not within `gaps`, has a gap of 0 or ends beyond the last bucket; -1 if none.

    The starts are checked on the way, before anything is read through them. Runs at 2.2 GB/s of starts and gaps (shape
    as above): 1.4 ms for a model of 5.6 MB.
    """
    n_features = len(starts) - 1
    if int64(starts[0]) != 0:
        return 0
    for feature in range(n_features):
        start, stop = int64(starts[feature]), int64(starts[feature + 1])
        if start > stop or stop > len(gaps):
            return feature
        end, zeros = np.int64(0), np.int64(0)
        for e in range(start, stop):
            end += gaps[e]
            zeros += gaps[e] == 0
        if end > n_buckets or zeros > 0:
            return feature
    return -1 if int64(starts[n_features]) == len(gaps) else max(n_features - 1, 0)
