"""One measure of one ranking, as a function."""

from __future__ import annotations

import numpy.typing as npt

from xmach.metrics.labels import TrueLabels, whole_numbers
from xmach.metrics.sums import RankingMetrics


def precision_at_k(true: TrueLabels, ranked: npt.ArrayLike, k: int, weights: npt.ArrayLike | None = None) -> float:
    """The mean share of the first k places that hold a true label: hits / k, the usual P@k."""
    return _mean("precision", true, ranked, k, weights)


def precision_at_min_k(true: TrueLabels, ranked: npt.ArrayLike, k: int, weights: npt.ArrayLike | None = None) -> float:
    """The mean of hits / min(|Y|, k), which the paper's table prints as P@k; above `precision_at_k` where |Y| < k."""
    return _mean("precision_min", true, ranked, k, weights)


def recall_at_k(true: TrueLabels, ranked: npt.ArrayLike, k: int, weights: npt.ArrayLike | None = None) -> float:
    """The mean share of a row's labels among its first k places; with weights the paper's wRecall@k."""
    return _mean("recall", true, ranked, k, weights)


def ndcg_at_k(true: TrueLabels, ranked: npt.ArrayLike, k: int, weights: npt.ArrayLike | None = None) -> float:
    """The mean normalised discounted cumulative gain of the first k places; every true label gains 1."""
    return _mean("ndcg", true, ranked, k, weights)


def accuracy(true: TrueLabels, ranked: npt.ArrayLike, weights: npt.ArrayLike | None = None) -> float:
    """The share of rows whose prediction, or first ranked id, is a true label; `ranked` is (n,) or (n, m)."""
    ids = whole_numbers(ranked, "ranked ids")
    return _mean("precision", true, ids[:, None] if ids.ndim == 1 else ids, 1, weights)


def _mean(name: str, true: TrueLabels, ranked: npt.ArrayLike, k: int, weights: npt.ArrayLike | None) -> float:
    metrics = RankingMetrics((k,), (name,))
    metrics.update(true, ranked, weights)
    return next(iter(metrics.result().values()))
