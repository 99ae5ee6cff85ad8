"""omikuji's label trees: rows are read apart from training on them, and labels are found row by row."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import omikuji

from xmach.data.write.xmc import xmc_header, xmc_text
from xmach.types import IntArray, SparseRows, row_batches

LINES = 4096  # written at a time


def write_rows(file: Path, batches: Iterable[tuple[SparseRows, SparseRows]], shape: tuple[int, int, int]) -> None:
    """Write the file that omikuji reads: batches of features and labels; `shape` is rows, features, labels."""
    with file.open("wb") as to:
        to.write(xmc_header(*shape))
        for features, labels in batches:
            to.write(xmc_text(features, labels))


def filled_batches(features: SparseRows) -> tuple[int, Iterator[IntArray]]:
    """Return how many rows have features, and these rows in batches: omikuji rejects a file with an empty row."""
    filled = np.flatnonzero(np.diff(features.indptr))
    return len(filled), (filled[start:stop] for start, stop in row_batches(len(filled), LINES))


class TreeTrainer:
    """Rows that omikuji has read from a file, and a thread to train on them.

    `Model.train_on_data` reads the file in the same call, so its time could not be measured apart.
    """

    def __init__(self, file: Path) -> None:
        self._pool = omikuji._ThreadPoolHandle(1)
        path = omikuji.ffi.new("char[]", str(file).encode())
        rows = omikuji.lib.load_omikuji_data_set(path, self._pool.ptr)
        if rows == omikuji.ffi.NULL:
            raise RuntimeError(f"omikuji cannot read {file}")
        self._rows = omikuji.ffi.gc(rows, omikuji.lib.free_omikuji_data_set)

    def train(self, **parameters: Any) -> omikuji.Model:
        """Grow the trees; `parameters` are those of omikuji that differ from its defaults."""
        chosen = omikuji.Model.default_hyper_param()
        for name, value in parameters.items():
            setattr(chosen, name, value)
        model = omikuji.lib.train_omikuji_model(self._rows, chosen, self._pool.ptr)
        if model == omikuji.ffi.NULL:
            raise RuntimeError("omikuji failed to train")
        return omikuji.Model(model)


def save_trees(model: omikuji.Model, folder: Path) -> None:
    """Write a model into a folder, which may exist."""
    folder.mkdir(exist_ok=True)
    model.save(str(folder))


def open_trees(folder: Path) -> omikuji.Model:
    """Read a model that will answer in one thread."""
    model = omikuji.Model.load(str(folder))
    model.init_prediction_thread_pool(1)
    return model


def find_labels(model: omikuji.Model, rows: SparseRows, beam: int, k: int) -> Iterator[list[tuple[int, float]]]:
    """Yield at most k labels of each row with their scores, best first; none for a row without features."""
    for i in range(rows.n_rows):
        columns, values = rows.row(i)
        pairs = list(zip(columns.tolist(), values.tolist(), strict=True))
        yield model.predict(pairs, beam, k) if pairs else []


def best_labels(model: omikuji.Model, rows: SparseRows, beam: int, k: int) -> IntArray:
    """Return the (n, k) labels of the leaves that the beams reach, best first; -1 if these are fewer than k."""
    best = np.full((rows.n_rows, k), -1, np.int64)
    for i, found in enumerate(find_labels(model, rows, beam, k)):
        best[i, : len(found)] = [label for label, _ in found]
    return best
