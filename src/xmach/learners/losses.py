"""The output's losses: logits without their bias become gradients in place."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from xmach._kernels.train.dense import bce_gradient
from xmach._kernels.train.softmax import softmax_loss
from xmach.models.network import sigmoid_in_place
from xmach.types import FloatArray, Int32Array, IntArray


def bce_loss(
    logits: FloatArray,
    bias: FloatArray,
    offsets: IntArray,
    buckets: Int32Array,
    masses: FloatArray,
    weights: FloatArray,
    bias_gradient: FloatArray,
) -> float:
    """As `softmax_loss`, with binary cross-entropy for each bucket."""
    logits += bias
    delta = sigmoid_in_place(logits)
    loss = bce_gradient(delta, offsets, buckets, masses, weights)
    delta *= np.float32(1.0 / max(1, len(weights)))
    np.sum(delta, axis=0, out=bias_gradient)
    return loss


# (logits, bias, offsets, buckets, masses, weights, bias gradient) -> summed loss
LOSSES: dict[str, Callable[..., float]] = {"softmax": softmax_loss, "bce": bce_loss}
