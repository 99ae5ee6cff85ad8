"""Signatures of some labels, and scores of each row's own, against their twins."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.reference.candidates import gather_signatures_slow, score_pairs_slow

from xmach._kernels.decode.candidates import gather_signatures, score_pairs
from xmach._kernels.decode.index import Index
from xmach._kernels.decode.scan import MEAN, MEDIAN, MIN
from xmach.buckets import UniversalHashes, computed, table_index


def gathered(index: Index, ids: Any) -> Any:
    out = np.empty((len(ids), len(index.a)), index.signatures.dtype)
    gather_signatures(index, ids, out)
    return out


@settings(deadline=None, max_examples=150)
@given(
    capacity=st.one_of(st.integers(2, 300), st.integers(2**30, 2**32 - 6)),
    n_buckets=st.one_of(st.integers(2, 300), st.integers(2**16, 2**20), st.integers(2**30, 2**31 - 1)),
    seed=st.integers(0, 2**32),
    data=st.data(),
)
def test_signatures_of_some_labels_are_their_twins(capacity: int, n_buckets: int, seed: int, data: Any) -> None:
    """Up to the largest primes and labels, where products of integers need all 64 bits."""
    n_labels = min(capacity, 2**31 - 1)
    index = computed(UniversalHashes.draw(n_labels, n_buckets, 5, seed, capacity))
    some = st.one_of(st.integers(0, n_labels - 1), st.sampled_from([0, n_labels - 1, n_labels // 2]))
    ids = np.array(data.draw(st.lists(some, max_size=20)), np.int64)
    np.testing.assert_array_equal(gathered(index, ids), gather_signatures_slow(index, ids))


def test_residues_at_the_ends_of_their_range() -> None:
    """a x + b just below and at multiples of p: where a rounded quotient would be off by one."""
    hashes = UniversalHashes(2**31 - 1, 7, 2**32 - 5, (1, 2**32 - 6, 2**16, 2**16 - 1, 2**31), (2**32 - 6, 0, 1, 5, 0))
    index = computed(hashes)
    ids = np.concatenate([np.arange(50), 2**31 - 2 - np.arange(50), 2**16 * np.arange(1, 50) - 1])
    np.testing.assert_array_equal(gathered(index, ids), gather_signatures_slow(index, ids))


def test_a_table_that_no_hash_gave() -> None:
    table = np.random.default_rng(0).integers(0, 50, (40, 3)).astype(np.uint8)
    index = table_index(table, 1)
    ids = np.array([39, 0, 7, 7])
    np.testing.assert_array_equal(gathered(index, ids), table[ids])
    np.testing.assert_array_equal(gather_signatures_slow(index, ids), table[ids])


@pytest.mark.parametrize("rule", [MEAN, MIN, MEDIAN])
@pytest.mark.parametrize("with_table", [False, True])
def test_scores_of_each_rows_own_labels_are_their_twins(rule: int, with_table: bool) -> None:
    draw = np.random.default_rng(rule)
    for n_repetitions in (1, 4, 7):
        hashes = UniversalHashes.draw(500, 12, n_repetitions, seed=rule)
        index = table_index(hashes.signatures(), 1) if with_table else computed(hashes)
        lengths = np.array([3, 0, 40, 1, 0])
        indptr, ids = np.append(0, np.cumsum(lengths)), draw.integers(0, 500, lengths.sum())
        cells = draw.random((5, n_repetitions, 12)).astype(np.float32)
        out = np.full(len(ids), np.nan, np.float32)
        score_pairs(cells, index, indptr, ids, rule, out)
        expected = score_pairs_slow(cells, index, indptr, ids, rule)
        np.testing.assert_array_equal(out.view(np.uint32), expected.view(np.uint32))
