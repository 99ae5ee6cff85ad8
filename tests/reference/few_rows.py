"""Slow twins of the kernels in `xmach._kernels.train.few_rows`: the same results from plain NumPy and Python."""

from __future__ import annotations

import numpy as np

from xmach.types import FloatArray


def dense_forward_slow(inputs: FloatArray, weights: FloatArray, bias: FloatArray, out: FloatArray) -> None:
    """`dense_forward`, in double precision."""
    out[:] = inputs.astype(np.float64) @ weights + bias
