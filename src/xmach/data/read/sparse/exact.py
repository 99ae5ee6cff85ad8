"""The exact row parser: one line at a time, every fault reported with its column. The slow twin of `fast`."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from typing import Protocol

import numpy as np
import pyarrow as pa

from xmach._kernels.parse.sparse_rows import BARE, PLAIN
from xmach.data.read.lines import Chunk, line_content
from xmach.data.read.rows import Batch, Fault, Row, RowError, Rules, to_float32, whole_number

BLANK = "blank line inside the data"
_TOKEN = re.compile(r"[^ \t]+")
_UNEXPECTED = re.compile(r"[^\x21-\x7e \t]")
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_NOT_FINITE = re.compile(r"[+-]?(nan|inf|infinity)", re.IGNORECASE)


class BlankLines:
    """Blank lines that are nothing at the end of a file and a fault once a row follows; lives as long as the file."""

    def __init__(self) -> None:
        self._first = self._count = 0

    def add(self, line: int) -> None:
        """Note a blank line."""
        self._first = self._first or line
        self._count += 1

    def end(self) -> list[Fault]:
        """A row follows: the fault of the blank lines since the last one, if there were any."""
        if not self._count:
            return []
        lines = "a blank line" if self._count == 1 else f"{self._count} blank lines"
        fault = Fault(self._first, BLANK, f"{lines} inside the data: row lost or row empty?", rows_lost=self._count)
        self._first = self._count = 0
        return [fault]


class Bound(Protocol):
    """How large a feature index may be."""

    n_features: int  # indices are below this
    feature_bound: str  # who says so, for the error message


def parse_exact(chunk: Chunk, rules: Rules, blanks: BlankLines) -> Batch:
    """The rows of a chunk, one line at a time."""
    lines: list[int] = []
    rows: list[Row] = []
    faults: list[Fault] = []
    for line, raw in enumerate(chunk.data.split(b"\n")[:-1], chunk.first_line):
        content = line_content(raw) if rules.form == PLAIN else raw.removesuffix(b"\r")
        if rules.form != BARE and not content.strip(b" \t"):
            if b"#" not in raw:  # a line with only a comment is not a row, and not blank either
                blanks.add(line)
            continue
        faults += blanks.end()
        try:
            rows.append(rules.row(content))
            lines.append(line)
        except RowError as error:
            faults.append(error.at(line))
    weights = np.array([row.weight for row in rows], np.float32)
    return Batch(
        lines=np.array(lines, np.int64),
        label_counts=np.array([len(row.labels) for row in rows], np.int64),
        labels=np.array([label for row in rows for label in row.labels], np.int64),
        feature_counts=np.array([len(row.features) for row in rows], np.int64),
        features=np.array([index for row in rows for index in row.features], np.int32),
        values=np.concatenate([np.empty(0, np.float32), *(row.values for row in rows)]),
        faults=faults,
        weights=None if (weights == 1).all() else weights,
    )


def line_text(raw: bytes, unexpected: re.Pattern[str] = _UNEXPECTED, expected: str = "ASCII") -> str:
    """The content of a line as text, unless there is an unexpected character in it; raises RowError."""
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        column = len(raw[: error.start].decode("utf-8")) + 1
        raise RowError("not UTF-8", f"byte 0x{raw[error.start]:02x} is not UTF-8", column) from None
    if found := unexpected.search(text):
        character = found.group()
        name = "NUL byte" if character == "\0" else unicodedata.name(character, "control character")
        message = f"unexpected character U+{ord(character):04X} ({name.lower() if len(name) > 8 else name})"
        raise RowError("unexpected character", f"{message}; expected {expected}", found.start() + 1)
    return text


def parse_line(text: str, bound: Bound, label: Callable[[str], int] | None = None) -> Row:
    """Parse a line such as `3,4 1:0.5`; if `label` is None, rows have no labels. Raises RowError."""
    labels: set[int] = set()
    found: dict[int, tuple[str, int]] = {}  # feature -> (value, its column)
    tokens = [(match.group(), match.start() + 1) for match in _TOKEN.finditer(text)]
    if label is not None and tokens[0][1] == 1 and ":" not in tokens[0][0]:
        labels = parse_labels(tokens.pop(0)[0], label)
    for token, column in tokens:
        if ":" not in token:
            raise _no_colon(text, token, column)
        index, value = _feature(token, column, bound)
        if index in found:
            raise RowError("feature given twice", f"feature {index} is given twice", column)
        found[index] = (value, column + token.index(":") + 1)
    order = sorted(found)
    values = to_float32(pa.array([found[index][0].removeprefix("+") for index in order], pa.string()))
    for place in np.flatnonzero(~np.isfinite(values)):
        value, column = found[order[place]]
        raise RowError("value not finite", f"{value!r} is not finite in float32", column)
    return Row(sorted(labels), order, values)


def parse_labels(token: str, label: Callable[[str], int], column: int = 1) -> set[int]:
    """Parse labels separated by commas; raises RowError."""
    labels, end = set(), column + len(token)
    for text in token.split(","):
        if not text:
            hint = " (a space after the comma?)" if column >= end else ""
            raise RowError("empty label", f"{token!r} has an empty label{hint}; expected labels as in 3,14,15", column)
        try:
            labels.add(label(text))
        except RowError as error:
            raise RowError(error.reason, error.message, column) from None
        column += len(text) + 1
    return labels


def _no_colon(text: str, token: str, column: int) -> RowError:
    hint = ""
    if not text[: column - 1].strip(" \t"):
        hint = " (a row that starts with a blank has no labels)"
    elif not text[column - 1 + len(token) :].strip(" \t"):
        hint = " (line cut off?)"
    return RowError("no colon", f"{token!r} has no colon: expected index:value{hint}", column)


def _feature(token: str, column: int, bound: Bound) -> tuple[int, str]:
    """Parse the index; return it with the value, still a text but known to be a number."""
    digits, _, value = token.partition(":")
    if digits == "qid":
        raise RowError("query id", f"{token!r}: query ids are for ranking and not supported; remove them", column)
    if not (digits.isascii() and digits.isdigit()):
        below = re.fullmatch(r"-[0-9]+", digits) is not None
        why = "is below 0" if below else "is not a whole number"
        raise RowError("bad feature index", f"feature index {digits!r} {why}; expected index:value", column)
    index = whole_number(digits)
    if index >= bound.n_features:
        raise RowError("feature index too large", f"feature index {digits}: {bound.feature_bound}", column)
    column += len(digits) + 1
    if not value:
        raise RowError("no value", f"feature {index} has no value", column)
    if ":" in value:
        raise RowError("two colons", f"{token!r} has two colons; expected index:value", column)
    check_number(value, column)
    return index, value


def check_number(text: str, column: int, reason: str = "bad value") -> None:
    """Raise RowError if a text is not a decimal number."""
    if _NUMBER.fullmatch(text):
        return
    if _NOT_FINITE.fullmatch(text):
        raise RowError("value not finite", f"{text!r} is not finite", column)
    hint = "; use a decimal point" if "," in text else ""
    raise RowError(reason, f"{text!r} is not a number{hint}", column)
