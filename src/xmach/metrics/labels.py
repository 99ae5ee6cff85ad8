"""The true labels of rows, whatever they come as, in one form: pairs of row and label id."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, TypeAlias

import numpy as np
from scipy import sparse

from xmach.errors import InputError
from xmach.types import AnyArray, IntArray, SparseRows

# A sparse (n, K) matrix of labels (also any of SciPy's), the ids of each row, or one class a row.
TrueLabels: TypeAlias = SparseRows | sparse.sparray | sparse.spmatrix | Sequence[Collection[int]] | AnyArray


@dataclass(frozen=True)
class LabelPairs:
    """The labels of n rows as (row, label id) pairs, rows rising; a pair may come twice."""

    rows: IntArray  # (nnz,)
    ids: IntArray  # (nnz,)
    n_rows: int
    n_labels: int | None  # K, None where the form does not tell


def label_pairs(true: TrueLabels) -> LabelPairs:
    """The pairs of any form of true labels; a stored zero of a sparse matrix is no label."""
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
        return _checked(np.repeat(np.arange(len(true)), lengths), ids, len(true), None)
    ids = whole_numbers(true, "true label ids")
    return _checked(np.arange(len(ids)), ids, len(ids), None)


def whole_numbers(values: Any, what: str) -> IntArray:
    """Values as an array of 64-bit whole numbers; names, fractions and truth values are refused."""
    try:
        array = np.asarray(values)
    except ValueError as error:  # rows of different lengths
        raise InputError(f"{what} must be one rectangular array of whole numbers: {error}") from None
    if array.size and array.dtype.kind not in "iu":
        raise InputError(f"{what} must be whole numbers, got {array.dtype}: map label names to ids first")
    return array.astype(np.int64, copy=False)


def _from_csr(indptr: AnyArray, indices: AnyArray, values: AnyArray, shape: tuple[int, int]) -> LabelPairs:
    kept = np.asarray(values) != 0
    rows = np.repeat(np.arange(shape[0]), np.diff(indptr))
    return _checked(rows[kept], np.asarray(indices)[kept].astype(np.int64), *shape)


def _checked(rows: IntArray, ids: IntArray, n_rows: int, n_labels: int | None) -> LabelPairs:
    if ids.shape != rows.shape:
        raise InputError("true labels must be one class or one flat list of label ids a row")
    wrong = ids < 0 if n_labels is None else (ids < 0) | (ids >= n_labels)
    if wrong.any():
        first = int(wrong.argmax())
        limit = "at least 0" if n_labels is None else f"from 0 to {n_labels - 1}"
        raise InputError(f"true label ids must be {limit}, got {ids[first]} in row {rows[first]}")
    return LabelPairs(rows, ids, n_rows, n_labels)
