"""Slow twins of the kernels of the ranker's lists: `xmach._kernels.rank.label_lists`."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from tests.reference.weight_lists import entries_slow, quantise_slow

from xmach._kernels.train.weight_lists import WeightLists
from xmach.models.bucket_weights import BucketWeights
from xmach.types import AnyArray, FloatArray, IntArray, SparseRows


def candidate_margins_slow(rows: SparseRows, lists: WeightLists, pairs: IntArray, ids: IntArray) -> FloatArray:
    """The twin of `candidate_margins`, bit by bit: float32 sums in the order of features."""
    out, entries = np.empty(len(ids), np.float32), entries_slow(lists)  # a list per label instead of per feature
    for i in range(rows.n_rows):
        values = dict(zip(*(part.tolist() for part in rows.row(i)), strict=True))
        for c in range(pairs[i], pairs[i + 1]):
            total = np.float32(0.0)
            for feature, code in entries[ids[c]]:
                if feature in values:
                    total += np.float32(values[feature]) * np.float32(code)
            out[c] = total * lists.scales[ids[c]] + lists.biases[ids[c]]
    return out


def block_ends_slow(lists: WeightLists, block: int) -> list[int]:
    """The twin of `block_ends`."""
    features = [feature for entries in entries_slow(lists) for feature, _ in entries]
    return [int(feature) for feature in features[block - 1 :: block]]


def lists_slow(part: BucketWeights, largest_gap: int, bits: int, threshold: float) -> tuple[AnyArray, ...]:
    """The twin of `count_label_entries` and `fill_label_entries`, of one part with all labels: starts, gaps, codes."""
    starts, gaps, codes = [0], [], []
    for start, stop in pairwise(part.starts.tolist()):
        values, last = part.values[start:stop], -1
        own = quantise_slow(values)[0] if bits == 8 else values
        for feature, code, value in zip(part.features[start:stop].tolist(), own, values, strict=True):
            if code and abs(value) >= threshold:
                fillers, gap = divmod(feature - last - 1, largest_gap)
                gaps += [largest_gap] * fillers + [gap + 1]
                codes += [0] * fillers + [code]
                last = feature
        starts.append(len(gaps))
    return np.array(starts), np.array(gaps), np.array(codes)
