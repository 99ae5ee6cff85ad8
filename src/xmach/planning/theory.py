"""Theorem 1 (the unbiased estimate), Theorem 2 (how many repetitions tell all classes apart), and what to expect."""

from __future__ import annotations

from fractions import Fraction
from typing import TypeVar

from xmach.buckets import UniversalHashes
from xmach.parameters import real, whole
from xmach.types import DoubleArray, FloatArray

FloatLike = TypeVar("FloatLike", float, FloatArray, DoubleArray)


def repetitions_needed(n_labels: int, n_buckets: int, delta: float = 1e-3) -> int:
    """The fewest repetitions that tell all pairs of classes apart with probability at least 1 - delta (Theorem 2).

    That is the smallest whole R with K^2 (1/B)^R <= delta; one class needs only one.
    """
    labels = whole("n_labels", n_labels, 1)
    buckets = whole("n_buckets", n_buckets, 2)
    # Exact, in whole numbers, and of the decimal fraction that was written: the float 1e-6 is a little below 10^-6,
    # and the theorem's quotient of logarithms may fall on either side of a whole R.
    allowed = Fraction(repr(real("delta", delta, 0, 1, with_low=False)))
    if labels == 1:
        return 1
    repetitions, power = 1, buckets
    while labels**2 * allowed.denominator > allowed.numerator * power:
        repetitions, power = repetitions + 1, power * buckets
    return repetitions


def indistinguishable_bound(n_labels: int, n_buckets: int, n_repetitions: int) -> float:
    """The union bound K^2 (1/B)^R on the probability that some pair of classes shares every bucket, at most 1.

    It is 0 for a single class, which is in no pair.
    """
    labels = whole("n_labels", n_labels, 1)
    buckets = whole("n_buckets", n_buckets, 2)
    repetitions = whole("n_repetitions", n_repetitions, 1)
    pairs = labels**2
    # B^R >= 2^R: beyond this the bound is below the least positive float, and the power need not be worked out.
    if labels == 1 or repetitions > pairs.bit_length() + 1100:
        return 0.0
    power = buckets**repetitions
    return pairs / power if pairs < power else 1.0  # a quotient of whole numbers, rounded once


def collision_probability(prime: int, n_buckets: int) -> float:
    """Pr[h(x) = h(y)] of two labels under ((a x + b) mod p) mod B: a little under the 1/B that Theorem 1 assumes."""
    p = whole("prime", prime, 2)
    buckets = whole("n_buckets", n_buckets, 2, p)
    return UniversalHashes(n_labels=p, n_buckets=buckets, prime=p, a=(), b=()).collision_probability


def expected_indistinguishable_pairs(n_labels: int, n_buckets: int, n_repetitions: int) -> float:
    """How many pairs of classes share every bucket, on average over draws: K (K - 1) / 2 c^R.

    c is the family's true collision probability, a little under 1/B, so this is below half the union bound.
    """
    labels = whole("n_labels", n_labels, 1)
    return labels * (labels - 1) / 2 * _family_collision(labels, n_buckets) ** whole("n_repetitions", n_repetitions, 1)


def expected_rivals(n_labels: int, n_buckets: int, n_repetitions: int = 1) -> float:
    """How many other classes share at least one of its R buckets with a class; for R = 1, its one bucket."""
    labels = whole("n_labels", n_labels, 1)
    apart = 1.0 - _family_collision(labels, n_buckets)  # in one repetition
    return (labels - 1) * (1.0 - apart ** whole("n_repetitions", n_repetitions, 1))


def _family_collision(n_labels: int, n_buckets: int) -> float:
    """The collision probability of the hashes that are drawn for K labels and B buckets."""
    return UniversalHashes.draw(n_labels, n_buckets, 1).collision_probability


def unbiased(mean: FloatLike, collision: float) -> FloatLike:
    """The class probability from its mean bucket probability, (mean - c) / (1 - c).

    A bucket holds p_i + c (1 - p_i) on average (proof of Theorem 1); with c = 1/B this is B/(B-1) (mean - 1/B).
    """
    c = real("collision", collision, 0, 1, with_low=True)
    return (mean - c) / (1 - c)
