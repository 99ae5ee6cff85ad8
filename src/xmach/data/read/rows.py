"""The results of row parsers: batches of rows as arrays, and faults."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, Protocol, TypeAlias

import numpy as np
import pyarrow as pa

from xmach.types import BoolArray, FloatArray, Int32Array, IntArray

MAX_COLUMNS = 2**31 - 1  # columns are kept as int32


class Fault(NamedTuple):
    """A fault in a file."""

    line: int | None  # 1-based; None if no single line is at fault
    reason: str  # faults are counted by reason, so it contains no numbers
    message: str
    column: int | None = None  # 1-based character
    rows_lost: int = 1  # by skipping; 0: the header or the whole file is at fault, which cannot be skipped
    file: Path | None = None  # the file at fault if it is not the data file, such as the label file


FaultHandler: TypeAlias = Callable[[Fault], None]


class RowError(Exception):
    """A row that cannot be read; becomes a Fault once its line is known."""

    def __init__(self, reason: str, message: str, column: int | None = None) -> None:
        super().__init__(reason, message, column)
        self.reason, self.message, self.column = reason, message, column

    def at(self, line: int) -> Fault:
        """Convert this error to the fault of a line."""
        return Fault(line, self.reason, self.message, self.column)


@dataclass(frozen=True)
class Batch:
    """The good rows of a few lines, columns sorted within a row, and the faults of the rest, in order of lines."""

    lines: IntArray  # (n,) the line of each row
    label_counts: IntArray  # (n,)
    labels: IntArray  # (sum of label_counts,) as in the file: svmlight assigns ids only at the end
    feature_counts: IntArray  # (n,)
    features: Int32Array  # (nnz,)
    values: FloatArray  # (nnz,)
    faults: list[Fault] = field(default_factory=list)
    label_values: FloatArray | None = None  # counts or weights of labels; None: 1 each
    weights: FloatArray | None = None  # (n,) of rows; None: 1 each
    rows: IntArray | None = None  # (n,) numbers in the file, from 0, if it has no lines; None: see `RowNumbers`
    dense: FloatArray | None = None  # (n, d) instead of sparse features; in all batches or in none


class RowNumbers:
    """The numbers of the good rows in the file, from 0, computed from the faults: rows lost on which line."""

    def __init__(self) -> None:
        self._next = 0  # the number of the first row after the last batch
        self._lost: list[tuple[int, int]] = []  # line and rows of the faults since then

    def lose(self, fault: Fault) -> None:
        """Record a fault; the faults of a batch come before the batch."""
        self._lost.append((fault.line or 0, fault.rows_lost))

    def of(self, batch: Batch) -> IntArray:
        """Return the row numbers (n,) of the next batch."""
        if batch.rows is not None:
            return batch.rows
        lines, lost = np.array(sorted(self._lost), np.int64).reshape(-1, 2).T
        before = row_offsets(lost)[np.searchsorted(lines, batch.lines)]
        numbers = self._next + np.arange(len(batch.lines)) + before
        self._next += len(batch.lines) + int(lost.sum())
        self._lost.clear()
        return numbers


class Row(NamedTuple):
    """One row, columns sorted, each once."""

    labels: list[int]
    features: list[int]
    values: FloatArray
    weight: float = 1.0


class Rules(Protocol):
    """The rules of a format for its rows."""

    form: int  # PLAIN, BARE or BARRED: see `_kernels/parse/sparse_rows.py`
    n_features: int  # indices are below this
    n_labels: int  # labels are below this, or ANY_INTEGER

    def row(self, content: bytes) -> Row:
        """Parse the row in a line; raises RowError."""


def whole_number(digits: str) -> int:
    """Convert ASCII digits to an integer; more than 19 digits become 10**19, which exceeds every bound."""
    significant = digits.lstrip("0")
    return int(significant or "0") if len(significant) <= 19 else 10**19


def to_float32(tokens: pa.StringArray) -> FloatArray:
    """Convert decimal texts to the nearest float32; raises pa.ArrowInvalid. All readers parse values here."""
    return np.asarray(tokens.cast(pa.float32()).to_numpy(zero_copy_only=False), np.float32)


def row_offsets(counts: IntArray) -> IntArray:
    """Convert row lengths (n,) to offsets (n + 1,)."""
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(counts, dtype=np.int64)])


def row_order(counts: IntArray, columns: IntArray | Int32Array) -> IntArray | None:
    """Return the permutation that sorts columns within rows, or None if they are strictly ascending already."""
    starts = np.zeros(len(columns) + 1, np.bool_)
    starts[row_offsets(counts)] = True
    if bool(np.all((columns[1:] > columns[:-1]) | starts[1:-1])):
        return None
    row = np.repeat(np.arange(len(counts)), counts)
    return np.lexsort((columns, row))


def repeats(counts: IntArray, columns: IntArray | Int32Array) -> BoolArray:
    """Return whether each column equals the one before it in its row (sum of counts,); rows are sorted."""
    same = np.zeros(len(columns), np.bool_)
    same[1:] = columns[1:] == columns[:-1]
    starts = row_offsets(counts)[:-1]
    same[starts[counts > 0]] = False
    return same
