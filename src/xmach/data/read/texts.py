"""The texts of a table, for whoever learns from them before they are made into rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import compress
from pathlib import Path
from typing import Any

import numpy as np

from xmach.data.options import ReadOptions
from xmach.data.read.formats import open_reader
from xmach.data.read.lines import ProgressHandler
from xmach.data.read.rows import Fault
from xmach.errors import DataFileError
from xmach.types import AnyArray, SparseRows


def read_texts(
    source: Path, name: str, options: ReadOptions, progress: ProgressHandler | None = None
) -> Iterator[Sequence[str]]:
    """The texts of the rows that are trained on, in order, some at a time: those that `read_dataset` would give, but
    for rows of weight 0; `options.text` is not asked."""
    heard = _Heard()
    told = ReadOptions(options.on_error, columns=options.columns, text=heard, with_labels=options.with_labels)

    def report(fault: Fault) -> None:
        if options.on_error == "stop" or fault.rows_lost == 0:
            raise DataFileError(fault.file or source, fault.line, fault.message, fault.column)

    for batch in open_reader(name, told).batches(source, report, progress):
        heavy = None if batch.weights is None else (batch.weights > 0.0).tolist()
        yield heard.texts if heavy is None else list(compress(heard.texts, heavy))


class _Heard:
    """Makes empty rows of texts and remembers the texts: readers hand over those of good rows only."""

    n_features = 1

    def __init__(self) -> None:
        self.texts: Sequence[str] = ()

    def to_dict(self) -> dict[str, Any]:
        return {}

    def arrays(self) -> dict[str, AnyArray]:
        return {}

    def transform(self, texts: Sequence[str]) -> SparseRows:
        self.texts = texts
        return SparseRows(np.zeros(len(texts) + 1, np.int64), np.zeros(0, np.int32), np.zeros(0, np.float32), 1)
