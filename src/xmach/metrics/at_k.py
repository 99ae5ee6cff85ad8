"""One metric of one ranking, as a function."""

from __future__ import annotations

import numpy.typing as npt

from xmach.metrics.coverage import Coverage
from xmach.metrics.labels import TrueLabels, whole_numbers
from xmach.metrics.propensity import PropensityScored, own_propensities
from xmach.metrics.sums import CorpusMetric, RankingMetrics


def precision_at_k(true: TrueLabels, ranked: npt.ArrayLike, k: int, weights: npt.ArrayLike | None = None) -> float:
    """The mean share of the first k places that hold a true label: hits / k, the usual P@k."""
    return _mean("precision", true, ranked, k, weights)


def precision_at_min_k(true: TrueLabels, ranked: npt.ArrayLike, k: int, weights: npt.ArrayLike | None = None) -> float:
    """The mean of hits / min(|Y|, k), which the paper's table prints as P@k; above `precision_at_k` if |Y| < k."""
    return _mean("precision_min", true, ranked, k, weights)


def precision_most_rel_at_k(
    true: TrueLabels, ranked: npt.ArrayLike, k: int, weights: npt.ArrayLike | None = None
) -> float:
    """P@k if only the most purchased label of a row (and ties) counts as true; the paper's P@1_most_rel."""
    return _mean("precision_most_rel", true, ranked, k, weights)


def recall_at_k(true: TrueLabels, ranked: npt.ArrayLike, k: int, weights: npt.ArrayLike | None = None) -> float:
    """The mean share of a row's labels that are in its first k places; with weights the paper's wRecall@k."""
    return _mean("recall", true, ranked, k, weights)


def ndcg_at_k(true: TrueLabels, ranked: npt.ArrayLike, k: int, weights: npt.ArrayLike | None = None) -> float:
    """The mean normalised discounted cumulative gain of the first k places; every true label gains 1."""
    return _mean("ndcg", true, ranked, k, weights)


def ndcg_paper_at_k(true: TrueLabels, ranked: npt.ArrayLike, k: int, weights: npt.ArrayLike | None = None) -> float:
    """The paper's nDCG@k: the gain over the largest of its single terms, not over the best sum; can exceed 1."""
    return _mean("ndcg_paper", true, ranked, k, weights)


def map_at_k(true: TrueLabels, ranked: npt.ArrayLike, k: int, weights: npt.ArrayLike | None = None) -> float:
    """The usual MAP@k: the mean of the sum of P@i over the places i of hits, divided by min(|Y|, k)."""
    return _mean("map", true, ranked, k, weights)


def map_paper_at_k(true: TrueLabels, ranked: npt.ArrayLike, k: int, weights: npt.ArrayLike | None = None) -> float:
    """The paper's MAP@k: the same sum, divided by k."""
    return _mean("map_paper", true, ranked, k, weights)


def mrr_at_k(true: TrueLabels, ranked: npt.ArrayLike, k: int, weights: npt.ArrayLike | None = None) -> float:
    """The usual MRR@k: the mean of 1 / place of the first hit, 0 if the first k places have none."""
    return _mean("mrr", true, ranked, k, weights)


def mrr_paper_at_k(true: TrueLabels, ranked: npt.ArrayLike, k: int, weights: npt.ArrayLike | None = None) -> float:
    """The paper's MRR@k: the mean of 1 / place of the most purchased label, the best ranked of those that tie.

    Purchases are the values of a sparse matrix. In any other form all labels count the same: then it is the usual MRR.
    """
    return _mean("mrr_paper", true, ranked, k, weights)


def psp_at_k(
    true: TrueLabels,
    ranked: npt.ArrayLike,
    k: int,
    weights: npt.ArrayLike | None = None,
    *,
    propensities: npt.ArrayLike | None = None,
) -> float:
    """Propensity-scored precision: the sum of 1/p over the hits of all rows, divided by the largest possible sum.

    Pass the `propensities` of the training rows. Without them they are computed from the label counts of `true`, with
    A = 0.55 and B = 1.5. That suits comparing rankings of the same rows, but not comparing with published figures.
    """
    return _corpus(f"psp@{k}", _scored(true, propensities), true, ranked, k, weights)


def psndcg_at_k(
    true: TrueLabels,
    ranked: npt.ArrayLike,
    k: int,
    weights: npt.ArrayLike | None = None,
    *,
    propensities: npt.ArrayLike | None = None,
) -> float:
    """Propensity-scored nDCG: the sum of each row's nDCG with gains 1/p, divided by the largest possible sum.

    `propensities` as in `psp_at_k`.
    """
    return _corpus(f"psndcg@{k}", _scored(true, propensities), true, ranked, k, weights)


def coverage_at_k(true: TrueLabels, ranked: npt.ArrayLike, k: int) -> float:
    """The share of the occurring labels that are in the top k of at least one row where they are true."""
    return _corpus(f"coverage@{k}", Coverage(), true, ranked, k, None)


def accuracy(true: TrueLabels, ranked: npt.ArrayLike, weights: npt.ArrayLike | None = None) -> float:
    """The share of rows whose prediction, or first ranked id, is a true label; `ranked` is (n,) or (n, m)."""
    ids = whole_numbers(ranked, "ranked ids")
    return _mean("precision", true, ids[:, None] if ids.ndim == 1 else ids, 1, weights)


def _scored(true: TrueLabels, given: npt.ArrayLike | None) -> PropensityScored:
    return PropensityScored(own_propensities(true) if given is None else given)


def _mean(name: str, true: TrueLabels, ranked: npt.ArrayLike, k: int, weights: npt.ArrayLike | None) -> float:
    metrics = RankingMetrics((k,), (name,))
    metrics.update(true, ranked, weights)
    return metrics.result()[f"{name}@{k}"]


def _corpus(
    key: str,
    metric: CorpusMetric,
    true: TrueLabels,
    ranked: npt.ArrayLike,
    k: int,
    weights: npt.ArrayLike | None,
) -> float:
    metrics = RankingMetrics((k,), (), [metric])
    metrics.update(true, ranked, weights)
    return metrics.result()[key]
