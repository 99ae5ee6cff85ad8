"""svmlight and libsvm files: `3 1:0.5 7:1.2`, several labels as `1,4,9`, no header.

Labels are integers of any size; their ids are given once all are seen. Feature indices stay as they are, so a file
that counts from 1 leaves column 0 empty, and train and test files agree whichever way they count. A test file may use
a feature that its training file lacks: say how many there are when training (`n_features`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from xmach.data.lines import ProgressHandler, line_chunks
from xmach.data.options import ReadOptions
from xmach.data.rows import MAX_COLUMNS, Batch, Fault, FaultHandler, RowError
from xmach.data.tally import Tally
from xmach.data.vectorised import RowParser
from xmach.types import Int32Array, IntArray

_LABEL = re.compile(r"([+-]?[0-9]+)(\.0*)?")  # libsvm's tools also write whole numbers as 1.0
_FLOAT = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_ROW = re.compile(rb"([0-9+.,-]+|[0-9]+:[^ \t]+|(?=[ \t]))([ \t]+[^ \t:]+:[^ \t]*)*[ \t]*")
_BOUND = 2**63


def looks_like_svmlight(content: bytes) -> bool:
    """Whether a first line is labels and features."""
    return b":" in content and _ROW.fullmatch(content) is not None


class SvmlightRules:
    """Labels are any integers; features are below the model's width, if it was told."""

    def __init__(self, n_features: int | None) -> None:
        self.n_features = MAX_COLUMNS if n_features is None else n_features
        self.feature_bound = f"at most {MAX_COLUMNS - 1} can be held"
        if n_features is not None:
            self.feature_bound = f"{n_features} features are expected, so the last is {n_features - 1}"

    def label(self, text: str) -> int:
        """An integer, also when it is written as 1.0 or +1."""
        match = _LABEL.fullmatch(text)
        if match is None:
            hint = " (a regression target?)" if _FLOAT.fullmatch(text) else ""
            raise RowError("bad label", f"{text!r} is no label; expected an integer{hint}")
        digits = match.group(1)
        if len(digits.lstrip("+-0")) > 19 or not -_BOUND <= int(digits) < _BOUND:
            raise RowError("bad label", f"label {text} does not fit in 64 bits")
        return int(digits)

    def labels(self, tokens: pa.StringArray) -> IntArray | None:
        """Integers; each distinct spelling is looked at once."""
        distinct = tokens.dictionary_encode()
        try:
            values = np.array([self.label(text) for text in distinct.dictionary.to_pylist()], np.int64)
        except RowError:
            return None
        labels: IntArray = values[distinct.indices.to_numpy()]
        return labels


class SvmlightReader:
    """Reads one file; sizes and label ids are known when all batches are through."""

    def __init__(self, options: ReadOptions) -> None:
        self._options = options
        self._seen = Tally()
        self._n_features = 0
        self._ids: tuple[IntArray, IntArray] | None = None  # distinct labels, ascending, and their ids

    @property
    def n_features(self) -> int:
        """The model's width, or one more than the largest index."""
        return self._n_features if self._options.n_features is None else self._options.n_features

    @property
    def n_labels(self) -> int:
        """The model's labels and those it does not know."""
        _, ids = self._label_table()
        return max(self._options.known_labels or 0, int(ids.max(initial=-1)) + 1)

    @property
    def label_names(self) -> Sequence[str] | None:
        """The labels as text, by their ids; None if the model calls them by their ids and no others were seen."""
        known = self._options.known_labels or 0
        if self._options.label_names is None and self._options.n_labels is not None and self.n_labels == known:
            return None
        names = list(self._options.label_names or map(str, range(known)))
        distinct, ids = self._label_table()
        return (*names, *map(str, distinct[ids >= known][np.argsort(ids[ids >= known])].tolist()))

    def label_ids(self, labels: IntArray) -> Int32Array:
        """The ids of labels: those of the model's, then the others in numerical order."""
        distinct, ids = self._label_table()
        return ids[np.searchsorted(distinct, labels)].astype(np.int32)

    def batches(self, path: Path, report: FaultHandler, progress: ProgressHandler | None = None) -> Iterator[Batch]:
        """The rows; faults are reported in order of lines."""
        parser = RowParser(SvmlightRules(self._options.n_features))
        empty = True
        for chunk in line_chunks(path, progress):
            for batch in parser.parse(chunk):
                empty = empty and not (len(batch.lines) or batch.faults)
                for fault in batch.faults:
                    report(fault)
                self._seen.add(batch.labels)
                self._n_features = max(self._n_features, int(batch.features.max(initial=-1)) + 1)
                yield batch
        if empty:
            report(Fault(1, "empty file", "empty file; expected rows such as '3 1:0.5 7:1.2'", rows_lost=0))

    def _label_table(self) -> tuple[IntArray, IntArray]:
        if self._ids is None:
            distinct, _ = self._seen.result()
            ids = self._known_ids(distinct)
            unknown = ids < 0
            ids[unknown] = (self._options.known_labels or 0) + np.arange(np.count_nonzero(unknown))
            self._ids = distinct, ids
        return self._ids

    def _known_ids(self, distinct: IntArray) -> IntArray:
        """The ids that the model gives to labels; -1 where it knows none."""
        if self._options.label_names is not None:
            ids = {name: i for i, name in enumerate(self._options.label_names)}
            return np.array([ids.get(str(label), -1) for label in distinct.tolist()], np.int64)
        known = self._options.n_labels or 0
        return np.where((distinct >= 0) & (distinct < known), distinct, -1)
