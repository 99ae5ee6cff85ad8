"""The training rows of each label."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from xmach._kernels.rank.label_rows import count_rows, fill_rows
from xmach.errors import InputError
from xmach.models.linear_arrays import read_only
from xmach.types import FloatArray, Int32Array, IntArray, SparseRows


class LabelRows(NamedTuple):
    """Rows of m consecutive labels: label first + i has rows[starts[i]:starts[i + 1]]."""

    first: int  # the first label
    starts: IntArray  # (m + 1,)
    rows: Int32Array  # (nnz,) ascending within a label
    weights: FloatArray  # (nnz,) the label's value in the row times the row's weight; empty: all 1

    def __repr__(self) -> str:
        return f"<LabelRows of labels {self.first:,} to {self.stop - 1:,}, {len(self.rows):,} rows>"

    @property
    def stop(self) -> int:
        """The label after the last."""
        return self.first + len(self.starts) - 1

    @property
    def weighted(self) -> bool:
        """Whether there are weights that are not all 1."""
        return len(self.weights) > 0


def rows_of_labels(labels: SparseRows, first: int, stop: int, row_weights: FloatArray | None = None) -> LabelRows:
    """Return the rows of labels first..stop-1 of label rows (n, K), with their weights.

    `labels.values` may be empty: all are 1. If there are no row weights either, the result has no weights. Memory is
    proportional to the rows found, not to all label rows. A row of weight 0 is still a row of its labels.
    """
    if not 0 <= first <= stop <= labels.n_columns:
        raise InputError(f"labels {first:,} to {stop - 1:,} are not within the {labels.n_columns:,} labels")
    weighted = row_weights is not None or len(labels.values) > 0
    if row_weights is None:
        row_weights = np.zeros(0, np.float32)
    elif len(row_weights) != labels.n_rows:
        raise InputError(f"labels have {labels.n_rows:,} rows but there are {len(row_weights):,} weights")
    starts = np.zeros(stop - first + 1, np.int64)
    count_rows(read_only(labels.indices[: labels.nnz]), first, starts[1:])
    np.cumsum(starts, out=starts)
    rows, weights = np.empty(starts[-1], np.int32), np.empty(starts[-1] if weighted else 0, np.float32)
    given = [read_only(array) for array in (labels.indptr, labels.indices, labels.values)]
    row_weights = read_only(np.asarray(row_weights, np.float32))
    fill_rows(given[0], given[1], given[2], row_weights, first, starts[:-1].copy(), rows, weights)
    if not np.isfinite(weights).all():
        raise InputError(f"labels {first:,} to {stop - 1:,} have rows whose weight is not finite")
    return LabelRows(first, starts, rows, weights)
