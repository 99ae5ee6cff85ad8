"""read_dataset: a file, chunk by chunk, into a folder of arrays; memory stays bounded whatever the file's size."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path

import numpy as np

from xmach.data import folders
from xmach.data.dataset import Dataset
from xmach.data.formats import READERS, Reader, resolve_format
from xmach.data.lines import ProgressHandler, file_errors, line_chunks
from xmach.data.names import names_digest
from xmach.data.npy import NpyAppender, map_array
from xmach.data.options import OnError, ReadOptions
from xmach.data.rows import Batch, Fault, row_order
from xmach.errors import DataFileError, DataFileMissing

READER_VERSION = 1  # part of the cache key: raise it when the same file would read differently
_ROWS = 1 << 16  # rows whose labels get their ids at a time


def read_dataset(
    path: str | os.PathLike[str],
    format: str = "auto",
    *,
    on_error: OnError = "stop",
    n_features: int | None = None,
    label_names: Sequence[str] | None = None,
    n_labels: int | None = None,
    cache: str | os.PathLike[str] | None = None,
    progress: ProgressHandler | None = None,
) -> Dataset:
    """Read a data file; with a `cache` folder the result is memory-mapped from there, and read only once.

    `n_features`, `n_labels` and `label_names` are those of the model that the rows are for. With `on_error="skip"` bad
    rows are dropped and counted in `Dataset.skipped`; a bad header, or a damaged file, is an error all the same.
    """
    options = ReadOptions(on_error, n_features, n_labels, label_names)
    source = Path(path)
    name = resolve_format(source, format)
    if cache is None:
        with tempfile.TemporaryDirectory(prefix="xmach-") as temporary, file_errors(temporary):
            _build(Path(temporary), source, name, options, progress)
            return Dataset.open(temporary, in_memory=True)
    target = Path(cache) / _cache_key(source, name, options)
    try:
        return Dataset.open(target)
    except DataFileError:
        _set_aside(target)
    with folders.staging(target) as temporary_folder:
        fingerprint = _build(temporary_folder, source, name, options, progress)
        folders.publish(temporary_folder, target, fingerprint)
    return Dataset.open(target)


def _cache_key(source: Path, name: str, options: ReadOptions) -> str:
    """A name that changes with the file, the format, the options and the reader."""
    with file_errors(source):
        status = source.stat()
    file = [str(source.absolute()), status.st_size, status.st_mtime_ns]
    names = names_digest(options.label_names)
    facts = [READER_VERSION, *file, name, options.on_error, options.n_features, options.n_labels, names]
    return f"{source.name.split('.')[0]}-{hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:24]}"


def _set_aside(target: Path) -> None:
    """Remove what is no usable dataset; the rename first, so that no other process sees half of it."""
    if target.exists():
        # another process may be doing the same
        with suppress(DataFileMissing), folders.staging(target) as temporary:
            target.rename(temporary / "unusable")


def _build(folder: Path, source: Path, name: str, options: ReadOptions, progress: ProgressHandler | None) -> str:
    """Read a file into a folder; the fingerprint of what was read."""
    reader = READERS[name](options)
    skipped: Counter[str] = Counter()

    def report(fault: Fault) -> None:
        if options.on_error == "stop" or fault.rows_lost == 0:
            raise DataFileError(source, fault.line, fault.message, fault.column)
        skipped[fault.reason] += fault.rows_lost

    _write_batches(folder, reader.batches(line_chunks(source, progress), report))
    _write_label_ids(folder, reader)
    features = folders.read_sparse(folder, "features", reader.n_features)
    labels = folders.read_sparse(folder, "labels", reader.n_labels)
    dataset = Dataset(features, labels, reader.label_names, skipped=dict(skipped))
    folders.write_meta(folder, dataset)
    return dataset.fingerprint


def _write_batches(folder: Path, batches: Iterator[Batch]) -> None:
    """The features as they will stay, the labels as the file writes them."""
    with ExitStack() as files:

        def appender(name: str, dtype: type[np.generic]) -> NpyAppender:
            return files.enter_context(NpyAppender(folder / f"{name}.npy", dtype))

        feature_ends = appender("features-indptr", np.int64)
        features, values = appender("features-indices", np.int32), appender("features-values", np.float32)
        label_ends, labels = appender("labels-indptr", np.int64), appender("labels-raw", np.int64)
        feature_ends.append(np.zeros(1, np.int64))
        label_ends.append(np.zeros(1, np.int64))
        n_features = n_labels = 0  # written so far
        for batch in batches:
            feature_ends.append(n_features + np.cumsum(batch.feature_counts))
            label_ends.append(n_labels + np.cumsum(batch.label_counts))
            n_features += len(batch.features)
            n_labels += len(batch.labels)
            features.append(batch.features)
            values.append(batch.values)
            labels.append(batch.labels)


def _write_label_ids(folder: Path, reader: Reader) -> None:
    """Labels as the file writes them become ids, sorted within a row."""
    indptr, raw = map_array(folder / "labels-indptr.npy"), map_array(folder / "labels-raw.npy")
    with (
        NpyAppender(folder / "labels-indices.npy", np.int32) as indices,
        NpyAppender(folder / "labels-values.npy", np.float32) as values,
    ):
        for start in range(0, len(indptr) - 1, _ROWS):
            offsets = indptr[start : start + _ROWS + 1]
            ids = reader.label_ids(raw[offsets[0] : offsets[-1]])
            order = row_order(np.diff(offsets), ids)
            indices.append(ids if order is None else ids[order])
            values.append(np.ones(len(ids), np.float32))
    (folder / "labels-raw.npy").unlink()
