"""Keys in the order of floats, and the cells above a level."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.reference.peaks import collect_slow, keys_slow

from xmach._kernels.decode.peaks import (
    BLOCK,
    LOWEST,
    block_maxima,
    collect,
    count_cells,
    key_of_value,
    level_of,
    value_of,
)
from xmach.types import AnyArray, FloatArray, Int32Array

ABOVE_ALL = 2**31 - 1


def with_maxima(values: AnyArray) -> tuple[Int32Array, Int32Array]:
    """Bits (R, B) and the highest key of every block."""
    cells = np.ascontiguousarray(values, np.float32)
    maxima = np.full((len(cells), -(-cells.shape[1] // BLOCK)), 77, np.int32)
    block_maxima(cells.view(np.int32), maxima)
    return cells.view(np.int32), maxima


def some_cells(seed: int, n_repetitions: int, n_buckets: int) -> FloatArray:
    """Of either sign and many magnitudes, with ties."""
    draw = np.random.default_rng(seed)
    shape = n_repetitions, n_buckets
    cells = draw.choice([-1.0, 0.0, 1.0], shape) * 10.0 ** draw.integers(-44, 39, shape)
    return cells.astype(np.float32)


EDGES = [-np.inf, np.finfo(np.float32).min, -1.0, -1e-38, -1e-45, -0.0, 0.0, 1e-45, 1e-38, 1.0, 3.4e38, np.inf]


def test_keys_rise_with_floats_and_lead_back() -> None:
    values = np.sort(np.concatenate([some_cells(0, 20, 50).ravel(), np.array(EDGES, np.float32)]))
    keys = np.array([key_of_value(value) for value in values])
    np.testing.assert_array_equal(keys, keys_slow(values))
    different = values[1:] > values[:-1]
    assert (keys[1:][different] > keys[:-1][different]).all()
    back = np.array([value_of(int(key)) for key in keys], np.float32)
    assert back.tobytes() == values.tobytes()
    assert key_of_value(np.float32(-np.inf)) == LOWEST
    assert value_of(key_of_value(np.float32(1.0)) - 1) == np.nextafter(np.float32(1), np.float32(0))


@settings(deadline=None, max_examples=80)
@given(st.integers(0, 2**32 - 1), st.integers(1, 9), st.integers(1, 200))
def test_maxima_and_collected_cells(seed: int, n_repetitions: int, n_buckets: int) -> None:
    cells = some_cells(seed, n_repetitions, n_buckets)
    bits, maxima = with_maxima(cells)
    keys, draw = keys_slow(cells), np.random.default_rng(seed)
    for block in range(maxima.shape[1]):
        np.testing.assert_array_equal(maxima[:, block], keys[:, block * BLOCK : (block + 1) * BLOCK].max(axis=1))
    picked = [int(key) for key in draw.choice(keys.ravel(), 4)]
    room = np.empty((2, cells.size), np.int32)
    for level in (LOWEST, *picked, picked[0] + 1, ABOVE_ALL):
        for below in (ABOVE_ALL, *picked):
            count = collect(bits, maxima, level, below, room[0], room[1])
            assert list(zip(*room[:, :count].tolist(), strict=True)) == collect_slow(cells, level, below)


@pytest.mark.parametrize(("n_repetitions", "n_buckets"), [(1, 1000), (4, 77), (32, 2000)])
def test_a_level_that_about_so_many_cells_reach(n_repetitions: int, n_buckets: int) -> None:
    cells = np.random.default_rng(0).standard_normal((n_repetitions, n_buckets)).astype(np.float32)
    bits, maxima = with_maxima(cells)
    keys = keys_slow(cells)
    for count in (1, 2, n_repetitions, cells.size // 100 + 1, cells.size // 4, cells.size // 2, cells.size):
        reached = int((keys >= level_of(bits, maxima, count)).sum())
        assert count / 2 <= reached <= 2 * count + 3
    assert level_of(bits, maxima, cells.size * 2) == LOWEST


def test_counts_of_cells() -> None:
    cells = np.random.default_rng(0).random((16, 500)).astype(np.float32)
    bits, maxima = with_maxima(cells)
    assert count_cells(bits, maxima, ABOVE_ALL) == 0
    assert count_cells(bits, maxima, LOWEST) == cells.size
    assert count_cells(bits, maxima, int(keys_slow(cells.max()[None])[0])) == 1
    for level in (0.2, 0.5, 0.9, 0.99, 0.999):
        truth = int((cells >= np.float32(level)).sum())
        assert count_cells(bits, maxima, int(key_of_value(np.float32(level)))) == pytest.approx(truth, rel=0.35, abs=3)
