"""The training rows of each label."""

from __future__ import annotations

from typing import NamedTuple

from xmach.types import FloatArray, Int32Array, IntArray


class LabelRows(NamedTuple):
    """Rows of m consecutive labels: label first + i has rows[starts[i]:starts[i + 1]]."""

    first: int  # the first label
    starts: IntArray  # (m + 1,)
    rows: Int32Array  # (nnz,) ascending within a label
    weights: FloatArray  # (nnz,) the label's value in the row times the row's weight
