"""read_dataset: reads a file in chunks into a folder of arrays, in bounded memory; read_texts: only its texts."""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from itertools import chain, compress
from pathlib import Path
from typing import Any

import numpy as np

from xmach.data import dataset_folder
from xmach.data.dataset import Dataset
from xmach.data.dataset_cache import built, describe
from xmach.data.labels.mapped_names import names_digest
from xmach.data.npy import NpyAppender, map_array
from xmach.data.options import Columns, OnError, ReadOptions
from xmach.data.read.formats import TABLES, Reader, open_reader, resolve_format
from xmach.data.read.label_files import with_label_file
from xmach.data.read.lines import file_errors
from xmach.data.read.rows import Batch, Fault, RowNumbers, row_order
from xmach.errors import DataFileError, ParameterError
from xmach.types import AnyArray, OnProgress, SparseRows, TextRows

READER_VERSION = 3  # part of the cache key: raise it when the same file would read differently
_ROWS = 1 << 16  # rows whose labels get their ids at a time
_NO_INTS = np.zeros(0, np.int64)
_NO_ROWS = Batch(_NO_INTS, _NO_INTS, _NO_INTS, _NO_INTS, np.zeros(0, np.int32), np.zeros(0, np.float32))


def read_dataset(
    path: str | os.PathLike[str],
    format: str = "auto",
    *,
    on_error: OnError = "stop",
    n_features: int | None = None,
    label_names: Sequence[str] | None = None,
    n_labels: int | None = None,
    columns: Columns | None = None,
    text: TextRows | None = None,
    label_file: str | os.PathLike[str] | None = None,
    with_labels: bool = True,
    cache: str | os.PathLike[str] | None = None,
    on_progress: OnProgress | None = None,
) -> Dataset:
    """Read a data file; with a `cache` folder the result is memory-mapped from there, and read only once.

    `n_features`, `n_labels` and `label_names` are those of the model that the rows are for. `columns` gives the roles
    of a table's columns, and `text` is the vectorizer of its texts. `label_file` is for formats with labels in a
    separate file. `with_labels=False` reads rows that need no labels.

    With `on_error="skip"` bad rows are dropped and counted in `Dataset.skipped`, and `Dataset.row_numbers` tells which
    rows remain. A bad header or a damaged file still raises an error. `Dataset.columns` are the columns that were
    read, all resolved. `on_progress` gets the bytes read so far and the size of the file.
    """
    apart = None if label_file is None else Path(label_file)
    options = ReadOptions(on_error, n_features, n_labels, label_names, columns or Columns(), text, apart, with_labels)
    if options.columns.text and text is None:
        raise ParameterError("text columns need a vectorizer: pass `text`, such as xmach.features.HashedText()")
    source = Path(path)
    name = resolve_format(source, format)
    if name not in TABLES and columns not in (None, Columns()):
        raise ParameterError(f"columns are for tables ({', '.join(TABLES)}); {source} is {name}")
    options = with_label_file(options, source, name)
    target = None if cache is None else Path(cache) / cache_key(source, name, options)

    def build(folder: Path) -> None:
        reader = open_reader(name, options)
        skipped: Counter[str] = Counter()
        numbers = RowNumbers()

        def report(fault: Fault) -> None:
            _raise_unless_skipped(fault, source, options)
            skipped[fault.reason] += fault.rows_lost
            numbers.lose(fault)

        _write_batches(folder, reader.batches(source, report, on_progress), numbers)
        _write_label_ids(folder, reader)
        describe(folder, reader.n_features, reader.n_labels, reader.label_names, skipped, reader.columns)

    return built(target, build)


def cache_key(source: Path, name: str, options: ReadOptions) -> str:
    """Return a name that changes with the files, the format, the options and the reader."""
    files = [_identity(file) for file in (source, options.label_file) if file is not None]
    facts = [READER_VERSION, files, name, options.on_error, options.n_features, options.n_labels]
    facts += [names_digest(options.label_names), options.columns.to_dict(), options.with_labels]
    facts.append(None if options.text is None else options.text.to_dict())
    return f"{source.name.split('.')[0]}-{hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:24]}"


def _identity(file: Path) -> list[str | int]:
    with file_errors(file):
        status = file.stat()
    # ctime and inode: tools that copy or restore files set the mtime back
    return [str(file.absolute()), status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino]


def _raise_unless_skipped(fault: Fault, source: Path, options: ReadOptions) -> None:
    if options.on_error == "stop" or fault.rows_lost == 0:
        raise DataFileError(fault.file or source, fault.line, fault.message, fault.column)


def _write_batches(folder: Path, batches: Iterator[Batch], numbers: RowNumbers) -> None:
    """Write the features in their final form, and the labels as they are in the file."""
    with ExitStack() as files:
        opened: dict[str, NpyAppender] = {}

        def append(name: str, dtype: type[np.generic], values: AnyArray) -> None:
            if name not in opened:
                width = values.shape[1] if values.ndim == 2 else None
                opened[name] = files.enter_context(NpyAppender(folder / f"{name}.npy", dtype, width))
            opened[name].append(values)

        n_features = n_labels = n_rows = 0  # written so far
        append("labels-indptr", np.int64, np.zeros(1, np.int64))
        for batch in chain(batches, [_NO_ROWS]):  # so that a file without rows has all arrays
            append("labels-indptr", np.int64, n_labels + np.cumsum(batch.label_counts))
            n_labels += len(batch.labels)
            append("labels-raw", np.int64, batch.labels)
            counts = np.ones(len(batch.labels), np.float32) if batch.label_values is None else batch.label_values
            append("labels-counts", np.float32, counts)
            if batch.weights is not None or "weights" in opened:
                if "weights" not in opened:  # rows before the first that has one
                    append("weights", np.float32, np.ones(n_rows, np.float32))
                given = batch.weights
                append("weights", np.float32, np.ones(len(batch.lines), np.float32) if given is None else given)
            found, expected = numbers.of(batch), np.arange(n_rows, n_rows + len(batch.lines))
            if dataset_folder.ROW_NUMBERS in opened or not np.array_equal(found, expected):
                if dataset_folder.ROW_NUMBERS not in opened:  # rows before the first that was skipped
                    append(dataset_folder.ROW_NUMBERS, np.int64, np.arange(n_rows))
                append(dataset_folder.ROW_NUMBERS, np.int64, found)
            n_rows += len(batch.lines)
            if batch.dense is not None:
                append("features", np.float32, batch.dense)
            if "features" in opened:
                continue
            if "features-indptr" not in opened:
                append("features-indptr", np.int64, np.zeros(1, np.int64))
            append("features-indptr", np.int64, n_features + np.cumsum(batch.feature_counts))
            n_features += len(batch.features)
            append("features-indices", np.int32, batch.features)
            append("features-values", np.float32, batch.values)


def _write_label_ids(folder: Path, reader: Reader) -> None:
    """Convert the labels of the file to ids, sorted within a row."""
    indptr, raw = map_array(folder / "labels-indptr.npy"), map_array(folder / "labels-raw.npy")
    counts = map_array(folder / "labels-counts.npy")
    with (
        NpyAppender(folder / "labels-indices.npy", np.int32) as indices,
        NpyAppender(folder / "labels-values.npy", np.float32) as values,
    ):
        for start in range(0, len(indptr) - 1, _ROWS):
            offsets = indptr[start : start + _ROWS + 1]
            ids, each = (part[offsets[0] : offsets[-1]] for part in (raw, counts))
            ids = reader.label_ids(ids)
            order = row_order(np.diff(offsets), ids)
            indices.append(ids if order is None else ids[order])
            values.append(each if order is None else each[order])
    (folder / "labels-raw.npy").unlink()
    (folder / "labels-counts.npy").unlink()


def read_texts(
    source: Path, name: str, options: ReadOptions, on_progress: OnProgress | None = None
) -> Iterator[Sequence[str]]:
    """Yield the texts of the training rows in batches, for a vocabulary to learn from.

    These are the rows of `read_dataset` without those of weight 0; `options.text` is not used.
    """
    recorder = _TextRecorder()
    recording = ReadOptions(options.on_error, columns=options.columns, text=recorder, with_labels=options.with_labels)

    def report(fault: Fault) -> None:
        _raise_unless_skipped(fault, source, options)

    for batch in open_reader(name, recording).batches(source, report, on_progress):
        if batch.weights is None:
            yield recorder.texts
        else:
            yield list(compress(recorder.texts, (batch.weights > 0.0).tolist()))


class _TextRecorder:
    """A vectorizer that keeps the last texts and returns empty rows; readers pass it the texts of good rows only."""

    n_features = 1

    def __init__(self) -> None:
        self.texts: Sequence[str] = ()

    def to_dict(self) -> dict[str, Any]:
        return {}

    def arrays(self) -> dict[str, AnyArray]:
        return {}

    def transform(self, texts: Sequence[str]) -> SparseRows:
        self.texts = texts
        return SparseRows(np.zeros(len(texts) + 1, np.int64), np.zeros(0, np.int32), np.zeros(0, np.float32), 1)
