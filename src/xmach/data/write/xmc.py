"""Datasets to the text format of the XMC repository."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from xmach.data.dataset import Dataset
from xmach.data.read.lines import file_errors
from xmach.data.write.json_texts import text_bytes
from xmach.errors import InputError
from xmach.files import atomic_file
from xmach.types import IntArray, SparseRows, row_batches

_ROWS = 4096


def write_xmc(dataset: Dataset, path: str | os.PathLike[str]) -> None:
    """Write XMC text that reads back as the same rows, all or nothing; it cannot hold label names and row weights."""
    features, labels = dataset.features, dataset.labels
    if not isinstance(features, SparseRows):
        raise InputError("the XMC format holds sparse rows; these features are a dense array")
    if not np.all(labels.values == 1):
        raise InputError("the XMC format cannot represent label counts or weights other than 1")
    empty = np.flatnonzero((np.diff(features.indptr) == 0) & (np.diff(labels.indptr) == 0))
    if len(empty):
        raise InputError(f"row {empty[0]} has neither labels nor features: a blank line is not a row in the XMC format")
    with file_errors(path), atomic_file(Path(path)) as new, new.open("wb") as file:
        file.write(xmc_header(dataset.n_rows, dataset.n_features, dataset.n_labels))
        for start, stop in row_batches(dataset.n_rows, _ROWS):
            file.write(xmc_text(features.slice(start, stop), labels.slice(start, stop)))


def xmc_header(n_rows: int, n_features: int, n_labels: int) -> bytes:
    """Return the first line of the format."""
    return f"{n_rows} {n_features} {n_labels}\n".encode()


def xmc_text(features: SparseRows, labels: SparseRows) -> bytes:
    """Format rows of sparse features and labels as lines."""
    # Arrow writes the shortest decimal that reads back as the same float32.
    columns, values = (pa.array(each).cast(pa.string()) for each in (features.indices, features.values))
    tokens = pc.binary_join_element_wise(" ", columns, ":", values, "")
    names = pa.array(labels.indices).cast(pa.string())
    return text_bytes(
        pc.binary_join_element_wise(_joined(labels.indptr, names, ","), _joined(features.indptr, tokens, ""), "\n", "")
    )


def _joined(indptr: IntArray, texts: pa.Array, separator: str) -> pa.Array:
    """Join the texts of each row."""
    return pc.binary_join(pa.ListArray.from_arrays(pa.array(np.asarray(indptr, np.int32)), texts), separator)
