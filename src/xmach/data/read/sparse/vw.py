"""Vowpal Wabbit's text format, in which ODP and ImageNet are distributed.

A row is `LABEL [WEIGHT] ['TAG]|NAMESPACE[:WEIGHT] FEATURE[:VALUE] ...`. Columns are the same as in Vowpal Wabbit. In
the unnamed namespace, features that are whole numbers are columns as they are, so a file that counts from 1 leaves
column 0 empty. Every other feature is hashed into `n_features` columns, by default 2^18 (its `-b 18`): a name by
murmur3, seeded with the hash of its namespace; a whole number by adding that hash. A feature without a value is 1, and
features in the same column of a row are added. Labels are integers, several as `1,7,3`; a row to predict has none.
There are no comments.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa

from xmach._kernels.parse.sparse_rows import ANY_INTEGER, BARRED
from xmach.data.options import ReadOptions
from xmach.data.read.rows import MAX_COLUMNS, Batch, Fault, FaultHandler, Row, RowError, to_float32, whole_number
from xmach.data.read.sparse.exact import check_number, line_text, parse_labels
from xmach.data.read.sparse.headerless import HeaderlessReader
from xmach.data.read.sparse.integer_labels import integer_label
from xmach.types import FloatArray, OnProgress

_HASHED_COLUMNS = 1 << 18
_MOST_REMEMBERED = 1 << 20  # names and their columns
_TOKEN = re.compile(r"[^ \t]+")
_DIGITS = re.compile(r"[0-9]+")
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
_LABEL_OR_WEIGHT = re.compile(r"[0-9+.,-]+")
_EXPECTED = "expected a row such as '3 | 1:0.5 7'"
_VW_HEAD = re.compile(rb"([+-]?[0-9][0-9+.,-]*[ \t]+([0-9.eE+-]+[ \t]+)?)?('[^ \t|]*)?[ \t]*\|")


def looks_like_vw(content: bytes) -> bool:
    """Return whether a line has a bar after labels."""
    return _VW_HEAD.match(content) is not None


class VwReader(HeaderlessReader):
    """Reads one file; sizes and label ids are known once all batches have been read."""

    def __init__(self, options: ReadOptions) -> None:
        self._rules = VwRules(options.n_features)
        super().__init__(options, self._rules, _EXPECTED)

    @property
    def n_features(self) -> int:
        """The model's width; otherwise 2^18 if anything was hashed, or one more than the largest number."""
        return self._rules.width if self._rules.hashed else super().n_features

    def batches(self, path: Path, report: FaultHandler, on_progress: OnProgress | None = None) -> Iterator[Batch]:
        """Yield the rows; faults are reported in order of lines."""
        reported = False
        for batch in super().batches(path, report, on_progress):
            if self._rules.hashed and self._largest >= self._rules.width and not reported:
                reported = True
                message = f"names are hashed into {self._rules.width} columns, but there is a feature "
                message += f"{self._largest}: pass the number of features (n_features)"
                report(Fault(None, "numbers beyond hashed names", message, rows_lost=0))
            yield batch


class VwRules:
    """Labels are any integers; columns are those of Vowpal Wabbit."""

    form, n_labels = BARRED, ANY_INTEGER

    def __init__(self, n_features: int | None) -> None:
        self.n_features = MAX_COLUMNS if n_features is None else n_features
        self.width = _HASHED_COLUMNS if n_features is None else n_features
        self.hashed = False  # whether any feature was hashed
        self._known: dict[tuple[int, str], int] = {}

    def row(self, content: bytes) -> Row:
        """Parse labels, features and the weight."""
        text = line_text(content, _CONTROL, "text")
        head, bar, _ = text.partition("|")
        if not bar:
            raise RowError("no bar", f"there is no bar in {text[:60]!r}: {_EXPECTED}", len(text) + 1)
        labels, weight = _head(head)
        columns: list[int] = []
        numbers: list[tuple[str, int]] = []  # value and its column in the text
        scales: list[float] = []
        start = len(head) + 1
        for part in text[start:].split("|"):
            seed, scale, tokens = self._namespace(part, start)
            for name, value, place in tokens:
                columns.append(self._column(name, seed, place))
                numbers.append((value, place + len(name) + 1))
            scales += [scale] * len(tokens)
            start += len(part) + 1
        values = _values(numbers)
        sums: dict[int, float] = {}
        for column, number, scale in zip(columns, values.tolist(), scales, strict=True):
            sums[column] = sums.get(column, 0.0) + number * scale
        order = sorted(sums)
        with np.errstate(over="ignore"):
            found = np.array([sums[column] for column in order], np.float32)
        if not np.isfinite(found).all():
            raise RowError("value not finite", "features of one column, or a namespace's weight, make it infinite")
        return Row(sorted(labels), order, found, weight)

    def _namespace(self, part: str, start: int) -> tuple[int, float, list[tuple[str, str, int]]]:
        """Parse the seed and weight of a namespace, and its features as (name, value, column in the text)."""
        tokens = [(match.group(), start + match.start() + 1) for match in _TOKEN.finditer(part)]
        seed, scale = 0, 1.0
        if tokens and tokens[0][1] == start + 1:  # it touches the bar, so it is a name
            name, value, column = _split(*tokens.pop(0))
            if _DIGITS.fullmatch(name) and part.startswith(f"{name}:"):
                message = f"'{name}:{value}' touches the bar, which makes it a namespace; put a blank after the bar"
                raise RowError("no blank after the bar", message, column)
            seed = _hash(name, 0)
            scale = float(_values([(value, column + len(name) + 1)])[0])
        return seed, scale, [_split(*token) for token in tokens]

    def _column(self, name: str, seed: int, place: int) -> int:
        column = self._known.get((seed, name))
        if column is None:
            column = self._new_column(name, seed, place)
            if len(self._known) >= _MOST_REMEMBERED:
                self._known.clear()
            self._known[seed, name] = column
        return column

    def _new_column(self, name: str, seed: int, place: int) -> int:
        if seed == 0 and _DIGITS.fullmatch(name):
            column = whole_number(name)
            if column >= self.n_features:
                message = f"feature {name}: the width is {self.n_features}, so the last is {self.n_features - 1}"
                raise RowError("feature index too large", message, place)
            return column
        if self.width == 0:
            raise RowError("feature index too large", f"feature {name!r}: 0 features are expected", place)
        self.hashed = True
        return _hash(name, seed) % self.width


def _hash(name: str, seed: int) -> int:
    """Return Vowpal Wabbit's hash of a name."""
    # imported here: scikit-learn takes two seconds to import, and a file without names does not need it
    from sklearn.utils import murmurhash3_32

    if _DIGITS.fullmatch(name):
        return seed + whole_number(name)
    return int(murmurhash3_32(name.encode(), seed & 0xFFFFFFFF, positive=True))


def _head(head: str) -> tuple[set[int], float]:
    """Parse the labels and the weight before the first bar; raises RowError."""
    tokens = [(match.group(), match.start() + 1) for match in _TOKEN.finditer(head)]
    touching = bool(head) and head[-1] not in " \t"
    if tokens and (touching or tokens[-1][0].startswith("'")):
        tag, column = tokens.pop()
        if touching and _LABEL_OR_WEIGHT.fullmatch(tag):
            message = f"{tag!r} touches the bar, which makes it a tag; put a blank before the bar, or a ' before a tag"
            raise RowError("no blank before the bar", message, column)
    if len(tokens) > 2:
        message = f"{tokens[2][0]!r} follows the weight: expected LABEL [WEIGHT] ['TAG]| (a tag starts with ')"
        raise RowError("bad label", message, tokens[2][1])
    labels = parse_labels(tokens[0][0], integer_label, tokens[0][1]) if tokens else set()
    if len(tokens) < 2:
        return labels, 1.0
    text, column = tokens[1]
    check_number(text, column, "bad weight")
    weight = float(to_float32(pa.array([text.removeprefix("+")]))[0])
    if not 0 <= weight < np.inf:
        raise RowError("bad weight", f"the weight {text} is {'below 0' if weight < 0 else 'not finite'}", column)
    return labels, weight


def _split(token: str, column: int) -> tuple[str, str, int]:
    """Split a feature into its name, value (as text) and the column of the name; raises RowError."""
    name, colon, value = token.partition(":")
    if not name:
        raise RowError("bad feature", f"{token!r} has no name before its colon", column)
    if colon and not value:
        raise RowError("no value", f"{name!r} has a colon and no value", column + len(name) + 1)
    if ":" in value:
        raise RowError("two colons", f"{token!r} has two colons; expected name:value", column)
    return name, value or "1", column


def _values(numbers: list[tuple[str, int]]) -> FloatArray:
    for text, column in numbers:
        check_number(text, column)
    values = to_float32(pa.array([text.removeprefix("+") for text, _ in numbers], pa.string()))
    for place in np.flatnonzero(~np.isfinite(values)):
        text, column = numbers[place]
        raise RowError("value not finite", f"{text!r} is not finite in float32", column)
    return values
