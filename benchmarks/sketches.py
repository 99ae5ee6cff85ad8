"""Made-up bucket probabilities: some relevant labels with shares like 1/rank, on a floor, with noise."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from xmach.buckets import UniversalHashes
from xmach.types import FloatArray


class Distribution(NamedTuple):
    """`mass` of the probability lies on `relevant` labels; every cell is multiplied by exp(noise N(0, 1))."""

    relevant: int
    mass: float
    noise: float

    def __str__(self) -> str:
        return f"{self.relevant} relevant, mass {self.mass}, noise {self.noise}"


DISTRIBUTIONS = (
    Distribution(5, 0.7, 0.5),
    Distribution(20, 0.7, 0.5),
    Distribution(100, 0.7, 0.5),
    Distribution(100, 0.5, 1.0),
    Distribution(300, 0.5, 1.0),
)


def sketch(hashes: UniversalHashes, distribution: Distribution, seed: int) -> FloatArray:
    """One row's (R, B) bucket probabilities."""
    draw = np.random.default_rng([seed, distribution.relevant])
    shape = hashes.n_repetitions, hashes.n_buckets
    labels = draw.choice(hashes.n_labels, distribution.relevant, replace=False, shuffle=False)
    shares = 1.0 / np.arange(1, len(labels) + 1)
    shares *= distribution.mass / shares.sum()
    cells = np.full(shape, (1 - distribution.mass) / hashes.n_buckets)
    for r in range(hashes.n_repetitions):
        np.add.at(cells[r], hashes.buckets(labels, r), shares)
    cells *= np.exp(distribution.noise * draw.standard_normal(shape))
    cells /= cells.sum(axis=1, keepdims=True)
    return cells.astype(np.float32)
