"""Splits CSV and TSV text into records, and finds the faults of bad ones.

CSV is quoted as in RFC 4180: a cell in double quotes may contain delimiters, newlines and doubled quotes; elsewhere a
quote is a fault. TSV has no quoting: a quote is a character, and a tab or a newline always ends a cell.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from xmach.data.read.rows import Fault, RowError
from xmach.data.read.sparse.exact import BlankLines
from xmach.types import IntArray

_NEWLINE, _RETURN, _QUOTE = b'\n\r"'


class Records(NamedTuple):
    """The good records of some text."""

    data: bytes  # each ended by a newline
    lines: IntArray  # (n,) the line that each begins at
    end: int  # where the records end; the rest of the text is the beginning of a record
    next_line: int  # where the rest begins
    faults: list[Fault]


@dataclass(frozen=True)
class Dialect:
    """The delimiter of cells, and whether cells may be quoted."""

    delimiter: str
    quoting: bool

    @property
    def stop(self) -> int:
        """The delimiter as a byte."""
        return ord(self.delimiter)


CSV, TSV = Dialect(",", True), Dialect("\t", False)
_QUOTED = re.compile(rb'"[^"]*+(?:""[^"]*+)*+"')
_PLAIN = {CSV: re.compile(rb'[^",\r\n]*+'), TSV: re.compile(rb"[^\t\r\n]*+")}


def quick_records(data: bytes, line: int, dialect: Dialect, n_columns: int) -> Records | None:
    """Split whole lines into records in a few passes; None if anything is wrong or unusual.

    The number of cells of a record is not checked here, but by pyarrow.
    """
    codes = np.frombuffer(data, np.uint8)
    if b"\0" in data or not is_utf8(data) or (b"\r" in data and (codes[1:][codes[:-1] == _RETURN] != _NEWLINE).any()):
        return None
    if not (dialect.quoting and b'"' in data):
        if n_columns > 1 and (b"\n\n" in data or b"\n\r\n" in data or data.startswith((b"\n", b"\r\n"))):
            return None
        n_lines = count_lines(data)
        return Records(data, np.arange(line, line + n_lines), len(data), line + n_lines, [])
    quotes = np.flatnonzero(codes == _QUOTE)
    opening, closing = quotes[0::2], quotes[1::2]  # a doubled quote closes and opens again
    before = np.where(opening > 0, codes[opening - 1], _NEWLINE)
    after = codes[closing + 1]  # there is one: the last byte is a newline
    begins = (before == dialect.stop) | (before == _NEWLINE) | (before == _QUOTE)
    ends = (after == dialect.stop) | (after == _NEWLINE) | (after == _RETURN) | (after == _QUOTE)
    if not (begins.all() and ends.all()):
        return None
    newlines = np.flatnonzero(codes == _NEWLINE)
    of_record = np.flatnonzero(np.searchsorted(quotes, newlines) % 2 == 0)  # the newlines outside quotes
    stops = newlines[of_record] + 1
    starts = np.concatenate([np.zeros(1, np.int64), stops[:-1]])[: len(stops)]
    blank = (stops - starts == 1) | ((stops - starts == 2) & (codes[starts] == _RETURN))
    if n_columns > 1 and blank.any():
        return None
    lines = line + np.concatenate([np.zeros(1, np.int64), of_record[:-1] + 1])[: len(stops)]
    if not len(stops):
        return Records(b"", lines, 0, line, [])
    end = int(stops[-1])
    return Records(data[:end], lines, end, line + int(of_record[-1]) + 1, [])


def exact_records(
    data: bytes, line: int, dialect: Dialect, n_columns: int, blanks: BlankLines, at_end: bool
) -> Records:
    """Split whole lines into records one by one, with every fault; the slow twin of `quick_records`."""
    good: list[bytes] = []
    lines: list[int] = []
    faults: list[Fault] = []
    position = 0
    while position < len(data):
        stop = record_end(data, position, dialect)
        if stop is None and not at_end:
            break
        if stop is None:
            faults.append(_unclosed(line))
            position = len(data)
            break
        record = data[position:stop]
        if n_columns > 1 and not record.strip(b" \r\n"):
            blanks.add(line)
        else:
            faults += blanks.end()
            try:
                cells = record_cells(record, dialect)
                if len(cells) != n_columns:
                    raise _ragged(cells, n_columns)
                good.append(record)
                lines.append(line)
            except RowError as error:
                faults.append(error.at(line))
        line += record.count(b"\n")
        position = stop
    return Records(b"".join(good), np.array(lines, np.int64), position, line, faults)


def record_end(data: bytes, position: int, dialect: Dialect) -> int | None:
    """Return where the record that begins here ends; None if a quote is still open at the end of the text.

    A bad record ends with the line of its fault.
    """
    while True:
        quoted = dialect.quoting and data[position] == _QUOTE
        cell = (_QUOTED if quoted else _PLAIN[dialect]).match(data, position)
        if cell is None:
            return None
        position = cell.end()
        if data[position] != dialect.stop:
            return data.index(b"\n", position) + 1
        position += 1


def record_cells(record: bytes, dialect: Dialect) -> list[str]:
    """Split a record into cells; raises RowError."""
    try:
        text = record.decode("utf-8")
    except UnicodeDecodeError as error:
        raise RowError("not UTF-8", f"byte 0x{record[error.start]:02x} is not UTF-8") from None
    if "\0" in text:
        raise RowError("NUL byte", "a NUL byte in the row: not a text file?", text.index("\0") + 1)
    cells, position = [], 0
    while True:
        quoted = dialect.quoting and record[position] == _QUOTE
        cell = (_QUOTED if quoted else _PLAIN[dialect]).match(record, position)
        if cell is None:
            raise RowError("bad quoting", "a quote is not closed")
        content = cell.group().decode("utf-8")
        cells.append(content[1:-1].replace('""', '"') if quoted else content)
        position = cell.end() + 1
        after = record[cell.end()]
        if after == _NEWLINE or record[cell.end() :] == b"\r\n":
            return cells
        if after == _RETURN:
            raise RowError("carriage return", "a carriage return inside the row; lines end with \\n or \\r\\n")
        if after != dialect.stop:
            raise _stray(content, quoted)


def _stray(content: str, quoted: bool) -> RowError:
    if quoted:
        return RowError("bad quoting", f"there is text after the closing quote of {content[:40]!r}")
    message = f"a quote inside the unquoted cell {content[:40]!r}; quote the cell and double the quote"
    return RowError("bad quoting", message)


def _ragged(cells: list[str], n_columns: int) -> RowError:
    message = f"{len(cells)} cells, but there are {n_columns} columns; the first cell is {cells[0][:40]!r}"
    return RowError("too few cells" if len(cells) < n_columns else "too many cells", message)


def _unclosed(line: int) -> Fault:
    message = "a quote that is opened in the row that begins here is never closed: file cut off?"
    return Fault(line, "quote not closed", message, rows_lost=0)


def count_lines(data: bytes) -> int:
    """Count the newlines; five times as fast as bytes.count if lines are short."""
    return int(np.count_nonzero(np.frombuffer(data, np.uint8) == _NEWLINE))


def is_utf8(data: bytes) -> bool:
    """Return whether all of it is UTF-8."""
    offsets = pa.py_buffer(np.array([0, len(data)], np.int64))
    try:
        pa.LargeStringArray.from_buffers(1, offsets, pa.py_buffer(data)).validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True
