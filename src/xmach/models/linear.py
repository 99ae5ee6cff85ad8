"""B sparse linear classifiers, one per bucket: pruned weights in 8 bits, stored as one list per feature.

Feature j has the entries starts[j]..starts[j+1]. An entry's bucket is the sum of its feature's gaps up to it, minus 1,
and its weight is codes * scales[bucket]. If the next bucket is further away than the largest gap (255 or 65,535),
fillers lead to it: entries with code 0 and the largest gap.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from xmach._kernels.train.weight_lists import WeightLists, dense_margins, sparse_margins
from xmach.errors import InputError
from xmach.models.bucket_weights import BucketWeights, weights_of_lanes
from xmach.models.joining import joined_arrays
from xmach.models.linear_arrays import checked_lists, read_only
from xmach.models.network import sigmoid_in_place, softmax_in_place
from xmach.types import AnyArray, FloatArray, Rows, SparseRows

__all__ = ["SLOPE", "BucketWeights", "LinearModel", "weights_of_lanes"]

SLOPE = 3.0  # the probability of a squared-hinge margin is sigmoid(SLOPE * margin)
LOSSES = ("squared_hinge", "logistic", "softmax")


@dataclass(frozen=True, repr=False)
class LinearModel:
    """Trained linear classifiers; make them with `join` or `from_arrays`, which check the arrays."""

    starts: AnyArray  # (d + 1,) uint32; int64 from 2^32 entries on
    gaps: AnyArray  # (m,) uint8 or uint16
    codes: AnyArray  # (m,) int8, or float32 weights
    scales: FloatArray  # (B,)
    biases: FloatArray  # (B,)
    loss: str  # one of LOSSES
    normalised: bool  # whether a row's probabilities are divided by their sum
    kind: str = "linear"

    def __repr__(self) -> str:
        shape = f"{self.n_features:,} x {self.n_buckets:,}, {self.n_weights:,} weights"
        return f"<LinearModel {shape} of {8 * self.codes.itemsize} bits, loss={self.loss!r}>"

    @classmethod
    def join(
        cls,
        parts: Sequence[BucketWeights],
        n_features: int,
        n_buckets: int,
        loss: str,
        *,
        bits: int = 8,
        normalised: bool = False,
    ) -> LinearModel:
        """Return the model of parts that together have every bucket exactly once, in any order.

        Each bucket is quantised by itself, so that the model does not depend on how buckets were split into parts. With
        bits=32, weights stay float32. Raises InputError, a ValueError, if a bucket is missing or given twice.
        """
        return cls.from_arrays(joined_arrays(parts, n_features, n_buckets, bits), loss, normalised)

    @property
    def n_features(self) -> int:
        """d."""
        return len(self.starts) - 1

    @property
    def n_buckets(self) -> int:
        """B."""
        return len(self.biases)

    @property
    def n_weights(self) -> int:
        """The number of weights that are not 0; fillers do not count."""
        return int(np.count_nonzero(self.codes))

    def margins(self, rows: Rows) -> FloatArray:
        """Return the (n, B) outputs of the classifiers; a row gets the same bits in every batch, sparse or dense."""
        width = rows.shape[1]
        if width != self.n_features:
            raise InputError(f"the model was trained on {self.n_features} features, the rows have {width}")
        out = np.empty((rows.shape[0], self.n_buckets), np.float32)
        lists = WeightLists(*(read_only(array) for array in self.arrays().values()))
        if isinstance(rows, SparseRows):
            sparse_margins(read_only(rows.indptr), read_only(rows.indices), read_only(rows.values), lists, out)
        else:
            dense_margins(read_only(np.ascontiguousarray(rows, np.float32)), lists, out)
        return out

    def probabilities(self, rows: Rows) -> FloatArray:
        """Return the (n, B) bucket probabilities; they sum to 1 only if the model is normalised."""
        outputs = self.margins(rows)
        if self.loss == "softmax":
            return softmax_in_place(outputs)
        if self.loss == "squared_hinge":
            with np.errstate(over="ignore"):  # sigmoid clips
                outputs *= np.float32(SLOPE)
        sigmoid_in_place(outputs)
        if self.normalised:
            outputs /= outputs.sum(axis=1, keepdims=True)
        return outputs

    def arrays(self) -> dict[str, AnyArray]:
        """Return the five arrays by name."""
        return WeightLists(self.starts, self.gaps, self.codes, self.scales, self.biases)._asdict()

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, AnyArray], loss: str, normalised: bool) -> LinearModel:
        """Rebuild the model from `arrays`, without a copy. Raises InputError if they are damaged."""
        if loss not in LOSSES:
            raise InputError(f"the loss of a linear model must be one of {', '.join(LOSSES)}, got {loss!r}")
        return cls(*checked_lists(arrays), loss=loss, normalised=bool(normalised))
