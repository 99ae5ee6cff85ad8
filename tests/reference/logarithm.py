"""Slow twins of the kernels in `xmach._kernels.decode.logarithm`: the same results from plain NumPy and Python."""

from __future__ import annotations

import numpy as np

from xmach._kernels.decode.logarithm import FLOOR
from xmach.types import FloatArray


def floored_log_slow(values: FloatArray) -> FloatArray:
    """The twin of `floored_log`."""
    return np.log(np.maximum(values, FLOOR))
