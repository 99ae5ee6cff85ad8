"""The cells of JSON objects: the type of each column, for both pyarrow's and Python's parser."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pyarrow as pa

from xmach.data.options import Columns
from xmach.data.read.rows import RowError

_TYPES = {"text": pa.string(), "number": pa.float64()}
_LABELS = {  # kind of labels -> their type for pyarrow
    "text": pa.string(),
    "whole number": pa.int64(),
    "list of texts": pa.list_(pa.string()),
    "list of whole numbers": pa.list_(pa.int64()),
}
_SHAPE = "labels are a text, a whole number, or one list of either"


class JsonCells:
    """The types of the columns. The kind of labels is taken from the first row that has any."""

    def __init__(self, columns: Columns) -> None:
        self._roles = dict.fromkeys(columns.text, "text") | dict.fromkeys(columns.features, "number")
        if columns.weight is not None:
            self._roles[columns.weight] = "number"
        self._label_column = columns.labels
        self._labels: str | None = None

    def schema(self) -> pa.Schema | None:
        """The types for pyarrow; None while the kind of labels is still unknown."""
        fields = [(name, _TYPES[role]) for name, role in self._roles.items()]
        if self._label_column is not None:
            if self._labels is None:
                return None
            fields.append((self._label_column, _LABELS[self._labels]))
        return pa.schema(fields)

    def learn_labels(self, objects: Iterable[tuple[int, list[tuple[str, Any]]]]) -> None:
        """Find the kind of labels, if still unknown."""
        if self._label_column is None or self._labels is not None:
            return
        for _, pairs in objects:
            try:
                self._labels = _label_kind(dict(pairs).get(self._label_column))
            except RowError:
                continue
            if self._labels is not None:
                return

    def row(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        """Return the wanted cells of an object, in the right types; raises RowError."""
        cells: dict[str, Any] = {}
        for name, value in pairs:
            if name not in self._roles and name != self._label_column:
                continue
            if name in cells:
                raise RowError("key given twice", f"the key {name!r} occurs twice")
            cells[name] = self._label_cell(value) if name == self._label_column else self._cell(name, value)
        return cells

    def arrays(self, rows: list[dict[str, Any]]) -> dict[str, pa.Array]:
        """Convert rows of `row` to columns."""
        types = {name: _TYPES[role] for name, role in self._roles.items()}
        if self._label_column is not None:
            types[self._label_column] = pa.string() if self._labels == "text" else pa.list_(pa.string())
        return {name: pa.array([row.get(name) for row in rows], kind) for name, kind in types.items()}

    def _cell(self, name: str, value: Any) -> Any:
        role = self._roles[name]
        if value is None:
            return None
        if role == "text" and isinstance(value, str):
            return _encodable(name, value)
        if role == "number" and isinstance(value, int | float):  # true is 1, as in arrays
            try:
                return float(value)
            except OverflowError:
                return float("inf")  # reported as not finite
        raise RowError("mixed types", f"column {name!r}: expected a {role}, got {_kind(value)}")

    def _label_cell(self, value: Any) -> Any:
        """Keep text; convert whole numbers and lists to lists of text, which are not split."""
        try:
            kind = _label_kind(value)
        except RowError as error:
            raise RowError(error.reason, f"column {self._label_column!r}: {error.message}") from None
        if kind is None:
            return None
        if kind != self._labels:
            message = f"column {self._label_column!r}: a {kind}, but the first labels are a {self._labels}"
            raise RowError("mixed types", message)
        labels = [_encodable(str(self._label_column), str(label)) for label in _as_list(value)]
        return labels[0] if kind == "text" else labels


def _label_kind(value: Any) -> str | None:
    """Return the kind of a label cell; None for no labels; raises RowError."""
    if value is None or (type(value) is list and not value):  # an object is a list, too, of pairs
        return None
    if isinstance(value, str):
        return "text"
    if isinstance(value, int) and not isinstance(value, bool):
        return "whole number"
    if type(value) is not list:
        raise RowError("wrong labels", f"{_kind(value)}; {_SHAPE}")
    kinds = set()
    for label in value:
        if isinstance(label, list | float | bool):
            raise RowError("wrong labels", f"a list with {_kind(label)} in it; {_SHAPE}")
        if label is None:
            raise RowError("null in a label list", "null inside a list of labels")
        kinds.add("list of texts" if isinstance(label, str) else "list of whole numbers")
    if len(kinds) > 1:
        raise RowError("mixed types", f"a list with texts and numbers in it; {_SHAPE}")
    return kinds.pop()


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _kind(value: Any) -> str:
    if isinstance(value, bool):
        return "true or false"
    if isinstance(value, list):
        return "a list" if type(value) is list else "an object"
    return {str: "a text", int: "a whole number", float: "a number with decimals"}.get(type(value), "null")


def _encodable(name: str, text: str) -> str:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise RowError("not UTF-8", f"column {name!r}: half of a surrogate pair is not a character") from None
    return text
