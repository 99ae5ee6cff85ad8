"""The losses of the output layer. Logits, which do not include the bias, become gradients in place."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from xmach._kernels.train.dense import TargetBatch, bce_gradient
from xmach._kernels.train.softmax import LANES, softmax_loss, softmax_sampled
from xmach.learners.buffers import BatchTransposer
from xmach.models.network import sigmoid_in_place
from xmach.types import FloatArray, SparseRows


def bce_loss(
    logits: FloatArray, bias: FloatArray, targets: TargetBatch, weights: FloatArray, bias_gradient: FloatArray
) -> float:
    """Do as `softmax_loss` does, with binary cross-entropy for each bucket."""
    logits += bias
    delta = sigmoid_in_place(logits)
    loss = bce_gradient(delta, targets, weights)
    delta *= np.float32(1.0 / max(1, len(weights)))
    np.sum(delta, axis=0, out=bias_gradient)
    return loss


# (logits, bias, targets, weights, bias gradient) -> summed loss
LOSSES: dict[str, Callable[..., float]] = {"softmax": softmax_loss, "bce": bce_loss}


class SparseGradient:
    """The softmax loss with a sparse gradient: `skip_below`.

    After softmax a row has B gradients, nearly all of them tiny. They sum to at most 1, so at most 1 / t of them reach
    a threshold t. Those are kept unchanged, and so are the targets. A smaller one, p, becomes t with probability p / t
    and 0 otherwise, which is unbiased. The added noise is small: the label of a row is itself a draw from the same
    probabilities, with variance p per bucket, and the rounding adds p t.
    """

    def __init__(self, n_buckets: int, skip_below: float) -> None:
        self.n_buckets, self.skip_below = n_buckets, skip_below
        self.transposer = BatchTransposer(n_buckets)
        self._columns, self._values = np.empty(0, np.int32), np.empty(0, np.float32)

    def compute(
        self, logits: FloatArray, bias: FloatArray, targets: TargetBatch, weights: FloatArray, draw: np.random.Generator
    ) -> tuple[float, SparseRows, FloatArray]:
        """Return the summed loss, the gradients that are kept as sparse rows (n, B), and the gradient of the bias.

        `logits` do not include the bias; they are overwritten.
        """
        n = len(weights)
        per_row = min(self.n_buckets, math.ceil(1.0 / self.skip_below) + 2 * LANES)  # a lane may keep one more
        size = n * per_row + len(targets.buckets)
        if len(self._columns) < size:
            self._columns, self._values = np.empty(size, np.int32), np.empty(size, np.float32)
        indptr = np.empty(n + 1, np.int64)
        loss = softmax_sampled(
            logits, bias, targets, weights, np.float32(self.skip_below), draw.random((n, LANES), np.float32),
            indptr, self._columns, self._values,
        )  # fmt: skip
        columns, values = self._columns[: indptr[-1]], self._values[: indptr[-1]]
        bias_gradient = np.bincount(columns, values, self.n_buckets).astype(np.float32)
        return loss, SparseRows(indptr, columns, values, self.n_buckets), bias_gradient
