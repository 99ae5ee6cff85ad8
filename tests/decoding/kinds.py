"""Sketches of every kind that a search may meet: those it is made for, and those that are there to trip it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from xmach.types import AnyArray, FloatArray

Draw = np.random.Generator
Kind = Callable[[Draw, AnyArray, int], AnyArray]  # (draw, signatures (K, R), B) -> cells (R, B)
FACTS = [
    (5, 0.7, 0.5),
    (20, 0.7, 0.5),
    (100, 0.7, 0.5),
    (100, 0.5, 1.0),
    (300, 0.5, 1.0),
]  # relevant labels, mass, noise


def relevant(draw: Draw, signatures: AnyArray, n_buckets: int, count: int, mass: float, noise: float) -> FloatArray:
    """Bucket probabilities (R, B) of a query with `count` relevant labels, the best the most, and noise."""
    n_labels, n_repetitions = signatures.shape
    weights = 1 / np.arange(1, count + 1)
    chosen = draw.integers(0, n_labels, count)
    cells = np.full((n_repetitions, n_buckets), (1 - mass) / n_buckets)
    for r in range(n_repetitions):
        np.add.at(cells[r], signatures[chosen, r].astype(np.int64), mass * weights / weights.sum())
    cells *= np.exp(noise * draw.standard_normal(cells.shape))
    return (cells / cells.sum(axis=1, keepdims=True)).astype(np.float32)


def all_equal(draw: Draw, signatures: AnyArray, n_buckets: int) -> AnyArray:
    return np.full((signatures.shape[1], n_buckets), draw.choice([0.0, 0.1, 1 / 3, -0.7, 1 / n_buckets]))


def one_hot(draw: Draw, signatures: AnyArray, n_buckets: int) -> AnyArray:
    chosen = draw.integers(0, n_buckets, signatures.shape[1])
    if draw.random() < 0.5:  # the buckets of a label, or any
        chosen = signatures[draw.integers(len(signatures))]
    return np.eye(n_buckets)[chosen.astype(np.int64)]


def quantised(draw: Draw, signatures: AnyArray, n_buckets: int) -> AnyArray:
    levels = draw.integers(2, 12)
    return np.floor(draw.random((signatures.shape[1], n_buckets)) ** draw.integers(1, 9) * levels) / 8


def hot_on_a_floor(draw: Draw, signatures: AnyArray, n_buckets: int) -> AnyArray:
    cells = np.full((signatures.shape[1], n_buckets), 1 / n_buckets)
    for label in draw.integers(0, len(signatures), draw.integers(1, 6)):
        cells[np.arange(len(cells)), signatures[label]] = draw.choice([0.5, 0.25, draw.random()])
    return cells


def peaked(draw: Draw, signatures: AnyArray, n_buckets: int) -> AnyArray:
    cells = np.exp(draw.uniform(3, 12) * draw.standard_normal((signatures.shape[1], n_buckets)))
    return cells / cells.sum(axis=1, keepdims=True)


def many_magnitudes(draw: Draw, signatures: AnyArray, n_buckets: int) -> AnyArray:
    shape = signatures.shape[1], n_buckets
    return draw.choice([-1, 1], shape, p=[0.9, 0.1]) * 10 ** draw.uniform(-30, draw.choice([0, 10, 29]), shape)


def negative(draw: Draw, signatures: AnyArray, n_buckets: int) -> AnyArray:
    return -(10 ** draw.uniform(-12, 4, (signatures.shape[1], n_buckets)))


def huge(draw: Draw, signatures: AnyArray, n_buckets: int) -> AnyArray:
    # sums beyond float32 are infinite, and tie
    cells = draw.choice([-3e38, -1e38, -1.0, 0.0, 0.5], (signatures.shape[1], n_buckets))
    return np.where(draw.random(cells.shape) < draw.choice([0, 0.1]), 3e38, cells)


def denormal(draw: Draw, signatures: AnyArray, n_buckets: int) -> AnyArray:
    shape = signatures.shape[1], n_buckets
    return draw.integers(-5, 50, shape) * 1e-44 + draw.choice([0.0, 1e-30, 1.0]) * (draw.random(shape) < 0.1)


def one_informative(draw: Draw, signatures: AnyArray, n_buckets: int) -> AnyArray:
    cells = np.full((signatures.shape[1], n_buckets), 1 / n_buckets)
    cells[draw.integers(len(cells))] = draw.dirichlet(np.full(n_buckets, 0.1))
    return cells


def far_from_zero(draw: Draw, signatures: AnyArray, n_buckets: int) -> AnyArray:
    # the rounding of a float32 sum is as large as what tells labels apart
    small = relevant(draw, signatures, n_buckets, 5, 0.7, 0.5)
    return draw.choice([-1, 1]) * draw.choice([10, 100, 1000]) + small + 0.02 * draw.random(small.shape)


def of_facts(count: int, mass: float, noise: float) -> Kind:
    return lambda draw, signatures, n_buckets: relevant(draw, signatures, n_buckets, count, mass, noise)


# each with the least share of its rows that must have been pruned: a test must not pass by falling back
KINDS: dict[str, tuple[Kind, float]] = {
    **{f"relevant-{count}-{mass}-{noise}": (of_facts(count, mass, noise), 0.3) for count, mass, noise in FACTS},
    "all_equal": (all_equal, 0.0),
    "one_hot": (one_hot, 0.2),
    "quantised": (quantised, 0.2),
    "hot_on_a_floor": (hot_on_a_floor, 0.2),
    "peaked": (peaked, 0.3),
    "many_magnitudes": (many_magnitudes, 0.1),
    "negative": (negative, 0.05),
    "huge": (huge, 0.05),
    "denormal": (denormal, 0.05),
    "one_informative": (one_informative, 0.2),
    "far_from_zero": (far_from_zero, 0.2),
}
