"""The true labels of rows, converted from any accepted form to pairs of row and label id."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, TypeAlias

import numpy as np
from scipy import sparse

from xmach.errors import InputError
from xmach.types import AnyArray, IntArray, SparseRows, TopK

# A sparse (n, K) matrix of labels (ours or SciPy's), the ids of each row, or one class per row.
TrueLabels: TypeAlias = SparseRows | sparse.sparray | sparse.spmatrix | Sequence[Collection[int]] | AnyArray


@dataclass(frozen=True)
class LabelPairs:
    """The labels of n rows as (row, label id) pairs, by ascending row; a pair may occur twice."""

    rows: IntArray  # (nnz,)
    ids: IntArray  # (nnz,)
    counts: AnyArray | None  # (nnz,) how often each was purchased; None if unknown
    n_rows: int
    n_labels: int | None  # K; None if unknown

    def per_row(self) -> IntArray:
        """Return the number of pairs of each row (n,)."""
        return np.bincount(self.rows, minlength=self.n_rows)

    def choose(self, kept: AnyArray) -> LabelPairs:
        """Return the pairs at these positions, or where this mask is true."""
        counts = None if self.counts is None else self.counts[kept]
        return replace(self, rows=self.rows[kept], ids=self.ids[kept], counts=counts)


def label_pairs(true: TrueLabels) -> LabelPairs:
    """Return the pairs of any form of true labels; values of a sparse matrix are counts, stored zeros are dropped."""
    if isinstance(true, SparseRows):
        return _from_csr(true.indptr, true.indices, true.values, true.shape)
    if sparse.issparse(true):
        matrix = sparse.csr_array(true)
        if not matrix.has_canonical_format:
            matrix = matrix.copy()  # it may share the caller's arrays
            matrix.sum_duplicates()
        return _from_csr(matrix.indptr, matrix.indices, matrix.data, matrix.shape)
    shape = getattr(true, "shape", (0,))  # a list has none
    if len(shape) != 1:
        raise InputError(
            f"true labels as an array must be one class per row, shape (n,), got {shape}: "
            "give 0/1 columns as scipy.sparse.csr_matrix(true), or ids as true.tolist()"
        )
    if len(true) and all(isinstance(row, Collection) for row in true):
        lengths = np.fromiter(map(len, true), np.int64, len(true))
        ids = whole_numbers(list(chain.from_iterable(true)), "true label ids")
        return _checked(LabelPairs(np.repeat(np.arange(len(true)), lengths), ids, None, len(true), None))
    ids = whole_numbers(true, "true label ids")
    return _checked(LabelPairs(np.arange(len(ids)), ids, None, len(ids), None))


def most_purchased(pairs: LabelPairs) -> LabelPairs:
    """Keep the label with the largest count of each row, and ties; without counts, keep all labels."""
    if pairs.counts is None or not len(pairs.rows):
        return pairs
    lengths = pairs.per_row()
    lengths = lengths[lengths > 0]
    largest = np.maximum.reduceat(pairs.counts, np.cumsum(lengths) - lengths)  # one per row with labels
    return pairs.choose(pairs.counts == np.repeat(largest, lengths))


def whole_numbers(values: Any, what: str) -> IntArray:
    """Return values as an array of 64-bit whole numbers; raise InputError for names, fractions and booleans."""
    if isinstance(values, TopK):
        raise InputError(f"{what} must be an array of ids, got a TopK: pass its .ids")
    try:
        array = np.asarray(values)
    except ValueError as error:  # rows of different lengths
        raise InputError(f"{what} must be one rectangular array of whole numbers: {error}") from None
    if array.size and array.dtype.kind not in "iu":
        raise InputError(
            f"{what} must be whole numbers, got {array.dtype}: map label names to ids first (Predictor.ids_of)"
        )
    return array.astype(np.int64, copy=False)


def _from_csr(indptr: AnyArray, indices: AnyArray, values: AnyArray, shape: tuple[int, int]) -> LabelPairs:
    values = np.asarray(values)
    rows = np.repeat(np.arange(shape[0]), np.diff(indptr))
    if not np.isfinite(values).all():
        first = int((~np.isfinite(values)).argmax())
        raise InputError(f"the values of true labels must be finite, got {values[first]} in row {rows[first]}")
    if (values < 0).any():
        first = int((values < 0).argmax())
        raise InputError(f"the values of true labels must be at least 0, got {values[first]} in row {rows[first]}")
    pairs = LabelPairs(rows, np.asarray(indices).astype(np.int64), values, *shape)
    return _checked(pairs.choose(values != 0))


def _checked(pairs: LabelPairs) -> LabelPairs:
    rows, ids, n_labels = pairs.rows, pairs.ids, pairs.n_labels
    if ids.shape != rows.shape:
        raise InputError("true labels must be one class or one flat list of label ids per row")
    wrong = ids < 0 if n_labels is None else (ids < 0) | (ids >= n_labels)
    if wrong.any():
        first = int(wrong.argmax())
        limit = "at least 0" if n_labels is None else f"from 0 to {n_labels - 1}"
        raise InputError(f"true label ids must be {limit}, got {ids[first]} in row {rows[first]}")
    return pairs
