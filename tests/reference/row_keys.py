"""Slow twins of the kernels in `xmach._kernels.parse.row_keys`: the same results from plain NumPy and Python."""

from __future__ import annotations

from typing import Any

import numpy as np

from xmach._kernels.parse.row_keys import _FACTORS, _SEEDS, _SHIFTS
from xmach.types import FloatArray, Int32Array, IntArray


def row_keys_slow(indptr: IntArray, indices: Int32Array, values: FloatArray) -> list[list[int]]:
    """The twin of `row_keys`, in Python's unbounded integers."""

    def mixed(h: int, which: int) -> int:
        for shift, factor in zip(_SHIFTS[which], (*_FACTORS[which], 1), strict=True):
            h = (h ^ (h >> shift)) * factor & (2**64 - 1)
        return h

    def key(which: int, words: list[int]) -> int:
        h = _SEEDS[which]
        for word in words:
            h = mixed(h ^ word, which)
        return h

    rows: list[Any] = []
    for i in range(len(indptr) - 1):
        row = range(indptr[i], indptr[i + 1])
        words = [(int(indices[j]) << 32) | int(values[j].view(np.uint32)) for j in row if values[j] != 0]
        rows.append([key(0, words), key(1, words)])
    return rows
