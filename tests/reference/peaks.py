"""Slow twins of the kernels in `xmach._kernels.decode.peaks`: the same results from plain NumPy and Python."""

from __future__ import annotations

import numpy as np

from xmach.types import FloatArray, Int32Array


def keys_slow(values: FloatArray) -> Int32Array:
    """The twin of `key_of`: the rank of the bit patterns as signed magnitudes."""
    bits = np.ascontiguousarray(values, np.float32).view(np.int32).astype(np.int64)
    return np.where(bits < 0, -(bits & 0x7FFFFFFF) - 1, bits).astype(np.int32)


def collect_slow(values: FloatArray, level: int, below: int) -> list[tuple[int, int]]:
    """The twin of `collect`."""
    keys = keys_slow(values)
    return [(int(r), int(c)) for r, c in np.argwhere((keys >= level) & (keys < below))]
