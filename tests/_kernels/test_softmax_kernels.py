"""Softmax against float64; sampled gradients against their twin, and right on average."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.reference.softmax import sample_slow, softmax_slow

from xmach._kernels.train.dense import TargetBatch
from xmach._kernels.train.softmax import LANES, softmax, softmax_loss, softmax_sampled
from xmach.types import DoubleArray, FloatArray


@settings(deadline=None, max_examples=60)  # the first call compiles
@given(st.integers(0, 2**32 - 1), st.integers(0, 4), st.sampled_from([1, 3, 63, 64, 65, 1024, 1500]), st.floats(0, 60))
def test_softmax_is_its_twin(seed: int, n_rows: int, width: int, spread: float) -> None:
    logits = np.random.default_rng(seed).normal(0, spread, (n_rows, width)).astype(np.float32)
    fast = logits.copy()
    softmax(fast)
    np.testing.assert_allclose(fast, softmax_slow(logits), rtol=2e-5, atol=1e-37)


def test_a_row_has_the_same_bits_in_every_batch() -> None:
    logits = np.random.default_rng(0).normal(0, 3, (9, 700)).astype(np.float32)
    whole, one = logits.copy(), logits[4:5].copy()
    softmax(whole)
    softmax(one)
    assert one.tobytes() == whole[4:5].tobytes()


@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_what_is_not_finite_shows(wrong: float) -> None:
    logits = np.zeros((1, 200), np.float32)
    logits[0, 150] = wrong
    softmax(logits)
    assert np.isnan(logits).any()


def sampled(
    logits: FloatArray, below: float, draws: FloatArray, targets: list[list[int]], weights: FloatArray
) -> tuple[float, FloatArray]:
    """The loss, and the kept gradients as a dense (n, B)."""
    n, width = logits.shape
    offsets = np.cumsum([0, *map(len, targets)]).astype(np.int64)
    buckets = np.array([b for row in targets for b in row], np.int32)
    masses = np.array([1 / len(row) for row in targets for _ in row], np.float32)
    batch = TargetBatch(offsets, buckets, masses)
    room = n * (int(1 / below) + 2 * LANES) + len(buckets)
    indptr, columns, values = np.empty(n + 1, np.int64), np.empty(room, np.int32), np.empty(room, np.float32)
    bias = np.zeros(width, np.float32)
    loss = softmax_sampled(logits.copy(), bias, batch, weights, np.float32(below), draws, indptr, columns, values)
    exact = softmax_loss(logits.copy(), bias, batch, weights, np.empty_like(bias))
    assert loss == pytest.approx(exact, rel=1e-5)
    dense = np.zeros((n, width), np.float32)
    for i in range(n):
        part = slice(indptr[i], indptr[i + 1])
        assert len(set(columns[part].tolist())) == indptr[i + 1] - indptr[i]  # no bucket twice
        dense[i, columns[part]] = values[part]
    return loss, dense


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 2**32 - 1), st.sampled_from([1, 10, 64, 130, 700]), st.sampled_from([0.003, 0.05, 0.5]))
def test_sampled_gradients_are_their_twin(seed: int, width: int, below: float) -> None:
    draw = np.random.default_rng(seed)
    logits = draw.normal(0, 2, (3, width)).astype(np.float32)
    draws = draw.random((3, LANES), np.float32)
    target, weights = int(draw.integers(width)), np.array([1, 2, 0.5], np.float32)
    _, dense = sampled(logits, below, draws, [[target], [], [target]], weights)
    assert not dense[1].any()  # a row without labels
    for i in (0, 2):
        p: DoubleArray = softmax_slow(logits[i : i + 1])[0]
        assert dense[i, target] * 3 / weights[i] == pytest.approx(p[target] - 1, abs=1e-5)
        p[target] = 0.0
        kept, twin = dense[i] * 3 / weights[i], sample_slow(p, below, draws[i].astype(np.float64) * below)
        kept[target] = 0.0
        # float32 sums may cross a multiple one entry sooner or later, so the two agree in their running sums
        for k in range(min(LANES, width)):
            np.testing.assert_allclose(np.cumsum(kept[k::LANES]), np.cumsum(twin[k::LANES]), atol=1.01 * below)
        large = p >= 1.001 * below
        np.testing.assert_allclose(kept[large], p[large], rtol=1e-4)


def test_sampled_gradients_are_right_on_average() -> None:
    draw, n = np.random.default_rng(3), 4000
    row = draw.normal(0, 1.5, 150).astype(np.float32)
    logits = np.repeat(row[None], n, axis=0)
    _, dense = sampled(logits, 0.05, draw.random((n, LANES), np.float32), [[7]] * n, np.ones(n, np.float32))
    p = softmax_slow(row[None])[0]
    deviation = np.sqrt(p * 0.05 / n)  # of the mean of n numbers that are 0.05 with the probability p / 0.05
    p[7] -= 1.0
    assert (np.abs(dense.sum(axis=0) - p) < 5 * deviation + 1e-4).all()
    small = (p >= 0) & (p < 0.05)
    assert (dense[:, small] != 0).sum(axis=1).mean() == pytest.approx(p[small].sum() / 0.05, rel=0.02)


def test_a_row_of_weight_zero_keeps_nothing() -> None:
    logits = np.zeros((1, 80), np.float32)
    loss, dense = sampled(logits, 0.1, np.zeros((1, LANES), np.float32), [[3]], np.zeros(1, np.float32))
    assert loss == 0
    assert not dense.any()
