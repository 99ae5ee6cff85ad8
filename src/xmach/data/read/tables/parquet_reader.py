"""Parquet tables: read a few thousand rows at a time, whatever the size of their row groups.

A Parquet file has no lines, so faults name the row, counted from 0 as in predictions. In a column of numbers true is 1
and false is 0.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from xmach.data.options import ReadOptions
from xmach.data.read.rows import Batch, Fault, FaultHandler, RowError
from xmach.data.read.tables import parquet_rows as own
from xmach.data.read.tables.cells import BadRows, LabelCells, label_cells, weights
from xmach.data.read.tables.reader import Features, TableBlock, TableReader
from xmach.data.read.tables.string_labels import StringLabels
from xmach.errors import DataFileError
from xmach.types import FloatArray, OnProgress

MAGIC = b"PAR1"
_BLOCK_BYTES = 1 << 23  # unpacked
_MOST_ROWS = 1 << 16
_ANY_SIZE = 2**31 - 1  # label names may make the metadata long


class ParquetReader(TableReader):
    """Reads one file: a table of texts or numbers, or, if no columns are named, rows in xmach's own form."""

    def __init__(self, options: ReadOptions) -> None:
        super().__init__(options)
        self._own: own.Sizes | None = None

    @property
    def n_features(self) -> int:
        """The width in the metadata, or that of other tables."""
        return super().n_features if self._own is None else self._own.n_features

    def _fault(self, line: int, error: RowError) -> Fault:
        return Fault(None, error.reason, f"row {line} (counted from 0): {error.message}")

    def _blocks(self, path: Path, report: FaultHandler, on_progress: OnProgress | None) -> Iterator[TableBlock]:
        _check_ends(path)
        with _damage(path):
            file = pq.ParquetFile(
                path, pre_buffer=False, buffer_size=1 << 20, page_checksum_verification=True,
                thrift_string_size_limit=_ANY_SIZE, thrift_container_size_limit=_ANY_SIZE,
            )  # fmt: skip
        with file:
            types = self._types(file, report)
            if types is None:
                return
            n_rows, size = file.metadata.num_rows, os.path.getsize(path)
            unpacked = sum(file.metadata.row_group(i).total_byte_size for i in range(file.num_row_groups))
            rows = max(1, min(_MOST_ROWS, n_rows * _BLOCK_BYTES // max(unpacked, 1)))
            batches = file.iter_batches(rows, columns=list(types), use_threads=False)
            start = 0
            while True:
                with _damage(path):
                    batch = next(batches, None)
                    if batch is None:
                        break
                    columns = {name: batch.column(name).cast(types[name]) for name in types}
                yield TableBlock(np.arange(start, start + batch.num_rows), columns)
                start += batch.num_rows
                if on_progress is not None:
                    on_progress(size * start // max(n_rows, 1), size)
            if not start:  # a table without rows still has columns
                yield TableBlock(np.zeros(0, np.int64), {name: pa.array([], kind) for name, kind in types.items()})

    def _types(self, file: pq.ParquetFile, report: FaultHandler) -> dict[str, pa.DataType] | None:
        """Return the type to read each wanted column as; None if the table cannot be read."""
        schema, asked = file.schema_arrow, self.columns
        try:
            plain = not asked.text and not asked.features
            if plain and asked.labels in (None, own.LABELS) and asked.weight in (None, own.WEIGHT):
                self._own = own.Sizes.from_metadata(file.metadata.metadata)
            if self._own is not None:
                return self._own_types(schema, self._own)
            if not self._resolve(schema.names, None, report):
                return None
            return {name: self._type(name, schema.field(name).type) for name in self._wanted()}
        except RowError as error:
            report(Fault(None, error.reason, error.message, rows_lost=0))
            return None

    def _own_types(self, schema: pa.Schema, sizes: own.Sizes) -> dict[str, pa.DataType]:
        expected = sizes.schema()
        if self._options.n_features not in (None, sizes.n_features):
            message = f"the file has {sizes.n_features} features, but {self._options.n_features} are expected"
            raise RowError("bad header", message)
        for field in expected:
            if field.name not in schema.names or schema.field(field.name).type != field.type:
                message = f"rows of xmach have a column {field.name!r} of type {field.type}; the columns are {schema}"
                raise RowError("bad header", message)
        if self._options.known_labels is None:
            self._labels = StringLabels(sizes.label_names, sizes.n_labels)
        unread = () if self._options.with_labels else (own.LABELS, own.LABEL_VALUES, own.WEIGHT)
        return {field.name: field.type for field in expected if field.name not in unread}

    def _type(self, name: str, found: pa.DataType) -> pa.DataType:
        """Return the type to read a column of a table as; raises RowError."""
        if name in self.columns.text:
            kind, wanted = _as_text(found), "text"
        elif name == self.columns.labels:
            kind, wanted = _as_labels(found), "labels (text, whole numbers, or lists of either)"
        else:
            kind, wanted = _as_number(found), "numbers"
        if kind is None:
            hint = "; if it is text, name it as text" if wanted == "numbers" and _as_text(found) is not None else ""
            raise RowError("wrong type", f"column {name!r} holds {found}, expected {wanted}{hint}")
        return kind

    def _batch(self, block: TableBlock) -> Batch:
        batch = super()._batch(block)
        return replace(batch, rows=batch.lines)

    def _features(self, block: TableBlock, bad: BadRows) -> Features | pa.StringArray:
        if self._own is None:
            return super()._features(block, bad)
        if self._own.dense:
            return own.dense_features(block.columns[own.DENSE], self._own.n_features, bad)
        return own.sparse_features(block.columns[own.INDICES], block.columns[own.VALUES], self._own.n_features, bad)

    def _weights(self, block: TableBlock, bad: BadRows) -> FloatArray | None:
        if self._own is None:
            return super()._weights(block, bad)
        return weights(own.WEIGHT, block.columns[own.WEIGHT], bad) if own.WEIGHT in block.columns else None

    def _label_cells(self, block: TableBlock, bad: BadRows) -> LabelCells:
        if self._own is None or own.LABELS not in block.columns:
            return super()._label_cells(block, bad)
        return label_cells(own.LABELS, block.columns[own.LABELS], None, bad, empty_ok=True)

    def _label_values(self, block: TableBlock, labels: LabelCells, bad: BadRows) -> FloatArray | None:
        if self._own is None or own.LABEL_VALUES not in block.columns:
            return None
        return own.label_values(block.columns[own.LABEL_VALUES], labels.counts, bad)


def _as_text(found: pa.DataType) -> pa.DataType | None:
    return pa.string() if _any_of(_plain(found), "is_string", "is_large_string", "is_string_view", "is_null") else None


def _as_number(found: pa.DataType) -> pa.DataType | None:
    if _any_of(found, "is_integer", "is_floating"):
        return found
    if pa.types.is_boolean(found):  # as in arrays and DataFrames: true is 1
        return pa.uint8()
    return pa.float64() if _any_of(found, "is_decimal", "is_null") else None


def _as_labels(found: pa.DataType) -> pa.DataType | None:
    if _any_of(found, "is_list", "is_large_list", "is_fixed_size_list"):
        inner = _as_labels(found.value_type)
        return None if inner is None or pa.types.is_list(inner) else pa.list_(inner)
    if pa.types.is_integer(_plain(found)):
        return _plain(found)
    return _as_text(found)


def _plain(found: pa.DataType) -> pa.DataType:
    return found.value_type if pa.types.is_dictionary(found) else found


def _any_of(found: pa.DataType, *tests: str) -> bool:
    checks: list[Callable[[pa.DataType], bool]] = [getattr(pa.types, test) for test in tests]
    return any(check(found) for check in checks)


def _check_ends(path: Path) -> None:
    """Raise DataFileError unless the file begins and ends with Parquet's magic bytes; a cut-off file lacks the last."""
    with path.open("rb") as file:
        begin = file.read(len(MAGIC))
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - len(MAGIC)))
        end = file.read()
    if not size:
        raise DataFileError(path, None, "empty file; expected Parquet")
    if begin != MAGIC:
        raise DataFileError(path, None, f"not a Parquet file: it begins with {begin!r} instead of {MAGIC!r}")
    if end != MAGIC or size < 3 * len(MAGIC):
        raise DataFileError(path, None, f"the Parquet file is cut off: it does not end with {MAGIC!r}")


@contextmanager
def _damage(path: Path) -> Iterator[None]:
    try:
        yield
    except (pa.ArrowException, OSError, ValueError) as error:
        first = (str(error).splitlines() or [""])[0]
        raise DataFileError(path, None, f"the Parquet file is damaged: {first}") from error
