"""The inverted index: every label once a repetition, in the bucket that its signature says."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from xmach.buckets import UniversalHashes, invert


@settings(deadline=None, max_examples=60)
@given(st.integers(1, 200), st.integers(2, 300), st.integers(1, 5), st.integers(0, 100))
def test_members_partition_the_labels(n_labels: int, n_buckets: int, n_repetitions: int, seed: int) -> None:
    hashes = UniversalHashes.draw(n_labels, n_buckets, n_repetitions, seed)
    index, signatures = invert(hashes), hashes.signatures()
    assert index.offsets.shape == (n_repetitions, n_buckets + 1)
    for r in range(n_repetitions):
        members = [index.members(r, bucket) for bucket in range(n_buckets)]
        assert sorted(np.concatenate(members).tolist()) == list(range(n_labels))
        for bucket, labels in enumerate(members):
            assert labels.tolist() == np.flatnonzero(signatures[:, r] == bucket).tolist()  # by rising id


def test_a_table_gives_the_same_index_as_its_hashes() -> None:
    hashes = UniversalHashes.draw(500, 20, 4, seed=2)
    of_hashes, of_table = invert(hashes), invert(hashes.signatures(), 20)
    np.testing.assert_array_equal(of_hashes.offsets, of_table.offsets)
    np.testing.assert_array_equal(of_hashes.labels, of_table.labels)
    assert of_hashes.labels.dtype == np.int32


def test_the_number_of_buckets_of_a_table_is_seen_or_said() -> None:
    table = np.array([[0, 2], [1, 0], [1, 2]], np.uint8)
    assert invert(table).offsets.shape == (2, 4)
    index = invert(table, 6)
    assert index.offsets.shape == (2, 7)
    assert index.members(0, 1).tolist() == [1, 2]
    assert index.members(1, 1).tolist() == []
    assert index.members(1, 5).tolist() == []


@pytest.mark.parametrize("bucket", [0, 7])
def test_the_arithmetic_progression_of_a_bucket(bucket: int) -> None:
    # FACTS: members are a^-1 (y - b) mod p for y = c, c + B, ...; so no table would be needed
    hashes = UniversalHashes.draw(1000, 8, 1, seed=9)
    p, inverse = hashes.prime, pow(hashes.a[0], -1, hashes.prime)
    expected = sorted(x for y in range(bucket, p, 8) if (x := inverse * (y - hashes.b[0]) % p) < 1000)
    assert invert(hashes).members(0, bucket).tolist() == expected
