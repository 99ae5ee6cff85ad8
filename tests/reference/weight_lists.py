"""Slow twins of the kernels of linear models: `xmach._kernels.train.weight_lists` and `bucket_weights`."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from xmach._kernels.train.weight_lists import WeightLists
from xmach.models.linear import BucketWeights
from xmach.types import AnyArray, FloatArray, Int32Array, SparseRows


def entries_slow(lists: WeightLists) -> list[list[tuple[int, AnyArray]]]:
    """The (bucket, code) of every feature's entries, fillers included."""
    found = []
    for start, stop in pairwise(lists.starts.tolist()):
        buckets = np.cumsum(lists.gaps[start:stop].astype(np.int64)) - 1
        found.append(list(zip(buckets.tolist(), lists.codes[start:stop], strict=True)))
    return found


def margins_slow(rows: SparseRows, lists: WeightLists) -> FloatArray:
    """The twin of `sparse_margins`, bit by bit: float32 sums in the order of the row's values."""
    out, entries = np.empty((rows.n_rows, len(lists.biases)), np.float32), entries_slow(lists)
    for i in range(rows.n_rows):
        sums = np.zeros(len(lists.biases), np.float32)
        for feature, value in zip(*rows.row(i), strict=True):
            for bucket, code in entries[feature]:
                sums[bucket] += value * np.float32(code)
        out[i] = sums * lists.scales + lists.biases
    return out


def damaged_feature_slow(starts: AnyArray, gaps: AnyArray, n_buckets: int) -> bool:
    """The twin of `damaged_feature`: whether anything is wrong."""
    places = starts.tolist()
    if places[0] != 0 or places[-1] != len(gaps) or places != sorted(places):
        return True
    lists = [gaps[a:b].tolist() for a, b in pairwise(places)]
    return any(0 in each or sum(each) > n_buckets for each in lists)


def lanes_slow(weights: FloatArray, n_lanes: int, features: Int32Array, threshold: float) -> list[dict[int, float]]:
    """The twin of `count_lanes` and `fill_lanes`: each lane's weights by feature, in the order of features."""
    lanes = []
    for column in weights.T[:n_lanes]:
        kept = {int(f): float(w) for f, w in zip(features, column, strict=True) if w and abs(w) >= threshold}
        lanes.append(dict(sorted(kept.items())))
    return lanes


def quantise_slow(weights: FloatArray) -> tuple[AnyArray, np.float32]:
    """The twin of `quantise` for one bucket: codes and scale."""
    top = np.abs(weights).max(initial=0.0)
    if top == 0:
        return np.zeros(len(weights), np.int8), np.float32(0.0)
    scale = np.maximum(np.float32(top) / np.float32(127), np.finfo(np.float32).tiny)
    return np.clip(np.rint(weights / scale), -127, 127).astype(np.int8), np.float32(scale)


def largest_slow(codes: AnyArray, share: float) -> AnyArray:
    """The twin of `keep_largest` for one bucket."""
    sizes = np.abs(codes.astype(np.int64))
    for level in sorted(set(sizes.tolist()) - {0}, reverse=True):
        kept = sizes >= level
        if (sizes[kept] ** 2).sum() >= share * (sizes**2).sum():
            return np.where(kept, codes, 0).astype(codes.dtype)
    return codes


def join_slow(part: BucketWeights, n_features: int, largest_gap: int, bits: int) -> tuple[AnyArray, AnyArray, AnyArray]:
    """The twin of `count_entries` and `fill_entries`, of one part with all buckets: starts, gaps and codes."""
    lists: list[list[tuple[int, float]]] = [[] for _ in range(n_features)]
    for bucket, (start, stop) in enumerate(pairwise(part.starts.tolist())):
        values = part.values[start:stop]
        codes_of_bucket = quantise_slow(values)[0] if bits == 8 else values
        for feature, code in zip(part.features[start:stop], codes_of_bucket, strict=True):
            if code:
                lists[feature].append((bucket, code))
    starts, gaps, codes = [0], [], []
    for entries in lists:
        last = -1
        for bucket, code in entries:
            fillers, gap = divmod(bucket - last - 1, largest_gap)
            gaps += [largest_gap] * fillers + [gap + 1]
            codes += [0] * fillers + [code]
            last = bucket
        starts.append(len(gaps))
    return np.array(starts), np.array(gaps), np.array(codes)
