"""Slow twins of the kernels in `xmach._kernels.text.tally`: the same results from plain NumPy and Python."""

from __future__ import annotations

import numpy as np

from xmach.types import IntArray


def tally_slow(rows: IntArray, columns: IntArray, n_rows: int) -> tuple[IntArray, IntArray, IntArray]:
    """Lengths, columns and counts from rows and columns side by side, in any order."""
    pairs, counts = np.unique(np.stack([rows, columns], axis=1), axis=0, return_counts=True)
    return np.bincount(pairs[:, 0], minlength=n_rows), pairs[:, 1], counts
