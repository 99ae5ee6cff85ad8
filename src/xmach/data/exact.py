"""The exact row parser: one line at a time, every fault told with its column. The slow twin of `vectorised`."""

from __future__ import annotations

import re
import unicodedata

import numpy as np
import pyarrow as pa

from xmach.data.lines import Chunk, line_content
from xmach.data.rows import Batch, Fault, RowError, Rules, to_float32, whole_number
from xmach.types import FloatArray

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


def parse_exact(chunk: Chunk, rules: Rules, blanks: BlankLines) -> Batch:
    """The rows of a chunk, one line at a time."""
    rows: list[tuple[int, list[int], list[int], FloatArray]] = []
    faults: list[Fault] = []
    for line, raw in enumerate(chunk.data.split(b"\n")[:-1], chunk.first_line):
        content = line_content(raw)
        if not content.strip(b" \t"):
            if b"#" not in raw:  # a line of nothing but a comment is no row, and not blank either
                blanks.add(line)
            continue
        faults += blanks.end()
        try:
            rows.append((line, *parse_line(line_text(content), rules)))
        except RowError as error:
            faults.append(error.at(line))
    return Batch(
        lines=np.array([row[0] for row in rows], np.int64),
        label_counts=np.array([len(row[1]) for row in rows], np.int64),
        labels=np.array([label for row in rows for label in row[1]], np.int64),
        feature_counts=np.array([len(row[2]) for row in rows], np.int64),
        features=np.array([index for row in rows for index in row[2]], np.int32),
        values=np.concatenate([np.empty(0, np.float32), *(row[3] for row in rows)]),
        faults=faults,
    )


def line_text(raw: bytes) -> str:
    """The content of a line as text, all of it printable ASCII and blanks; raises RowError."""
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        column = len(raw[: error.start].decode("utf-8")) + 1
        raise RowError("not UTF-8", f"byte 0x{raw[error.start]:02x} is not UTF-8", column) from None
    if unexpected := _UNEXPECTED.search(text):
        character = unexpected.group()
        name = "NUL byte" if character == "\0" else unicodedata.name(character, "control character")
        message = f"unexpected character U+{ord(character):04X} ({name.lower() if len(name) > 8 else name})"
        raise RowError("unexpected character", f"{message}; expected ASCII", unexpected.start() + 1)
    return text


def parse_line(text: str, rules: Rules) -> tuple[list[int], list[int], FloatArray]:
    """The sorted labels, sorted feature indices and their values of one row; raises RowError."""
    labels: set[int] = set()
    found: dict[int, tuple[str, int]] = {}  # feature -> (value, its column)
    tokens = [(match.group(), match.start() + 1) for match in _TOKEN.finditer(text)]
    if tokens[0][1] == 1 and ":" not in tokens[0][0]:
        labels = _labels(tokens.pop(0)[0], rules)
    for token, column in tokens:
        if ":" not in token:
            raise _no_colon(text, token, column)
        index, value = _feature(token, column, rules)
        if index in found:
            raise RowError("feature given twice", f"feature {index} is given twice", column)
        found[index] = (value, column + token.index(":") + 1)
    order = sorted(found)
    values = to_float32(pa.array([found[index][0].removeprefix("+") for index in order], pa.string()))
    for place in np.flatnonzero(~np.isfinite(values)):
        value, column = found[order[place]]
        raise RowError("value not finite", f"{value!r} is not finite in float32", column)
    return sorted(labels), order, values


def _labels(token: str, rules: Rules) -> set[int]:
    labels, column = set(), 1
    for text in token.split(","):
        if not text:
            end = " (a space after the comma?)" if column > len(token) else ""
            raise RowError("empty label", f"{token!r} has an empty label{end}; expected labels as in 3,14,15", column)
        try:
            labels.add(rules.label(text))
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


def _feature(token: str, column: int, rules: Rules) -> tuple[int, str]:
    """The index and the value, still text but known to be a number."""
    digits, _, value = token.partition(":")
    if digits == "qid":
        raise RowError("query id", f"{token!r}: query ids are for ranking and not supported; remove them", column)
    if not (digits.isascii() and digits.isdigit()):
        below = re.fullmatch(r"-[0-9]+", digits) is not None
        why = "is below 0" if below else "is no whole number"
        raise RowError("bad feature index", f"feature index {digits!r} {why}; expected index:value", column)
    index = whole_number(digits)
    if index >= rules.n_features:
        raise RowError("feature index too large", f"feature index {digits}: {rules.feature_bound}", column)
    column += len(digits) + 1
    if not value:
        raise RowError("no value", f"feature {index} has no value", column)
    if ":" in value:
        raise RowError("two colons", f"{token!r} has two colons; expected index:value", column)
    if _NOT_FINITE.fullmatch(value):
        raise RowError("value not finite", f"{value!r} is not finite", column)
    if not _NUMBER.fullmatch(value):
        hint = "; decimals have a point" if "," in value else ""
        raise RowError("bad value", f"{value!r} is no number{hint}", column)
    return index, value
