"""The measures against scikit-learn and cases computed by hand."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import accuracy_score, label_ranking_average_precision_score, ndcg_score, top_k_accuracy_score

from xmach import metrics
from xmach.errors import InputError
from xmach.types import SparseRows

MEASURES: list[Callable[..., float]] = [
    metrics.map_at_k,
    metrics.map_paper_at_k,
    metrics.mrr_at_k,
    metrics.mrr_paper_at_k,
    metrics.ndcg_at_k,
    metrics.ndcg_paper_at_k,
    metrics.precision_at_k,
    metrics.precision_at_min_k,
    metrics.precision_most_rel_at_k,
    metrics.recall_at_k,
]


def rows_with_scores(seed: int = 1) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """0/1 labels (scikit-learn scores rows without any in its own way), scores without ties, the ranking, weights."""
    rng = np.random.default_rng(seed)
    true = (rng.random((50, 20)) < 0.2).astype(int)
    true[:, 0] |= true.sum(axis=1) == 0
    scores = rng.permuted(np.tile(np.arange(20.0), (50, 1)), axis=1)
    return true, scores, np.argsort(-scores, axis=1), rng.random(50)


@pytest.mark.parametrize("k", [1, 3, 10, 20])
def test_ndcg_equals_scikit_learns(k: int) -> None:
    true, scores, ranked, weights = rows_with_scores()
    expected = ndcg_score(true, scores, k=k, sample_weight=weights)
    assert metrics.ndcg_at_k(sparse.csr_array(true), ranked, k, weights) == pytest.approx(expected, abs=1e-12)


def test_map_of_whole_rankings_equals_scikit_learns_label_ranking_average_precision() -> None:
    true, scores, ranked, weights = rows_with_scores()
    expected = label_ranking_average_precision_score(true, scores, sample_weight=weights)
    assert metrics.map_at_k(sparse.csr_array(true), ranked, 20, weights) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("k", [1, 4])
def test_recall_of_classes_equals_scikit_learns_top_k_accuracy(k: int) -> None:
    _, scores, ranked, weights = rows_with_scores()
    classes = np.random.default_rng(4).integers(0, 20, 50)
    expected = top_k_accuracy_score(classes, scores, k=k, sample_weight=weights, labels=np.arange(20))
    assert metrics.recall_at_k(classes, ranked, k, weights) == pytest.approx(expected, abs=1e-12)


def test_mrr_of_classes_equals_scikit_learns_label_ranking_average_precision() -> None:
    _, scores, ranked, weights = rows_with_scores()
    classes = np.random.default_rng(5).integers(0, 20, 50)
    expected = label_ranking_average_precision_score(np.eye(20)[classes], scores, sample_weight=weights)
    assert metrics.mrr_at_k(classes, ranked, 20, weights) == pytest.approx(expected, abs=1e-12)


def test_accuracy_equals_scikit_learns() -> None:
    rng = np.random.default_rng(2)
    true, predicted, weights = rng.integers(0, 3, 100), rng.integers(0, 3, 100), rng.random(100)
    assert metrics.accuracy(true, predicted) == pytest.approx(accuracy_score(true, predicted), abs=1e-12)
    expected = accuracy_score(true, predicted, sample_weight=weights)
    assert metrics.accuracy(true, predicted, weights) == pytest.approx(expected, abs=1e-12)


def test_one_row_by_hand() -> None:
    true, ranked = [[7, 2]], [[2, 5, 7, 1, 0]]  # hits at places 1 and 3
    assert metrics.precision_at_k(true, ranked, 1) == 1
    assert metrics.precision_at_k(true, ranked, 3) == pytest.approx(2 / 3)
    assert metrics.precision_at_k(true, ranked, 5) == pytest.approx(2 / 5)  # the usual one divides by k
    assert metrics.precision_at_min_k(true, ranked, 5) == 1  # the paper's by min(|Y|, k)
    assert metrics.precision_at_min_k(true, ranked, 2) == 0.5
    assert metrics.recall_at_k(true, ranked, 1) == 0.5
    assert metrics.recall_at_k(true, ranked, 3) == 1
    assert metrics.ndcg_at_k(true, ranked, 3) == pytest.approx((1 + 1 / 2) / (1 + 1 / math.log2(3)))
    assert metrics.ndcg_paper_at_k(true, ranked, 3) == pytest.approx(
        (1 + 1 / 2) / 1
    )  # its terms are 1, 0, 1/2: above 1
    assert metrics.map_at_k(true, ranked, 3) == pytest.approx((1 / 1 + 2 / 3) / 2)
    assert metrics.map_paper_at_k(true, ranked, 3) == pytest.approx((1 / 1 + 2 / 3) / 3)
    assert metrics.mrr_at_k(true, ranked, 3) == 1
    assert metrics.coverage_at_k(true, ranked, 2) == 0.5
    assert metrics.accuracy(true, ranked) == 1


def test_a_late_first_hit_by_hand() -> None:
    true, ranked = [[7, 2]], [[5, 7, 2]]  # hits at places 2 and 3
    # DCG = 1/log2(3) + 1/log2(4), its largest term 1/log2(3)
    assert metrics.ndcg_paper_at_k(true, ranked, 3) == pytest.approx(1 + (1 / 2) * math.log2(3))
    assert metrics.map_at_k(true, ranked, 3) == pytest.approx((1 / 2 + 2 / 3) / 2)
    assert metrics.mrr_at_k(true, ranked, 3) == 0.5
    assert metrics.mrr_at_k(true, ranked, 1) == 0


def test_the_most_purchased_label_by_hand() -> None:
    # label 3 was bought 9 times, 1 and 4 twice: ranked 1, 0, 3
    bought = sparse.csr_array(([2, 9, 2], ([0, 0, 0], [1, 3, 4])), shape=(1, 5))
    ranked = [[1, 0, 3]]
    assert metrics.mrr_at_k(bought, ranked, 3) == 1
    assert metrics.mrr_paper_at_k(bought, ranked, 3) == pytest.approx(1 / 3)
    assert metrics.mrr_paper_at_k(bought, ranked, 2) == 0
    assert metrics.precision_at_k(bought, ranked, 1) == 1
    assert metrics.precision_most_rel_at_k(bought, ranked, 1) == 0
    assert metrics.precision_most_rel_at_k(bought, ranked, 3) == pytest.approx(1 / 3)


def test_of_most_purchased_labels_that_tie_the_best_ranked_counts() -> None:
    bought = sparse.csr_array(([9, 9, 2], ([0, 0, 0], [1, 3, 4])), shape=(1, 5))
    assert metrics.mrr_paper_at_k(bought, [[4, 3, 1]], 3) == 0.5
    assert metrics.precision_most_rel_at_k(bought, [[4, 3, 1]], 3) == pytest.approx(2 / 3)


def test_purchases_given_in_parts_are_added() -> None:
    # 2 + 3 purchases of label 1 against 4 of label 3
    bought = sparse.coo_array(([2, 4, 3], ([0, 0, 0], [1, 3, 1])), shape=(1, 5))
    assert metrics.mrr_paper_at_k(bought, [[3, 1]], 2) == 0.5
    rows = SparseRows(np.array([0, 3]), np.array([1, 3, 1], np.int32), np.array([2, 4, 3], np.float32), 5)
    assert metrics.mrr_paper_at_k(rows, [[3, 1]], 2) == 0.5


def test_purchases_that_are_no_numbers_are_refused() -> None:
    bought = sparse.csr_array(([1.0, np.nan], ([0, 1], [1, 1])), shape=(2, 3))
    with pytest.raises(InputError, match="values of true labels must be finite, got nan in row 1"):
        metrics.mrr_paper_at_k(bought, [[1], [1]], 1)


def test_weighted_recall_is_the_papers() -> None:
    # (recall(q1) n1 + recall(q2) n2) / (n1 + n2), section 4.2
    true, ranked = [[0, 1], [2]], [[0, 3], [2, 3]]
    assert metrics.recall_at_k(true, ranked, 2, weights=[30, 10]) == pytest.approx((0.5 * 30 + 1 * 10) / 40)


@pytest.mark.parametrize("measure", MEASURES)
def test_a_row_without_labels_scores_zero_and_counts(measure: Callable[..., float]) -> None:
    assert measure([[], [4]], [[4], [4]], 1) == 0.5


@pytest.mark.parametrize("measure", [*MEASURES, metrics.coverage_at_k])
def test_no_answer_takes_a_place_and_is_never_a_hit(measure: Callable[..., float]) -> None:
    assert measure([[0]], [[-1, -1, -1]], 3) == 0
    assert measure([[0]], [[-1, 0]], 1) == 0
    assert measure([[0]], [[-1, 0]], 2) > 0


def test_accuracy_takes_the_first_place_of_a_ranking() -> None:
    assert metrics.accuracy([3, 1, 2], [[3, 0], [0, 1], [2, 0]]) == pytest.approx(2 / 3)
    assert metrics.accuracy([3, 1], [3, -1]) == 0.5
