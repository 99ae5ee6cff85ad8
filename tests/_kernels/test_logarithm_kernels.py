"""The logarithm against NumPy's: within a unit in the last place, floored, and the same wherever a cell stands."""

from __future__ import annotations

import numpy as np
import pytest
from tests.reference.logarithm import floored_log_slow

from xmach._kernels.decode.logarithm import FLOOR, floored_log
from xmach.types import AnyArray, FloatArray


def fast(values: AnyArray) -> FloatArray:
    source = np.ascontiguousarray(values, np.float32)
    out = np.full(source.shape, np.nan, np.float32)
    floored_log(source, out)
    return out


def units_off(found: FloatArray, exact: AnyArray) -> float:
    """The largest distance in units of the last place of the true value."""
    return float(np.max(np.abs(found.astype(np.float64) - exact) / np.spacing(np.abs(exact).astype(np.float32))))


@pytest.mark.parametrize(
    ("low", "high"), [(1e-30, 1.0), (1e-6, 1.0), (0.5, 2.0), (0.99, 1.01), (1.0, 3e38), (1e-37, 1e-29)]
)
def test_a_unit_in_the_last_place_at_most(low: float, high: float) -> None:
    draw = np.random.default_rng(0)
    values = np.exp(draw.uniform(np.log(low), np.log(high), 200_000)).astype(np.float32)
    exact = np.log(np.maximum(values.astype(np.float64), float(FLOOR)))
    assert units_off(fast(values)[exact != 0], exact[exact != 0]) <= 1.0
    assert (fast(values)[exact == 0] == 0).all()
    np.testing.assert_allclose(
        fast(values), floored_log_slow(values), rtol=5e-7, atol=1e-12
    )  # NumPy is 3 units off at times


def test_all_floats_around_the_powers_of_two_and_of_their_roots() -> None:
    centres = np.float32(2.0) ** np.arange(-99, 4, dtype=np.float32)
    centres = np.concatenate([centres, centres * np.float32(np.sqrt(0.5))]).astype(np.float32)
    values = (centres.view(np.int32)[:, None] + np.arange(-20, 21, dtype=np.int32)).view(np.float32).ravel()
    exact = np.log(values.astype(np.float64))
    assert (exact == 0).sum() == 1
    assert units_off(fast(values)[exact != 0], exact[exact != 0]) <= 1.0


def test_what_is_below_the_floor_is_the_floor() -> None:
    below = np.array([0.0, -0.0, -1.0, -3e38, 1e-45, 1e-38, 9.9e-31, FLOOR, -1e-45], np.float32)
    assert set(fast(below).tolist()) == {float(fast(np.array([FLOOR]))[0])}
    assert fast(below)[0] == pytest.approx(np.log(1e-30), rel=1e-7)
    assert fast(np.array([1.0]))[0] == 0.0


@pytest.mark.parametrize("size", [0, 1, 3, 7, 8, 31, 1023, 1024, 1025, 5000])
def test_every_size_and_place_gives_the_same_bits(size: int) -> None:
    # rows of a batch are cut as threads like: a cell's logarithm must not depend on its neighbours
    values = np.random.default_rng(size).random(6000).astype(np.float32)
    whole = fast(values)
    for start in (0, 1, 5, 777):
        part = fast(values[start : start + size])
        assert part.tobytes() == whole[start : start + size].tobytes()


def test_it_never_falls_where_the_argument_rises() -> None:
    draw = np.random.default_rng(1)
    patterns = np.sort(draw.integers(0x0DA24260, 0x7F7FFFFF, 300_000)).astype(np.int32)
    logarithms = fast(patterns.view(np.float32))
    assert (np.diff(logarithms) >= 0).all()
