"""What the paper proves, measured: bucket probabilities made from known class probabilities, over many hash draws.

Every draw has a seed of its own, so these tests give the same numbers in every run.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from xmach.buckets import UniversalHashes, count_indistinguishable_pairs
from xmach.decoding import Decoder
from xmach.planning import indistinguishable_bound, repetitions_needed
from xmach.types import DoubleArray, FloatArray


def zipf(n_labels: int, exponent: float = 1.0, seed: int = 0) -> DoubleArray:
    """Class probabilities 1/rank^exponent, ranks in random order."""
    p = 1.0 / np.arange(1, n_labels + 1) ** exponent
    return np.random.default_rng(seed).permutation(p / p.sum())


def exact_sketch(p: DoubleArray, hashes: UniversalHashes) -> FloatArray:
    """The (1, R, B) bucket probabilities that perfect classifiers would give: the sums of their classes' p."""
    cells = [np.bincount(column, weights=p, minlength=hashes.n_buckets) for column in hashes.signatures().T]
    return np.array([cells], np.float32)


def estimates(p: DoubleArray, n_buckets: int, n_repetitions: int, n_draws: int, **options: Any) -> DoubleArray:
    """(draws, K): what the decoder makes of exact sketches, each with hashes of its own."""
    rows = []
    for seed in range(n_draws):
        hashes = UniversalHashes.draw(len(p), n_buckets, n_repetitions, seed)
        rows.append(Decoder(hashes).scores(exact_sketch(p, hashes), **options)[0].astype(np.float64))
    return np.array(rows)


def twenty_labels(p: DoubleArray) -> Any:
    """Twenty labels from the most to the least probable."""
    return np.argsort(-p, kind="stable")[np.linspace(0, len(p) - 1, 20).astype(int)]


@pytest.mark.parametrize(
    ("n_labels", "n_buckets", "n_repetitions", "n_draws"),
    [
        (97, 8, 1, 4000),
        (97, 8, 8, 2000),
        (300, 2, 4, 2000),
        (1000, 32, 4, 2000),
        (1000, 100, 8, 1000),
    ],
)
def test_theorem_1_the_mean_is_unbiased(n_labels: int, n_buckets: int, n_repetitions: int, n_draws: int) -> None:
    p = zipf(n_labels, seed=n_buckets)
    found = estimates(p, n_buckets, n_repetitions, n_draws, estimator="mean", probabilities=True)
    labels = twenty_labels(p)
    error = found[:, labels].std(axis=0) / math.sqrt(n_draws)
    off = np.abs(found[:, labels].mean(axis=0) - p[labels]) / error
    assert off.max() < 4
    # and the test can see: the plain mean, not made unbiased, is far off
    plain = estimates(p, n_buckets, n_repetitions, 200, estimator="mean")
    rough_error = plain[:, labels].std(axis=0) / math.sqrt(200)
    assert np.median((plain[:, labels].mean(axis=0) - p[labels]) / rough_error) > 4


def test_theorem_1_through_top_k() -> None:
    p, n_draws = zipf(97), 1000
    label, found = int(np.argmax(p)), np.empty(n_draws)
    for seed in range(n_draws):
        hashes = UniversalHashes.draw(97, 8, 4, seed)
        best = Decoder(hashes, "mean").top_k(exact_sketch(p, hashes), 97, probabilities=True, threads=1)
        found[seed] = best.scores[0, best.ids[0] == label][0]
    assert abs(found.mean() - p[label]) < 4 * found.std() / math.sqrt(n_draws)


def test_theorem_1s_constant_is_off_for_few_classes_and_ours_is_not() -> None:
    # FACTS: 97 uniform classes in 8 buckets; p = 97 residues, so a pair collides with c < 1/8
    p, n_draws = np.full(97, 1 / 97), 2000
    ours = estimates(p, 8, 4, n_draws, estimator="mean", probabilities=True)[:, :20]
    mean = estimates(p, 8, 4, n_draws, estimator="mean")[:, :20]
    theirs = 8 / 7 * (mean - 1 / 8)  # B/(B-1) (mean - 1/B)
    error = ours.std(axis=0) / math.sqrt(n_draws)
    assert (np.abs(ours.mean(axis=0) - 1 / 97) < 4 * error).all()
    assert (np.abs(theirs.mean(axis=0) - 1 / 97) > 20 * error).all()
    assert ours.mean() == pytest.approx(0.0103, abs=1e-4)
    assert theirs.mean() == pytest.approx(0.0001, abs=1e-4)


def test_theorem_1_where_collisions_are_rare() -> None:
    # 211 residues in 200 buckets: c = 0.0005, a tenth of 1/B. Collisions are so few that it takes many draws before
    # their mean is normal enough to speak of standard errors.
    p, n_draws = zipf(211), 15_000
    labels = twenty_labels(p)
    ours = estimates(p, 200, 2, n_draws, estimator="mean", probabilities=True)[:, labels]
    error = ours.std(axis=0) / math.sqrt(n_draws)
    assert (np.abs(ours.mean(axis=0) - p[labels]) < 4 * error).all()
    c = UniversalHashes.draw(211, 200, 1).collision_probability
    mean = c + (1 - c) * ours.mean(axis=0)
    assert (np.abs(200 / 199 * (mean - 1 / 200) - p[labels]) > 10 * error).all()


@pytest.mark.parametrize("n_repetitions", [1, 3, 8])
def test_min_never_falls_below_the_probability(n_repetitions: int) -> None:
    p = zipf(500, 1.2)
    found = estimates(p, 20, n_repetitions, 300, estimator="min")
    # sums of float64 are at least each addend, and rounding to float32 is monotone: no tolerance is needed
    assert (found >= p.astype(np.float32)).all()
    assert (found > p.astype(np.float32)).any()  # it does overestimate


def test_more_repetitions_bring_min_closer() -> None:
    p = zipf(500, 1.2)
    excess = [(estimates(p, 20, r, 100, estimator="min") - p).mean() for r in (1, 2, 4, 8)]
    assert excess == sorted(excess, reverse=True)


def share_with_a_pair(n_labels: int, n_buckets: int, n_repetitions: int, n_draws: int = 200) -> float:
    hashes = (UniversalHashes.draw(n_labels, n_buckets, n_repetitions, seed) for seed in range(n_draws))
    return float(np.mean([count_indistinguishable_pairs(drawn.signatures()) > 0 for drawn in hashes]))


@pytest.mark.parametrize(
    ("n_labels", "n_buckets", "delta"),
    [(1000, 10, 0.1), (1000, 10, 0.2), (317, 10, 0.11), (180, 2, 0.13), (97, 8, 0.3)],
)
def test_theorem_2_so_many_repetitions_tell_all_labels_apart(n_labels: int, n_buckets: int, delta: float) -> None:
    needed = repetitions_needed(n_labels, n_buckets, delta)
    assert indistinguishable_bound(n_labels, n_buckets, needed) <= delta
    assert share_with_a_pair(n_labels, n_buckets, needed) < delta
    # the bound counts every pair for itself and so is generous; three repetitions fewer do break it
    assert share_with_a_pair(n_labels, n_buckets, needed - 3) > delta


def test_theorem_2_fewer_repetitions_do_not() -> None:
    assert repetitions_needed(1000, 10, 0.1) == 7
    shares = [share_with_a_pair(1000, 10, r, 100) for r in (3, 4, 5, 6)]
    assert shares == sorted(shares, reverse=True)
    assert shares[0] == 1.0
    assert shares[-1] > 0.0
