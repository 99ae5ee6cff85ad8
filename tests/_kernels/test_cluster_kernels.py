"""Clusters of equal size: the kernel against its twin, sizes, ties and few points."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.reference.clusters import add_to_labels_slow, balanced_clusters_slow, unit_points_slow

from xmach._kernels.train.clusters import add_to_labels, balanced_clusters, unit_points
from xmach.types import FloatArray, IntArray


def clusters_of(points: FloatArray, n_clusters: int, seed: int = 0) -> tuple[IntArray, IntArray]:
    """By the kernel and by its twin."""
    keys = np.random.default_rng(seed).integers(0, 2**63, len(points)).astype(np.uint64)
    fast = np.full(len(points), 65_535, np.uint16)
    balanced_clusters(points, keys, n_clusters, fast)
    return fast.astype(np.int64), balanced_clusters_slow(points, keys, n_clusters)


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 2**32 - 1), st.integers(1, 300), st.integers(1, 80), st.sampled_from([8, 24, 64]))
def test_clusters_are_their_twins_and_of_equal_size(seed: int, n: int, n_clusters: int, width: int) -> None:
    points = np.random.default_rng(seed).standard_normal((n, width)).astype(np.float32)
    fast, slow = clusters_of(points, n_clusters, seed)
    np.testing.assert_array_equal(fast, slow)
    sizes = np.bincount(fast, minlength=n_clusters)
    assert len(sizes) == n_clusters
    levels = int(np.ceil(np.log2(n_clusters)))
    assert sizes.max() - sizes.min() <= max(1, levels)  # each halving rounds once


def test_equal_points_go_by_number() -> None:
    fast, slow = clusters_of(np.ones((10, 8), np.float32), 5)
    assert fast.tolist() == slow.tolist() == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]


def test_groups_that_lie_apart_stay_together() -> None:
    draw = np.random.default_rng(0)
    centres = 10 * draw.standard_normal((16, 64))
    group = draw.permutation(np.repeat(np.arange(16), 25))
    points = (centres[group] + draw.standard_normal((400, 64))).astype(np.float32)
    fast, _ = clusters_of(points, 4)
    together = [np.bincount(fast[group == g], minlength=4).max() / 25 for g in range(16)]
    assert np.mean(together) > 0.95  # by chance 0.38; equal sizes may cut a group in two


def test_points_of_unit_length() -> None:
    points = np.random.default_rng(0).standard_normal((50, 24)).astype(np.float32)
    points[7] = 0.0
    expected, known, twins = points.copy(), np.empty(50, np.bool_), np.empty(50, np.bool_)
    unit_points(points, known)
    unit_points_slow(expected, twins)
    np.testing.assert_allclose(points, expected, rtol=1e-6)
    assert np.flatnonzero(~known).tolist() == np.flatnonzero(~twins).tolist() == [7]


@pytest.mark.parametrize("seed", range(5))
def test_points_are_the_sums_of_rows(seed: int) -> None:
    draw = np.random.default_rng(seed)
    counts = draw.integers(0, 4, 30)
    indptr = np.append(0, np.cumsum(counts))
    labels = draw.integers(0, 7, indptr[-1]).astype(np.int32)
    rows, weights = draw.random((20, 8), dtype=np.float32), draw.random(20, dtype=np.float32)
    points, expected = np.zeros((7, 8), np.float32), np.zeros((7, 8), np.float32)
    add_to_labels(indptr, labels, 10, weights, rows, points)  # of rows 10 to 29
    add_to_labels_slow(indptr, labels, 10, weights, rows, expected)
    np.testing.assert_allclose(points, expected, rtol=1e-5)
