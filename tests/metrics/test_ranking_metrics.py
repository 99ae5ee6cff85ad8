"""Sums over batches, weights, and the refusal of parameters."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from xmach.errors import InputError, ParameterError
from xmach.metrics import Coverage, RankingMetrics, precision_at_k, recall_at_k
from xmach.metrics.scores import ROW_SCORES


def some_rows(n: int = 40) -> tuple[list[list[int]], np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    true = [rng.choice(20, rng.integers(0, 5), replace=False).tolist() for _ in range(n)]
    ranked = np.array([rng.permutation(20)[:6] for _ in range(n)])
    return true, ranked, rng.random(n)


def test_batches_give_what_all_rows_at_once_give() -> None:
    true, ranked, weights = some_rows()
    whole, parts = RankingMetrics((1, 5)), RankingMetrics((5, 1, 5))
    whole.update(true, ranked, weights)
    for start, stop in [(0, 1), (1, 1), (1, 23), (23, 40)]:  # one of them empty
        parts.update(true[start:stop], ranked[start:stop], weights[start:stop])
    assert list(parts.result()) == [f"{name}@{k}" for name in ROW_SCORES for k in (1, 5)]
    assert parts.result() == pytest.approx(whole.result(), abs=1e-12)
    assert parts.rows == 40
    assert parts.rows_without_labels == sum(not labels for labels in true) > 0


def test_one_pass_gives_the_weighted_and_the_plain_mean() -> None:
    true, ranked, weights = some_rows()
    metrics = RankingMetrics([3], ["recall", "precision"])
    metrics.update(true, ranked, weights)
    assert metrics.result() == pytest.approx(
        {"recall@3": recall_at_k(true, ranked, 3, weights), "precision@3": precision_at_k(true, ranked, 3, weights)}
    )
    assert metrics.result(weighted=False) == pytest.approx(
        {"recall@3": recall_at_k(true, ranked, 3), "precision@3": precision_at_k(true, ranked, 3)}
    )


def test_without_weights_both_means_are_the_same() -> None:
    true, ranked, _ = some_rows()
    metrics = RankingMetrics()
    metrics.update(true, ranked)
    assert metrics.result() == metrics.result(weighted=False)


def test_a_batch_of_weight_zero_is_fine_while_others_weigh() -> None:
    metrics = RankingMetrics([1], ["precision"])
    metrics.update([0], [[1]], [0])
    metrics.update([0], [[0]], [2])
    assert metrics.result() == {"precision@1": 1.0}


def test_a_refused_batch_changes_nothing() -> None:
    metrics = RankingMetrics([1], ["precision"])
    metrics.update([0], [[0]])
    with pytest.raises(InputError, match="one number per row"):
        metrics.update([0, 0], [[1], [1]], [1.0])
    assert metrics.rows == 1
    assert metrics.result() == {"precision@1": 1.0}


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1.0, -1.0], r"finite and at least 0, got -1\.0 in row 1"),
        ([np.nan, 1.0], "finite and at least 0, got nan in row 0"),
        ([1.0, np.inf], "finite and at least 0, got inf in row 1"),
        ([0.0, 0.0], "positive, finite sum, got 0 over 2 rows"),
        ([1.0], r"shape \(2,\), got \(1,\)"),
        (2.0, r"shape \(2,\), got \(\)"),
        (["a", "b"], "weights must be numbers"),
    ],
)
def test_weights_that_are_refused(weights: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        recall_at_k([0, 1], [[0], [0]], 1, weights)


def test_means_of_no_rows_are_refused() -> None:
    with pytest.raises(InputError, match="no rows to average over"):
        RankingMetrics().result()
    with pytest.raises(InputError, match="no rows to average over"):
        precision_at_k([], np.empty((0, 1), int), 1)


@pytest.mark.parametrize("k", [0, -1, 1.0, True, "1"])
def test_a_k_that_is_no_whole_number_of_at_least_one_is_refused(k: Any) -> None:
    with pytest.raises(InputError, match=r"k must be .*at least 1"):
        precision_at_k([0], [[0]], k)


def test_parameters_that_are_refused() -> None:
    with pytest.raises(ParameterError, match=r"from precision, precision_min, .*mrr_paper; got 'f1'"):
        RankingMetrics([1], ["f1"])
    with pytest.raises(ParameterError, match="ks must not be empty"):
        RankingMetrics([])
    with pytest.raises(ParameterError, match="names and corpus must not both be empty"):
        RankingMetrics([1], [])


def test_corpus_metrics_alone_will_do() -> None:
    metrics = RankingMetrics([1], [], [Coverage()])
    metrics.update([[0], [1]], [[0], [0]])
    assert metrics.result() == {"coverage@1": 0.5}
    assert metrics.rows == 2


def test_a_ranking_of_all_labels_may_be_shorter_than_k() -> None:
    metrics = RankingMetrics([1, 100])
    metrics.update([[0, 1], [1]], [[0, 1], [0, 1]], exhaustive=True)
    result = metrics.result()
    assert result["recall@100"] == result["precision_min@100"] == 1.0
    assert result["precision@100"] == pytest.approx((2 / 100 + 1 / 100) / 2)
    assert result["map@100"] == pytest.approx((1 + 1 / 2) / 2)
    assert result["map_paper@100"] == pytest.approx((2 / 100 + 0.5 / 100) / 2)


def test_no_places_at_all_score_zero() -> None:
    metrics = RankingMetrics([3])
    metrics.update([[0], [1]], np.empty((2, 0), int), exhaustive=True)
    assert set(metrics.result().values()) == {0.0}
