"""The common part of table readers: converts blocks of columns to batches of rows, and text labels to ids."""

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

_TEXTS = 1 << 13  # texts vectorized at a time: the words and columns of a chunk take thirty times its bytes
CHUNK_BYTES = 1 << 22  # of text formats: pyarrow's parsers cost a tenth of a millisecond per call


@dataclass(frozen=True)
class TableBlock:
    """The wanted columns of some rows, and the faults of rows that could not be split into cells."""

    lines: IntArray  # (n,) the first line of each row; in a file without lines, its number from 0
    columns: dict[str, pa.Array]
    faults: list[Fault] = field(default_factory=list)

    def without(self, bad: BadRows) -> TableBlock:
        """Return the block without bad rows."""
        keep = np.ones(len(self.lines), np.bool_)
        keep[list(bad)] = False
        chosen = {name: column.filter(pa.array(keep)) for name, column in self.columns.items()}
        return TableBlock(self.lines[keep], chosen, self.faults)

    def parts(self, size: int) -> Iterator[TableBlock]:
        """Split the block into parts of at most `size` rows; faults stay with the rows around them."""
        faults = self.faults
        for start, stop in row_batches(max(len(self.lines), 1), size):
            here, later = faults, []
            if stop < len(self.lines):
                here = [fault for fault in faults if (fault.line or 0) < self.lines[stop]]
                later = faults[len(here) :]  # they are ordered by line
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
    """Reads one table; label ids are known once all batches have been read.

    Features are text columns, vectorized by `options.text`, or columns of numbers, which stay dense. Without
    `options.text` texts are checked but not vectorized: `feature_counts` is 1 for rows with any text.
    """

    def __init__(self, options: ReadOptions) -> None:
        self._options = options
        self._labels: StringLabels = StringLabels(options.label_names, options.known_labels)
        self.columns = columns_to_read(options)  # all resolved once the first batch has been read
        text = options.text
        if text is not None and options.columns.text and options.n_features not in (None, text.n_features):
            raise ParameterError(f"n_features is {options.n_features} but the text vectorizer has {text.n_features}")

    @property
    def n_features(self) -> int:
        """The width of the vectorizer, or the number of numeric columns."""
        if self.columns.text:
            return 0 if self._options.text is None else self._options.text.n_features
        return len(self.columns.features)

    def batches(self, path: Path, report: FaultHandler, on_progress: OnProgress | None = None) -> Iterator[Batch]:
        """Yield the rows; faults are reported in order of lines."""
        for block in self._blocks(path, report, on_progress):
            for part in [block] if self._options.text is None else block.parts(_TEXTS):
                batch = self._batch(part)
                for fault in batch.faults:
                    report(fault)
                yield batch

    @abstractmethod
    def _blocks(self, path: Path, report: FaultHandler, on_progress: OnProgress | None) -> Iterator[TableBlock]:
        """Yield the wanted columns in blocks of rows, after `_resolve` has accepted the header."""

    def _fault(self, line: int, error: RowError) -> Fault:
        """Return the fault of the row on that line."""
        return error.at(line)

    def _resolve(self, names: Sequence[str], line: int | None, report: FaultHandler) -> bool:
        """Resolve the columns of the table; if they do not fit, report a fault that cannot be skipped: False."""
        try:
            self.columns = resolve_columns(names, self._options)
        except RowError as error:
            report(Fault(line, error.reason, error.message, rows_lost=0))
            return False
        return True

    def _wanted(self) -> list[str]:
        """Return the columns to read."""
        named = (*self.columns.text, *self.columns.features, self.columns.labels, self.columns.weight)
        return list(dict.fromkeys(name for name in named if name is not None))

    def _batch(self, block: TableBlock) -> Batch:
        """Return the good rows of a block; each round drops bad rows, until a round finds none."""
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
        """Return the features, or texts to vectorize once all rows are known to be good."""
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
        """Return counts or weights of labels; only xmach's own Parquet has them."""
        return None


def _distinct(
    counts: IntArray, labels: IntArray, values: FloatArray | None
) -> tuple[IntArray, IntArray, FloatArray | None]:
    """Sort labels within their row, and drop duplicates."""
    keys = np.repeat(np.arange(len(counts)) << 32, counts) | labels  # labels are below 2**32
    order = np.argsort(keys, kind="stable")  # fast, because rows are in order already
    first = np.diff(keys[order], prepend=-1) > 0
    order = order[first]
    kept = np.bincount(keys[order] >> 32, minlength=len(counts))
    return kept, labels[order], None if values is None else values[order]
