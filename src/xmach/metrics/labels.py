"""The true labels of rows, whatever they come as, in one form: pairs of row and label id."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, TypeAlias

import numpy as np
from scipy import sparse

from xmach.errors import InputError
from xmach.types import AnyArray, IntArray, SparseRows, TopK

# A sparse (n, K) matrix of labels (also any of SciPy's), the ids of each row, or one class a row.
TrueLabels: TypeAlias = SparseRows | sparse.sparray | sparse.spmatrix | Sequence[Collection[int]] | AnyArray


@dataclass(frozen=True)
class LabelPairs:
    """The labels of n rows as (row, label id) pairs, rows rising; a pair may come twice."""

    rows: IntArray  # (nnz,)
    ids: IntArray  # (nnz,)
    counts: AnyArray | None  # (nnz,) how often each was purchased, None where the form does not tell
    n_rows: int
    n_labels: int | None  # K, None where the form does not tell

    def per_row(self) -> IntArray:
        """(n,) how many pairs each row has."""
        return np.bincount(self.rows, minlength=self.n_rows)

    def choose(self, kept: AnyArray) -> LabelPairs:
        """The pairs at these places, or where this is true."""
        counts = None if self.counts is None else self.counts[kept]
        return replace(self, rows=self.rows[kept], ids=self.ids[kept], counts=counts)


def label_pairs(true: TrueLabels) -> LabelPairs:
    """The pairs of any form of true labels; the values of a sparse matrix are counts, and a stored zero is no label."""
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
            f"true labels as an array must be one class a row, shape (n,), got {shape}: "
            "give 0/1 columns as scipy.sparse.csr_matrix(true), or ids as true.tolist()"
        )
    if len(true) and all(isinstance(row, Collection) for row in true):
        lengths = np.fromiter(map(len, true), np.int64, len(true))
        ids = whole_numbers(list(chain.from_iterable(true)), "true label ids")
        return _checked(LabelPairs(np.repeat(np.arange(len(true)), lengths), ids, None, len(true), None))
    ids = whole_numbers(true, "true label ids")
    return _checked(LabelPairs(np.arange(len(ids)), ids, None, len(ids), None))


def most_purchased(pairs: LabelPairs) -> LabelPairs:
    """Of each row the label with the largest count, or those that tie; all labels where nothing is counted."""
    if pairs.counts is None or not len(pairs.rows):
        return pairs
    lengths = pairs.per_row()
    lengths = lengths[lengths > 0]
    largest = np.maximum.reduceat(pairs.counts, np.cumsum(lengths) - lengths)  # one a row that has labels
    return pairs.choose(pairs.counts == np.repeat(largest, lengths))


def whole_numbers(values: Any, what: str) -> IntArray:
    """Values as an array of 64-bit whole numbers; names, fractions and truth values are refused."""
    if isinstance(values, TopK):
        raise InputError(f"{what} must be an array of ids, got a whole TopK: give its .ids")
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
        raise InputError("true labels must be one class or one flat list of label ids a row")
    wrong = ids < 0 if n_labels is None else (ids < 0) | (ids >= n_labels)
    if wrong.any():
        first = int(wrong.argmax())
        limit = "at least 0" if n_labels is None else f"from 0 to {n_labels - 1}"
        raise InputError(f"true label ids must be {limit}, got {ids[first]} in row {rows[first]}")
    return pairs
