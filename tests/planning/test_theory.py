"""Theorems 1 and 2 against brute force over whole numbers."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from xmach.buckets import UniversalHashes
from xmach.errors import ParameterError
from xmach.planning import (
    collision_probability,
    drawn_pairs,
    expected_indistinguishable_pairs,
    expected_rivals,
    indistinguishable_bound,
    repetitions_needed,
    unbiased,
)


@pytest.mark.parametrize("exponent", range(1, 13))  # delta = 10^-exponent, some of whose floats lie below it
def test_repetitions_by_brute_force(exponent: int) -> None:
    for labels, buckets in product([2, 3, 10, 32, 100, 1000, 4096, 105_033, 10**6, 49_462_358], [2, 3, 10, 32, 10_000]):
        enough = [r for r in range(1, 120) if labels**2 * 10**exponent <= buckets**r]
        assert repetitions_needed(labels, buckets, float(f"1e-{exponent}")) == enough[0]


def test_repetitions_at_exact_powers() -> None:
    assert repetitions_needed(1000, 10, 1e-3) == 9  # 10^6 / 10^9 is 10^-3, not more
    assert repetitions_needed(10, 10, 1e-6) == 8
    assert repetitions_needed(1024, 2, 2**-10) == 30
    assert repetitions_needed(1024, 2, 2**-10 * (1 - 1e-12)) == 31
    assert repetitions_needed(np.int64(3_000_000_000), np.int32(2), 0.5) == 64  # 2^63 < K^2 < 2^64


def test_a_single_class_needs_one_repetition() -> None:
    assert repetitions_needed(1, 2, 1e-300) == 1
    assert indistinguishable_bound(1, 2, 1) == 0.0


def test_bound_is_the_papers() -> None:
    assert indistinguishable_bound(100, 10, 6) == 1e-2
    assert indistinguishable_bound(105_033, 32, 25) == pytest.approx(105_033**2 / 32**25, rel=1e-15)
    assert indistinguishable_bound(100, 10, 4) == 1.0
    assert indistinguishable_bound(100, 10, 3) == 1.0  # a probability, however bad
    assert indistinguishable_bound(10**9, 10**4, 10**9) == 0.0


@settings(deadline=None)  # the machine may be busy
@given(st.integers(1, 10**8), st.integers(2, 10**5), st.floats(1e-300, 1, exclude_max=True))
def test_the_repetitions_needed_meet_the_bound_and_one_less_does_not(labels: int, buckets: int, delta: float) -> None:
    repetitions = repetitions_needed(labels, buckets, delta)
    assert indistinguishable_bound(labels, buckets, repetitions) <= delta
    if repetitions > 1:
        assert Fraction(labels**2, buckets ** (repetitions - 1)) > Fraction(repr(delta))


@pytest.mark.parametrize(("prime", "buckets"), [(2, 2), (7, 3), (11, 11), (13, 4), (29, 8)])
def test_collision_probability_by_counting_every_hash(prime: int, buckets: int) -> None:
    hashes = [(a, b) for a in range(1, prime) for b in range(prime)]
    together = sum((0 * a + b) % prime % buckets == (1 * a + b) % prime % buckets for a, b in hashes)
    assert collision_probability(prime, buckets) == pytest.approx(together / len(hashes), abs=1e-15)


def test_collision_probability_tends_to_one_over_b() -> None:
    assert collision_probability(97, 8) == pytest.approx((1 * 13 * 12 + 7 * 12 * 11) / (97 * 96))
    assert collision_probability(4_294_967_291, 8) == pytest.approx(1 / 8, rel=1e-8)


def test_unbiased_recovers_uniform_classes_where_theorem_1s_constant_does_not() -> None:
    # FACTS: 97 uniform classes in 8 buckets; the mean bucket probability is p + c (1 - p)
    c = collision_probability(97, 8)
    mean = 1 / 97 + c * (1 - 1 / 97)
    assert unbiased(mean, c) == pytest.approx(1 / 97, abs=1e-15)
    assert unbiased(mean, 1 / 8) == pytest.approx(0.0001, abs=5e-5)


def test_unbiased_with_one_over_b_is_theorem_1() -> None:
    means = np.linspace(0, 1, 5)
    np.testing.assert_allclose(unbiased(means, 1 / 32), 32 / 31 * (means - 1 / 32), atol=1e-15)
    assert unbiased(means.astype(np.float32), 1 / 32).dtype == np.float32


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0, 2), "n_labels must be a whole number of at least 1, got 0"),
        ((10.0, 2), r"n_labels must be a whole number of at least 1, got 10\.0"),
        ((True, 2), "n_labels must be a whole number of at least 1, got True"),
        ((10, 1), "n_buckets must be a whole number of at least 2, got 1"),
        ((10, 2, 0), r"delta must be a number in \(0, 1\), got 0"),
        ((10, 2, 1), r"delta must be a number in \(0, 1\), got 1"),
        ((10, 2, float("nan")), r"delta must be a number in \(0, 1\), got nan"),
        ((10, 2, "0.1"), r"delta must be a number in \(0, 1\), got '0\.1'"),
    ],
)
def test_repetitions_refused(arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        repetitions_needed(*arguments)


def test_other_parameters_refused() -> None:
    with pytest.raises(ParameterError, match="n_repetitions must be a whole number of at least 1, got 0"):
        indistinguishable_bound(10, 2, 0)
    with pytest.raises(ParameterError, match="n_buckets must be a whole number from 2 to 7, got 8"):
        collision_probability(7, 8)
    with pytest.raises(ParameterError, match=r"collision must be a number in \[0, 1\), got 1"):
        unbiased(0.5, 1)


def test_expected_pairs_are_the_mean_over_draws() -> None:
    labels, buckets, repetitions, draws = 60, 3, 3, 400
    pairs = [drawn_pairs(labels, buckets, repetitions, seed) for seed in range(draws)]
    expected = expected_indistinguishable_pairs(labels, buckets, repetitions)
    assert abs(np.mean(pairs) - expected) < 4 * np.std(pairs) / np.sqrt(draws)
    assert expected < 1770 / 27  # K (K - 1) / 2 pairs; the true c is below 1/B, here by a twentieth
    assert expected_indistinguishable_pairs(1, 5, 2) == 0


def test_expected_rivals_are_the_mean_over_draws() -> None:
    labels, buckets, repetitions, draws = 50, 5, 4, 400
    one, any_ = [], []
    for seed in range(draws):
        table = UniversalHashes.draw(labels, buckets, repetitions, seed).signatures()
        shared = table[1:] == table[0]  # (K - 1, R)
        one.append(int(shared[:, 0].sum()))
        any_.append(int(shared.any(axis=1).sum()))
    for seen, expected in ((one, expected_rivals(50, 5)), (any_, expected_rivals(50, 5, 4))):
        assert abs(np.mean(seen) - expected) < 4 * np.std(seen) / np.sqrt(draws)


def test_pairs_of_a_draw_are_those_of_its_signatures() -> None:
    table = UniversalHashes.draw(40, 3, 2, seed=7).signatures()
    alike = sum(bool((table[x] == table[y]).all()) for x in range(40) for y in range(x))
    assert drawn_pairs(40, 3, 2, seed=7) == alike > 0
