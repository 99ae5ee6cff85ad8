"""Vowpal Wabbit's text: `LABEL [WEIGHT] ['TAG]|NAMESPACE[:WEIGHT] FEATURE[:VALUE] ...`, how ODP and ImageNet come.

Columns are Vowpal Wabbit's own. In the namespace without a name, features that are whole numbers are columns as they
are, so a file that counts from 1 leaves column 0 empty. Every other feature is hashed into `n_features` columns, 2^18
unless said, which is its `-b 18`: a name by murmur3, seeded with the hash of its namespace; a whole number by adding
that hash. A feature without a value is 1, and features that meet in one column of a row add up. Labels are integers,
several as `1,7,3`; a row without one is to be answered. There are no comments.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from xmach.data.options import ReadOptions
from xmach.data.read.lines import ProgressHandler
from xmach.data.read.rows import Batch, Fault, FaultHandler
from xmach.data.read.sparse.headerless import HeaderlessReader
from xmach.data.read.sparse.vw_rows import EXPECTED, VwRules

_HEAD = re.compile(rb"([+-]?[0-9][0-9+.,-]*[ \t]+([0-9.eE+-]+[ \t]+)?)?('[^ \t|]*)?[ \t]*\|")


def looks_like_vw(content: bytes) -> bool:
    """Whether a line has a bar after labels."""
    return _HEAD.match(content) is not None


class VwReader(HeaderlessReader):
    """Reads one file; sizes and label ids are known when all batches are through."""

    def __init__(self, options: ReadOptions) -> None:
        self._rules = VwRules(options.n_features)
        super().__init__(options, self._rules, EXPECTED)

    @property
    def n_features(self) -> int:
        """The model's width; otherwise 2^18 where anything was hashed, or one more than the largest number."""
        return self._rules.width if self._rules.hashed else super().n_features

    def batches(self, path: Path, report: FaultHandler, progress: ProgressHandler | None = None) -> Iterator[Batch]:
        """The rows; faults are reported in order of lines."""
        told = False
        for batch in super().batches(path, report, progress):
            if self._rules.hashed and self._largest >= self._rules.width and not told:
                told = True
                message = f"names are hashed into {self._rules.width} columns, but there is a feature "
                message += f"{self._largest}: say how many features there are (n_features)"
                report(Fault(None, "numbers beyond hashed names", message, rows_lost=0))
            yield batch
