"""The common part of svmlight and Vowpal Wabbit: no header, integer labels, columns numbered as in the file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from xmach.data.options import ReadOptions
from xmach.data.read.labels import LabelsByTable
from xmach.data.read.lines import line_chunks
from xmach.data.read.rows import Batch, Fault, FaultHandler, Rules
from xmach.data.read.sparse.fast import RowParser
from xmach.data.read.sparse.integer_labels import IntegerLabels
from xmach.types import OnProgress


class HeaderlessReader(LabelsByTable):
    """Reads one file; sizes and label ids are known once all batches have been read."""

    columns = None  # not a table

    def __init__(self, options: ReadOptions, rules: Rules, expected: str) -> None:
        self._options, self._row_rules, self._expected = options, rules, expected
        self._labels: IntegerLabels = IntegerLabels(options)
        self._largest = -1  # the largest column so far

    @property
    def n_features(self) -> int:
        """The model's width, or one more than the largest column."""
        return self._largest + 1 if self._options.n_features is None else self._options.n_features

    def batches(self, path: Path, report: FaultHandler, on_progress: OnProgress | None = None) -> Iterator[Batch]:
        """Yield the rows; faults are reported in order of lines."""
        parser, empty = RowParser(self._row_rules), True
        for chunk in line_chunks(path, on_progress):
            for batch in parser.parse(chunk):
                empty = empty and not (len(batch.lines) or batch.faults)
                for fault in batch.faults:
                    report(fault)
                self._labels.add(batch.labels)
                self._largest = max(self._largest, int(batch.features.max(initial=-1)))
                yield batch
        if empty:
            report(Fault(1, "empty file", f"empty file; {self._expected}", rows_lost=0))
