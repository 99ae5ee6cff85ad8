"""CSV and TSV tables, gzip'd or not, parsed by pyarrow a few megabytes at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv

from xmach.data.read.lines import MAX_LINE_BYTES, Chunk, line_chunks
from xmach.data.read.rows import Fault, FaultHandler, RowError
from xmach.data.read.sparse.exact import BlankLines
from xmach.data.read.tables.columns import BAD_HEADER
from xmach.data.read.tables.csv_records import (
    CSV,
    TSV,
    Dialect,
    Records,
    exact_records,
    quick_records,
    record_cells,
    record_end,
)
from xmach.data.read.tables.reader import CHUNK_BYTES, TableBlock, TableReader
from xmach.types import OnProgress


class CsvReader(TableReader):
    """Reads a table with one record per row. Blank lines at the end are ignored, except in a table of one column."""

    dialect: Dialect = CSV

    def _blocks(self, path: Path, report: FaultHandler, on_progress: OnProgress | None) -> Iterator[TableBlock]:
        self._names: Sequence[str] = ()
        self._blanks = BlankLines()
        line, rest, tried, empty = 1, [b""], 0, True
        for chunk in chain(line_chunks(path, on_progress, CHUNK_BYTES), _END):
            rest.append(chunk.data)
            size = sum(map(len, rest))
            if size < 2 * tried and chunk.data:  # do not rescan a record longer than a chunk for each chunk
                continue
            data = b"".join(rest)
            if not self._names and data:
                begin = self._take_header(data, not chunk.data, report)
                if begin is None:
                    return
                line, data = line + data.count(b"\n", 0, begin), data[begin:]
            if self._names and data:
                records, block = self._parse(data, line, at_end=not chunk.data)
                line, data = records.next_line, data[records.end :]
                empty = empty and not (len(block.lines) or block.faults)
                yield block
            rest, tried = [data], len(data)
            if tried > MAX_LINE_BYTES:
                report(Fault(line, "quote not closed", f"a row of more than {MAX_LINE_BYTES} bytes", rows_lost=0))
                return
        if not self._names:
            report(Fault(1, "empty file", "empty file; expected a table", rows_lost=0))
        elif empty:
            report(Fault(1, "no rows", "a header and no rows below it", rows_lost=0))

    def _take_header(self, data: bytes, at_end: bool, report: FaultHandler) -> int | None:
        """Read the columns; return where the rows begin, or None if the table cannot be read."""
        stop = record_end(data, 0, self.dialect)
        if stop is None and not at_end:
            return 0
        try:
            if stop is None:
                raise RowError(BAD_HEADER, "a quote in the first row is never closed")
            cells = record_cells(data[:stop], self.dialect)
        except RowError as error:
            report(error.at(1)._replace(rows_lost=0))
            return None
        header = self.columns.header
        self._names = cells if header else [str(i) for i in range(len(cells))]
        if not self._resolve(self._names, 1, report):
            return None
        return stop if header else 0

    def _parse(self, data: bytes, line: int, at_end: bool) -> tuple[Records, TableBlock]:
        """Split whole lines into records: quickly if they are clean, otherwise one by one."""
        quick = quick_records(data, line, self.dialect, len(self._names))
        if quick is not None and not (at_end and quick.end < len(data)):
            columns = self._quick_columns(quick.data)
            if columns is not None:
                faults = self._blanks.end() if len(quick.lines) else []
                return quick, TableBlock(quick.lines, columns, faults)
        exact = exact_records(data, line, self.dialect, len(self._names), self._blanks, at_end)
        return exact, TableBlock(exact.lines, self._columns(exact.data, pa.string()), exact.faults)

    def _quick_columns(self, data: bytes) -> dict[str, pa.Array] | None:
        """Return the columns; None if a row has too few or too many cells, or a number is invalid."""
        try:
            columns = self._columns(data, pa.float32())
        except pa.ArrowInvalid:
            return None
        numbers = (column for column in columns.values() if pa.types.is_float32(column.type))
        return columns if all(np.isfinite(column.to_numpy()).all() for column in numbers) else None

    def _columns(self, data: bytes, number: pa.DataType) -> dict[str, pa.Array]:
        """Return the wanted columns, numbers in the given type; no value becomes null, and 007 stays 007."""
        wanted = self._wanted()
        types = dict.fromkeys(wanted, number) | dict.fromkeys((*self.columns.text, self.columns.labels), pa.string())
        if not data:
            return {name: pa.array([], types[name]) for name in wanted}
        table = pyarrow.csv.read_csv(
            pa.BufferReader(data),
            pyarrow.csv.ReadOptions(use_threads=False, block_size=len(data) + 1, column_names=list(self._names)),
            pyarrow.csv.ParseOptions(
                delimiter=self.dialect.delimiter,
                quote_char='"' if self.dialect.quoting else False,
                newlines_in_values=self.dialect.quoting,
                ignore_empty_lines=False,
            ),
            pyarrow.csv.ConvertOptions(
                check_utf8=False,
                null_values=[],
                column_types={name: types[name] for name in wanted},
                include_columns=wanted,
            ),
        )
        return {name: table.column(name).combine_chunks() for name in wanted}


class TsvReader(CsvReader):
    """Reads a table with tabs between cells, and without quoting."""

    dialect = TSV


_END: Iterable[Chunk] = [Chunk(0, b"")]
