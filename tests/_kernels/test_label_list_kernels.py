"""The kernels of the ranker's lists against their slow twins."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.models.linear_models import parts_of, random_weights
from tests.ranking.label_problems import random_pairs, unit_rows
from tests.reference.label_lists import block_ends_slow, candidate_margins_slow, lists_slow

from xmach._kernels.rank.descent import CsrRows
from xmach._kernels.rank.label_lists import (
    BLOCK,
    block_ends,
    candidate_margins,
    count_label_entries,
    fill_label_entries,
)
from xmach._kernels.train.bucket_weights import quantise
from xmach._kernels.train.weight_lists import WeightLists

SHAPES = st.tuples(st.integers(0, 2**32 - 1), st.sampled_from([1, 5, 64, 65, 700, 3000]), st.integers(1, 12))


def coded(part: Any, bits: int) -> tuple[Any, Any]:
    codes, scales = np.empty(len(part.values), np.int8), np.ones(len(part.biases), np.float32)
    if bits == 32:
        return part.values, scales
    quantise(part.starts, part.values, scales, codes)
    return codes, scales


def filled(part: Any, bits: int, gap_type: type[Any], threshold: float) -> WeightLists:
    """The lists of a part with all labels."""
    codes, scales = coded(part, bits)
    counts, lists = np.zeros(1, np.int64), (part.starts, part.features, part.values, codes, np.float32(threshold))
    largest = int(np.iinfo(gap_type).max)
    assert count_label_entries(*lists, np.array([largest]), counts)
    starts, gaps = np.zeros(len(part.starts), np.uint32), np.empty(counts[0], gap_type)
    kept = np.empty(counts[0], codes.dtype)
    assert fill_label_entries(*lists, largest, 0, starts[1:], gaps, kept) == counts[0]
    return WeightLists(starts, gaps, kept, scales, part.biases)


@pytest.mark.parametrize("bits", [8, 32])
@pytest.mark.parametrize("gap_type", [np.uint8, np.uint16])
@settings(deadline=None, max_examples=25)  # the first call compiles
@given(
    shape=SHAPES,
    density=st.sampled_from([0.0, 0.01, 0.5]),
    threshold=st.sampled_from([0.0, 0.5]),
    row_density=st.sampled_from([0.003, 0.3]),  # of long lists, blocks are left out if the row has few features
)
def test_lists_and_margins_are_their_twins(
    bits: int,
    gap_type: type[Any],
    shape: tuple[int, int, int],
    density: float,
    threshold: float,
    row_density: float,
) -> None:
    seed, n_features, n_labels = shape
    [part] = parts_of(random_weights(n_features, n_labels, density, seed))
    lists = filled(part, bits, gap_type, threshold)
    twin = lists_slow(part, int(np.iinfo(gap_type).max), bits, threshold)
    for array, expected in zip(lists[:3], twin, strict=True):
        np.testing.assert_array_equal(array, expected)
    rows, (pairs, ids) = unit_rows(6, n_features, row_density, seed), random_pairs(6, n_labels, seed)
    out, ends = np.full(len(ids), np.nan, np.float32), np.zeros(len(lists.gaps) // BLOCK + 1, np.uint32)
    block_ends(lists.starts, lists.gaps, ends)
    np.testing.assert_array_equal(ends[: len(lists.gaps) // BLOCK], block_ends_slow(lists, BLOCK))
    candidate_margins(CsrRows(rows.indptr, rows.indices, rows.values), lists, ends, n_features, pairs, ids, out)
    assert out.tobytes() == candidate_margins_slow(rows, lists, pairs, ids).tobytes()


def test_fillers_lead_far() -> None:
    at = [0, 254, 255, 509, 510, 765, 1276, 65_534, 65_535, 69_999]
    weights = np.zeros((70_000, 3), np.float32)
    weights[at, 0], weights[at[::3], 1], weights[-1, 2] = 1.0, -2.0, 3.0
    [part] = parts_of(weights)
    for gap_type in (np.uint8, np.uint16):
        lists = filled(part, 8, gap_type, 0.0)
        twin = lists_slow(part, int(np.iinfo(gap_type).max), 8, 0.0)
        for array, expected in zip(lists[:3], twin, strict=True):
            np.testing.assert_array_equal(array, expected)


@pytest.mark.parametrize("features", [[1, 1], [2, 1], [0, 0]])
def test_features_that_do_not_rise_are_found(features: list[int]) -> None:
    starts, codes = np.array([0, 0, 2]), np.array([0, 5], np.int8)
    lists = (starts, np.array(features, np.int32), np.float32([0.0, 1.0]), codes, np.float32(0.5))
    assert not count_label_entries(*lists, np.array([255]), np.zeros(1, np.int64))
