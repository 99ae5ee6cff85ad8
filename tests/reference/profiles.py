"""Slow twins of the kernels of label profiles: `xmach._kernels.rank`."""

from __future__ import annotations

from collections.abc import Iterable
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


def profile_slow(rows: SparseRows, weights: dict[int, np.float32], most: int, energy: float) -> dict[int, np.float32]:
    """The twin of `fill_profiles` for one label: its entries by feature."""
    sums: dict[int, float] = {}
    for i, weight in weights.items():
        for feature, value in zip(*rows.row(i), strict=True):
            sums[int(feature)] = sums.get(int(feature), 0.0) + float(weight) * float(value)
    length = np.sqrt(_squares([sums[feature] for feature in sorted(sums)]))
    if length == 0.0:
        return {}
    profile = {feature: np.float32(total / length) for feature, total in sorted(sums.items())}
    enough, kept = energy * _squares(profile.values()), []
    for feature in sorted((f for f in profile if profile[f] != 0), key=lambda f: (-abs(profile[f]), f)):
        if len(kept) < most and (energy == 1.0 or _squares([profile[f] for f in kept]) < enough):
            kept.append(feature)
    return {feature: profile[feature] for feature in sorted(kept)}


def _squares(values: Iterable[float]) -> float:
    """The sum of squares, in order."""
    total = 0.0
    for value in values:
        total += float(value) * float(value)
    return total


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
