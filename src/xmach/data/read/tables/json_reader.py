"""JSON lines: one object per line, gzip'd or not; pyarrow parses clean lines, Python's json the others.

The columns are the keys of the first object. A key that a row lacks is null; keys that are not read may have any value.
In a column of numbers true is 1 and false is 0.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.json

from xmach.data.options import ReadOptions
from xmach.data.read.lines import Chunk, line_chunks
from xmach.data.read.rows import Fault, FaultHandler, RowError
from xmach.data.read.sparse.exact import BlankLines
from xmach.data.read.tables.csv_records import is_utf8
from xmach.data.read.tables.json_cells import JsonCells
from xmach.data.read.tables.reader import CHUNK_BYTES, TableBlock, TableReader
from xmach.types import OnProgress

_EXPECTED = "JSON lines are expected, one object per line"


class JsonLinesReader(TableReader):
    """Reads one file. Its first labels decide whether labels are text, whole numbers, or lists of these."""

    def __init__(self, options: ReadOptions) -> None:
        super().__init__(options)
        self._blanks = BlankLines()
        self._cells: JsonCells | None = None  # once the columns are known

    def _blocks(self, path: Path, report: FaultHandler, on_progress: OnProgress | None) -> Iterator[TableBlock]:
        empty = True
        for chunk in line_chunks(path, on_progress, CHUNK_BYTES):
            if empty and (fault := _not_lines(chunk)) is not None:
                report(fault)
                return
            if self._cells is None and (found := _first_object(chunk)) is not None:
                line, keys = found
                if not self._resolve(keys, line, report):
                    return
                self._cells = JsonCells(self.columns)
            if self._cells is not None:
                self._cells.learn_labels(_objects(chunk))
            block = self._quick(chunk) or self._exact(chunk)
            empty = empty and not (len(block.lines) or block.faults)
            if self._cells is None:
                for fault in block.faults:
                    report(fault)
            else:
                yield block
        if empty:
            report(Fault(1, "empty file", f"empty file; {_EXPECTED}", rows_lost=0))
        elif self._cells is None:
            report(Fault(None, "no rows", f"no line is a JSON object; {_EXPECTED}", rows_lost=0))

    def _quick(self, chunk: Chunk) -> TableBlock | None:
        """Parse the rows of a chunk; None if anything is wrong or unusual."""
        data = chunk.data.replace(b"\r\n", b"\n") if b"\r" in chunk.data else chunk.data
        n_lines = data.count(b"\n")
        # Every line begins and ends with a brace, and there are as many objects as lines: so each line is one.
        braces = data.startswith(b"{") and data.count(b"\n{") == n_lines - 1 and data.count(b"}\n") == n_lines
        schema = None if self._cells is None else self._cells.schema()
        if schema is None or not braces or b"\0" in data or not is_utf8(data):
            return None
        try:
            table = pyarrow.json.read_json(
                pa.BufferReader(data),
                pyarrow.json.ReadOptions(use_threads=False, block_size=len(data) + 1),
                pyarrow.json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore"),
            )
        except pa.ArrowInvalid:
            return None
        if table.num_rows != n_lines:
            return None
        columns = {name: table.column(name).combine_chunks() for name in schema.names}
        lines = np.arange(chunk.first_line, chunk.first_line + n_lines)
        return TableBlock(lines, columns, self._blanks.end())

    def _exact(self, chunk: Chunk) -> TableBlock:
        """Parse the rows of a chunk, line by line."""
        rows: list[dict[str, Any]] = []
        lines: list[int] = []
        faults: list[Fault] = []
        for line, raw in _lines(chunk):
            if not raw.strip(b" \t"):
                self._blanks.add(line)
                continue
            faults += self._blanks.end()
            try:
                pairs = _parse(raw)
                rows.append({} if self._cells is None else self._cells.row(pairs))
                lines.append(line)
            except RowError as error:
                faults.append(error.at(line))
        columns = {} if self._cells is None else self._cells.arrays(rows)
        return TableBlock(np.array(lines, np.int64), columns, faults)


def _lines(chunk: Chunk) -> Iterator[tuple[int, bytes]]:
    for line, raw in enumerate(chunk.data.split(b"\n")[:-1], chunk.first_line):
        yield line, raw.removesuffix(b"\r")


def _objects(chunk: Chunk) -> Iterator[tuple[int, list[tuple[str, Any]]]]:
    """Yield the good lines of a chunk as (line, pairs)."""
    for line, raw in _lines(chunk):
        try:
            yield line, _parse(raw)
        except RowError:
            continue


def _first_object(chunk: Chunk) -> tuple[int, list[str]] | None:
    """Return the line and the keys of the first object in a chunk, duplicates included."""
    for line, pairs in _objects(chunk):
        return line, [key for key, _ in pairs]
    return None


def _not_lines(chunk: Chunk) -> Fault | None:
    """Return the fault of a file that begins with one list of all rows, or with a value that spans lines.

    Some lines of such a file may happen to be objects, so none of it is read.
    """
    text = chunk.data.decode("utf-8", "replace")
    start = len(text) - len(text.lstrip())
    what = None
    if text.startswith("[", start):
        what = "one JSON list of all rows"
    elif start < len(text) and _spread_over_lines(text, start):
        what = "JSON that spans lines"
    line = chunk.first_line + text.count("\n", 0, start)
    return None if what is None else Fault(line, "no JSON lines", f"{what} is not supported: {_EXPECTED}", rows_lost=0)


def _spread_over_lines(text: str, start: int) -> bool:
    """Return whether a JSON value begins here and ends on a later line."""
    try:
        _, stop = json.JSONDecoder().raw_decode(text, start)
    except (ValueError, RecursionError):
        return False
    return "\n" in text[start:stop]


class _Pairs(list[tuple[str, Any]]):
    """The keys and values of an object in order: shows duplicate keys, and is distinct from a list."""


def _parse(raw: bytes) -> list[tuple[str, Any]]:
    """Parse the object of a line; raises RowError."""
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        column = len(raw[: error.start].decode("utf-8")) + 1
        raise RowError("not UTF-8", f"byte 0x{raw[error.start]:02x} is not UTF-8", column) from None
    try:
        value = json.loads(text, object_pairs_hook=_Pairs)
    except json.JSONDecodeError as error:
        cut = " (line cut off?)" if error.pos >= len(text) or error.msg.startswith("Unterminated") else ""
        raise RowError("bad JSON", f"not JSON: {error.msg}{cut}", error.pos + 1) from None
    except (ValueError, RecursionError) as error:  # a number with thousands of digits; lists nested too deeply
        raise RowError("bad JSON", f"JSON that cannot be read: {error}") from None
    if not isinstance(value, _Pairs):
        raise RowError("no JSON object", f'expected an object such as {{"text": ...}}, got {text[:40]!r}')
    return value
