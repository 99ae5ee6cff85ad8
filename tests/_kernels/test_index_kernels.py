"""Signatures and bucket members by arithmetic against Python's unbounded integers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.reference.index import column_slow, members_slow, signature_slow, sort_into_buckets_slow

from xmach._kernels.decode.index import Index, fill_column, fill_signatures, members, signature, sort_into_buckets
from xmach.types import AnyArray

LARGEST = 2**32 - 5  # the largest prime of the family
PRIMES = [2, 3, 101, 65_537, 1_000_003, 2_147_483_647, 2_147_483_659, LARGEST]


def make_index(n_labels: int, n_buckets: int, prime: int, seed: int = 0, n_repetitions: int = 6) -> Index:
    """No tables; the first repetitions have the numbers at the ends of their ranges."""
    draw = np.random.default_rng(seed)
    a = np.concatenate([[1, prime - 1], draw.integers(1, prime, n_repetitions)])[:n_repetitions]
    b = np.concatenate([[prime - 1, 0], draw.integers(0, prime, n_repetitions)])[:n_repetitions]
    inverse = np.array([pow(int(number), -1, prime) for number in a], np.int64)
    nothing = np.empty((0, n_repetitions), np.uint32), np.empty((n_repetitions, 0), np.int64)
    return Index(n_labels, n_buckets, prime, a, b, inverse, *nothing, np.empty((n_repetitions, 0), np.int32))


@pytest.mark.parametrize("prime", PRIMES)
def test_signatures_of_labels_at_both_ends(prime: int) -> None:
    n_labels = min(prime, 2**31 - 1)
    labels = {
        0,
        1,
        n_labels // 2,
        n_labels - 2,
        n_labels - 1,
        *np.random.default_rng(1).integers(0, n_labels, 200).tolist(),
    }
    for n_buckets in {size for size in (2, 3, 10_000, 65_536, prime - 1, prime) if 2 <= size <= min(prime, 2**31 - 1)}:
        index, row = make_index(n_labels, n_buckets, prime), np.empty(6, np.int64)
        for label in labels:
            signature(index, label, row)
            assert row.tolist() == signature_slow(index, label).tolist()


def test_quotients_that_are_whole() -> None:
    # a x + b a multiple of p, one less and one more: where a quotient in floating point goes wrong, if anywhere
    prime, row = LARGEST, np.empty(3, np.int64)
    for x in (1, 12_345, 2**31 - 2):
        a = np.array([prime - 1, prime // 2, 4_000_000_007], np.int64)
        for off in (-1, 0, 1):
            b = np.array([(off - int(number) * x) % prime for number in a], np.int64)
            index = make_index(2**31 - 1, 10_000, prime, n_repetitions=3)._replace(a=a, b=b)
            signature(index, x, row)
            assert row.tolist() == [off % prime % 10_000] * 3
            assert row.tolist() == signature_slow(index, x).tolist()


@pytest.mark.parametrize(
    ("n_labels", "n_buckets", "prime"),
    [(1, 2, 2), (1, 2, 3), (2, 3, 3), (97, 8, 97), (90, 8, 97), (90, 97, 97), (40, 7, 1009), (300, 256, 307)],
)
def test_members_of_every_bucket(n_labels: int, n_buckets: int, prime: int) -> None:
    index = make_index(n_labels, n_buckets, prime)
    room = np.empty(prime // n_buckets + 1, np.int32)  # what the search gives them
    for r in range(6):
        for bucket in range(n_buckets):
            count = members(index, r, bucket, room)
            assert sorted(room[:count].tolist()) == members_slow(index, r, bucket).tolist()


@pytest.mark.parametrize("prime", [2_147_483_647, LARGEST])
def test_members_with_the_largest_primes(prime: int) -> None:
    n_buckets, n_labels = 40_000_000, 2**31 - 1
    index, room = make_index(n_labels, n_buckets, prime), np.empty(prime // 40_000_000 + 1, np.int32)
    for r in range(6):
        for bucket in (0, 1, 17, n_buckets - 1):
            count = members(index, r, bucket, room)
            inverse, b = int(index.inverse[r]), int(index.b[r])
            every = [inverse * (y - b) % prime for y in range(bucket, prime, n_buckets)]
            assert room[:count].tolist() == [x for x in every if x < n_labels]
            assert all(signature_slow(index, x)[r] == bucket for x in room[:count].tolist())


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.uint32])
@pytest.mark.parametrize("prime", [401, 2_147_483_659, LARGEST])
def test_tables_from_the_hash(prime: int, dtype: Any) -> None:
    index = make_index(400, 199, prime)
    expected = np.array([signature_slow(index, x) for x in range(400)])
    for first, size in ((0, 400), (399, 1), (37, 100), (5, 0)):
        out = np.full((size, 6), 255, dtype)
        fill_signatures(index, first, out)
        np.testing.assert_array_equal(out, expected[first : first + size])
    for r in range(6):
        column = np.full(400, 255, dtype)
        fill_column(index, r, column)
        np.testing.assert_array_equal(column, column_slow(index, r))
        np.testing.assert_array_equal(column, expected[:, r])


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.uint32, np.int64])
@pytest.mark.parametrize(("n_labels", "n_buckets"), [(1, 1), (1, 7), (500, 1), (500, 20), (20, 256)])
def test_posting_lists(n_labels: int, n_buckets: int, dtype: Any) -> None:
    column: AnyArray = np.random.default_rng(n_labels).integers(0, n_buckets, n_labels).astype(dtype)
    offsets, labels = np.full(n_buckets + 1, 9, np.int64), np.full(n_labels, -9, np.int32)
    sort_into_buckets(column, offsets, labels)
    expected_offsets, expected_labels = sort_into_buckets_slow(column, n_buckets)
    np.testing.assert_array_equal(offsets, expected_offsets)
    np.testing.assert_array_equal(labels, expected_labels)
