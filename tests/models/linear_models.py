"""Random linear models for tests, from dense weights."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import scipy.sparse as sp

from xmach.models.linear import BucketWeights
from xmach.types import FloatArray


def random_weights(n_features: int, n_buckets: int, density: float = 0.3, seed: int = 0) -> FloatArray:
    """(d, B) with some features and some buckets that have no weight at all."""
    draw = np.random.default_rng(seed)
    weights = draw.normal(size=(n_features, n_buckets)) * (draw.random((n_features, n_buckets)) < density)
    weights[draw.random(n_features) < 0.2] = 0.0
    weights[:, draw.random(n_buckets) < 0.2] = 0.0
    return weights.astype(np.float32)


def random_biases(n_buckets: int) -> FloatArray:
    return np.random.default_rng(n_buckets).normal(size=n_buckets).astype(np.float32)


def random_rows(n_rows: int, n_features: int) -> FloatArray:
    """(n, d), the middle row without features."""
    rows = sp.random_array((n_rows, n_features), density=0.3, rng=np.random.default_rng(n_rows)).toarray()
    rows[n_rows // 2] = 0.0
    return rows.astype(np.float32)


def parts_of(weights: FloatArray, cuts: Sequence[int] = ()) -> list[BucketWeights]:
    """The buckets of dense weights (d, B), split before each bucket in `cuts`."""
    biases, parts = random_biases(weights.shape[1]), []
    for first, stop in pairwise([0, *cuts, weights.shape[1]]):
        part = sp.csc_array(weights[:, first:stop])
        starts, features = part.indptr.astype(np.int64), part.indices.astype(np.int32)
        parts.append(BucketWeights(first, starts, features, part.data, biases[first:stop]))
    return parts
