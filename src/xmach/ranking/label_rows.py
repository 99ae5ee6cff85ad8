"""The training rows of each label."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from xmach._kernels.rank.label_rows import count_rows, fill_rows
from xmach.data.npy import let_go
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
    if row_weights is not None and len(row_weights) != labels.n_rows:
        raise InputError(f"labels have {labels.n_rows:,} rows but there are {len(row_weights):,} weights")
    return _collected([labels], first, stop, 1, row_weights)


def rows_of_parts(parts: Sequence[SparseRows], step: int = 1, row_weights: FloatArray | None = None) -> LabelRows:
    """Return the rows of all labels of parts (n_i, K) that follow each other; row i of them all is called i * step.

    Pages of mapped parts are let go. `row_weights`: of every row that a part has.
    """
    for part in parts:
        starts = part.indptr
        if starts[0] != 0 or (starts[1:] < starts[:-1]).any() or starts[-1] != len(part.indices):
            raise InputError(f"the starts of label rows do not rise from 0 to {len(part.indices):,}")
    n_rows = sum(part.n_rows for part in parts)
    if row_weights is not None and len(row_weights) != n_rows:
        raise InputError(f"label rows have {n_rows:,} rows but there are {len(row_weights):,} weights")
    return _collected(parts, 0, parts[0].n_columns, step, row_weights)


def _collected(
    parts: Sequence[SparseRows], first: int, stop: int, step: int, row_weights: FloatArray | None
) -> LabelRows:
    """The rows of a range of labels."""
    starts = np.zeros(stop - first + 1, np.int64)
    for part in parts:
        count_rows(read_only(part.indices[: part.nnz]), first, starts[1:])
        let_go(part.indices)
    np.cumsum(starts, out=starts)
    weighted = row_weights is not None or any(len(part.values) > 0 for part in parts)
    rows, weights = np.empty(starts[-1], np.int32), np.empty(starts[-1] if weighted else 0, np.float32)
    every = read_only(np.zeros(0, np.float32) if row_weights is None else np.asarray(row_weights, np.float32))
    places, n_rows = starts[:-1].copy(), 0
    for part in parts:
        given = [read_only(array) for array in (part.indptr, part.indices, part.values)]
        own = every[n_rows : n_rows + part.n_rows]
        fill_rows(given[0], given[1], given[2], own, first, n_rows * step, step, places, rows, weights)
        let_go(part.indices)
        n_rows += part.n_rows
    if not np.isfinite(weights).all():
        raise InputError(f"labels {first:,} to {stop - 1:,} have rows whose weight is not finite")
    return LabelRows(first, starts, rows, weights)
