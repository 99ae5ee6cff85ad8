"""The dense layer for a few rows against its slow twin, and against itself with other rows beside it."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.reference.few_rows import dense_forward_slow

from xmach._kernels.train.few_rows import dense_forward
from xmach.types import FloatArray

WIDTHS = st.sampled_from([1, 7, 1024, 2050])
SHAPES = st.tuples(st.integers(0, 2**32 - 1), st.integers(0, 9), st.integers(1, 20), WIDTHS)


def layer(seed: int, n_rows: int, n_inputs: int, n_outputs: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    draw = np.random.default_rng(seed)
    inputs = draw.normal(size=(n_rows, n_inputs)).astype(np.float32) * (draw.random((n_rows, n_inputs)) < 0.6)
    weights = draw.normal(size=(n_inputs, n_outputs)).astype(np.float32)
    return inputs.astype(np.float32), weights, draw.normal(size=n_outputs).astype(np.float32)


@settings(deadline=None, max_examples=60)  # the first call compiles
@given(SHAPES)
def test_it_is_its_twin(shape: tuple[int, int, int, int]) -> None:
    inputs, weights, bias = layer(*shape)
    fast, slow = (np.full((len(inputs), len(bias)), np.nan, np.float32) for _ in range(2))
    dense_forward(inputs, weights, bias, fast)
    dense_forward_slow(inputs, weights, bias, slow)
    np.testing.assert_allclose(fast, slow, rtol=1e-4, atol=1e-5)


@settings(deadline=None, max_examples=30)
@given(SHAPES)
def test_a_row_has_the_same_bits_alone(shape: tuple[int, int, int, int]) -> None:
    inputs, weights, bias = layer(*shape)
    together = np.empty((len(inputs), len(bias)), np.float32)
    dense_forward(inputs, weights, bias, together)
    for i in range(len(inputs)):
        alone = np.empty((1, len(bias)), np.float32)
        dense_forward(inputs[i : i + 1], weights, bias, alone)
        assert alone.tobytes() == together[i].tobytes()


def test_what_is_not_a_number_stays_so() -> None:
    inputs, weights, bias = layer(0, 2, 5, 3)
    inputs[1, 2] = np.nan
    out = np.empty((2, 3), np.float32)
    dense_forward(inputs, weights, bias, out)
    assert np.isfinite(out[0]).all()
    assert np.isnan(out[1]).all()
