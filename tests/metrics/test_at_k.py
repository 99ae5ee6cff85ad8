"""The measures against a naive implementation, scikit-learn and hand-computed cases."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import accuracy_score, ndcg_score

from xmach.metrics import accuracy, ndcg_at_k, precision_at_k, precision_at_min_k, recall_at_k


def naive_row(name: str, labels: set[int], ranking: list[int], k: int) -> float:
    if not labels:
        return 0.0
    hit_places = [i for i in range(k) if ranking[i] != -1 and ranking[i] in labels]
    if name == "precision":
        return len(hit_places) / k
    if name == "precision_min":
        return len(hit_places) / min(len(labels), k)
    if name == "recall":
        return len(hit_places) / len(labels)
    best = math.fsum(1 / math.log2(i + 2) for i in range(min(len(labels), k)))
    return math.fsum(1 / math.log2(i + 2) for i in hit_places) / best


def naive_mean(
    name: str, labels: list[set[int]], rankings: list[list[int]], k: int, weights: list[float] | None
) -> float:
    shares = [1.0] * len(labels) if weights is None else weights
    scores = [naive_row(name, labels[i], rankings[i], k) for i in range(len(labels))]
    return math.fsum(s * w for s, w in zip(scores, shares, strict=True)) / math.fsum(shares)


MEASURES: dict[str, Callable[..., float]] = {
    "precision": precision_at_k,
    "precision_min": precision_at_min_k,
    "recall": recall_at_k,
    "ndcg": ndcg_at_k,
}


def random_case(rng: np.random.Generator) -> tuple[list[set[int]], list[list[int]], int, int, list[float] | None]:
    n_labels = int(rng.integers(1, 30))
    width = int(rng.integers(1, n_labels + 1))
    n_rows = int(rng.integers(1, 12))
    labels = [
        set(rng.choice(n_labels, rng.integers(0, n_labels + 1), replace=False).tolist())
        if rng.random() < 0.8
        else set[int]()
        for _ in range(n_rows)
    ]
    rankings = [
        [-1 if rng.random() < 0.2 else int(label) for label in rng.permutation(n_labels)[:width]] for _ in range(n_rows)
    ]
    weights = rng.random(n_rows).tolist() if rng.random() < 0.5 else None
    return labels, rankings, n_labels, int(rng.integers(1, width + 1)), weights


def test_a_thousand_random_cases_equal_the_naive_implementation() -> None:
    rng = np.random.default_rng(0)
    for _ in range(1000):
        labels, rankings, n_labels, k, weights = random_case(rng)
        matrix = sparse.lil_matrix((len(labels), n_labels))
        for row, ids in enumerate(labels):
            matrix[row, list(ids)] = 1
        for name, measure in MEASURES.items():
            expected = naive_mean(name, labels, rankings, k, weights)
            assert measure(labels, rankings, k, weights) == pytest.approx(expected, rel=0, abs=1e-12)
            assert measure(matrix, np.array(rankings), k, weights) == pytest.approx(expected, rel=0, abs=1e-12)


@pytest.mark.parametrize("k", [1, 3, 10, 20])
def test_ndcg_equals_scikit_learns(k: int) -> None:
    rng = np.random.default_rng(1)
    true = (rng.random((50, 20)) < 0.2).astype(int)
    true[:, 0] |= true.sum(axis=1) == 0  # scikit-learn's mean leaves no room for rows without labels
    scores = rng.permuted(np.tile(np.arange(20.0), (50, 1)), axis=1)  # no ties
    weights = rng.random(50)
    ranked = np.argsort(-scores, axis=1)
    expected = ndcg_score(true, scores, k=k, sample_weight=weights)
    assert ndcg_at_k(sparse.csr_array(true), ranked, k, weights) == pytest.approx(expected, abs=1e-12)


def test_accuracy_equals_scikit_learns() -> None:
    rng = np.random.default_rng(2)
    true, predicted, weights = rng.integers(0, 3, 100), rng.integers(0, 3, 100), rng.random(100)
    assert accuracy(true, predicted) == pytest.approx(accuracy_score(true, predicted), abs=1e-12)
    expected = accuracy_score(true, predicted, sample_weight=weights)
    assert accuracy(true, predicted, weights) == pytest.approx(expected, abs=1e-12)


def test_one_row_by_hand() -> None:
    true, ranked = [[7, 2]], [[2, 5, 7, 1, 0]]
    assert precision_at_k(true, ranked, 1) == 1
    assert precision_at_k(true, ranked, 3) == pytest.approx(2 / 3)
    assert precision_at_k(true, ranked, 5) == pytest.approx(2 / 5)  # the usual one divides by k
    assert precision_at_min_k(true, ranked, 5) == 1  # the paper's by min(|Y|, k)
    assert precision_at_min_k(true, ranked, 2) == 0.5
    assert recall_at_k(true, ranked, 1) == 0.5
    assert recall_at_k(true, ranked, 3) == 1
    assert ndcg_at_k(true, ranked, 3) == pytest.approx((1 + 1 / 2) / (1 + 1 / math.log2(3)))
    assert accuracy(true, ranked) == 1


def test_weighted_recall_is_the_papers() -> None:
    # (recall(q1) n1 + recall(q2) n2) / (n1 + n2), section 4.2
    true, ranked = [[0, 1], [2]], [[0, 3], [2, 3]]
    assert recall_at_k(true, ranked, 2, weights=[30, 10]) == pytest.approx((0.5 * 30 + 1 * 10) / 40)


@pytest.mark.parametrize("measure", [*MEASURES.values()])
def test_a_row_without_labels_scores_zero_and_counts(measure: Callable[..., float]) -> None:
    assert measure([[], [4]], [[4], [4]], 1) == 0.5


@pytest.mark.parametrize("measure", [*MEASURES.values()])
def test_no_answer_takes_a_place_and_is_never_a_hit(measure: Callable[..., float]) -> None:
    assert measure([[0]], [[-1, -1, -1]], 3) == 0
    assert measure([[0]], [[-1, 0]], 1) == 0
    assert measure([[0]], [[-1, 0]], 2) > 0


def test_accuracy_takes_the_first_place_of_a_ranking() -> None:
    assert accuracy([3, 1, 2], [[3, 0], [0, 1], [2, 0]]) == pytest.approx(2 / 3)
    assert accuracy([3, 1], [3, -1]) == 0.5
