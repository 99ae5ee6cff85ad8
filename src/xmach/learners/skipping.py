"""The output layer's way back over the gradients that matter: `skip_below`.

After softmax a row has B gradients, nearly all of them tiny; their sum is at most 1, so at most 1 / t of them reach a
threshold t. Those are kept as they are, and so are targets. A smaller one, p, becomes t with the probability p / t and
otherwise 0: right on average. The noise is no news to the step: which label a row has is drawn by the same
probabilities, with a variance of p a bucket; the rounding adds p t.
"""

from __future__ import annotations

import math

import numpy as np

from xmach._kernels.train.softmax import LANES, softmax_sampled
from xmach.learners.room import Transposer
from xmach.learners.task import TargetBatch
from xmach.types import FloatArray, SparseRows


class SparseGradient:
    """Makes sparse gradients of logits, and lists them by bucket."""

    def __init__(self, n_buckets: int, skip_below: float) -> None:
        self.n_buckets, self.skip_below = n_buckets, skip_below
        self.by_bucket = Transposer(n_buckets)
        self._columns, self._values = np.empty(0, np.int32), np.empty(0, np.float32)

    def of(
        self, logits: FloatArray, bias: FloatArray, targets: TargetBatch, weights: FloatArray, draw: np.random.Generator
    ) -> tuple[float, SparseRows, FloatArray]:
        """The summed loss, the gradients that are kept as rows (n, B), and that of the bias.

        `logits` are without bias, and lost.
        """
        n = len(weights)
        a_row = min(self.n_buckets, math.ceil(1.0 / self.skip_below) + 2 * LANES)  # a lane may end on one more
        size = n * a_row + len(targets.buckets)
        if len(self._columns) < size:
            self._columns, self._values = np.empty(size, np.int32), np.empty(size, np.float32)
        indptr = np.empty(n + 1, np.int64)
        loss = softmax_sampled(
            logits, bias, *targets, weights, np.float32(self.skip_below), draw.random((n, LANES), np.float32),
            indptr, self._columns, self._values,
        )  # fmt: skip
        columns, values = self._columns[: indptr[-1]], self._values[: indptr[-1]]
        bias_gradient = np.bincount(columns, values, self.n_buckets).astype(np.float32)
        return loss, SparseRows(indptr, columns, values, self.n_buckets), bias_gradient
