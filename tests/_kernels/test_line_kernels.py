"""Walks along rows: results at every length, and rejected arrays."""

from __future__ import annotations

import numpy as np
import pytest
from numba import TypingError

from xmach._kernels.llvm import LINE
from xmach._kernels.train.dense import AdamRates, adam_ahead, adam_row
from xmach._kernels.train.sparse import add_rows, add_scaled

LENGTHS = [0, 1, LINE - 1, LINE, LINE + 1, 3 * LINE, 3 * LINE + 7, 500]
RATES = AdamRates(*(np.float32(number) for number in (0.01, 0.9, 0.999, 1e-8, 0.98)))


def rows_of(length: int, count: int) -> list[np.ndarray]:
    draw = np.random.default_rng(length)
    return [draw.normal(size=length).astype(np.float32) for _ in range(count)]


@pytest.mark.parametrize("length", LENGTHS)
def test_a_scaled_row_is_added_and_only_that(length: int) -> None:
    room = np.full(length + 2, 7.0, np.float32)  # a number on either side that is nobody's
    out = room[1:-1]
    start, source, soon = rows_of(length, 3)
    out[:] = start
    add_scaled(out, np.float32(0.3), source, soon)
    np.testing.assert_allclose(out, start.astype(np.float64) + np.float32(0.3) * source.astype(np.float64), rtol=1e-5)
    assert (room[0], room[-1]) == (7.0, 7.0)


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("count", [0, 1, 3, 4, 9])
def test_rows_added_by_four_have_the_bits_of_one_by_one(length: int, count: int) -> None:
    source = np.array(rows_of(length, 5), np.float32).reshape(5, length)
    values = np.random.default_rng(count).normal(size=count).astype(np.float32)
    which = (np.arange(count) % 5).astype(np.int32)
    together, alone = np.ones(length, np.float32), np.ones(length, np.float32)
    add_rows(together, 0, count, which, values, source)
    for value, i in zip(values, which, strict=True):
        add_scaled(alone, value, source[i], source[i])
    assert together.tobytes() == alone.tobytes()


@pytest.mark.parametrize("length", LENGTHS)
def test_adam_with_a_scaled_gradient(length: int) -> None:
    weights, gradient, first, second, soon = rows_of(length, 5)
    second = np.abs(second)
    fast = [weights.copy(), first.copy(), second.copy()]
    adam_ahead(fast[0], np.float32(0.5), gradient, fast[1], fast[2], RATES, (soon, soon, soon))
    slow = [weights.copy(), first.copy(), second.copy()]
    adam_row(slow[0], np.float32(0.5) * gradient, slow[1], slow[2], RATES)
    for mine, other in zip(fast, slow, strict=True):
        assert mine.tobytes() == other.tobytes()
    rate, beta1, beta2, epsilon, decay = (float(number) for number in RATES)
    g = 0.5 * gradient.astype(np.float64)
    m, v = beta1 * first + (1 - beta1) * g, beta2 * second + (1 - beta2) * g * g
    expected = decay * weights - rate * m / (np.sqrt(v) + epsilon)
    np.testing.assert_allclose(fast[0], expected, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(fast[1], m, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(fast[2], v, rtol=1e-4, atol=1e-6)


def test_rows_with_gaps_are_rejected() -> None:
    apart = np.zeros((4, 3), np.float32)[:, 0]
    with pytest.raises(TypingError, match="contiguous rows of float32"):
        add_scaled(apart, np.float32(1.0), np.zeros(4, np.float32), np.zeros(4, np.float32))
