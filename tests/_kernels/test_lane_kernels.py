"""Sparse rows times 64 weight vectors: results against NumPy, neighbours left alone, rejected arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numba import TypingError, njit

from xmach._kernels.llvm import add_lanes, dot_lanes
from xmach.block_sizes import LANES


@njit
def dot(out: Any, indices: Any, values: Any, start: int, stop: int, weights: Any) -> None:
    dot_lanes(out, indices, values, start, stop, weights)


@njit
def add(weights: Any, indices: Any, values: Any, start: int, stop: int, step: Any) -> None:
    add_lanes(weights, indices, values, start, stop, step)


def arrays() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """(d, 64) weights, columns and values of nine entries, and 64 numbers."""
    draw = np.random.default_rng(0)
    weights, values, lanes = (draw.normal(size=size).astype(np.float32) for size in ((7, LANES), 9, LANES))
    return weights, draw.integers(0, 7, 9).astype(np.int32), values, lanes


PARTS = [(0, 0), (4, 4), (5, 3), (0, 1), (8, 9), (2, 7), (0, 9)]  # an empty row, a single entry, all of them


@pytest.mark.parametrize(("start", "stop"), PARTS)
def test_products_are_added_to_what_is_there(start: int, stop: int) -> None:
    weights, indices, values, lanes = arrays()
    out = lanes.copy()
    dot(out, indices, values, start, stop, weights)
    expected = lanes + values[start:stop].astype(np.float64) @ weights[indices[start:stop]]
    np.testing.assert_allclose(out, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("start", "stop"), PARTS)
def test_rows_are_added_to_the_weights_of_their_columns(start: int, stop: int) -> None:
    weights, indices, values, lanes = arrays()
    expected = weights.astype(np.float64)
    np.add.at(expected, indices[start:stop], values[start:stop, None].astype(np.float64) * lanes)  # columns repeat
    before = weights.copy()
    add(weights, indices, values, start, stop, lanes)
    np.testing.assert_allclose(weights, expected, rtol=1e-5, atol=1e-6)
    others = np.setdiff1d(np.arange(7), indices[start:stop])
    assert weights[others].tobytes() == before[others].tobytes()


def test_numbers_before_and_after_are_left_alone() -> None:
    weights, indices, values, lanes = arrays()
    room = np.full(LANES + 2, 7.0, np.float32)  # unaligned between the two sevens
    dot(room[1:-1], indices, values, 0, 9, weights)
    table = np.full(7 * LANES + 2, 7.0, np.float32)
    add(table[1:-1].reshape(7, LANES), indices, values, 0, 9, lanes)
    assert (room[0], room[-1], table[0], table[-1]) == (7.0, 7.0, 7.0, 7.0)


@pytest.mark.parametrize(
    ("place", "wrong", "message"),
    [
        (0, np.zeros((7, LANES)), "float32 with 2 dimensions"),
        (0, np.zeros((LANES, 7), np.float32).T, "float32 with 2 dimensions"),
        (0, np.zeros(LANES, np.float32), "float32 with 2 dimensions"),
        (1, np.zeros(9, np.int64), "int32 with 1 dimensions"),
        (1, np.zeros(18, np.int32)[::2], "int32 with 1 dimensions"),
        (2, np.zeros(9), "float32 with 1 dimensions"),
        (3, np.zeros(LANES), "float32 with 1 dimensions"),
        (3, 1.0, "float32 with 1 dimensions"),
    ],
)  # fmt: skip
def test_arrays_of_other_types_are_rejected(place: int, wrong: Any, message: str) -> None:
    given: list[Any] = list(arrays())
    given[place] = wrong
    weights, indices, values, lanes = given
    with pytest.raises(TypingError, match=f"expected a contiguous array of {message}"):
        dot(lanes, indices, values, 0, 9, weights)
    with pytest.raises(TypingError, match=f"expected a contiguous array of {message}"):
        add(weights, indices, values, 0, 9, lanes)
