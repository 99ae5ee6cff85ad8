"""The hashes: golden numbers, exact arithmetic, and the statistics of their draws."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from xmach.buckets import UniversalHashes, universal
from xmach.buckets.universal import is_prime, next_prime
from xmach.errors import ParameterError

# These numbers must never change: models on disk keep only their plan, and other hashes would make them nonsense.
# (seed, K, B, R, capacity) -> prime, a, b, buckets of labels 0, 1, 2, 3, K - 1 in each repetition
GOLDEN: list[tuple[tuple[int, int, int, int, int | None], int, tuple[int, ...], tuple[int, ...], list[list[int]]]] = [
    ((0, 97, 8, 3, None), 97, (26, 93, 56), (9, 60, 90), [[1, 3, 5, 7, 0], [4, 0, 4, 0, 0], [2, 1, 0, 0, 2]]),
    ((1, 1000, 32, 2, None), 1009, (91, 415), (223, 466), [[31, 26, 21, 16, 2], [18, 17, 31, 30, 0]]),
    (
        (42, 670_091, 10_000, 2, None),
        670_097,
        (374_914, 301_359),
        (640_984, 350_304),
        [[984, 5801, 618, 5532, 6877], [304, 1663, 2925, 4284, 1082]],
    ),
    (
        (7, 50_000_000, 20_000, 1, None),
        50_000_017,
        (43_647_156,),
        (22_585_820,),
        [[5820, 12_959, 98, 7237, 17_284]],
    ),
    ((0, 10, 100, 2, None), 101, (58, 89), (22, 63), [[22, 80, 37, 95, 39], [63, 51, 39, 27, 56]]),
    ((0, 1000, 32, 2, 5000), 5003, (3940, 4873), (1893, 1054), [[5, 30, 2, 27, 16], [30, 28, 26, 24, 14]]),
    (
        (2**64 - 1, 2**31 - 1, 1000, 1, 4_294_967_291),
        4_294_967_291,
        (1_510_526_981,),
        (3_171_026_621,),
        [[621, 311, 292, 273, 466]],
    ),
]


@pytest.mark.parametrize(("arguments", "prime", "a", "b", "buckets"), GOLDEN)
def test_golden_hashes(
    arguments: tuple[int, int, int, int, int | None],
    prime: int,
    a: tuple[int, ...],
    b: tuple[int, ...],
    buckets: list[list[int]],
) -> None:
    seed, n_labels, n_buckets, n_repetitions, capacity = arguments
    hashes = UniversalHashes.draw(n_labels, n_buckets, n_repetitions, seed, capacity)
    assert (hashes.prime, hashes.a, hashes.b) == (prime, a, b)
    ids = np.array([0, 1, 2, 3, n_labels - 1])
    assert [hashes.buckets(ids, r).tolist() for r in range(n_repetitions)] == buckets


def test_golden_signatures() -> None:
    table = UniversalHashes.draw(97, 8, 3, seed=0).signatures()
    assert table[:4].tolist() == [[1, 4, 2], [3, 0, 1], [5, 4, 0], [7, 0, 0]]
    assert int((table.astype(np.int64) * np.arange(1, 292).reshape(97, 3)).sum()) == 152_802  # never to change


def divides_none(number: int) -> bool:
    return number >= 2 and all(number % divisor for divisor in range(2, math.isqrt(number) + 1))


def test_primality_by_trial_division() -> None:
    assert [n for n in range(3000) if is_prime(n)] == [n for n in range(3000) if divides_none(n)]
    for near in (2**16, 561, 3_215_031_751, 2**31, 2**32 - 5, 4_759_123_141, 65_537**2):
        for number in range(near - 3, near + 4):
            assert is_prime(number) == divides_none(number)


@settings(deadline=None)
@given(st.integers(0, 10**6))
def test_next_prime_is_the_smallest(number: int) -> None:
    found = next_prime(number)
    assert divides_none(found)
    assert not any(divides_none(between) for between in range(number, found))


@settings(deadline=None, max_examples=200)
@given(st.integers(1, 10**6), st.integers(2, 10**5), st.integers(1, 6), st.integers(-(2**63), 2**64), st.data())
def test_drawn_numbers_are_in_range(n_labels: int, n_buckets: int, n_repetitions: int, seed: int, data: Any) -> None:
    capacity = data.draw(st.none() | st.integers(n_labels, 2 * 10**6))
    hashes = UniversalHashes.draw(n_labels, n_buckets, n_repetitions, seed, capacity)
    assert hashes.prime == next_prime(max(n_labels, n_buckets, capacity or 0, 2))
    assert divides_none(hashes.prime)
    assert len(hashes.a) == len(hashes.b) == hashes.n_repetitions == n_repetitions
    assert all(1 <= a < hashes.prime for a in hashes.a)
    assert all(0 <= b < hashes.prime for b in hashes.b)
    assert hashes == UniversalHashes.draw(n_labels, n_buckets, n_repetitions, seed, capacity)
    assert UniversalHashes.from_dict(hashes.to_dict()) == hashes


def test_seeds_and_repetitions_give_other_hashes() -> None:
    hashes = [UniversalHashes.draw(1000, 32, 4, seed) for seed in range(50)]
    assert len({(h.a, h.b) for h in hashes}) == 50
    assert len(set(UniversalHashes.draw(10**6, 32, 64).a)) == 64


@settings(deadline=None, max_examples=200)
@given(st.data())
def test_buckets_are_big_integer_arithmetic_up_to_the_largest_prime(data: Any) -> None:
    prime = data.draw(st.sampled_from([2, 97, 65_537, 2**31 - 1, 4_294_967_279, 4_294_967_291]))
    a = data.draw(st.integers(1, prime - 1) | st.just(prime - 1))
    b = data.draw(st.integers(0, prime - 1) | st.just(prime - 1))
    n_buckets = data.draw(st.integers(2, min(prime, 2**31 - 1)))
    ids = data.draw(st.lists(st.integers(0, prime - 1) | st.just(prime - 1), max_size=20))
    hashes = UniversalHashes(prime, n_buckets, prime, (a,), (b,))
    expected = [(a * x + b) % prime % n_buckets for x in ids]
    for dtype in (np.int64, np.uint64, np.uint32):
        found = hashes.buckets(np.array(ids, dtype), 0)
        assert found.dtype == np.int64
        assert found.tolist() == expected


@pytest.mark.parametrize(
    ("n_buckets", "dtype"),
    [(2, np.uint8), (256, np.uint8), (257, np.uint16), (65_536, np.uint16), (65_537, np.uint32)],
)
def test_signatures_have_the_smallest_type(n_buckets: int, dtype: Any) -> None:
    hashes = UniversalHashes.draw(300, n_buckets, 3, seed=n_buckets)
    table = hashes.signatures()
    assert table.dtype == hashes.dtype == dtype
    assert table.shape == (300, 3)
    assert table.flags.c_contiguous
    for r in range(3):
        assert table[:, r].tolist() == hashes.buckets(np.arange(300), r).tolist()
    assert table.max() < n_buckets


@pytest.mark.parametrize("chunk", [1, 7, 99, 100, 101])
def test_signatures_are_the_same_in_any_chunks(monkeypatch: pytest.MonkeyPatch, chunk: int) -> None:
    hashes = UniversalHashes.draw(100, 12, 4, seed=3)
    whole_table = hashes.signatures()
    monkeypatch.setattr(universal, "HASHED_LABELS", chunk)
    np.testing.assert_array_equal(hashes.signatures(), whole_table)


@pytest.mark.parametrize(("prime", "n_buckets"), [(29, 8), (13, 13), (31, 2)])
def test_pairs_are_uniform_over_all_hashes(prime: int, n_buckets: int) -> None:
    """Over every (a, b), the buckets of two labels are those of two distinct residues, each pair equally often."""
    every = [(a, b) for a in range(1, prime) for b in range(prime)]
    hashes = UniversalHashes(prime, n_buckets, prime, tuple(a for a, _ in every), tuple(b for _, b in every))
    table = hashes.signatures().astype(np.int64)  # (K, p (p - 1))
    sizes = np.bincount(np.arange(prime) % n_buckets)  # residues in each bucket
    expected = np.outer(sizes, sizes) - np.diag(sizes)
    for x, y in [(0, 1), (3, 7), (1, prime - 1)]:
        together = np.zeros((n_buckets, n_buckets), np.int64)
        np.add.at(together, (table[x % prime], table[y % prime]), 1)
        np.testing.assert_array_equal(together, expected)
    assert hashes.collision_probability == pytest.approx(np.trace(expected) / len(every), rel=1e-14)


def test_draws_are_uniform() -> None:
    """Chi-square of 42,000 draws of (a, b) mod 7 over their 42 values: mean 41, standard deviation 9.06."""
    hashes = UniversalHashes.draw(7, 2, 42_000, seed=11)
    counts = np.zeros((7, 7))
    np.add.at(counts, (np.array(hashes.a), np.array(hashes.b)), 1)
    assert not counts[0].any()
    chi_square = ((counts[1:] - 1000) ** 2 / 1000).sum()
    assert 41 - 4 * 9.06 < chi_square < 41 + 4 * 9.06


@pytest.mark.parametrize(
    ("n_labels", "n_buckets", "capacity"),
    [(97, 8, None), (97, 64, None), (1000, 32, None), (97, 8, 10**6), (50, 50, None)],
)
def test_measured_collisions(n_labels: int, n_buckets: int, capacity: int | None) -> None:
    n_draws = 20_000
    hashes = UniversalHashes.draw(n_labels, n_buckets, n_draws, seed=n_buckets, capacity=capacity)
    c = hashes.collision_probability
    assert c <= 1 / n_buckets
    table = hashes.signatures()
    error = math.sqrt(c * (1 - c) / n_draws)
    for x, y in [(0, 1), (2, 40), (n_labels - 1, 5), (10, 20), (33, 34)]:
        assert abs(np.mean(table[x] == table[y]) - c) < 4 * error + 1e-12


def test_with_as_many_buckets_as_residues_labels_never_collide() -> None:
    hashes = UniversalHashes.draw(101, 101, 50)
    assert hashes.collision_probability == 0.0
    assert all(len(set(column.tolist())) == 101 for column in hashes.signatures().T)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0, 8, 1), "n_labels must be a whole number from 1 to 2147483647, got 0"),
        ((2**32, 8, 1), "n_labels must be a whole number from 1 to 2147483647, got 4294967296"),
        ((10.0, 8, 1), r"n_labels must be a whole number from 1 to 2147483647, got 10\.0"),
        ((10, 1, 1), "n_buckets must be a whole number from 2 to 2147483647, got 1"),
        ((10, 2**31, 1), "n_buckets must be a whole number from 2 to 2147483647, got 2147483648"),
        ((10, 8, 0), "n_repetitions must be a whole number from 1 to 100000, got 0"),
        ((10, 8, True), "n_repetitions must be a whole number from 1 to 100000, got True"),
        ((10, 8, 1, 0, 9), "capacity must be a whole number from 10 to 4294967291, got 9"),
        ((10, 8, 1, 0, 2**32), "capacity must be a whole number from 10 to 4294967291, got 4294967296"),
    ],
)
def test_refused(arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        UniversalHashes.draw(*arguments)


def test_a_single_label_and_numpy_numbers() -> None:
    assert UniversalHashes.draw(1, 2, 3).signatures().shape == (1, 3)
    drawn = UniversalHashes.draw(np.int64(97), np.uint16(8), np.int32(3))
    assert drawn == UniversalHashes.draw(97, 8, 3)
    assert type(drawn.n_labels) is int
