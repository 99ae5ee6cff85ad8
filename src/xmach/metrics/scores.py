"""The score of each row from its hits; a row without labels scores 0.

A new measure is a function here and a line in ROW_SCORES; sums, weights and batches come of themselves.
"""

from __future__ import annotations

from collections.abc import Callable
from types import MappingProxyType
from typing import TypeAlias

import numpy as np

from xmach.metrics.hits import Hits
from xmach.types import DoubleArray, IntArray

RowScore: TypeAlias = Callable[[Hits, int], DoubleArray]  # hits and k to (n,)


def precision(hits: Hits, k: int) -> DoubleArray:
    """Hits / k, the usual P@k, also where a row has fewer than k labels."""
    return _count(hits, k) / k


def precision_min(hits: Hits, k: int) -> DoubleArray:
    """Hits / min(|Y|, k), as the paper's reference code has it."""
    return _count(hits, k) / np.maximum(np.minimum(hits.n_true, k), 1)


def recall(hits: Hits, k: int) -> DoubleArray:
    """Hits / |Y|."""
    return _count(hits, k) / np.maximum(hits.n_true, 1)


def ndcg(hits: Hits, k: int) -> DoubleArray:
    """DCG over that of a perfect ranking, which has hits on its first min(|Y|, k) places; a hit gains 1."""
    places = hits.places[:, :k]  # fewer than k, where there are no more labels
    depth = min(k, max(places.shape[1], int(hits.n_true.max(initial=1))))  # beyond it nothing can be gained
    discounts = 1 / np.log2(np.arange(2, depth + 2))  # place i = 1, 2, ... counts 1 / log2(i + 1)
    ideal = np.cumsum(discounts)[np.clip(hits.n_true, 1, depth) - 1]  # (n,)
    gained: DoubleArray = places @ discounts[: places.shape[1]]
    return gained / ideal


ROW_SCORES: MappingProxyType[str, RowScore] = MappingProxyType(
    {"precision": precision, "precision_min": precision_min, "recall": recall, "ndcg": ndcg}
)


def _count(hits: Hits, k: int) -> IntArray:
    counts: IntArray = hits.places[:, :k].sum(axis=1, dtype=np.int64)
    return counts
