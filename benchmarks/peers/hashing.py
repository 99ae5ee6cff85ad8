"""Texts as hashed rows that lie in mapped files: what a model needs beside its rows is then its private memory."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from xmach.data.npy import NpyAppender, map_array
from xmach.features import HashedText
from xmach.types import SparseRows, row_batches

_TEXTS = 1 << 15  # hashed at a time


def hashed_rows(text: HashedText, texts: Sequence[str], folder: Path) -> SparseRows:
    """The rows of texts, as `text.transform` makes them. Their files have no name any more and go with the process:
    a model's folder is weighed."""
    indptr = np.zeros(len(texts) + 1, np.int64)
    with tempfile.TemporaryDirectory(dir=folder) as place:
        columns, values = Path(place) / "columns.npy", Path(place) / "values.npy"
        with NpyAppender(columns, np.int32) as to_columns, NpyAppender(values, np.float32) as to_values:
            for start, stop in row_batches(len(texts), _TEXTS):
                rows = text.transform(texts[start:stop])
                indptr[start + 1 : stop + 1] = indptr[start] + rows.indptr[1:]
                to_columns.append(rows.indices)
                to_values.append(rows.values)
        return SparseRows(indptr, map_array(columns), map_array(values), text.n_features)
