"""Writing Parquet in our own form (`parquet_rows`), some rows at a time."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pyarrow as pa

from xmach.data.dataset import Dataset
from xmach.data.read.lines import file_errors
from xmach.data.read.tables import parquet_rows as own
from xmach.errors import InputError
from xmach.files import atomic_file
from xmach.types import AnyArray, FloatArray, IntArray, SparseRows, row_batches

_GROUP_NUMBERS = 1 << 22  # numbers in a row group, about: 16 MB
_CHECK_ROWS = 1 << 20


def write_parquet(dataset: Dataset, path: str | os.PathLike[str]) -> None:
    """Write Parquet that reads back as the same dataset, with names, counts and weights; atomic."""
    names = None if dataset.label_names is None else tuple(dataset.label_names)
    if names is not None and len(set(names)) != len(names):
        raise InputError("two labels have the same name; they would be indistinguishable in a file")
    sizes = own.Sizes(
        dataset.n_features,
        dataset.n_labels,
        dense=not isinstance(dataset.features, SparseRows),
        label_values=not _all_ones(dataset.labels.values),
        weights=dataset.weights is not None,
        label_names=names,
    )
    target = Path(path)
    with file_errors(target), atomic_file(target) as new, open_rows(new, sizes) as write:
        for start, stop in row_batches(dataset.n_rows, _rows_in_a_group(dataset)):
            write(dataset.slice(start, stop))


@contextmanager
def open_rows(path: Path, sizes: own.Sizes) -> Iterator[Callable[[Dataset], None]]:
    """A function that writes some rows of a dataset of these sizes; what it leaves is a file once this has ended."""
    import pyarrow.parquet as pq  # imported here: it takes 70 ms and megabytes, which no other writer needs

    schema = sizes.schema()
    names = None if sizes.label_names is None else pa.array(sizes.label_names, pa.string())
    with pq.ParquetWriter(path, schema, write_page_checksum=True) as writer:
        yield lambda part: writer.write_table(_table(part, schema, names))
        writer.add_key_value_metadata(sizes.to_metadata())


def _rows_in_a_group(dataset: Dataset) -> int:
    numbers = sum(array.size for array in dataset.arrays().values())
    return max(1, dataset.n_rows * _GROUP_NUMBERS // max(numbers, 1))


def _table(part: Dataset, schema: pa.Schema, names: pa.StringArray | None) -> pa.Table:
    """Convert some rows to a table."""
    labels = pa.array(np.asarray(part.labels.indices, np.int32))
    columns = {own.LABELS: _lists(part.labels.indptr, labels if names is None else names.take(labels))}
    if isinstance(part.features, SparseRows):
        columns[own.INDICES] = _lists(part.features.indptr, np.asarray(part.features.indices, np.int32))
        columns[own.VALUES] = _lists(part.features.indptr, np.asarray(part.features.values, np.float32))
    else:
        indptr = np.arange(part.n_rows + 1, dtype=np.int64) * part.n_features
        columns[own.DENSE] = _lists(indptr, np.ascontiguousarray(part.features, np.float32).reshape(-1))
    if own.LABEL_VALUES in schema.names:
        columns[own.LABEL_VALUES] = _lists(part.labels.indptr, np.asarray(part.labels.values, np.float32))
    if part.weights is not None:
        columns[own.WEIGHT] = pa.array(np.asarray(part.weights, np.float32))
    return pa.table([columns[name] for name in schema.names], schema=schema)


def _lists(indptr: IntArray, values: pa.Array | AnyArray) -> pa.ListArray:
    return pa.ListArray.from_arrays(pa.array(np.asarray(indptr, np.int32)), values)


def _all_ones(values: FloatArray) -> bool:
    """Return whether all are 1; checked in blocks, because they may be memory-mapped."""
    blocks = (values[start : start + _CHECK_ROWS] for start in range(0, len(values), _CHECK_ROWS))
    return all(bool(np.all(block == 1)) for block in blocks)
