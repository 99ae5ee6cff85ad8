"""The format of the XMC repository: a header `N D K`, then `l1,l2 f:v f:v`, everything counted from 0."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from xmach._kernels.parse.sparse_rows import PLAIN
from xmach.data.options import ReadOptions
from xmach.data.read.labels import LabelsById
from xmach.data.read.lines import Chunk, line_chunks, line_content
from xmach.data.read.rows import MAX_COLUMNS, Batch, Fault, FaultHandler, Row, RowError, whole_number
from xmach.data.read.sparse.exact import BLANK, line_text, parse_line
from xmach.data.read.sparse.fast import RowParser
from xmach.data.read.sparse.svmlight import looks_like_svmlight
from xmach.types import OnProgress

_HEADER = re.compile(r"[ \t]*[+-]?[0-9]+([ \t]+[+-]?[0-9]+){2}[ \t]*")
BAD_HEADER = "bad header"


def looks_like_xmc(content: bytes) -> bool:
    """Return whether a first line looks like a header, valid or not."""
    return _HEADER.fullmatch(content.decode("utf-8", "replace")) is not None


def header_numbers(text: str, *expected: tuple[str, int | None]) -> list[int]:
    """Parse the numbers of a header, given what each counts and how many are expected, if known; raises RowError."""
    numbers = text.split()
    for number, (what, given) in zip(numbers, expected, strict=True):
        if number.startswith("-"):
            raise RowError(BAD_HEADER, f"the header says {number} {what}: below 0")
        count = whole_number(number.lstrip("+"))
        if what != "rows" and count > MAX_COLUMNS:
            raise RowError(BAD_HEADER, f"the header says {number} {what}: at most {MAX_COLUMNS} are supported")
        if given is not None and given != count:
            raise RowError(BAD_HEADER, f"the header says {count} {what}, but {given} are expected")
    return [whole_number(number.lstrip("+")) for number in numbers]


class XmcRules:
    """Labels and features are below the numbers in the header."""

    form = PLAIN

    def __init__(self, n_features: int, n_labels: int) -> None:
        self.n_features, self.n_labels = n_features, n_labels
        self.feature_bound = f"the header says {n_features} features, so the last is {n_features - 1}"

    def row(self, content: bytes) -> Row:
        """Parse labels and features."""
        return parse_line(line_text(content), self, self._label)

    def _label(self, text: str) -> int:
        """Parse a whole number below K."""
        if re.fullmatch(r"-[0-9]+", text):
            raise RowError("bad label", f"label {text} is below 0")
        if not (text.isascii() and text.isdigit()):
            raise RowError("bad label", f"{text!r} is not a label; expected a whole number")
        label = whole_number(text)
        if label >= self.n_labels:
            message = f"label {text}: the header says {self.n_labels} labels, so the last is {self.n_labels - 1}"
            raise RowError("label too large", message)
        return label


class XmcReader(LabelsById):
    """Reads one file; sizes are known once the first batch has been read.

    Every data line counts towards the header's N, even if it is dropped, so that a skipped row is not also reported as
    a missing one. A blank line inside the data may count or not. If the number of rows still differs from the header,
    that is a bad header, which is never skipped.
    """

    def __init__(self, options: ReadOptions) -> None:
        self._options = options
        self._rules = XmcRules(MAX_COLUMNS, MAX_COLUMNS)  # used if the header cannot be read
        self._n_expected: int | None = None
        self._n_rows = self._n_blank = 0  # rows so far, good or bad; blank lines inside the data
        self._last_line = 1

    @property
    def n_features(self) -> int:
        """D; 0 if the header cannot be read."""
        return 0 if self._n_expected is None else self._rules.n_features

    @property
    def n_labels(self) -> int:
        """K; 0 if the header cannot be read."""
        return 0 if self._n_expected is None else self._rules.n_labels

    def batches(self, path: Path, report: FaultHandler, on_progress: OnProgress | None = None) -> Iterator[Batch]:
        """Yield the rows; faults are reported in order of lines."""
        parser = None
        for chunk in line_chunks(path, on_progress):
            body = chunk
            if parser is None:
                rest = self._take_header(chunk, report)
                if rest is None:  # nothing but comments so far
                    continue
                body, parser = rest, RowParser(self._rules)
            for batch in parser.parse(body) if body.data else ():
                for fault in self._count(batch):
                    report(fault)
                yield batch
        if parser is None:
            report(Fault(1, BAD_HEADER, "empty file; expected a header 'N D K'", rows_lost=0))
        elif self._n_expected is not None and self._n_rows + self._n_blank < self._n_expected:
            message = f"the header says {self._n_expected} rows, but {self._n_rows} are there: file cut off?"
            report(Fault(self._last_line, "wrong number of rows", message, rows_lost=0))

    def _take_header(self, chunk: Chunk, report: FaultHandler) -> Chunk | None:
        """Read the sizes; return the lines after the header, or None if a chunk has only comments."""
        start = 0
        for line, raw in enumerate(chunk.data.split(b"\n")[:-1], chunk.first_line):
            stop = start + len(raw) + 1
            content = line_content(raw)
            if content.strip(b" \t") or b"#" not in raw:
                self._last_line = line
                try:
                    self._n_expected = self._header(content)
                except RowError as error:
                    report(error.at(line)._replace(rows_lost=0))
                return Chunk(line + 1, chunk.data[stop:])
            start = stop
        return None

    def _header(self, content: bytes) -> int:
        """Record D and K, and return N; raises RowError."""
        if looks_like_svmlight(content):
            message = "no 'N D K' header; the line would fit the format 'svmlight'"
            raise RowError(BAD_HEADER, message)
        text = line_text(content)
        if _HEADER.fullmatch(text) is None:
            raise RowError(BAD_HEADER, f"{text[:60]!r} is not a header: expected three whole numbers 'N D K'")
        n_rows, n_features, n_labels = header_numbers(
            text, ("rows", None), ("features", self._options.n_features), ("labels", self._options.known_labels)
        )
        self._rules = XmcRules(n_features, n_labels)
        return n_rows

    def _count(self, batch: Batch) -> list[Fault]:
        """Return the faults of a batch, including that of the first row beyond the header's number."""
        bad = [fault.line for fault in batch.faults if fault.reason != BLANK]
        self._n_blank += sum(fault.rows_lost for fault in batch.faults if fault.reason == BLANK)
        lines = np.sort(np.concatenate([batch.lines, np.array(bad, np.int64)]))
        before, self._n_rows = self._n_rows, self._n_rows + len(lines)
        if len(lines):
            self._last_line = int(lines[-1])
        if self._n_expected is None or not before <= self._n_expected < self._n_rows:
            return batch.faults
        message = f"more rows than the header says: {self._n_expected}"
        extra = Fault(int(lines[self._n_expected - before]), "wrong number of rows", message, rows_lost=0)
        return sorted([*batch.faults, extra], key=lambda fault: fault.line or 0)
