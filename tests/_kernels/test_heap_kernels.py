"""The heap of the k best against sorting: best first, at equality the smaller id, nobody twice."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from xmach._kernels.decode.heap import offer, sift_down, sort_heap
from xmach.types import FloatArray, IntArray

NOBODY = 10**6  # an id beyond all


def empty(k: int) -> tuple[FloatArray, IntArray]:
    return np.full(k, -np.inf, np.float32), np.full(k, NOBODY, np.int64)


def best(offers: list[tuple[float, int]], k: int) -> list[tuple[float, int]]:
    ranked = sorted(set(offers), key=lambda each: (-each[0], each[1]))[:k]
    return ranked + [(-np.inf, NOBODY)] * (k - len(ranked))


def result(scores: FloatArray, ids: IntArray) -> list[tuple[float, int]]:
    sort_heap(scores, ids)
    return list(zip(scores.tolist(), ids.tolist(), strict=True))


@pytest.mark.parametrize("levels", [2, 5, 1000])
@settings(deadline=None, max_examples=60)
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(0, 120), k=st.integers(1, 40))
def test_offers_in_any_order_with_repeats(levels: int, seed: int, n: int, k: int) -> None:
    draw = np.random.default_rng(seed)
    score_of = draw.integers(-levels, levels, 60).astype(np.float32)  # a label's score is the same each time
    score_of[draw.random(60) < 0.1] = -np.inf
    labels = draw.integers(0, 60, n).tolist()
    scores, ids = empty(k)
    for label in labels:
        offer(scores, ids, score_of[label], label)
    assert result(scores, ids) == best([(float(score_of[label]), label) for label in labels], k)


@settings(deadline=None, max_examples=60)
@given(seed=st.integers(0, 2**32 - 1), k=st.integers(1, 40))
def test_sift_down_replaces_the_worst(seed: int, k: int) -> None:
    draw = np.random.default_rng(seed)
    offers = [(float(score), label) for label, score in enumerate(draw.integers(0, 6, k + 1))]
    scores, ids = empty(k)
    for score, label in offers[:-1]:
        sift_down(scores, ids, k, np.float32(score), label)
    worst = max(offers[:-1], key=lambda each: (-each[0], each[1]))
    assert (scores[0], ids[0]) == worst
    sift_down(scores, ids, k, np.float32(offers[-1][0]), offers[-1][1])
    assert result(scores, ids) == best([each for each in offers if each != worst], k)


def test_a_label_is_better_than_nobody_whatever_its_score() -> None:
    scores, ids = empty(2)
    offer(scores, ids, np.float32(-np.inf), 7)
    assert result(scores, ids) == [(-np.inf, 7), (-np.inf, NOBODY)]
