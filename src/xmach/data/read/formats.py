"""The formats by name, and their detection."""

from __future__ import annotations

import gzip
import os
import zlib
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Protocol

from xmach.data.options import Columns, ReadOptions
from xmach.data.read.lines import first_line, is_gzip, leading_lines
from xmach.data.read.rows import Batch, FaultHandler
from xmach.data.read.sparse.split import looks_like_split
from xmach.data.read.sparse.svmlight import is_only_labels, looks_like_svmlight
from xmach.data.read.sparse.vw import looks_like_vw
from xmach.data.read.sparse.xmc import looks_like_xmc
from xmach.errors import DataFileError, ParameterError
from xmach.types import Int32Array, IntArray, OnProgress


class Reader(Protocol):
    """Reads one file. The properties are complete once all batches have been read."""

    def batches(self, path: Path, report: FaultHandler, on_progress: OnProgress | None = None) -> Iterator[Batch]:
        """Yield the rows of the file; faults are reported, and their rows left out."""

    @property
    def columns(self) -> Columns | None:
        """The roles of the columns that were read; None if the file is not a table."""

    @property
    def n_features(self) -> int:
        """d."""

    @property
    def n_labels(self) -> int:
        """K."""

    @property
    def label_names(self) -> Sequence[str] | None:
        """K names, or None."""

    def label_ids(self, labels: IntArray) -> Int32Array:
        """Convert labels as they are in batches to ids below K."""


# By name, imported on use: training workers read no files, and pyarrow's readers would cost each of them 30 MiB.
READERS = {
    "xmc": "sparse.xmc.XmcReader",
    "svmlight": "sparse.svmlight.SvmlightReader",
    "vw": "sparse.vw.VwReader",
    "split": "sparse.split.SplitReader",
    "npz": "sparse.npz.NpzReader",
    "csv": "tables.csv_reader.CsvReader",
    "tsv": "tables.csv_reader.TsvReader",
    "jsonl": "tables.json_reader.JsonLinesReader",
    "parquet": "tables.parquet_reader.ParquetReader",
}
TABLES = tuple(name for name, where in READERS.items() if where.startswith("tables."))
_MAGIC = {b"PAR1": "parquet", b"PK\x03\x04": "npz"}  # first bytes of a file; npz files are zip files
_SUFFIXES = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".parquet": "parquet",
}


def open_reader(name: str, options: ReadOptions) -> Reader:
    """Return a reader of a format."""
    module, _, reader = READERS[name].rpartition(".")
    made: Reader = getattr(import_module(f"xmach.data.read.{module}"), reader)(options)
    return made


def guess_format(path: str | os.PathLike[str]) -> str:
    """Detect the format of a file from its first bytes, its suffix or its first line, in this order."""
    source = Path(path)
    begin = _first_bytes(source, max(map(len, _MAGIC)))
    for magic, name in _MAGIC.items():
        if begin.startswith(magic):
            return name
    suffix = Path(source.name.removesuffix(".gz")).suffix
    if suffix in _SUFFIXES:
        return _SUFFIXES[suffix]
    first = first_line(source)
    if first is None:
        raise DataFileError(os.fspath(path), 1, f"empty file; the formats are {_listed()}")
    line, content = first
    if looks_like_xmc(content):
        return "xmc"
    if looks_like_split(content):
        return "split"
    if looks_like_vw(content):
        return "vw"
    if is_only_labels(content):  # a row without features fits several formats: use a later row
        content = next((other for other in leading_lines(source) if not is_only_labels(other)), content)
    if looks_like_svmlight(content):
        return "svmlight"
    if content.lstrip(b" \t").startswith(b"{"):
        return "jsonl"
    seen = content[:60].decode("utf-8", "replace")
    wanted = "expected a header 'N D K' (xmc) or 'N D' (split), or a row such as '3 1:0.5 7:1.2' (svmlight) "
    wanted += "or '3 | 1:0.5 7' (vw); or name the format"
    raise DataFileError(os.fspath(path), line, f"cannot tell the format from {seen!r}: {wanted}")


def _first_bytes(source: Path, n: int) -> bytes:
    """Return the first n bytes, unpacked; none if the gzip stream is damaged, which is reported on reading."""
    packed = is_gzip(source)  # raises if the file cannot be opened
    try:
        with gzip.open(source) if packed else source.open("rb") as file:
            return bytes(file.read(n))
    except (gzip.BadGzipFile, EOFError, zlib.error):
        return b""


def resolve_format(path: str | os.PathLike[str], name: str) -> str:
    """Return the named format, or detect it if it is `auto`."""
    if name == "auto":
        name = guess_format(path)
    if name not in READERS:
        raise ParameterError(f"format must be one of auto, {_listed()}; got {name!r}")
    if name in _MAGIC.values() and is_gzip(Path(path)):
        raise DataFileError(os.fspath(path), None, f"gzip'd, but {name} is already compressed: unzip the file first")
    return name


def _listed() -> str:
    return ", ".join(READERS)
