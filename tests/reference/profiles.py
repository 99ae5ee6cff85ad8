"""Slow twins of the kernels of label profiles: `xmach._kernels.rank`."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from tests.reference.weight_lists import entries_slow

from xmach._kernels.train.weight_lists import WeightLists
from xmach.types import BoolArray, FloatArray, IntArray, SparseRows


def rows_of_label_slow(labels: SparseRows, label: int, row_weights: FloatArray | None) -> dict[int, np.float32]:
    """The twin of `count_rows` and `fill_rows`: a label's rows and their weights."""
    found = {}
    for i in range(labels.n_rows):
        weight = np.float32(1.0) if row_weights is None else row_weights[i]
        for each, value in zip(*labels.row(i), strict=True):
            if each == label:
                found[i] = value * weight
    return found


def profile_slow(
    rows: SparseRows, weights: dict[int, np.float32], most: int, share: np.float32
) -> dict[int, np.float32]:
    """The twin of `fill_profiles` for one label: its entries by feature."""
    sums: dict[int, float] = {}
    for i, weight in weights.items():
        for feature, value in zip(*rows.row(i), strict=True):
            sums[int(feature)] = sums.get(int(feature), 0.0) + float(weight) * float(value)
    square = 0.0
    for feature in sorted(sums):
        square += sums[feature] * sums[feature]
    if square == 0.0:
        return {}
    profile = {feature: np.float32(total / np.sqrt(square)) for feature, total in sums.items()}
    largest = sorted((feature for feature in profile if profile[feature] != 0), key=lambda f: (-abs(profile[f]), f))
    kept = [f for f in largest[:most] if abs(profile[f]) >= abs(profile[largest[0]]) * share]
    return {feature: profile[feature] for feature in sorted(kept)}


def cosines_slow(rows: SparseRows, lists: WeightLists) -> FloatArray:
    """The twin of `search_profiles` up to its sums: the cosines (n, K), bit by bit."""
    out, entries = np.zeros((rows.n_rows, len(lists.scales)), np.float32), entries_slow(lists)
    for i in range(rows.n_rows):
        indices, values = rows.row(i)
        square = 0.0
        for value in values:
            square += float(value) * float(value)
        inverse = 1 / np.sqrt(square) if square > 0 else 0.0
        sums = np.zeros(len(lists.scales), np.float32)
        for feature, value in zip(indices, values, strict=True):
            for label, code in entries[feature]:
                sums[label] += np.float32(float(value) * inverse) * np.float32(code)
        out[i] = sums * lists.scales
    return out


def best_slow(cosines: FloatArray, m: int, allowed: BoolArray | None) -> tuple[IntArray, FloatArray]:
    """The twin of the rest of `search_profiles`: the m best labels of each row."""
    ids, best = np.full((len(cosines), m), -1), np.zeros((len(cosines), m), np.float32)
    for i, row in enumerate(cosines):
        order = [label for label in np.argsort(-row, kind="stable") if row[label] > 0]
        order = [label for label in order if allowed is None or allowed[label]][:m]
        ids[i, : len(order)], best[i, : len(order)] = order, row[order]
    return ids, best


def own_slow(cosines: FloatArray, indptr: IntArray, ids: IntArray) -> list[np.float32]:
    """The cosines of each row's own candidates."""
    bounds = enumerate(pairwise(indptr.tolist()))
    return [cosines[i, label] for i, (start, stop) in bounds for label in ids[start:stop]]
