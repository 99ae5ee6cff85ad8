"""Predictions to a file: JSON lines or Parquet, a batch of rows at a time."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, Protocol, TextIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from xmach.data.write.json_texts import encode_json, json_texts, json_values, text_bytes
from xmach.errors import ParameterError
from xmach.files import atomic_file
from xmach.types import AnyArray, BoolArray, FloatArray, IntArray, TopK

_FEW_ROWS = 1000  # fewer at a time are written without Arrow's functions


class Answers(Protocol):
    """Writes predictions batch by batch; places without a label (id -1) are left out."""

    def write(self, rows: IntArray | range, best: TopK) -> None:
        """Write the predictions of some rows, each with its row number."""


@contextmanager
def open_answers(path: Path | None) -> Iterator[Answers]:
    """A writer to a file, Parquet where its name ends so, otherwise JSON lines; None: JSON lines to stdout.

    A file gets its name when it is complete. Raises ParameterError at once if no file can be written there.
    """
    if path is None:
        yield _JsonLines(sys.stdout)
        return
    _check_place(path)
    with atomic_file(path) as new:
        if path.suffix == ".parquet":
            with _Parquet(new) as parquet:
                yield parquet
        else:
            with new.open("w", encoding="utf-8") as file:
                yield _JsonLines(file)


def _check_place(path: Path) -> None:
    problem = None
    folder = (path.resolve() if path.is_symlink() else path).parent
    if path.is_dir():
        problem = "this is a folder; name a file in it"
    elif path.exists() and not path.is_file():  # a pipe or a device
        pass
    elif not folder.is_dir():
        problem = f"there is no folder {folder}"
    elif not os.access(folder, os.W_OK):
        problem = f"no permission to write in the folder {folder}"
    if problem is not None:
        raise ParameterError(f"answers cannot be written to {path}: {problem}")


class _JsonLines:
    """Builds the lines of a batch with Arrow.

    With ten labels per row this takes 2.0 us per row for ids and 6 for names; Python alone takes 5.3 and 9. But these
    functions of Arrow import pandas if it is installed, which takes as long as writing 50,000 rows.
    """

    def __init__(self, file: TextIO) -> None:
        self._file = file

    def write(self, rows: IntArray | range, best: TopK) -> None:
        there = best.ids >= 0  # (n, k)
        if len(there) < _FEW_ROWS:
            self._file.writelines(_lines(rows, best, there))
            return
        numbers = _arrow_numbers(np.asarray(rows, np.int64)).cast(pa.string())
        labels, scores = _quoted(_typed(best.labels[there])), _numbers(best.scores[there])
        lists = [pc.binary_join(_lists(there, values), ", ") for values in (labels, scores)]
        texts = ['{"row": ', numbers, ', "labels": [', lists[0], '], "scores": [', lists[1], "]}\n", ""]
        lines = pc.binary_join_element_wise(*texts)
        self._file.write(text_bytes(lines).decode())


def _lines(rows: IntArray | range, best: TopK, there: BoolArray) -> Iterator[str]:
    """Build the same lines one at a time; scores are formatted by Arrow here, too."""
    labels, scores = map(encode_json, _plain(best.labels[there])), best.scores[there]
    texts = _arrow_numbers(scores).cast(pa.string()).to_pylist()
    numbers = (text if finite else "null" for text, finite in zip(texts, np.isfinite(scores), strict=True))
    for row, count in zip(rows, np.count_nonzero(there, axis=1), strict=True):
        lists = [", ".join(islice(values, count)) for values in (labels, numbers)]
        yield f'{{"row": {row}, "labels": [{lists[0]}], "scores": [{lists[1]}]}}\n'


def _quoted(labels: pa.Array) -> pa.Array:
    """Encode labels as JSON."""
    if pa.types.is_integer(labels.type):
        return labels.cast(pa.string())
    return json_texts(labels) if pa.types.is_string(labels.type) else json_values(labels)


class _Parquet:
    def __init__(self, path: Path) -> None:
        self._path = path
        self._writer: Any = None

    def __enter__(self) -> _Parquet:
        return self

    def write(self, rows: IntArray | range, best: TopK) -> None:
        there = best.ids >= 0
        labels, scores = _typed(best.labels[there]), pa.array(best.scores[there], pa.float32())
        self._open(labels.type).write_table(
            pa.table(
                {"row": np.asarray(rows, np.int64), "labels": _lists(there, labels), "scores": _lists(there, scores)}
            )
        )

    def _open(self, labels: pa.DataType) -> Any:
        """Open the writer; all labels of a model have one type, so the first batch decides."""
        import pyarrow.parquet as pq  # imported only if Parquet is written

        if self._writer is None:
            fields = [("row", pa.int64()), ("labels", pa.list_(labels)), ("scores", pa.list_(pa.float32()))]
            self._writer = pq.ParquetWriter(self._path, pa.schema(fields))
        return self._writer

    def __exit__(self, *error: object) -> None:
        self._open(pa.string()).close()  # without any row, the type of labels is unknown: text


def _typed(labels: AnyArray) -> pa.Array:
    """Convert labels to numbers, booleans or text by the type of the array, not by the values in this batch."""
    if labels.dtype.kind in "iufb":
        return pa.array(labels)
    if labels.dtype.kind == "U":  # as a list: given the array itself, Arrow ends a text at its first NUL
        return pa.array(labels.tolist(), pa.string())
    try:
        texts = pa.array(labels, pa.string())
    except pa.ArrowTypeError:  # not all are text
        texts = None
    return texts if texts is not None and not texts.null_count else pa.array([str(label) for label in labels])


def _plain(labels: AnyArray) -> list[Any]:
    """Return the same as plain values."""
    values: list[Any] = labels.tolist()
    if labels.dtype.kind in "iufbU" or all(isinstance(value, str) for value in values):
        return values
    return [str(value) for value in values]


def _lists(there: BoolArray, values: pa.Array) -> pa.ListArray:
    offsets = np.zeros(len(there) + 1, np.int32)
    np.cumsum(np.count_nonzero(there, axis=1), out=offsets[1:])
    return pa.ListArray.from_arrays(pa.array(offsets), values)


def _numbers(scores: FloatArray) -> pa.Array:
    """Format each as the shortest text that reads back as the same float32; NaN and infinity become null."""
    numbers = pa.array(scores, pa.float32())
    return pc.if_else(pc.is_finite(numbers), numbers.cast(pa.string()), "null")


def _arrow_numbers(array: AnyArray) -> pa.Array:
    """Convert a vector of numbers to an Arrow array, without a copy if it is contiguous.

    `pa.array`, and any Arrow function with a plain string as an argument, would import pandas if it is installed: a
    quarter of a second before the first answer.
    """
    values = np.ascontiguousarray(array)
    return pa.Array.from_buffers(pa.from_numpy_dtype(values.dtype), len(values), [None, pa.py_buffer(values)])
