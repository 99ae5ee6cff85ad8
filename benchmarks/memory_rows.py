"""Made-up rows for the memory benchmark, in memory and as files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from xmach.data import Dataset
from xmach.planning import DataSize, Shape
from xmach.types import SparseRows


def write_table(shape: Shape, data: DataSize, path: Path, own_words: bool = False) -> tuple[str, list[str]]:
    """A CSV file of numbers or of texts; its name, and the options that say what is what.

    With `own_words`, half of a text's words are those of a label.
    """
    draw = np.random.default_rng(0)
    labels = draw.integers(0, shape.n_labels, (data.n_rows, round(data.labels_per_row)))
    columns = [f"c{i}" for i in range(shape.n_features)] if data.source == "table" else ["text"]
    with path.open("w", encoding="utf-8") as file:
        file.write(",".join([*columns, "labels"]) + "\n")
        for row in labels.tolist():
            if data.source == "table":
                cells = ",".join(f"{number:.4f}" for number in draw.random(shape.n_features))
            else:
                words = [f"{word:06x}" for word in draw.zipf(1.3, 6 if own_words else 12) % 2**24]
                cells = " ".join([*(words_of(row[0]) if own_words else []), *words])
            file.write(f"{cells},{'|'.join(map(str, row))}\n")
    options = ["--label-separator", "|", *(["--text", "text"] if data.source == "text" else [])]
    return path.name, options


def words_of(label: int) -> list[str]:
    """The six words that are a label's own, as its title has them."""
    return [f"{(label * 40_503 + place * 7919) % 5003:04d}w{place}" for place in range(6)]


def write_titles(n_labels: int, path: Path) -> None:
    """A CSV file of labels and their titles."""
    lines = [f"{label},{' '.join(words_of(label))} of {label % 97}\n" for label in range(n_labels)]
    path.write_text("label,text\n" + "".join(lines), encoding="utf-8")


def drawn_rows(shape: Shape, data: DataSize, n_rows: int, seed: int) -> Dataset:
    """Rows with exactly the planned number of values and labels, drawn evenly."""
    draw = np.random.default_rng(seed)
    features = _sparse(draw, n_rows, shape.n_features, round(data.nonzeros_per_row))
    return Dataset(features, _sparse(draw, n_rows, shape.n_labels, round(data.labels_per_row)))


def showing_labels(rows: Dataset) -> Dataset:
    """The rows with every second value in a column that belongs to one of the row's labels."""
    draw, features = np.random.default_rng(2), rows.features
    assert isinstance(features, SparseRows)
    shape = (rows.n_rows, features.nnz // rows.n_rows)
    edges = np.linspace(0, rows.n_features, shape[1] + 1).astype(np.int64)
    labels = rows.labels.indices.reshape(rows.n_rows, -1).astype(np.int64)
    shown = np.take_along_axis(labels, draw.integers(0, labels.shape[1], shape), axis=1)  # (n, each)
    own = edges[:-1] + (shown * 2_654_435_761 + np.arange(shape[1]) * 40_503) % 2**31 % np.diff(edges)
    columns = np.where(draw.random(shape) < 0.5, own, features.indices.reshape(shape))
    return replace(rows, features=replace(features, indices=columns.ravel().astype(np.int32)))


def _sparse(draw: np.random.Generator, n_rows: int, n_columns: int, each: int) -> SparseRows:
    """One column from each of as many equal stretches: distinct and sorted, and in time every one of them."""
    edges = np.linspace(0, n_columns, each + 1).astype(np.int64)
    columns = edges[:-1] + draw.integers(0, np.diff(edges), (n_rows, each))  # (n, each)
    indptr = np.arange(0, n_rows * each + 1, each)
    return SparseRows(indptr, columns.ravel().astype(np.int32), np.ones(n_rows * each, np.float32), n_columns)
