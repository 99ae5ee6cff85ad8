"""Tables with a column of labels and one of their texts, such as products and titles."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from xmach.data.dataset import Dataset
from xmach.data.options import Columns, OnError, ReadOptions
from xmach.data.read.formats import TABLES, open_reader, resolve_format
from xmach.data.read.reading import read_dataset
from xmach.errors import DataFileError, ParameterError
from xmach.types import Int32Array, OnProgress, SparseRows, TextRows, shortened

LABEL_TEXT_COLUMNS = Columns(text=("text",), labels="label")


def read_label_texts(
    path: str | os.PathLike[str],
    text: TextRows,
    *,
    columns: Columns = LABEL_TEXT_COLUMNS,
    on_error: OnError = "stop",
    cache: str | os.PathLike[str] | None = None,
    on_progress: OnProgress | None = None,
) -> Dataset:
    """Read the texts of labels: one row per label, made by the vectorizer `text` of the training rows.

    A cell is one label, whole. Raise `DataFileError` if a row has no label or several, if a label has two rows, or if
    no text has a word. `on_error="skip"` drops rows that cannot be read, as in `read_dataset`, but none of these.
    """
    source = Path(path)
    name = _table_format(source)
    try:
        texts = read_dataset(
            source, name, columns=columns, text=text, on_error=on_error, cache=cache, on_progress=on_progress
        )
    except DataFileError as error:
        if not error.message.startswith("there is no column"):
            raise
        hint = "name the columns of the labels and the texts with --label-text-columns product,title"
        hint += ", or 0,1 if there is no header"
        raise DataFileError(source, error.line, f"{error.message.partition('; name')[0]}; {hint}") from None
    _check(texts, source, name, on_error)
    return texts


def _table_format(source: Path) -> str:
    try:
        name = resolve_format(source, "auto")
    except DataFileError as error:
        if not error.message.startswith("cannot tell the format"):
            raise
        message = "cannot tell the format: let the name end with .csv, .tsv, .jsonl or .parquet"
        raise DataFileError(source, None, message) from None
    if name not in TABLES:
        raise ParameterError(f"texts of labels are a table ({', '.join(TABLES)}); {source} is {name}")
    return name


def _check(texts: Dataset, source: Path, name: str, on_error: OnError) -> None:
    """Raise DataFileError unless every row has one label, every label one row, and some row a word."""
    assert texts.columns is not None
    counts = np.diff(texts.labels.indptr)
    if len(odd := np.flatnonzero(counts != 1)):
        row = int(odd[0])
        what = "no label" if counts[row] == 0 else f"{counts[row]} labels"
        line, place = _places(source, name, texts.columns, on_error, [row])[0]
        raise DataFileError(source, line, f"{place}{what} in column {texts.columns.labels!r}; a text has one label")
    if (pair := _first_repeat(texts.labels.indices)) is not None:
        assert texts.label_names is not None
        label = shortened(texts.label_names[int(texts.labels.indices[pair[0]])])
        (first, before), (line, place) = _places(source, name, texts.columns, on_error, list(pair))
        where = before.removesuffix(": ") or f"line {first}"
        message = f"{place}the label {label} has a text already, in {where}; leave one of them out, or join them"
        raise DataFileError(source, line, message)
    assert isinstance(texts.features, SparseRows)
    if not texts.features.nnz:
        columns = " and ".join(map(repr, texts.columns.text))
        message = f"none of its {texts.n_rows} texts has a word: is {columns} the column of the texts?"
        raise DataFileError(source, None, message)


def _first_repeat(labels: Int32Array) -> tuple[int, int] | None:
    """Return the first row whose label an earlier row has, after that row; None if there is none."""
    order = np.argsort(labels, kind="stable")
    again = np.flatnonzero(labels[order[1:]] == labels[order[:-1]])
    if not len(again):
        return None
    place = again[np.argmin(order[again + 1])]
    return int(order[place]), int(order[place + 1])


def _places(
    source: Path, name: str, columns: Columns, on_error: OnError, rows: list[int]
) -> list[tuple[int | None, str]]:
    """Return the line of each row in the file, or the beginning of a message if the file has no lines."""
    reader, done = open_reader(name, ReadOptions(on_error, columns=columns)), 0
    found: dict[int, tuple[int | None, str]] = {}
    for batch in reader.batches(source, lambda fault: None):
        for row in rows:
            if done <= row < done + len(batch.lines):
                line = int(batch.lines[row - done])
                found[row] = (line, "") if batch.rows is None else (None, f"row {line} (counted from 0): ")
        done += len(batch.lines)
    return [found[row] for row in rows]
