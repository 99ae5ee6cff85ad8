"""Adam, bucket targets and the two losses, against their slow twins and float64 formulas."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.reference.dense import bucket_targets_slow, cross_entropy_slow

from xmach._kernels.train.dense import AdamRates, TargetBatch, adam, adam_row, bce_gradient, bucket_targets
from xmach.buckets import UniversalHashes
from xmach.learners.losses import LOSSES
from xmach.models.network import sigmoid_in_place
from xmach.types import FloatArray, Int32Array, IntArray


def gradient_of(loss: str, logits: FloatArray, targets: TargetBatch, weights: FloatArray) -> tuple[float, FloatArray]:
    """The summed loss, and the gradient of that sum; the bias is a part of the logits that is given apart."""
    bias = np.random.default_rng(5).normal(size=logits.shape[1]).astype(np.float32)
    delta, bias_gradient = logits - bias, np.full_like(bias, np.nan)
    summed = LOSSES[loss](delta, bias, targets, weights, bias_gradient)
    np.testing.assert_allclose(bias_gradient, delta.sum(axis=0), rtol=1e-4, atol=1e-6)
    return summed, delta * len(weights)


def test_adam_is_the_formula_in_float64() -> None:
    draw = np.random.default_rng(0)
    rates = AdamRates(*(np.float32(number) for number in (0.01, 0.9, 0.999, 1e-8, 0.97)))
    w, m, v = (draw.normal(size=200).astype(np.float32) for _ in range(3))
    v = np.abs(v)
    w64, m64, v64 = (array.astype(np.float64) for array in (w, m, v))
    for _ in range(3):
        g = draw.normal(size=200).astype(np.float32)
        blocks = [array.reshape(10, 20) for array in (w, m, v)]
        places = draw.permutation(10)  # where the gradient of each row is
        turned = np.empty((10, 20), np.float32)
        turned[places] = g.reshape(10, 20)
        adam(blocks[0], turned, places, *blocks[1:], rates)
        m64 = 0.9 * m64 + 0.1 * g
        v64 = 0.999 * v64 + 0.001 * g.astype(np.float64) ** 2
        w64 = 0.97 * w64 - 0.01 * m64 / (np.sqrt(v64) + 1e-8)
    for mine, expected in ((w, w64), (m, m64), (v, v64)):
        np.testing.assert_allclose(mine, expected, rtol=1e-4, atol=1e-5)


def test_adams_first_step_has_the_length_of_the_rate() -> None:
    # from zero moments, with the bias correction in the rate, a step is rate * sign(gradient) (Kingma and Ba 2015)
    w, m, v = (np.zeros(3, np.float32) for _ in range(3))
    corrected = np.float32(0.01 * np.sqrt(1 - 0.999) / (1 - 0.9))
    g = np.array([5.0, -0.3, 1e-3], np.float32)
    adam_row(w, g, m, v, AdamRates(corrected, *(np.float32(number) for number in (0.9, 0.999, 1e-8, 1))))
    np.testing.assert_allclose(w, [-0.01, 0.01, -0.01], rtol=1e-3)


def label_rows(draw: np.random.Generator, n_rows: int, n_labels: int) -> tuple[IntArray, Int32Array, FloatArray]:
    lengths = draw.integers(0, min(6, n_labels) + 1, n_rows)
    labels = [draw.choice(n_labels, length, replace=False) for length in lengths]
    indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    flat = np.concatenate([*labels, []]).astype(np.int32)
    return indptr, flat, draw.uniform(0.2, 5, len(flat)).astype(np.float32)


def targets_of(labels: tuple[IntArray, Int32Array, FloatArray], rows: IntArray, hashes: UniversalHashes) -> TargetBatch:
    size = int((labels[0][rows + 1] - labels[0][rows]).sum())
    out = TargetBatch(np.empty(len(rows) + 1, np.int64), np.empty(size, np.int32), np.empty(size, np.float32))
    bucket_targets(*labels, rows, *hashes.rule(0), out)
    return out


def as_dicts(offsets: IntArray, buckets: Int32Array, masses: FloatArray) -> list[dict[int, float]]:
    parts = [slice(start, stop) for start, stop in pairwise(offsets)]
    rows = [dict(zip(buckets[part].tolist(), masses[part].tolist(), strict=True)) for part in parts]
    assert [len(row) for row in rows] == np.diff(offsets).tolist()  # buckets are distinct within a row
    return rows


cases = st.tuples(st.integers(0, 2**32 - 1), st.integers(0, 15), st.integers(1, 50), st.integers(2, 12))


@settings(deadline=None, max_examples=80)
@given(cases)
def test_bucket_targets_are_their_twins(case: tuple[int, int, int, int]) -> None:
    seed, n_rows, n_labels, n_buckets = case  # few buckets: labels of a row share some
    draw = np.random.default_rng(seed)
    labels, hashes = label_rows(draw, n_rows, n_labels), UniversalHashes.draw(n_labels, n_buckets, 1, seed)
    rows = draw.integers(0, n_rows, 2 * n_rows)  # in any order, some twice
    fast = as_dicts(*targets_of(labels, rows, hashes))
    slow = bucket_targets_slow(*labels, rows, hashes.buckets(np.arange(n_labels), 0))
    assert len(fast) == len(slow)
    for mine, twin in zip(fast, slow, strict=True):
        assert mine == pytest.approx(twin, rel=1e-5)
        assert not mine or sum(mine.values()) == pytest.approx(1.0, rel=1e-5)


def test_bucket_targets_near_the_largest_prime() -> None:
    prime = 2**32 - 5
    hashes = UniversalHashes(2**31, 1000, prime, (prime - 1,), (prime - 1,))
    ids = np.array([0, 1, 2**31 - 2, 2**31 - 1])
    labels = np.arange(5), ids.astype(np.int32), np.ones(4, np.float32)
    _, buckets, masses = targets_of(labels, np.arange(4), hashes)
    assert buckets.tolist() == [((prime - 1) * int(x) + prime - 1) % prime % 1000 for x in ids]
    assert masses.tolist() == [1.0] * 4


def test_values_of_zero_share_the_row_equally() -> None:
    hashes = UniversalHashes(4, 4, 5, (1,), (0,))  # label = bucket
    labels = np.array([0, 2]), np.array([1, 3], np.int32), np.zeros(2, np.float32)
    assert as_dicts(*targets_of(labels, np.array([0]), hashes)) == [{1: 0.5, 3: 0.5}]


@pytest.mark.parametrize("loss", ["softmax", "bce"])
@settings(deadline=None, max_examples=60)
@given(cases, st.booleans())
def test_losses_and_gradients(loss: str, case: tuple[int, int, int, int], weighted: bool) -> None:
    seed, n_rows, n_labels, n_buckets = case
    draw = np.random.default_rng(seed)
    labels, hashes = label_rows(draw, n_rows, n_labels), UniversalHashes.draw(n_labels, n_buckets, 1, seed)
    targets = targets_of(labels, np.arange(n_rows), hashes)
    weights = (draw.integers(0, 4, n_rows) / 2 if weighted else np.ones(n_rows)).astype(np.float32)
    logits = draw.normal(0, 3, (n_rows, n_buckets)).astype(np.float32)
    summed, delta = gradient_of(loss, logits, targets, weights)
    dicts = as_dicts(*targets)
    assert summed == pytest.approx(cross_entropy_slow(loss, logits, dicts, weights), rel=1e-4, abs=1e-4)
    z = logits.astype(np.float64)
    expected = np.zeros_like(z)
    for i, target in enumerate(dicts):
        if loss == "bce":
            expected[i] = 1 / (1 + np.exp(-z[i]))
            expected[i, list(target)] -= 1
        elif target:  # a row without labels has no target
            expected[i] = np.exp(z[i]) / np.exp(z[i]).sum()
            for bucket, mass in target.items():
                expected[i, bucket] -= mass
    np.testing.assert_allclose(delta, weights[:, None] * expected, rtol=1e-4, atol=3e-6)


def test_the_gradient_is_the_derivative_of_the_twin() -> None:
    draw = np.random.default_rng(1)
    hashes = UniversalHashes.draw(30, 7, 1)
    targets = targets_of(label_rows(draw, 6, 30), np.arange(6), hashes)
    dicts, weights = as_dicts(*targets), draw.uniform(0.5, 2, 6).astype(np.float32)
    z = draw.normal(size=(6, 7))
    for loss in LOSSES:
        _, delta = gradient_of(loss, z.astype(np.float32), targets, weights)
        for i, c in np.ndindex(z.shape):
            nudge = np.zeros_like(z)
            nudge[i, c] = 1e-5
            ends = [cross_entropy_slow(loss, z + sign * nudge, dicts, weights) for sign in (1, -1)]
            assert delta[i, c] == pytest.approx((ends[0] - ends[1]) / 2e-5, abs=2e-5)


def test_many_buckets_do_not_underflow_the_running_product() -> None:
    logits = np.full((1, 5000), 3.0, np.float32)  # the product of 1 - p is e^-15000
    no_targets = TargetBatch(np.zeros(2, np.int64), np.empty(0, np.int32), np.empty(0, np.float32))
    loss = bce_gradient(sigmoid_in_place(logits.copy()), no_targets, np.ones(1, np.float32))
    assert loss == pytest.approx(cross_entropy_slow("bce", logits, [{}], np.ones(1, np.float32)), rel=1e-5)


@pytest.mark.parametrize("loss", ["softmax", "bce"])
@pytest.mark.parametrize("far", [-1000.0, 1000.0])
def test_saturated_logits_stay_finite(loss: str, far: float) -> None:
    targets = TargetBatch(np.array([0, 1]), np.array([0], np.int32), np.ones(1, np.float32))
    summed, delta = gradient_of(loss, np.array([[far, 0.0, -far]], np.float32), targets, np.ones(1, np.float32))
    assert np.isfinite(summed)
    assert np.isfinite(delta).all()
