"""Answers to a file: JSON lines or Parquet, a batch of rows at a time."""

from __future__ import annotations

import json
import os
import sys
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol, TextIO

import pyarrow as pa
import pyarrow.parquet as pq

from xmach.types import TopK


class Answers(Protocol):
    """Takes answers batch by batch."""

    def write(self, first_row: int, best: TopK) -> None:
        """Write the answers of consecutive rows, the first of them numbered `first_row`."""


@contextmanager
def open_answers(path: Path | None) -> Iterator[Answers]:
    """A writer to a file, Parquet where its name ends so, otherwise JSON lines; None: JSON lines to stdout.

    A file gets its name when it is whole: what fails half-way leaves none.
    """
    if path is None:
        yield _JsonLines(sys.stdout)
        return
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}.part")
    try:
        if path.suffix == ".parquet":
            with _Parquet(temporary) as parquet:
                yield parquet
        else:
            with temporary.open("w", encoding="utf-8") as file:
                yield _JsonLines(file)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


class _JsonLines:
    def __init__(self, file: TextIO) -> None:
        self._file = file

    def write(self, first_row: int, best: TopK) -> None:
        # str of a float32 is the shortest text that reads back as the same float32
        for i, (labels, scores) in enumerate(zip(best.labels.tolist(), best.scores, strict=True)):
            names = json.dumps(labels, ensure_ascii=False)
            numbers = ", ".join(str(score) for score in scores)
            self._file.write(f'{{"row": {first_row + i}, "labels": {names}, "scores": [{numbers}]}}\n')


_EMPTY = pa.schema([("row", pa.int64()), ("labels", pa.list_(pa.string())), ("scores", pa.list_(pa.float32()))])


class _Parquet:
    def __init__(self, path: Path) -> None:
        self._path = path
        self._writer: pq.ParquetWriter | None = None

    def __enter__(self) -> _Parquet:
        return self

    def write(self, first_row: int, best: TopK) -> None:
        rows = pa.array(range(first_row, first_row + len(best.ids)), pa.int64())
        lists = [pa.array(part.tolist()) for part in (best.labels, best.scores.astype("float64"))]
        table = pa.table({"row": rows, "labels": lists[0], "scores": lists[1].cast(pa.list_(pa.float32()))})
        if self._writer is None:
            self._writer = pq.ParquetWriter(self._path, table.schema)
        self._writer.write_table(table)

    def __exit__(self, *error: object) -> None:
        if self._writer is None:  # there was no row to answer
            self._writer = pq.ParquetWriter(self._path, _EMPTY)
        self._writer.close()
