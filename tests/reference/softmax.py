"""Slow twins of the kernels in `xmach._kernels.train.softmax`: the same results from plain NumPy and Python."""

from __future__ import annotations

from typing import cast

import numpy as np

from xmach._kernels.train.softmax import LANES
from xmach.types import DoubleArray, FloatArray


def softmax_slow(logits: FloatArray) -> DoubleArray:
    """The twin of `softmax`, in float64."""
    wide = logits.astype(np.float64)
    powers = np.exp(wide - wide.max(axis=1, keepdims=True))
    return cast(DoubleArray, powers / powers.sum(axis=1, keepdims=True))


def sample_slow(probabilities: DoubleArray, below: float, starts: DoubleArray) -> DoubleArray:
    """The twin of the sampling in `softmax_sampled`: one row, of which lane k has every LANES-th entry from k on."""
    out = np.where(probabilities >= below, probabilities, 0.0)
    for k in range(min(LANES, len(probabilities))):
        small = np.where(probabilities < below, probabilities, 0.0)[k::LANES]
        crossed = np.diff(np.floor((starts[k] + np.cumsum(small)) / below), prepend=0.0)
        out[k::LANES] += below * crossed
    return out
