"""Converts columns of a table to texts, numbers and labels: whole columns, and single cells only if one is bad."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, SupportsInt, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from xmach.data.read.rows import RowError, to_float32
from xmach.types import AnyArray, BoolArray, FloatArray, IntArray

BadRows: TypeAlias = dict[int, RowError]  # by row of the block, its first fault
_BLANKS = " \t"
_SHOWN = 40  # characters of a cell in a message


class LabelCells(NamedTuple):
    """The labels of some rows, concatenated."""

    counts: IntArray  # (n,)
    labels: pa.Array  # (sum of counts,) texts or whole numbers


def texts(columns: Sequence[tuple[str, pa.Array]], bad: BadRows) -> pa.StringArray:
    """Return one text per row, from one column or several joined by a blank. An empty text is valid, null is not."""
    for name, column in columns:
        for row in np.flatnonzero(column.is_null()):
            _add(bad, row, "no text", f"column {name!r} is null; an empty text is written as ''")
        _check_utf8(name, column, bad)
    parts = [column.fill_null("") for _, column in columns]
    return parts[0] if len(parts) == 1 or bad else pc.binary_join_element_wise(*parts, " ")


def numbers(name: str, column: pa.Array, bad: BadRows) -> FloatArray:
    """Return finite float32 values (n,); the value of a bad row is 0."""
    values = _text_numbers(name, column, bad) if pa.types.is_string(column.type) else _to_float32(name, column, bad)
    for row in np.flatnonzero(~np.isfinite(values)):
        shown = column[int(row)].as_py()
        _add(bad, row, "value not finite", f"column {name!r}: {shown!r} is not finite in float32")
    return values


def weights(name: str, column: pa.Array, bad: BadRows) -> FloatArray:
    """Return finite numbers (n,) of at least 0."""
    values = numbers(name, column, bad)
    for row in np.flatnonzero(values < 0):
        _add(bad, row, "bad weight", f"column {name!r}: the weight {values[row]:g} is below 0")
    return values


def label_cells(name: str, column: pa.Array, separator: str | None, bad: BadRows, empty_ok: bool = False) -> LabelCells:
    """Return the labels of each row: a list, a text (split at the separator, if there is one), or a whole number.

    An empty cell, or null, means no labels; blanks around the labels of a text are stripped.
    """
    if pa.types.is_list(column.type):
        found = _listed_labels(name, column, bad)
    elif pa.types.is_string(column.type):
        _check_utf8(name, column, bad)
        if bad:
            return LabelCells(np.zeros(len(column), np.int64), pa.array([], pa.string()))
        found = _split_labels(column, separator)
    else:
        known = column.is_valid()
        found = LabelCells(known.to_numpy(zero_copy_only=False).astype(np.int64), column.drop_null())
    if not empty_ok and pa.types.is_string(found.labels.type) and pc.any(pc.equal(found.labels, "")).as_py():
        row_of = np.repeat(np.arange(len(found.counts)), found.counts)
        for row in row_of[np.asarray(pc.equal(found.labels, ""))]:
            shown = str(column[int(row)].as_py())[:_SHOWN]
            _add(bad, row, "empty label", f"column {name!r}: {shown!r} has an empty label")
    return found


def _listed_labels(name: str, column: pa.ListArray, bad: BadRows) -> LabelCells:
    counts = np.asarray(pc.list_value_length(column).fill_null(0), np.int64)
    values = column.flatten()
    row_of = np.repeat(np.arange(len(counts)), counts)
    if values.null_count:
        for row in row_of[np.asarray(values.is_null())]:
            _add(bad, row, "null in a label list", f"column {name!r}: null inside a list of labels")
        values = values.fill_null(0 if pa.types.is_integer(values.type) else "")
    for place in _not_utf8(values) if pa.types.is_string(values.type) else ():
        _add(bad, row_of[place], "not UTF-8", f"column {name!r}: a label is not UTF-8")
    return LabelCells(counts, values)


def _split_labels(column: pa.StringArray, separator: str | None) -> LabelCells:
    cells = pc.utf8_trim(column.fill_null(""), _BLANKS)
    filled: BoolArray = np.asarray(pc.not_equal(cells, ""))
    if separator is None:
        return LabelCells(filled.astype(np.int64), cells.filter(pa.array(filled)))
    lists = pc.split_pattern(cells.filter(pa.array(filled)), separator)
    counts = np.zeros(len(cells), np.int64)
    counts[filled] = np.asarray(pc.list_value_length(lists))
    return LabelCells(counts, pc.utf8_trim(lists.flatten(), _BLANKS))


def _text_numbers(name: str, column: pa.StringArray, bad: BadRows) -> FloatArray:
    try:
        return to_float32(column)
    except pa.ArrowInvalid:
        trimmed = pc.utf8_trim(column, _BLANKS)
    try:
        return to_float32(trimmed)
    except pa.ArrowInvalid:
        values = np.zeros(len(column), np.float32)
    for row, text in enumerate(trimmed.to_pylist()):
        try:
            values[row] = to_float32(pa.array([text], pa.string()))[0]
        except pa.ArrowInvalid:
            shown = f"{text[:_SHOWN]!r} is not a number" if text else "an empty cell"
            hint = "fill it or drop the row" if not text else "name a column of text as text (--text)"
            _add(bad, row, "bad value", f"column {name!r}: {shown}; {hint}")
    return values


def _to_float32(name: str, column: pa.Array, bad: BadRows) -> FloatArray:
    for row in np.flatnonzero(column.is_null()):
        _add(bad, row, "bad value", f"column {name!r} is null; fill it or drop the row")
    plain: AnyArray = column.fill_null(0).to_numpy(zero_copy_only=False)
    with np.errstate(over="ignore"):  # infinity is reported with its row
        return np.asarray(plain, np.float32)


def _check_utf8(name: str, column: pa.StringArray, bad: BadRows) -> None:
    for row in _not_utf8(column):
        _add(bad, row, "not UTF-8", f"column {name!r} is not UTF-8")


def _not_utf8(column: pa.StringArray) -> list[int]:
    """Return the positions of strings that are not UTF-8; reading Parquet does not check this."""
    try:
        column.validate(full=True)
    except pa.ArrowInvalid:
        return [i for i, cell in enumerate(column.cast(pa.binary()).to_pylist()) if cell and not _is_utf8(cell)]
    return []


def _is_utf8(cell: bytes) -> bool:
    try:
        cell.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _add(bad: BadRows, row: SupportsInt, reason: str, message: str) -> None:
    bad.setdefault(int(row), RowError(reason, message))
