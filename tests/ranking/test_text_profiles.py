"""Texts of labels as profiles: which features a text has counts, what each is worth is learned from rows."""

from __future__ import annotations

import numpy as np
import pytest
from tests.reference.term_weights import learned_weights

from xmach._kernels.rank.term_weights import Examples, Texts, learn_term_weights
from xmach.data.arrays import as_sparse_rows
from xmach.ranking.label_texts import term_weights, text_part, text_profiles
from xmach.types import SparseRows

D, K = 40, 9
IDS = np.array([0, 2, 3, 6, 7])  # the labels that have texts


def unit_rows(n_rows: int, seed: int) -> SparseRows:
    rng = np.random.default_rng(seed)
    dense = rng.random((n_rows, D)) * (rng.random((n_rows, D)) < 0.3)
    dense[:, 0] += 0.1
    return as_sparse_rows((dense / np.linalg.norm(dense, axis=1, keepdims=True)).astype(np.float32))


def dense_of(rows: SparseRows) -> np.ndarray:
    table = np.zeros((rows.n_rows, rows.n_columns))
    table[np.repeat(np.arange(rows.n_rows), np.diff(rows.indptr)), rows.indices] = rows.values
    return table


def labels_of(labels: list[list[int]]) -> SparseRows:
    indptr = np.append(0, np.cumsum([len(each) for each in labels]))
    indices = np.array([label for each in labels for label in each], np.int32)
    return SparseRows(indptr, indices, np.ones(len(indices), np.float32), K)


@pytest.mark.parametrize("weighted", [False, True])
def test_similarities_are_those_of_the_formula(weighted: bool) -> None:
    texts, rows = unit_rows(len(IDS), 0), unit_rows(8, 1)
    weights = np.random.default_rng(2).uniform(0.5, 2.0, D).astype(np.float32) if weighted else None
    profiles = text_profiles(text_part(IDS, texts, K), D, weights)
    found = profiles.search(rows, np.arange(9) * K, np.tile(np.arange(K), 8), 0).own.reshape(8, K)
    there = dense_of(texts) > 0
    lengths = there.sum(axis=1)
    expected = np.zeros((8, K))
    worth = np.ones(D) if weights is None else weights
    expected[:, IDS] = (dense_of(rows) * worth) @ there.T / (lengths**0.2 * 64**0.3)
    assert found == pytest.approx(expected, abs=4e-3 if weighted else 1e-5)  # weights are in 8 bits
    assert profiles.present().tolist() == [i in IDS for i in range(K)]


def test_a_long_text_keeps_its_rarest_features() -> None:
    values = np.arange(1, 1001, dtype=np.float32)
    text = SparseRows(np.array([0, 1000]), np.arange(1000, dtype=np.int32), values / np.linalg.norm(values), 1000)
    part = text_part(np.array([0]), text, 1)
    assert part.features.min() >= 488
    assert len(part.features) == 512


@pytest.mark.parametrize("seed", range(3))
def test_the_kernel_learns_what_its_slow_twin_learns(seed: int) -> None:
    rng = np.random.default_rng(seed)
    texts, rows = unit_rows(K, seed), unit_rows(30, seed + 10)
    factors = rng.uniform(0.2, 0.5, K).astype(np.float32)
    candidates = [np.sort(rng.choice(K, rng.integers(1, K), replace=False)) for _ in range(30)]
    right = [rng.random(len(ids)) < 0.3 for ids in candidates]
    indptr = np.append(0, np.cumsum([len(ids) for ids in candidates]))
    examples = Examples(
        rows.indptr, rows.indices, rows.values, indptr, np.concatenate(candidates), np.concatenate(right)
    )
    weights, squares, products, slopes = np.ones(D), np.full(D, 0.01), np.zeros(D), np.zeros(D)
    learn_term_weights(
        examples, np.arange(30), Texts(texts.indptr, texts.indices, factors), 20.0, 0.05, weights, squares, products,
        slopes, np.empty(K),
    )  # fmt: skip
    expected = learned_weights(dense_of(rows), dense_of(texts) > 0, factors, candidates, right, 20.0, 0.05)
    assert weights == pytest.approx(expected, rel=1e-6)
    assert np.abs(weights - 1.0).max() > 0.05
    assert not products.any()
    assert not slopes.any()


def test_a_word_that_tells_labels_apart_gains() -> None:
    """Every text has two words, and rows too: only the second says which label is meant."""
    texts = SparseRows(np.arange(6) * 2, np.array([0, 5, 1, 6, 2, 7, 3, 8, 4, 9], np.int32), np.ones(10, np.float32), D)
    shown = [(0, 6), (1, 7), (2, 8), (3, 9), (4, 5)] * 20  # the first word of one label, the second of the next
    pairs = np.array(shown, np.int32).ravel()
    rows = SparseRows(np.arange(101) * 2, pairs, np.full(200, 0.7, np.float32), D)
    labels = labels_of([[int(second) - 5] for _, second in shown])
    part = text_part(np.arange(5), texts, K)
    weights = term_weights(part, rows, labels)
    assert weights[5:10].min() > 1.0 > weights[:5].max()
    assert (weights[10:] == 1.0).all()


def test_rows_that_say_nothing_change_nothing() -> None:
    part = text_part(IDS, unit_rows(len(IDS), 0), K)
    rows, nothing = unit_rows(6, 1), labels_of([[]] * 6)
    without_text = labels_of([[1], [4], [5], [8], [1], [4]])
    for labels, order in ((nothing, np.arange(6)), (without_text, np.arange(6)), (without_text, np.arange(0))):
        assert (term_weights(part, rows.take(order), labels.take(order)) == 1.0).all()
