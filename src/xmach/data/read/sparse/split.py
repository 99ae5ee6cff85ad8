"""The XMC repository's split form: features in `trn_X_Xf.txt`, labels in `trn_X_Y.txt`.

Each file has a header, `N D` and `N K`, and then N lines `index:value index:value`; an empty line is a row without
features, or without labels. So row i is line i + 2 of both files, which have no comments. They are read side by side,
and a bad row in either is left out of both. The value of a label is its count or weight; a stored 0 is not a label.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from xmach._kernels.parse.sparse_rows import BARE
from xmach.data.options import ReadOptions
from xmach.data.read.labels import LabelsById
from xmach.data.read.lines import Chunk, line_chunks
from xmach.data.read.rows import MAX_COLUMNS, Batch, Fault, FaultHandler, Row, RowError
from xmach.data.read.sparse.exact import line_text, parse_line
from xmach.data.read.sparse.fast import RowParser
from xmach.data.read.sparse.side_by_side import Lane, join
from xmach.data.read.sparse.xmc import BAD_HEADER, header_numbers
from xmach.types import OnProgress

_HEADER = re.compile(r"[ \t]*[+-]?[0-9]+[ \t]+[+-]?[0-9]+[ \t]*")


def looks_like_split(content: bytes) -> bool:
    """Return whether a first line is a header of two numbers."""
    return _HEADER.fullmatch(content.decode("utf-8", "replace")) is not None


class BareRules:
    """Columns are below the number in the header; rows have no labels."""

    form, n_labels = BARE, 0

    def __init__(self, n_columns: int, what: str) -> None:
        self.n_features = n_columns
        self.feature_bound = f"the header says {n_columns} {what}, so the last is {n_columns - 1}"

    def row(self, content: bytes) -> Row:
        """Indices and values."""
        return parse_line(line_text(content), self)


class SplitFile:
    """One of the two files; its sizes are known once the first part has been read. `beside` is the feature file."""

    def __init__(self, path: Path, what: str, given: int | None, beside: SplitFile | None = None) -> None:
        self.path, self._what, self._given, self._beside = path, what, given, beside
        self._file = None if beside is None else path  # as faults have it
        self.n_rows: int | None = None  # None: no header that can be read
        self.n_columns = 0

    def parts(self, report: FaultHandler, on_progress: OnProgress | None = None) -> Iterator[tuple[int, Batch]]:
        """Yield the number of rows of each part, good or bad, and the batch of good ones with the faults of others."""
        parser: RowParser | None = None
        line = 1
        for chunk in line_chunks(self.path, on_progress):
            body = chunk
            if parser is None:
                header, _, rest = chunk.data.partition(b"\n")
                self._take_header(header.removesuffix(b"\r"), report)
                parser = RowParser(BareRules(MAX_COLUMNS if self.n_rows is None else self.n_columns, self._what))
                line, body = 2, Chunk(2, rest)
            kept = self._within(body, report)
            for batch in parser.parse(kept) if kept.data else ():
                faults = [fault._replace(file=self._file) for fault in batch.faults]
                batch.faults[:] = faults
                yield len(batch.lines) + len(faults), batch
            line = kept.first_line + kept.data.count(b"\n")
        if parser is None:
            report(self._fault(1, BAD_HEADER, f"empty file; expected a header of the numbers of rows and {self._what}"))
        elif self.n_rows is not None and line - 2 < self.n_rows:
            message = f"the header says {self.n_rows} rows, but {line - 2} are there: file cut off?"
            report(self._fault(line - 1, "wrong number of rows", message))

    def _fault(self, line: int, reason: str, message: str) -> Fault:
        """Return a fault of the whole file, which cannot be skipped."""
        return Fault(line, reason, message, rows_lost=0, file=self._file)

    def _take_header(self, content: bytes, report: FaultHandler) -> None:
        try:
            text = line_text(content)
            if _HEADER.fullmatch(text) is None:
                message = f"{text[:60]!r} is not a header: expected two whole numbers, of rows and {self._what}"
                raise RowError(BAD_HEADER, message)
            self.n_rows, self.n_columns = header_numbers(text, ("rows", None), (self._what, self._given))
            other = self._beside
            if other is not None and other.n_rows not in (None, self.n_rows):
                message = f"the header says {self.n_rows} rows, but that of {other.path} says {other.n_rows}"
                raise RowError(BAD_HEADER, message)
        except RowError as error:
            report(error.at(1)._replace(rows_lost=0, file=self._file))

    def _within(self, chunk: Chunk, report: FaultHandler) -> Chunk:
        """Return the lines that the header counts; lines after them must be blank."""
        last = chunk.first_line + chunk.data.count(b"\n") - 1
        if self.n_rows is None or last <= self.n_rows + 1:
            return chunk
        lines = chunk.data.split(b"\n")[:-1]
        n_kept = max(0, self.n_rows + 2 - chunk.first_line)
        for line, raw in enumerate(lines[n_kept:], chunk.first_line + n_kept):
            if raw.strip(b" \t\r"):
                report(self._fault(line, "wrong number of rows", f"more rows than the header says: {self.n_rows}"))
                break
        return Chunk(chunk.first_line, b"".join(raw + b"\n" for raw in lines[:n_kept]))


class SplitReader(LabelsById):
    """Reads both files; sizes are known once the first batch has been read."""

    def __init__(self, options: ReadOptions) -> None:
        self._options = options
        self._features: SplitFile | None = None
        self._labels: SplitFile | None = None

    @property
    def n_features(self) -> int:
        """D; 0 if the header cannot be read."""
        return 0 if self._features is None else self._features.n_columns

    @property
    def n_labels(self) -> int:
        """K; without a label file, that of the model."""
        return (self._options.known_labels or 0) if self._labels is None else self._labels.n_columns

    def batches(self, path: Path, report: FaultHandler, on_progress: OnProgress | None = None) -> Iterator[Batch]:
        """Yield the rows that are good in both files; faults are reported in order of rows."""
        self._features = features = SplitFile(path, "features", self._options.n_features)
        parts = features.parts(report, on_progress)
        if not self._options.with_labels or self._options.label_file is None:
            for _, batch in parts:
                for fault in batch.faults:
                    report(fault)
                yield batch
            return
        self._labels = labels = SplitFile(self._options.label_file, "labels", self._options.known_labels, features)
        lanes = Lane(parts, 2), Lane(labels.parts(report), 2)
        while min(lane.fill() for lane in lanes):  # not lazily: both headers must be checked
            stop = min(lane.end for lane in lanes)
            batch = join(lanes[0].take(stop), lanes[1].take(stop), labels.path)
            for fault in batch.faults:
                report(fault)
            yield batch
        for lane in lanes:
            for fault in lane.rest():
                report(fault)
