"""Scaling of rows: none, unit length, or sublinear tf-idf and unit length; learned once, applied batch by batch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

import numpy as np

from xmach._kernels.train.rows import tfidf_rows, unit_rows
from xmach.block_sizes import SCALING_ROWS
from xmach.errors import InputError, ParameterError
from xmach.types import DoubleArray, FloatArray, Rows, SparseRows, row_batches

Scaling: TypeAlias = Literal["auto", "none", "l2", "tfidf"]
Kind: TypeAlias = Literal["none", "l2", "tfidf"]


_DENSE_ADVICE = "scaling 'tfidf' needs sparse rows of counts, got a dense array; use scaling='l2' or 'none'"


@dataclass(frozen=True, eq=False, repr=False)
class Scaler:
    """A fitted scaling; a row gets the same bits in every batch."""

    kind: Kind
    n_features: int
    idf: FloatArray | None = None  # (d,), for "tfidf" only

    def __repr__(self) -> str:
        return f"<Scaler {self.kind!r} of {self.n_features:,} features>"

    def __post_init__(self) -> None:
        if self.kind not in get_args(Kind):
            raise ParameterError(f"kind must be one of {', '.join(get_args(Kind))}; got {self.kind!r}")
        if (self.kind == "tfidf") != (self.idf is not None):
            raise ParameterError(f"idf is required for kind 'tfidf', and for no other; kind is {self.kind!r}")
        if self.idf is not None and self.idf.shape != (self.n_features,):
            raise ParameterError(f"idf must have shape ({self.n_features},), got {self.idf.shape}")

    def apply(self, rows: Rows) -> Rows:
        """Return scaled rows: new values, the same offsets and columns; rows of zeros stay zero."""
        width = rows.shape[1]
        if width != self.n_features:
            raise InputError(f"rows have {width} columns, but the scaling was fitted on {self.n_features}")
        if self.kind == "none":
            return rows
        if not isinstance(rows, SparseRows):
            if self.idf is not None:
                raise InputError(_DENSE_ADVICE)
            return _unit_dense(rows)
        scaled, values = np.empty(len(rows.values), np.float32), rows.values
        if self.idf is not None:
            tfidf_rows(rows.indices, values, self.idf, scaled)
            values = scaled
        unit_rows(rows.indptr, values, scaled)
        return SparseRows(rows.indptr, rows.indices, scaled, rows.n_columns)


def fit_scaler(rows: Rows, scaling: str = "auto") -> Scaler:
    """Learn a scaling; "auto" is "tfidf" for sparse rows without negative values, otherwise "none"."""
    if scaling not in get_args(Scaling):
        raise ParameterError(f"scaling must be one of {', '.join(get_args(Scaling))}; got {scaling!r}")
    width = rows.shape[1]
    if scaling in ("none", "l2"):
        return Scaler("none" if scaling == "none" else "l2", width)
    if not isinstance(rows, SparseRows):
        if scaling == "tfidf":
            raise InputError(_DENSE_ADVICE)
        return Scaler("none", width)
    negative = _first_negative_row(rows)
    if negative is None:
        return Scaler("tfidf", width, _inverse_document_frequency(rows))
    if scaling == "tfidf":
        raise InputError(
            f"scaling 'tfidf' needs values of at least 0, row {negative} has a negative one; use 'l2' or 'none'"
        )
    return Scaler("none", width)


def _first_negative_row(rows: SparseRows) -> int | None:
    for start, stop in row_batches(rows.n_rows, SCALING_ROWS):
        part = rows.slice(start, stop)
        negative = np.flatnonzero(part.values < 0)
        if len(negative):
            return start + int(np.searchsorted(part.indptr, negative[0], side="right")) - 1
    return None


def _inverse_document_frequency(rows: SparseRows) -> FloatArray:
    """Return log((1 + n) / (1 + df)) + 1, where df counts the rows in which a column is not zero."""
    frequency = np.zeros(rows.n_columns, dtype=np.int64)
    for start, stop in row_batches(rows.n_rows, SCALING_ROWS):
        part = rows.slice(start, stop)
        frequency += np.bincount(part.indices[part.values != 0], minlength=rows.n_columns)
    return (np.log((1 + rows.n_rows) / (1 + frequency)) + 1).astype(np.float32)


def _unit_dense(rows: FloatArray) -> FloatArray:
    """Divide (n, d) rows by their length."""
    squares = np.square(rows, dtype=np.float64, order="C")  # C order: each row is summed separately
    scales = _inverse_root(squares.sum(axis=1))[:, None]
    unit: FloatArray = np.multiply(rows, scales, out=np.empty(rows.shape, np.float32), casting="same_kind")
    return unit


def _inverse_root(squares: DoubleArray) -> DoubleArray:
    """Return 1 / sqrt(s), and 0 where s is 0."""
    result: DoubleArray = np.divide(1.0, np.sqrt(squares), out=np.zeros_like(squares), where=squares > 0)
    return result
