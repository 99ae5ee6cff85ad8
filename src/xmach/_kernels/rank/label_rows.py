"""Transposes label rows by counting: from the labels of each row to the rows of each label, for a range of labels."""

from __future__ import annotations

import numpy as np

from xmach._kernels._compile import int64, kernel
from xmach.types import FloatArray, Int32Array, IntArray


@kernel
def count_rows(labels: Int32Array, first: int, counts: IntArray) -> None:
    """Add to counts[l] how often label first + l occurs in `labels`; other labels are skipped."""
    for j in range(len(labels)):
        label = int64(labels[j]) - first
        if 0 <= label < len(counts):
            counts[label] += 1


@kernel
def fill_rows(
    indptr: IntArray,
    labels: Int32Array,
    values: FloatArray,
    row_weights: FloatArray,
    first: int,
    first_row: int,
    step: int,
    places: IntArray,
    out_rows: Int32Array,
    out_weights: FloatArray,
) -> None:
    """Write the rows of label first + l from places[l] on, ascending; `places` moves along.

    Row i is called first_row + i * step.
    A row's weight for a label is the label's value times the row's weight. `values` and `row_weights` may be empty:
    all 1. If `out_weights` is empty, no weights are written.
    """
    for i in range(len(indptr) - 1):
        row_weight = row_weights[i] if len(row_weights) > 0 else np.float32(1.0)
        for j in range(indptr[i], indptr[i + 1]):
            label = int64(labels[j]) - first
            if 0 <= label < len(places):
                place = places[label]
                out_rows[place] = first_row + i * step
                if len(out_weights) > 0:
                    out_weights[place] = (values[j] if len(values) > 0 else np.float32(1.0)) * row_weight
                places[label] = place + 1
