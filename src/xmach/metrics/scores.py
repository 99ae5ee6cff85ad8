"""Scores of single rows, computed from their hits; a row without labels scores 0.

To add a metric, write a function here and list it in ROW_SCORES; sums, weights and batches then work. `_paper` marks
the definitions of the paper's appendix, "Metrics of Interest", that differ from the usual ones.
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
    """Hits / k, the usual P@k, even if a row has fewer than k labels."""
    return _count(hits, k) / k


def precision_min(hits: Hits, k: int) -> DoubleArray:
    """Hits / min(|Y|, k), as the paper's reference code has it."""
    return _count(hits, k) / _most_hits(hits, k)


def precision_most_rel(hits: Hits, k: int) -> DoubleArray:
    """Precision if only the most purchased label of a row (and ties) counts as true."""
    return precision(hits.most_purchased, k)


def recall(hits: Hits, k: int) -> DoubleArray:
    """Hits / |Y|."""
    return _count(hits, k) / np.maximum(hits.n_true, 1)


def ndcg(hits: Hits, k: int) -> DoubleArray:
    """DCG divided by that of a perfect ranking, which has hits on its first min(|Y|, k) places; a hit gains 1."""
    gained: DoubleArray = _terms(hits, k).sum(axis=1)
    return gained / perfect_dcg(hits, k)


def ndcg_paper(hits: Hits, k: int) -> DoubleArray:
    """DCG divided by the largest of its own terms, that of the first hit; above 1 with two or more hits."""
    terms = _terms(hits, k)
    largest = terms.max(axis=1, initial=0)
    gained: DoubleArray = terms.sum(axis=1)
    return gained / np.where(largest > 0, largest, 1)


def average_precision(hits: Hits, k: int) -> DoubleArray:
    """The sum of P@i over the places i of hits, divided by min(|Y|, k); its mean is the usual MAP@k."""
    return _precisions(hits, k) / _most_hits(hits, k)


def average_precision_paper(hits: Hits, k: int) -> DoubleArray:
    """The sum of P@i over the places i of hits, divided by k."""
    return _precisions(hits, k) / k


def reciprocal_rank(hits: Hits, k: int) -> DoubleArray:
    """1 / place of the first hit, 0 without a hit; its mean is the usual MRR@k."""
    places = hits.places[:, :k]
    first: DoubleArray = (places / _ranks(places.shape[1])).max(axis=1, initial=0)
    return first


def reciprocal_rank_paper(hits: Hits, k: int) -> DoubleArray:
    """1 / place of the most purchased label; if several tie, of the best ranked."""
    return reciprocal_rank(hits.most_purchased, k)


ROW_SCORES: MappingProxyType[str, RowScore] = MappingProxyType(
    {
        "precision": precision,
        "precision_min": precision_min,
        "precision_most_rel": precision_most_rel,
        "recall": recall,
        "ndcg": ndcg,
        "ndcg_paper": ndcg_paper,
        "map": average_precision,
        "map_paper": average_precision_paper,
        "mrr": reciprocal_rank,
        "mrr_paper": reciprocal_rank_paper,
    }
)


def discounts(n_places: int) -> DoubleArray:
    """Return the gain (n_places,) of a hit at place i = 1, 2, ...: 1 / log2(i + 1)."""
    shares: DoubleArray = 1 / np.log2(_ranks(n_places) + 1)
    return shares


def perfect_dcg(hits: Hits, k: int) -> DoubleArray:
    """Return the DCG (n,) of hits on the first min(|Y|, k) places; 1 for rows without labels, to divide by."""
    depth = min(k, int(hits.n_true.max(initial=1)))  # deeper places gain nothing, and k may be very large
    best: DoubleArray = np.cumsum(discounts(depth))[np.clip(hits.n_true, 1, depth) - 1]
    return best


def _ranks(n_places: int) -> IntArray:
    return np.arange(1, n_places + 1)


def _count(hits: Hits, k: int) -> IntArray:
    counts: IntArray = hits.places[:, :k].sum(axis=1, dtype=np.int64)
    return counts


def _most_hits(hits: Hits, k: int) -> IntArray:
    return np.maximum(np.minimum(hits.n_true, k), 1)  # rows without labels have no hits: divide by 1


def _terms(hits: Hits, k: int) -> DoubleArray:
    places = hits.places[:, :k]  # fewer than k if there are fewer labels
    terms: DoubleArray = places * discounts(places.shape[1])
    return terms


def _precisions(hits: Hits, k: int) -> DoubleArray:
    places = hits.places[:, :k]
    sums: DoubleArray = (places * (np.cumsum(places, axis=1) / _ranks(places.shape[1]))).sum(axis=1)
    return sums
