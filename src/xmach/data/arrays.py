"""User arrays to rows: validated once here, so that kernels need no checks."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, timedelta
from typing import Any

import numpy as np
import scipy.sparse as sp

from xmach.errors import InputError
from xmach.types import AnyArray, FloatArray, Rows, SparseRows

_WIDEST = 2**31 - 1  # columns are 32-bit in SparseRows
_DATES = (date, timedelta, np.datetime64, np.timedelta64)  # pandas' types are subclasses
_SHOWN = 5  # columns listed in a message


def as_rows(X: Any, n_features: int | None = None, name: str = "X") -> Rows:
    """Convert a SciPy matrix, an array or a DataFrame of numbers to float32 rows of width `n_features`, if given."""
    rows: Rows
    if isinstance(X, SparseRows):
        rows = X
    elif sp.issparse(X):
        rows = _from_scipy(X, name)
    else:
        rows = _from_dense(X, name)
    if n_features is not None and rows.shape[1] != n_features:
        raise InputError(
            f"{name} has {rows.shape[1]} features, but the model was trained with {n_features}; "
            "pass the same columns in the same order"
        )
    return rows


def as_sparse_rows(rows: Rows) -> SparseRows:
    """Convert rows to sparse ones; zeros of dense rows are dropped."""
    return rows if isinstance(rows, SparseRows) else _from_scipy(sp.csr_array(rows), "X")


def check_numbers(X: Any, name: str = "X") -> None:
    """Raise InputError for text, and for masked values and dates, which would silently become other numbers."""
    if np.ma.is_masked(X):
        raise InputError(f"{name} has masked values, whose hidden values would be used; fill or drop them first")
    if sp.issparse(X):
        return
    names = column_names(X)
    kinds = _kinds(X, names)
    for place, kind in enumerate(kinds):
        if kind in "mM":
            raise InputError(f"{name} must hold numbers, got dates or times in {_column(names, place)}; {_AS_NUMBERS}")
        if kind in "US":
            raise InputError(
                f"{name} must hold numbers, got an array of text; use X.astype(float) if these are numbers; {_TEXT}"
            )
    if "O" in kinds:
        _check_cells(np.asarray(X), names, name)


_AS_NUMBERS = "convert them to numbers in a unit of your choice, such as days since a date"
_TEXT = "pass texts as a list or a single column with features='text', or vectorize them first"


def _kinds(X: Any, names: Sequence[Any] | None) -> list[str]:
    """Return the NumPy dtype kind of each column; an empty list if X has no columns."""
    if names is None:
        array = np.asarray(X)
        return [array.dtype.kind] * array.shape[1] if array.ndim == 2 else []
    dtypes = list(getattr(X, "dtypes", ()))  # pandas knows them without looking at the values
    if dtypes and all(hasattr(dtype, "kind") for dtype in dtypes):
        return [dtype.kind for dtype in dtypes]
    return [np.asarray(X[name]).dtype.kind for name in names]


def _check_cells(array: AnyArray, names: Sequence[Any] | None, name: str) -> None:
    for place, column in enumerate(array.T):
        for row, cell in enumerate(column):
            if isinstance(cell, _DATES):
                raise InputError(
                    f"{name} must hold numbers, got the date or time {cell!s} in {_column(names, place)}, row {row}; "
                    f"{_AS_NUMBERS}"
                )
            if isinstance(cell, str | bytes) and not _is_number(cell):
                raise InputError(
                    f"{name} must hold numbers, got the text {cell!r} in {_column(names, place)}, row {row}; {_TEXT}"
                )


def _is_number(text: str | bytes) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _column(names: Sequence[Any] | None, place: int) -> str:
    return f"column {place if names is None else repr(names[place])}"


def column_names(X: Any) -> list[Any] | None:
    """Return the column names of a DataFrame or an Arrow table; None for anything else."""
    names = getattr(X, "column_names", getattr(X, "columns", None))  # an Arrow table's `columns` are the arrays
    return None if names is None else list(names)


def check_columns(X: Any, expected: Sequence[str] | None, name: str = "X") -> None:
    """Raise InputError if a table has other columns than the expected ones, or has them in another order.

    As in scikit-learn, names that are not strings are ignored: such a table is treated like an array.
    """
    names = column_names(X)
    if expected is None or names is None or names == list(expected) or not any(isinstance(n, str) for n in names):
        return
    known, given = set(expected), set(names)
    unknown, missing = [n for n in names if n not in known], [n for n in expected if n not in given]
    seen = [f"it also has {_listed(unknown)}"] if unknown else []
    seen += [f"it lacks {_listed(missing)}"] if missing else []
    if not seen and len(names) != len(expected):
        seen = [f"it has {len(names)} columns, not {len(expected)}: some are repeated"]
    elif not seen:
        place = next(i for i, mine in enumerate(names) if mine != expected[i])
        seen = [f"column {place} is {names[place]!r}, not {expected[place]!r}: they must be in the same order"]
    raise InputError(f"the feature names of {name} should match those of the training data: {', '.join(seen)}")


def _listed(names: Sequence[Any]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(map(repr, names[:_SHOWN])) + more


def check_structure(X: Any, name: str = "X") -> None:
    """Raise InputError if the arrays of a SciPy matrix are inconsistent: compiled code would read beyond them."""
    if not sp.issparse(X):
        return
    if X.ndim != 2:
        raise InputError(f"{name} must be a matrix of rows and features, got {X.ndim} dimension(s)")
    if X.format == "coo":
        _check_coordinates(X, name)
    if X.format not in ("csr", "csc", "bsr"):
        return
    blocks = X.blocksize if X.format == "bsr" else (1, 1)
    n_rows, n_columns = (size // block for size, block in zip(X.shape, blocks, strict=True))
    major, minor = (n_columns, n_rows) if X.format == "csc" else (n_rows, n_columns)
    indptr, indices = np.asarray(X.indptr), np.asarray(X.indices)
    kind, lines = X.format.upper(), ("column", "row") if X.format == "csc" else ("row", "column")
    if len(indptr) != major + 1 or (len(indptr) and indptr[0] != 0):
        raise InputError(f"{name} is not a valid {kind} matrix: indptr must have {major + 1} entries and begin with 0")
    if np.any(np.diff(indptr) < 0):
        where = int(np.flatnonzero(np.diff(indptr) < 0)[0])
        raise InputError(f"{name} is not a valid {kind} matrix: indptr decreases after entry {where}")
    if indptr[-1] > min(len(indices), len(X.data)):
        raise InputError(
            f"{name} is not a valid {kind} matrix: indptr ends at {indptr[-1]}, beyond its {len(indices)} entries"
        )
    used = indices[: indptr[-1]]
    wrong = (used < 0) | (used >= minor)
    if wrong.any():
        place = int(np.flatnonzero(wrong)[0])
        line = int(np.searchsorted(indptr, place, side="right")) - 1
        raise InputError(
            f"{name} is not a valid {kind} matrix: index {int(used[place])} in {lines[0]} {line}, "
            f"but there are {minor} {lines[1]}s"
        )


def _check_coordinates(X: Any, name: str) -> None:
    for line, places, size in zip(("row", "column"), X.coords, X.shape, strict=True):
        wrong = (places < 0) | (places >= size)
        if wrong.any():
            raise InputError(
                f"{name} is not a valid COO matrix: {line} index {int(places[wrong][0])}, but there are {size} {line}s"
            )


def _from_scipy(X: Any, name: str) -> SparseRows:
    check_structure(X, name)
    if X.shape[1] > _WIDEST:
        raise InputError(f"{name} has {X.shape[1]} columns; more than {_WIDEST} are not supported")
    matrix = X.tocsr()
    if X.format not in ("csr", "csc", "bsr", "coo"):
        check_structure(matrix, name)  # the other formats hold lists, which are checked once they are arrays
    if not matrix.has_canonical_format:  # copy: the user's matrix must not change
        matrix = matrix.copy()
        matrix.sum_duplicates()
    used = int(matrix.indptr[-1])  # arrays may be longer than needed
    values = _as_float32(matrix.data[:used], name)
    if not np.isfinite(values).all():
        place = int(np.flatnonzero(~np.isfinite(values))[0])
        row = int(np.searchsorted(matrix.indptr, place, side="right")) - 1
        _raise_not_finite(matrix.data[place], row, int(matrix.indices[place]), name)
    return SparseRows(
        np.asarray(matrix.indptr, np.int64), np.asarray(matrix.indices[:used], np.int32), values, int(matrix.shape[1])
    )


def _from_dense(X: Any, name: str) -> FloatArray:
    check_numbers(X, name)
    array = np.asarray(X)
    if array.ndim != 2:
        hint = "; pass a single row as X.reshape(1, -1)" if array.ndim == 1 else ""
        raise InputError(f"{name} must be a 2-dimensional array of rows and features, got shape {array.shape}{hint}")
    rows = np.ascontiguousarray(_as_float32(array, name))
    if not np.isfinite(rows).all():
        i, j = (int(place[0]) for place in np.nonzero(~np.isfinite(rows)))
        _raise_not_finite(array[i, j], i, j, name)
    return rows


def _as_float32(values: AnyArray, name: str) -> FloatArray:
    if values.dtype.kind == "c":
        raise InputError(f"{name}: Complex data not supported")
    try:
        with np.errstate(over="ignore"):  # infinities are reported with their position below
            return np.asarray(values, dtype=np.float32)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(
            f"{name} must hold numbers, got {values.dtype} ({error}); for text, use features='text'"
        ) from None


def _raise_not_finite(value: Any, row: int, column: int, name: str) -> None:
    number = float("nan" if value is None else value)
    shown = "NaN" if number != number else ("infinity" if np.isinf(number) else f"{number:g}, infinity in float32,")
    raise InputError(f"{name} has {shown} at row {row}, column {column}; fill or drop such values first")
