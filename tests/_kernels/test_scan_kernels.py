"""The full scan against its twin: the same ids and the same bits, ties included."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.reference.scan import scan_top_k_slow, score_labels_slow

from xmach._kernels.decode.scan import (
    MEAN,
    MEDIAN,
    MIN,
    finish_top_k,
    scan_means,
    scan_top_k,
    score_labels,
    start_top_k,
)
from xmach.types import AnyArray, BoolArray, FloatArray, IntArray

RULES = [MEAN, MIN, MEDIAN]
NO_MASK = np.zeros(0, np.bool_)


def scan(
    cells: FloatArray, signatures: AnyArray, mask: BoolArray, wanted: bool, rule: int, k: int, pieces: int = 1
) -> tuple[FloatArray, IntArray]:
    """The scan with the labels in some pieces; the faster one by the mean, where asked for the mean, gives the same."""
    scores, ids = np.full((len(cells), k), np.nan, np.float32), np.full((len(cells), k), 99, np.int64)
    start_top_k(scores, ids)
    other_scores, other_ids = scores.copy(), ids.copy()
    size = -(-len(signatures) // pieces)
    for first in range(0, len(signatures), size):
        piece = signatures[first : first + size]
        scan_top_k(cells, piece, first, mask, wanted, rule, scores, ids)
        if rule == MEAN:
            scan_means(cells, piece, first, mask, wanted, other_scores, other_ids)
    finish_top_k(scores, ids)
    if rule == MEAN:
        finish_top_k(other_scores, other_ids)
        assert_same((other_scores, other_ids), (scores, ids))
    return scores, ids


def random_case(
    seed: int, n: int, n_labels: int, n_repetitions: int, n_buckets: int, levels: int, dtype: Any
) -> tuple[FloatArray, AnyArray]:
    """Cells and signatures; with few `levels` of cell values many labels tie, 0: no ties on purpose."""
    draw = np.random.default_rng(seed)
    cells = draw.random((n, n_repetitions, n_buckets))
    if levels:
        cells = np.floor(cells * levels) / 8
    return cells.astype(np.float32), draw.integers(0, n_buckets, (n_labels, n_repetitions)).astype(dtype)


def assert_same(fast: tuple[FloatArray, IntArray], slow: tuple[FloatArray, IntArray]) -> None:
    np.testing.assert_array_equal(fast[1], slow[1])
    np.testing.assert_array_equal(fast[0].view(np.uint32), slow[0].view(np.uint32))  # to the bit


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("levels", [0, 1, 2, 5])
@settings(deadline=None, max_examples=40)
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(0, 4),
    n_labels=st.integers(1, 60),
    n_repetitions=st.integers(1, 9),
    n_buckets=st.integers(2, 20),
    share=st.floats(0.01, 1),
    masked=st.sampled_from([None, True, False]),
)
def test_scan_is_its_twin(
    rule: int,
    levels: int,
    seed: int,
    n: int,
    n_labels: int,
    n_repetitions: int,
    n_buckets: int,
    share: float,
    masked: bool | None,
) -> None:
    cells, signatures = random_case(seed, n, n_labels, n_repetitions, n_buckets, levels, np.uint8)
    mask = NO_MASK if masked is None else np.random.default_rng(seed).random(n_labels) < 0.5
    k = max(1, round(share * n_labels))
    arguments = cells, signatures, mask, bool(masked), rule, k
    expected = scan_top_k_slow(*arguments)
    for pieces in (1, 2, 7):
        assert_same(scan(*arguments, pieces), expected)


def test_more_labels_than_are_added_up_together() -> None:
    for n_repetitions in (1, 3, 4, 7):
        cells, signatures = random_case(n_repetitions, 2, 9001, n_repetitions, 50, 4, np.uint8)
        for mask in (NO_MASK, np.arange(9001) % 3 == 0):
            arguments = cells, signatures, mask, True, MEAN, 60
            assert_same(scan(*arguments, 2), scan_top_k_slow(*arguments))


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("n_repetitions", [1, 2, 3, 32])
@pytest.mark.parametrize(("n_buckets", "dtype"), [(50, np.uint8), (300, np.uint16), (66_000, np.uint32)])
@pytest.mark.parametrize("k", [1, 7, 400])
def test_every_type_of_signature(rule: int, n_repetitions: int, n_buckets: int, dtype: Any, k: int) -> None:
    cells, signatures = random_case(k, 2, 400, n_repetitions, n_buckets, 3, dtype)
    assert_same(
        scan(cells, signatures, NO_MASK, True, rule, k), scan_top_k_slow(cells, signatures, NO_MASK, True, rule, k)
    )


@pytest.mark.parametrize("rule", RULES)
def test_when_all_tie_the_smallest_ids_win_in_order(rule: int) -> None:
    cells, signatures = np.full((2, 3, 4), 0.25, np.float32), np.zeros((50, 3), np.uint8)
    _, ids = scan(cells, signatures, NO_MASK, True, rule, 8)
    assert ids.tolist() == [list(range(8))] * 2


def test_a_tie_at_the_last_place_goes_to_the_smaller_id() -> None:
    cells = np.array([[[0.1, 0.5, 0.9]]], np.float32)
    signatures = np.array([1, 1, 2, 1, 1, 2], np.uint8)[:, None]
    assert scan(cells, signatures, NO_MASK, True, MEAN, 3)[1].tolist() == [[2, 5, 0]]
    assert scan(cells, signatures, NO_MASK, True, MEAN, 4)[1].tolist() == [[2, 5, 0, 1]]


def test_too_few_candidates_leave_empty_places_at_the_end() -> None:
    cells, signatures = random_case(0, 1, 5, 2, 3, 0, np.uint8)
    mask = np.array([False, True, False, False, True])
    scores, ids = scan(cells, signatures, mask, True, MEAN, 4)
    assert sorted(ids[0, :2].tolist()) == [1, 4]
    assert ids[0, 2:].tolist() == [-1, -1]
    assert scores[0, 2:].tolist() == [-np.inf, -np.inf]
    none_wanted = scan(cells, signatures, np.zeros(5, np.bool_), True, MEAN, 2)
    assert none_wanted[1].tolist() == [[-1, -1]]


def test_infinite_scores_are_scores() -> None:
    cells, signatures = np.full((1, 3, 2), -3e38, np.float32), np.array([[0, 0, 0], [1, 1, 1], [0, 1, 0]], np.uint8)
    cells[0, :, 1] = -1.0
    scores, ids = scan(cells, signatures, NO_MASK, True, MEAN, 3)
    assert ids.tolist() == [[1, 0, 2]]
    assert scores.tolist() == [[-1.0, -np.inf, -np.inf]]


def test_negative_scores_rank_like_others() -> None:
    cells, signatures = random_case(3, 3, 40, 4, 9, 4, np.uint16)
    logarithms = np.log(cells + np.float32(1e-30))
    arguments = logarithms, signatures, NO_MASK, True, MEAN, 10
    assert_same(scan(*arguments), scan_top_k_slow(*arguments))


@pytest.mark.parametrize("rule", RULES)
@settings(deadline=None, max_examples=40)
@given(st.integers(0, 2**32 - 1), st.integers(0, 4), st.integers(1, 30), st.integers(1, 9), st.integers(2, 300))
def test_score_labels_is_its_twin(
    rule: int, seed: int, n: int, n_labels: int, n_repetitions: int, n_buckets: int
) -> None:
    cells, signatures = random_case(seed, n, n_labels, n_repetitions, n_buckets, 0, np.uint16)
    out = np.full((n, n_labels), np.nan, np.float32)
    score_labels(cells, signatures, rule, out)
    np.testing.assert_array_equal(out.view(np.uint32), score_labels_slow(cells, signatures, rule).view(np.uint32))


def test_the_twin_is_right_by_hand() -> None:
    cells = np.array([[[0.0, 1.0], [0.5, 0.25], [1.0, 0.0], [0.25, 0.75]]], np.float32)  # (1, R=4, B=2)
    signatures = np.array([[0, 0, 0, 0], [1, 1, 1, 1]], np.uint8)
    assert score_labels_slow(cells, signatures, MEAN).tolist() == [[0.4375, 0.5]]
    assert score_labels_slow(cells, signatures, MIN).tolist() == [[0.0, 0.0]]
    assert score_labels_slow(cells, signatures, MEDIAN).tolist() == [[0.375, 0.5]]
