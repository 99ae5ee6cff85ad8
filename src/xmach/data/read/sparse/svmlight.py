"""svmlight and libsvm files: `3 1:0.5 7:1.2`, several labels as `1,4,9`, no header.

Labels are integers of any size; ids are assigned once all have been seen. Feature indices stay as they are, so a file
that counts from 1 leaves column 0 empty, and train and test files agree whichever way they count. If a test file may
have features that the training file lacks, pass `n_features` when training.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from xmach._kernels.parse.sparse_rows import ANY_INTEGER, PLAIN
from xmach.data.options import ReadOptions
from xmach.data.read.lines import first_line
from xmach.data.read.rows import MAX_COLUMNS, Batch, Fault, FaultHandler, Row
from xmach.data.read.sparse.exact import line_text, parse_line
from xmach.data.read.sparse.headerless import HeaderlessReader
from xmach.data.read.sparse.integer_labels import integer_label
from xmach.types import OnProgress

_ROW = re.compile(rb"([0-9+.,-]+|[0-9]+:[^ \t]+|(?=[ \t]))([ \t]+[^ \t:]+:[^ \t]*)*[ \t]*")
_LABELS = re.compile(rb"[+-]?[0-9]+(\.0*)?(,[+-]?[0-9]+(\.0*)?)*[ \t]*")
_XMC_HEADER = re.compile(rb"[ \t]*[0-9]+[ \t]+[0-9]+[ \t]+[0-9]+[ \t]*")


def looks_like_svmlight(content: bytes) -> bool:
    """Return whether a line has labels and features."""
    return b":" in content and _ROW.fullmatch(content) is not None


def is_only_labels(content: bytes) -> bool:
    """Return whether a line could be a row without features, which fits several formats."""
    return _LABELS.fullmatch(content) is not None


class SvmlightRules:
    """Labels are any integers; features are below the model's width, if known."""

    form, n_labels = PLAIN, ANY_INTEGER

    def __init__(self, n_features: int | None) -> None:
        self.n_features = MAX_COLUMNS if n_features is None else n_features
        self.feature_bound = f"at most {MAX_COLUMNS - 1} can be held"
        if n_features is not None:
            self.feature_bound = f"{n_features} features are expected, so the last is {n_features - 1}"

    def row(self, content: bytes) -> Row:
        """Labels and features."""
        return parse_line(line_text(content), self, integer_label)


class SvmlightReader(HeaderlessReader):
    """Reads one file; sizes and label ids are known once all batches have been read."""

    def __init__(self, options: ReadOptions) -> None:
        super().__init__(options, SvmlightRules(options.n_features), "expected rows such as '3 1:0.5 7:1.2'")

    def batches(self, path: Path, report: FaultHandler, on_progress: OnProgress | None = None) -> Iterator[Batch]:
        """Yield the rows; faults are reported in order of lines."""
        self._report_header(path, report)
        yield from super().batches(path, report, on_progress)

    @staticmethod
    def _report_header(path: Path, report: FaultHandler) -> None:
        """Report a header of the XMC format: as a bad row it could be skipped, which would hide the wrong format."""
        line, content = first_line(path) or (1, b"")
        if _XMC_HEADER.fullmatch(content):
            message = f"{content.decode()!r} looks like the header 'N D K' of the format 'xmc'; svmlight has none"
            report(Fault(line, "bad header", message, rows_lost=0))
