"""Pruned weights of consecutive buckets, by bucket: what one training shard makes and `LinearModel.join` takes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from xmach._kernels.train.bucket_weights import count_lanes, fill_lanes
from xmach.errors import InputError
from xmach.types import AnyArray, FloatArray, Int32Array, IntArray


class BucketWeights(NamedTuple):
    """The weights of b consecutive buckets: pruned, not yet quantised."""

    first: int  # the first bucket
    starts: IntArray  # (b + 1,) the weights of bucket first + i are starts[i]..starts[i + 1]
    features: Int32Array  # (m,) ascending within a bucket
    values: FloatArray  # (m,)
    biases: FloatArray  # (b,)

    def __repr__(self) -> str:
        return f"<BucketWeights of buckets {self.first:,} to {self.stop - 1:,}, {len(self.values):,} weights>"

    @property
    def stop(self) -> int:
        """The bucket after the last."""
        return self.first + len(self.biases)

    def arrays(self) -> dict[str, AnyArray]:
        """Return the weights and biases by name."""
        return {"starts": self.starts, "features": self.features, "values": self.values, "biases": self.biases}

    @classmethod
    def from_arrays(cls, first: int, arrays: Mapping[str, AnyArray]) -> BucketWeights:
        """Rebuild the weights from `arrays`."""
        return cls(first, arrays["starts"], arrays["features"], arrays["values"], arrays["biases"])

    def check(self, n_features: int) -> None:
        """Raise InputError unless the arrays are what `LinearModel.join` can read safely."""
        lists = (self.starts, self.features, self.values, self.biases)
        whole = all(array.ndim == 1 for array in lists) and len(self.starts) == len(self.biases) + 1
        if not (whole and len(self.features) == len(self.values) == self.starts[-1]):
            raise InputError(f"the arrays of {self} have shapes that do not belong together")
        if self.starts[0] != 0 or (self.starts[1:] < self.starts[:-1]).any():
            raise InputError(f"the starts of {self} do not rise from 0")
        if len(self.features) and not 0 <= self.features.min() <= self.features.max() < n_features:
            raise InputError(f"{self} has features outside 0 to {n_features - 1}")
        if not (np.isfinite(self.values).all() and np.isfinite(self.biases).all()):
            raise InputError(f"{self} has weights or biases that are not finite")


def weights_of_lanes(
    first: int,
    weights: FloatArray,
    biases: FloatArray,
    n_lanes: int,
    features: Int32Array | None,
    threshold: float,
) -> BucketWeights:
    """Return the weights w != 0 with |w| >= threshold of the first n_lanes columns of `weights` (d', 64).

    Row i belongs to the feature features[i], in any order; if `features` is None, to feature i.
    """
    if n_lanes > min(weights.shape[1], len(biases)) or (features is not None and len(features) != len(weights)):
        raise InputError(f"weights {weights.shape} and biases {biases.shape} are not those of {n_lanes} lanes")
    if features is None:
        features = np.arange(len(weights), dtype=np.int32)
        order = np.arange(len(weights), dtype=np.int64)
    else:
        order = np.argsort(features, kind="stable").astype(np.int64, copy=False)
    starts, bound = np.zeros(n_lanes + 1, np.int64), np.float32(threshold)
    count_lanes(weights, bound, starts[1:])
    np.cumsum(starts, out=starts)
    kept_features, kept_values = np.empty(starts[-1], np.int32), np.empty(starts[-1], np.float32)
    fill_lanes(weights, bound, order, features, starts[:-1].copy(), kept_features, kept_values)
    return BucketWeights(first, starts, kept_features, kept_values, np.array(biases[:n_lanes], np.float32))
