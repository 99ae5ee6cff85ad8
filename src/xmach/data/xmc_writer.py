"""Writing the format of the XMC repository."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pyarrow as pa

from xmach.data.dataset import Dataset
from xmach.data.lines import file_errors
from xmach.errors import InputError
from xmach.types import SparseRows, row_batches

_ROWS = 4096


def write_xmc(dataset: Dataset, path: str | os.PathLike[str]) -> None:
    """Write XMC text that reads back as the same rows; label names and row weights have no place in it."""
    features, labels = dataset.features, dataset.labels
    if not isinstance(features, SparseRows):
        raise InputError("the XMC format holds sparse rows; these features are a dense array")
    if not np.all(labels.values == 1):
        raise InputError("the XMC format has no place for label counts or weights other than 1")
    empty = np.flatnonzero((np.diff(features.indptr) == 0) & (np.diff(labels.indptr) == 0))
    if len(empty):
        raise InputError(f"row {empty[0]} has neither labels nor features: a blank line in the XMC format is no row")
    with file_errors(path), Path(path).open("w", encoding="ascii", newline="\n") as file:
        file.write(f"{dataset.n_rows} {dataset.n_features} {dataset.n_labels}\n")
        for start, stop in row_batches(dataset.n_rows, _ROWS):
            file.writelines(xmc_lines(features.slice(start, stop), labels.slice(start, stop)))


def xmc_lines(features: SparseRows, labels: SparseRows) -> list[str]:
    """Rows of sparse features and labels as lines of the format."""
    # Arrow writes the shortest decimal that is nearest to this float32 and to no other.
    values = pa.array(features.values).cast(pa.string()).to_pylist()
    tokens = [f"{index}:{value}" for index, value in zip(features.indices.tolist(), values, strict=True)]
    names = [str(label) for label in labels.indices.tolist()]
    lines = []
    for row in range(features.n_rows):
        first, last = features.indptr[row : row + 2]
        row_labels = ",".join(names[labels.indptr[row] : labels.indptr[row + 1]])
        lines.append(" ".join([row_labels, *tokens[first:last]]) + "\n")
    return lines
