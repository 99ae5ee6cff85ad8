"""Arrays that users hold, made into rows: checked once at the door, so that kernels need not."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, timedelta
from typing import Any

import numpy as np
import scipy.sparse as sp

from xmach.errors import InputError
from xmach.types import AnyArray, FloatArray, Rows, SparseRows

_WIDEST = 2**31 - 1  # columns are 32-bit in SparseRows
_DATES = (date, timedelta, np.datetime64, np.timedelta64)  # pandas' own are among them
_SHOWN = 5  # columns named in a message


def as_rows(X: Any, n_features: int | None = None, name: str = "X") -> Rows:
    """A SciPy matrix, an array or a DataFrame of numbers as float32 rows; `n_features`: the width to have."""
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
            "give it the same columns in the same order"
        )
    return rows


def as_sparse_rows(rows: Rows) -> SparseRows:
    """Rows as sparse ones: dense rows without their zeros."""
    return rows if isinstance(rows, SparseRows) else _from_scipy(sp.csr_array(rows), "X")


def check_numbers(X: Any, name: str = "X") -> None:
    """Refuse what would become other numbers unseen (masked values, dates), and text; a table's column is named."""
    if np.ma.is_masked(X):
        raise InputError(f"{name} has masked values, and what is under the mask would count; fill or drop them first")
    if sp.issparse(X):
        return
    names = column_names(X)
    kinds = _kinds(X, names)
    for place, kind in enumerate(kinds):
        if kind in "mM":
            raise InputError(f"{name} must hold numbers, got dates or times in {_column(names, place)}; {_AS_NUMBERS}")
        if kind in "US":
            raise InputError(
                f"{name} must hold numbers, got an array of text: X.astype(float), if that is numbers; {_TEXT}"
            )
    if "O" in kinds:
        _check_cells(np.asarray(X), names, name)


_AS_NUMBERS = "make them numbers of a unit that you choose, such as days since a day"
_TEXT = "texts go in as a list or a single column with features='text', or vectorised first"


def _kinds(X: Any, names: Sequence[Any] | None) -> list[str]:
    """The kind of each column, as NumPy calls it; none where X has no columns."""
    if names is None:
        array = np.asarray(X)
        return [array.dtype.kind] * array.shape[1] if array.ndim == 2 else []
    dtypes = list(getattr(X, "dtypes", ()))  # of pandas: no column need be looked at
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
    """What the columns of a DataFrame or an Arrow table are called; None for anything else."""
    names = getattr(X, "column_names", getattr(X, "columns", None))  # an Arrow table's `columns` are the arrays
    return None if names is None else list(names)


def check_columns(X: Any, expected: Sequence[str] | None, name: str = "X") -> None:
    """Refuse a table with other columns than those expected, or in another order.

    Names that are no text say nothing, as in scikit-learn: such a table is taken as an array is.
    """
    names = column_names(X)
    if expected is None or names is None or names == list(expected) or not any(isinstance(n, str) for n in names):
        return
    known, given = set(expected), set(names)
    unknown, missing = [n for n in names if n not in known], [n for n in expected if n not in given]
    seen = [f"it also has {_listed(unknown)}"] if unknown else []
    seen += [f"it lacks {_listed(missing)}"] if missing else []
    if not seen and len(names) != len(expected):
        seen = [f"it has {len(names)} columns, not {len(expected)}: some are there twice"]
    elif not seen:
        place = next(i for i, mine in enumerate(names) if mine != expected[i])
        seen = [f"column {place} is {names[place]!r}, not {expected[place]!r}: they must be in the same order"]
    raise InputError(f"the feature names of {name} should match those that were trained on: {', '.join(seen)}")


def _listed(names: Sequence[Any]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(map(repr, names[:_SHOWN])) + more


def check_structure(X: Any, name: str = "X") -> None:
    """Refuse a SciPy matrix whose arrays contradict each other: compiled code would read beyond them."""
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
        raise InputError(f"{name} is no valid {kind} matrix: indptr must have {major + 1} entries and begin with 0")
    if np.any(np.diff(indptr) < 0):
        where = int(np.flatnonzero(np.diff(indptr) < 0)[0])
        raise InputError(f"{name} is no valid {kind} matrix: indptr decreases after entry {where}")
    if indptr[-1] > min(len(indices), len(X.data)):
        raise InputError(
            f"{name} is no valid {kind} matrix: indptr ends at {indptr[-1]}, beyond its {len(indices)} entries"
        )
    used = indices[: indptr[-1]]
    wrong = (used < 0) | (used >= minor)
    if wrong.any():
        place = int(np.flatnonzero(wrong)[0])
        line = int(np.searchsorted(indptr, place, side="right")) - 1
        raise InputError(
            f"{name} is no valid {kind} matrix: index {int(used[place])} in {lines[0]} {line}, "
            f"but there are {minor} {lines[1]}s"
        )


def _check_coordinates(X: Any, name: str) -> None:
    for line, places, size in zip(("row", "column"), X.coords, X.shape, strict=True):
        wrong = (places < 0) | (places >= size)
        if wrong.any():
            raise InputError(
                f"{name} is no valid COO matrix: {line} index {int(places[wrong][0])}, but there are {size} {line}s"
            )


def _from_scipy(X: Any, name: str) -> SparseRows:
    check_structure(X, name)
    if X.shape[1] > _WIDEST:
        raise InputError(f"{name} has {X.shape[1]} columns; more than {_WIDEST} are not supported")
    matrix = X.tocsr()
    if X.format not in ("csr", "csc", "bsr", "coo"):
        check_structure(matrix, name)  # what those hold is lists: looked at where it is arrays
    if not matrix.has_canonical_format:  # the user's matrix stays as it is
        matrix = matrix.copy()
        matrix.sum_duplicates()
    used = int(matrix.indptr[-1])  # arrays may have room to spare
    values = _as_float32(matrix.data[:used], name)
    if not np.isfinite(values).all():
        place = int(np.flatnonzero(~np.isfinite(values))[0])
        row = int(np.searchsorted(matrix.indptr, place, side="right")) - 1
        _refuse(matrix.data[place], row, int(matrix.indices[place]), name)
    return SparseRows(
        np.asarray(matrix.indptr, np.int64), np.asarray(matrix.indices[:used], np.int32), values, int(matrix.shape[1])
    )


def _from_dense(X: Any, name: str) -> FloatArray:
    check_numbers(X, name)
    array = np.asarray(X)
    if array.ndim != 2:
        hint = "; a single row goes in as X.reshape(1, -1)" if array.ndim == 1 else ""
        raise InputError(f"{name} must be a 2-dimensional array of rows and features, got shape {array.shape}{hint}")
    rows = np.ascontiguousarray(_as_float32(array, name))
    if not np.isfinite(rows).all():
        i, j = (int(place[0]) for place in np.nonzero(~np.isfinite(rows)))
        _refuse(array[i, j], i, j, name)
    return rows


def _as_float32(values: AnyArray, name: str) -> FloatArray:
    if values.dtype.kind == "c":
        raise InputError(f"{name}: Complex data not supported")
    try:
        with np.errstate(over="ignore"):  # what overflows is refused with its place
            return np.asarray(values, dtype=np.float32)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(
            f"{name} must hold numbers, got {values.dtype} ({error}); for text, use features='text'"
        ) from None


def _refuse(value: Any, row: int, column: int, name: str) -> None:
    number = float("nan" if value is None else value)
    shown = "NaN" if number != number else ("infinity" if np.isinf(number) else f"{number:g}, infinity in float32,")
    raise InputError(f"{name} has {shown} at row {row}, column {column}; fill or drop such values first")
