"""From trained weights to lists by feature: prune, quantise, and transpose by counting.

Memory is proportional to the weights: there is never a dense array of buckets by features.
"""

from __future__ import annotations

import numpy as np

from xmach._kernels._compile import float64, int64, kernel
from xmach._kernels.llvm import LINE, prefetch
from xmach._kernels.train.weight_lists import write_gap
from xmach.types import AnyArray, FloatArray, Int32Array, IntArray

LARGEST_CODE = 127
_AHEAD = 8  # rows of lanes are prefetched this many rows ahead
_SMALLEST_SCALE = np.finfo(np.float32).tiny  # below it a division by the scale would lose digits


@kernel
def count_lanes(weights: FloatArray, threshold: np.float32, counts: IntArray) -> None:
    """Add to counts[l] how many weights of lane l have |w| >= threshold and are not 0; `weights` is (d', 64)."""
    for i in range(len(weights)):
        for lane in range(len(counts)):
            weight = abs(weights[i, lane])
            counts[lane] += (weight >= threshold) & (weight > np.float32(0.0))


@kernel
def fill_lanes(
    weights: FloatArray,
    threshold: np.float32,
    order: IntArray,
    features: Int32Array,
    places: IntArray,
    out_features: Int32Array,
    out_values: FloatArray,
) -> None:
    """Write the weights that `count_lanes` counted, lane l from places[l] on; `places` moves along.

    Rows are visited in `order`, which sorts `features` (d',). The lanes of a row are listed without a branch first, and
    later rows are prefetched: 15 ms instead of 62 for 130,000 rows in random order, 4 % of whose weights are kept.
    """
    kept = np.empty(len(places) + 1, np.int64)
    for i in range(len(order)):
        row, later = weights[order[i]], order[min(i + _AHEAD, len(order) - 1)]
        for lane in range(0, len(places), LINE):
            prefetch(weights, later, lane)
        n_kept = 0
        for lane in range(len(places)):
            weight = abs(row[lane])
            kept[n_kept] = lane  # overwritten by the next unless it is kept
            n_kept += (weight >= threshold) & (weight > np.float32(0.0))
        for lane in kept[:n_kept]:
            place = places[lane]
            out_features[place] = features[order[i]]
            out_values[place] = row[lane]
            places[lane] = place + 1


@kernel
def quantise(starts: IntArray, values: FloatArray, scales: FloatArray, codes: AnyArray) -> None:
    """Round each bucket's weights to codes * scale, with scale = max|w| / 127, and 0 for a bucket without weights."""
    smallest = np.float32(_SMALLEST_SCALE)
    largest = np.float32(LARGEST_CODE)
    for bucket in range(len(starts) - 1):
        top = np.float32(0.0)
        for e in range(starts[bucket], starts[bucket + 1]):
            top = max(top, abs(values[e]))
        scale = max(top / largest, smallest) if top > np.float32(0.0) else np.float32(0.0)
        scales[bucket] = scale
        for e in range(starts[bucket], starts[bucket + 1]):
            ratio = values[e] / scale if scale > np.float32(0.0) else np.float32(0.0)
            codes[e] = np.int8(np.rint(min(max(ratio, -largest), largest)))


@kernel
def keep_largest(starts: IntArray, codes: AnyArray, share: float, out: AnyArray) -> None:
    """Copy the largest codes of each bucket until their squares sum to `share` of all; the other places become 0.

    Codes of one magnitude are kept or dropped together, and those of the largest are always kept.
    """
    counts = np.empty(LARGEST_CODE + 1, np.int64)
    for bucket in range(len(starts) - 1):
        counts[:] = 0
        total, reached, level = int64(0), int64(0), LARGEST_CODE + 1
        for e in range(starts[bucket], starts[bucket + 1]):
            size = abs(int64(codes[e]))
            counts[size] += 1
            total += size * size
        while level > 1 and (reached == 0 or float64(reached) < share * float64(total)):
            level -= 1
            reached += counts[level] * level * level
        for e in range(starts[bucket], starts[bucket + 1]):
            out[e] = codes[e] if abs(int64(codes[e])) >= level else 0


@kernel
def count_entries(
    first: int,
    starts: IntArray,
    features: Int32Array,
    codes: AnyArray,
    largest_gaps: IntArray,
    last: IntArray,
    counts: IntArray,
) -> bool:
    """Add each feature's entries, with fillers, to counts[t] (d,) as if largest_gaps[t] were the largest gap.

    `last` (d,) is the last bucket of each feature so far, -1 before any: buckets must come in rising order. False if a
    bucket has a feature twice.
    """
    for b in range(len(starts) - 1):
        for e in range(starts[b], starts[b + 1]):
            if codes[e] == 0:
                continue
            feature = features[e]
            gap = first + b - last[feature]
            if gap < 1:
                return False
            last[feature] = first + b
            for t in range(len(largest_gaps)):
                counts[t, feature] += 1 + (gap - 1) // largest_gaps[t]
    return True


@kernel
def fill_entries(
    first: int,
    starts: IntArray,
    features: Int32Array,
    codes: AnyArray,
    largest_gap: int,
    last: IntArray,
    places: IntArray,
    out_gaps: AnyArray,
    out_codes: AnyArray,
) -> None:
    """Write the entries that `count_entries` counted, feature j from places[j] on; `places` and `last` move along.

    A gap above the largest is reached by fillers: the largest gap with code 0.
    """
    for b in range(len(starts) - 1):
        for e in range(starts[b], starts[b + 1]):
            if codes[e] == 0:
                continue
            feature = features[e]
            gap = first + b - last[feature]
            place = write_gap(gap, largest_gap, places[feature], out_gaps, out_codes)
            out_codes[place] = codes[e]
            places[feature] = place + 1
            last[feature] = first + b
