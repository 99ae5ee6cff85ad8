"""Tables of texts, numbers and lists of numbers to CSV, TSV, JSON lines or Parquet, some rows at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from xmach.data.write.json_texts import json_texts, text_bytes
from xmach.errors import InputError
from xmach.types import AnyArray, IntArray

LIST_SEPARATOR = "|"  # between the numbers of a list in CSV and TSV, which have no lists


class Texts(NamedTuple):
    """n texts in UTF-8, text i being data[first[i]:first[i + 1]]."""

    data: AnyArray  # uint8
    first: IntArray  # (n + 1,)


class Lists(NamedTuple):
    """n lists of whole numbers, list i being values[first[i]:first[i + 1]]."""

    first: IntArray  # (n + 1,)
    values: IntArray


Column: TypeAlias = Texts | Lists | IntArray


def table_header(names: Sequence[str], format: str) -> bytes:
    """Return the first line of a file with these columns."""
    return b"" if format == "jsonl" else _SEPARATORS[format].join(names).encode() + b"\n"


def table_lines(columns: Mapping[str, Column], format: str) -> bytes:
    """Format rows as lines of `jsonl`, `csv` or `tsv`."""
    cells: list[pa.Array | str] = []
    for number, (name, column) in enumerate(columns.items()):
        if format == "jsonl":
            cells += ["{" * (number == 0) + ", " * (number > 0) + f'"{name}": ', _json_cells(column)]
        else:
            cells += [_SEPARATORS[format] * (number > 0), _plain_cells(name, column, format)]
    return text_bytes(pc.binary_join_element_wise(*cells, "}\n" if format == "jsonl" else "\n", ""))


@contextmanager
def parquet_table(path: Path, like: Mapping[str, Column]) -> Iterator[Callable[[Mapping[str, Column]], None]]:
    """Yield a function that writes rows to a Parquet file with the columns of `like`, whose rows are ignored."""
    import pyarrow.parquet as pq  # imported here: it takes 70 ms and megabytes, which no other format needs

    schema = pa.schema({name: _array(column).type for name, column in like.items()})
    with pq.ParquetWriter(path, schema, write_page_checksum=True) as writer:

        def write(columns: Mapping[str, Column]) -> None:
            writer.write_table(pa.table([_array(columns[name]) for name in schema.names], schema=schema))

        yield write


_SEPARATORS = {"csv": ",", "tsv": "\t"}


def _array(column: Column) -> pa.Array:
    """Convert a column to an Arrow array."""
    if isinstance(column, Texts):
        offsets = pa.py_buffer(np.asarray(column.first, np.int32))
        return pa.Array.from_buffers(pa.string(), len(column.first) - 1, [None, offsets, pa.py_buffer(column.data)])
    if isinstance(column, Lists):
        return pa.ListArray.from_arrays(pa.array(np.asarray(column.first, np.int32)), pa.array(column.values))
    return pa.array(column)


def _json_cells(column: Column) -> pa.Array:
    if isinstance(column, Texts):
        return json_texts(_array(column))
    if isinstance(column, Lists):
        return pc.binary_join_element_wise("[", _joined(column, ", "), "]", "")
    return _array(column).cast(pa.string())


def _plain_cells(name: str, column: Column, format: str) -> pa.Array:
    if isinstance(column, Lists):
        return _joined(column, LIST_SEPARATOR)
    if not isinstance(column, Texts):
        return _array(column).cast(pa.string())
    texts = _array(column)
    if format == "csv":
        quoted = pc.binary_join_element_wise('"', pc.replace_substring(texts, '"', '""'), '"', "")
        return pc.if_else(pc.match_substring_regex(texts, '[",\r\n]'), quoted, texts)
    bad = pc.match_substring_regex(texts, "[\t\r\n]")
    if pc.any(bad).as_py():
        seen = texts.filter(bad)[0].as_py()
        raise InputError(f"{name}: {seen!r} contains a tab or a newline, which TSV cannot represent; use CSV")
    return texts


def _joined(lists: Lists, separator: str) -> pa.Array:
    """Join the numbers of each list to one text."""
    numbers = pa.array(lists.values).cast(pa.string())
    return pc.binary_join(pa.ListArray.from_arrays(pa.array(np.asarray(lists.first, np.int32)), numbers), separator)
