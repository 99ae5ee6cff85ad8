"""The kernels of linear models against their slow twins."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.reference.weight_lists import damaged_feature_slow, lanes_slow, largest_slow, margins_slow, quantise_slow

from xmach._kernels.train.bucket_weights import keep_largest, quantise
from xmach._kernels.train.weight_lists import WeightLists, damaged_feature, dense_margins, sparse_margins
from xmach.data.arrays import as_sparse_rows
from xmach.errors import InputError
from xmach.models.linear import weights_of_lanes
from xmach.types import FloatArray

SHAPES = st.tuples(st.integers(0, 2**32 - 1), st.integers(0, 6), st.integers(1, 12), st.sampled_from([1, 2, 90, 300]))


def random_lists(draw: np.random.Generator, n_features: int, n_buckets: int, gaps: type, codes: type) -> WeightLists:
    """Lists of random buckets; gaps of more than 255 are not in them, as there are no fillers."""
    listed = []
    for _ in range(n_features):
        row = np.diff(np.flatnonzero(draw.random(n_buckets) < draw.choice([0.0, 0.1, 0.9])), prepend=-1)
        listed.append(row[:0] if (row > 255).any() else row)
    starts = np.cumsum([0, *map(len, listed)]).astype(np.uint32)
    numbers = draw.integers(-127, 128, starts[-1]).astype(codes)
    scales, biases = draw.random(n_buckets).astype(np.float32), draw.normal(size=n_buckets).astype(np.float32)
    return WeightLists(starts, np.concatenate(listed).astype(gaps), numbers, scales, biases)


def random_rows(draw: np.random.Generator, n_rows: int, n_features: int) -> FloatArray:
    rows = draw.normal(size=(n_rows, n_features)) * (draw.random((n_rows, n_features)) < 0.5)
    return rows.astype(np.float32)


@pytest.mark.parametrize("gaps", [np.uint8, np.uint16])
@pytest.mark.parametrize("codes", [np.int8, np.float32])
@settings(deadline=None, max_examples=25)  # the first call compiles
@given(shape=SHAPES)
def test_margins_are_their_twin_bit_by_bit(gaps: type, codes: type, shape: tuple[int, int, int, int]) -> None:
    seed, n_rows, n_features, n_buckets = shape
    draw = np.random.default_rng(seed)
    lists, dense = random_lists(draw, n_features, n_buckets, gaps, codes), random_rows(draw, n_rows, n_features)
    rows = as_sparse_rows(dense)
    slow = margins_slow(rows, lists)
    fast = np.full_like(slow, np.nan)
    sparse_margins(rows.indptr, rows.indices, rows.values, lists, fast)
    assert fast.tobytes() == slow.tobytes()
    fast[:] = np.nan
    dense_margins(dense, lists, fast)
    assert fast.tobytes() == slow.tobytes()


@settings(deadline=None, max_examples=200)
@given(SHAPES, st.sampled_from([np.uint32, np.int64]), st.booleans(), st.integers(-3, 400))
def test_damage_is_found_as_by_the_twin(
    shape: tuple[int, int, int, int], kind: type, in_starts: bool, number: int
) -> None:
    seed, _, n_features, n_buckets = shape
    draw = np.random.default_rng(seed)
    lists = random_lists(draw, n_features, n_buckets, np.uint16, np.int8)
    starts, gaps = lists.starts.astype(kind), lists.gaps.copy()
    assert damaged_feature(starts, gaps, n_buckets) == -1
    assert not damaged_feature_slow(starts, gaps, n_buckets)
    damaged = starts if in_starts else gaps
    if len(damaged):
        damaged[draw.integers(len(damaged))] = number if kind is np.int64 and in_starts else abs(number)
    assert (damaged_feature(starts, gaps, n_buckets) >= 0) == damaged_feature_slow(starts, gaps, n_buckets)


def test_the_damaged_feature_is_named() -> None:
    starts, gaps = np.array([0, 2, 2, 4], np.uint32), np.array([1, 1, 3, 5], np.uint8)
    assert damaged_feature(starts, gaps, 8) == -1
    assert damaged_feature(starts, gaps, 7) == 2
    assert damaged_feature(np.array([0, 2, 1, 4], np.uint32), gaps, 8) == 1
    assert damaged_feature(np.array([0, 2, 2, 2**32 - 1], np.uint32), gaps, 8) == 2


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 2**32 - 1), st.integers(0, 40), st.integers(0, 64), st.sampled_from([0.0, 0.7, 1.5, 9.0]))
def test_lanes_are_their_twin(seed: int, n_rows: int, n_lanes: int, threshold: float) -> None:
    draw = np.random.default_rng(seed)
    weights = np.where(draw.random((n_rows, 64)) < 0.5, draw.normal(size=(n_rows, 64)), 0).astype(np.float32)
    weights[::3, ::5] = -0.7  # exactly a threshold, as float32
    biases, shuffled = draw.normal(size=64).astype(np.float32), draw.permutation(3 * n_rows + 1).astype(np.int32)
    for features in (None, shuffled[:n_rows]):
        part = weights_of_lanes(11, weights, biases, n_lanes, features, threshold)
        names = np.arange(n_rows, dtype=np.int32) if features is None else features
        for lane, expected in enumerate(lanes_slow(weights, n_lanes, names, np.float32(threshold))):
            which = slice(part.starts[lane], part.starts[lane + 1])
            assert part.features[which].tolist() == list(expected)
            assert part.values[which].tolist() == list(expected.values())
        assert (part.first, len(part.starts), part.starts[-1]) == (11, n_lanes + 1, len(part.values))
        assert part.biases.tolist() == biases[:n_lanes].tolist()


def test_lanes_that_are_not_there_are_rejected() -> None:
    weights, biases = np.zeros((3, 64), np.float32), np.zeros(64, np.float32)
    for n_lanes, features in ((65, None), (64, np.arange(4, dtype=np.int32))):
        with pytest.raises(InputError, match=rf"weights \(3, 64\) and biases \(64,\) are not those of {n_lanes} lanes"):
            weights_of_lanes(0, weights, biases, n_lanes, features, 0.1)


SIZES = st.sampled_from([1.0, 1e-3, 1e10, 1e-37, 1e-44, 1e38])


@settings(deadline=None, max_examples=100)
@given(st.integers(0, 2**32 - 1), st.integers(0, 30), SIZES)
def test_quantisation_is_its_twin_and_within_half_a_step(seed: int, n_weights: int, size: float) -> None:
    draw = np.random.default_rng(seed)
    weights = np.clip(draw.normal(size=n_weights) * size, -3e38, 3e38).astype(np.float32)
    starts, scales, codes = np.array([0, n_weights, n_weights]), np.empty(2, np.float32), np.empty(n_weights, np.int8)
    quantise(starts, weights, scales, codes)
    slow, scale = quantise_slow(weights)
    assert codes.tolist() == slow.tolist()
    assert scales.tolist() == [scale, 0.0]
    error = np.abs(codes * np.float64(scale) - weights)
    assert (error <= np.float64(scale) / 2 * (1 + 1e-4)).all()
    if n_weights and size >= 1e-3:
        assert np.abs(codes).max() == 127


@settings(deadline=None, max_examples=100)
@given(
    st.integers(0, 2**32 - 1), st.lists(st.integers(0, 40), min_size=1, max_size=5), st.sampled_from([0, 0.3, 0.9, 1])
)
def test_the_largest_codes_are_their_twin(seed: int, lengths: list[int], share: float) -> None:
    starts = np.cumsum([0, *lengths])
    codes = np.random.default_rng(seed).integers(-127, 128, starts[-1]).astype(np.int8)
    codes[::3] //= 32  # ties and zeros
    out = np.full_like(codes, 99)
    keep_largest(starts, codes, float(share), out)
    for start, stop in pairwise(starts.tolist()):
        assert out[start:stop].tolist() == largest_slow(codes[start:stop], share).tolist()
