"""What all tables have in common: blocks of columns become batches of rows, and labels that are text get ids."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from xmach.data.options import ReadOptions
from xmach.data.read.labels import LabelsByTable
from xmach.data.read.rows import Batch, Fault, FaultHandler, RowError
from xmach.data.read.tables.cells import BadRows, LabelCells, label_cells, numbers, texts, weights
from xmach.data.read.tables.columns import columns_to_read, resolve_columns
from xmach.data.read.tables.string_labels import StringLabels
from xmach.errors import ParameterError
from xmach.types import FloatArray, Int32Array, IntArray, OnProgress, row_batches

_TEXTS = 1 << 13  # rows made of text at a time: a chunk's words and columns take thirty times its bytes
CHUNK_BYTES = 1 << 22  # of text formats: pyarrow's parsers cost a tenth of a millisecond a call


@dataclass(frozen=True)
class TableBlock:
    """Some rows of a table, those columns that are wanted, and the faults of rows that have no cells to show."""

    lines: IntArray  # (n,) the line that each row begins at; in a file without lines, its row, counted from 0
    columns: dict[str, pa.Array]
    faults: list[Fault] = field(default_factory=list)

    def without(self, bad: BadRows) -> TableBlock:
        """The other rows."""
        keep = np.ones(len(self.lines), np.bool_)
        keep[list(bad)] = False
        chosen = {name: column.filter(pa.array(keep)) for name, column in self.columns.items()}
        return TableBlock(self.lines[keep], chosen, self.faults)

    def parts(self, size: int) -> Iterator[TableBlock]:
        """The block, at most `size` rows at a time; a fault goes with the rows that it lies among."""
        faults = self.faults
        for start, stop in row_batches(max(len(self.lines), 1), size):
            here, later = faults, []
            if stop < len(self.lines):
                here = [fault for fault in faults if (fault.line or 0) < self.lines[stop]]
                later = faults[len(here) :]  # they are in the order of lines
            chosen = {name: column.slice(start, size) for name, column in self.columns.items()}
            yield TableBlock(self.lines[start:stop], chosen, here)
            faults = later


class Features(NamedTuple):
    """The features of some rows, sparse or dense."""

    counts: IntArray  # (n,)
    indices: Int32Array
    values: FloatArray
    dense: FloatArray | None = None  # (n, d); the others are then empty


class TableReader(LabelsByTable, ABC):
    """Reads one table; label ids are known when all batches are through.

    Rows are text columns made into features by `options.text`, or columns of numbers, which stay dense. Without
    `options.text` texts are looked at but not made into features: `feature_counts` is 1 where there is any text.
    """

    def __init__(self, options: ReadOptions) -> None:
        self._options = options
        self._labels: StringLabels = StringLabels(options.label_names, options.known_labels)
        self.columns = columns_to_read(options)  # with nothing left open once the first batch is there
        text = options.text
        if text is not None and options.columns.text and options.n_features not in (None, text.n_features):
            raise ParameterError(f"n_features is {options.n_features} but the text makes {text.n_features}")

    @property
    def n_features(self) -> int:
        """The width of the text's rows, or the number of numeric columns."""
        if self.columns.text:
            return 0 if self._options.text is None else self._options.text.n_features
        return len(self.columns.features)

    def batches(self, path: Path, report: FaultHandler, on_progress: OnProgress | None = None) -> Iterator[Batch]:
        """The rows; faults are reported in order of lines."""
        for block in self._blocks(path, report, on_progress):
            for part in [block] if self._options.text is None else block.parts(_TEXTS):
                batch = self._batch(part)
                for fault in batch.faults:
                    report(fault)
                yield batch

    @abstractmethod
    def _blocks(self, path: Path, report: FaultHandler, on_progress: OnProgress | None) -> Iterator[TableBlock]:
        """The wanted columns, some rows at a time, after `_settle` has said yes to the header."""

    def _fault(self, line: int, error: RowError) -> Fault:
        """What is wrong with the row of that line."""
        return error.at(line)

    def _settle(self, names: Sequence[str], line: int | None, report: FaultHandler) -> bool:
        """Find the columns among those that are there; False, and a fault that nothing skips, if they do not fit."""
        try:
            self.columns = resolve_columns(names, self._options)
        except RowError as error:
            report(Fault(line, error.reason, error.message, rows_lost=0))
            return False
        return True

    def _wanted(self) -> list[str]:
        """The columns to read."""
        named = (*self.columns.text, *self.columns.features, self.columns.labels, self.columns.weight)
        return list(dict.fromkeys(name for name in named if name is not None))

    def _batch(self, block: TableBlock) -> Batch:
        """The good rows of a block; each round drops the rows that it finds bad, so the last one sees none."""
        found: list[tuple[int, RowError]] = []
        while True:
            bad: BadRows = {}
            row_weights = self._weights(block, bad)
            features = self._features(block, bad)
            labels = self._label_cells(block, bad)
            label_values = self._label_values(block, labels, bad)
            if not bad:
                break
            found += [(int(block.lines[row]), error) for row, error in bad.items()]
            block = block.without(bad)
        rest = [self._fault(line, error) for line, error in sorted(found, key=lambda pair: pair[0])]
        faults = sorted([*block.faults, *rest], key=lambda fault: fault.line or 0)
        counts, numbered, label_values = _distinct(labels.counts, self._labels.number(labels.labels), label_values)
        if isinstance(features, pa.Array):
            features = self._text_features(features)
        return Batch(
            block.lines, counts, numbered, features.counts, features.indices, features.values, faults,
            label_values=label_values, weights=row_weights, dense=features.dense,
        )  # fmt: skip

    def _features(self, block: TableBlock, bad: BadRows) -> Features | pa.StringArray:
        """The features, or the texts that are to become features once all rows are known to be good."""
        if self.columns.text:
            return texts([(name, block.columns[name]) for name in self.columns.text], bad)
        dense = np.empty((len(block.lines), len(self.columns.features)), np.float32)
        for i, name in enumerate(self.columns.features):
            dense[:, i] = numbers(name, block.columns[name], bad)
        none = np.zeros(0, np.int32)
        return Features(np.zeros(len(dense), np.int64), none, none.astype(np.float32), dense)

    def _text_features(self, found: pa.StringArray) -> Features:
        if self._options.text is None:
            some = np.asarray(pc.not_equal(pc.utf8_trim_whitespace(found), ""))
            return Features(some.astype(np.int64), np.zeros(0, np.int32), np.zeros(0, np.float32))
        rows = self._options.text.transform(found.to_pylist())
        return Features(np.diff(rows.indptr), rows.indices, rows.values)

    def _weights(self, block: TableBlock, bad: BadRows) -> FloatArray | None:
        name = self.columns.weight
        return None if name is None else weights(name, block.columns[name], bad)

    def _label_cells(self, block: TableBlock, bad: BadRows) -> LabelCells:
        name = self.columns.labels
        if name is None:
            return LabelCells(np.zeros(len(block.lines), np.int64), pa.array([], pa.string()))
        return label_cells(name, block.columns[name], self.columns.label_separator, bad)

    def _label_values(self, block: TableBlock, labels: LabelCells, bad: BadRows) -> FloatArray | None:
        """Counts or weights of labels; tables have none, but for our own."""
        return None


def _distinct(
    counts: IntArray, labels: IntArray, values: FloatArray | None
) -> tuple[IntArray, IntArray, FloatArray | None]:
    """Labels sorted within their row, each once."""
    keys = np.repeat(np.arange(len(counts)) << 32, counts) | labels  # labels are numbered from 0, and fewer than 2**32
    order = np.argsort(keys, kind="stable")  # quick, as rows are in order already
    first = np.diff(keys[order], prepend=-1) > 0
    order = order[first]
    kept = np.bincount(keys[order] >> 32, minlength=len(counts))
    return kept, labels[order], None if values is None else values[order]
