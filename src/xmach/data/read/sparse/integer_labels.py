"""Integer labels of any size, as in svmlight and Vowpal Wabbit: ids are assigned once all have been seen."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from xmach.data.labels.tally import Tally
from xmach.data.options import ReadOptions
from xmach.data.read.labels import ids_by_name
from xmach.data.read.rows import RowError
from xmach.types import Int32Array, IntArray

_LABEL = re.compile(r"([+-]?[0-9]+)(\.0*)?")  # libsvm's tools also write whole numbers as 1.0
_FLOAT = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_BOUND = 2**63


def integer_label(text: str) -> int:
    """Parse an integer, which may be written as 1.0 or +1; raises RowError."""
    match = _LABEL.fullmatch(text)
    if match is None:
        hint = " (a regression target?)" if _FLOAT.fullmatch(text) else ""
        raise RowError("bad label", f"{text!r} is not a label; expected an integer{hint}")
    digits = match.group(1)
    if len(digits.lstrip("+-0")) > 19 or not -_BOUND <= int(digits) < _BOUND:
        raise RowError("bad label", f"label {text} does not fit in 64 bits")
    return int(digits)


class IntegerLabels:
    """The labels of a file: first those of the model, then new ones in numerical order."""

    def __init__(self, options: ReadOptions) -> None:
        self._options = options
        self._seen = Tally()
        self._ids: tuple[IntArray, IntArray] | None = None  # distinct labels, ascending, and their ids

    def add(self, labels: IntArray) -> None:
        """Record the labels of some rows."""
        self._seen.add(labels)

    @property
    def n_labels(self) -> int:
        """The number of labels: the model's and new ones."""
        _, ids = self._table()
        return max(self._options.known_labels or 0, int(ids.max(initial=-1)) + 1)

    @property
    def names(self) -> Sequence[str] | None:
        """The labels as text, by id; None if the model's labels have no names and there are no new ones."""
        known = self._options.known_labels or 0
        if self._options.label_names is None and self._options.n_labels is not None and self.n_labels == known:
            return None
        names = list(self._options.label_names or map(str, range(known)))
        distinct, ids = self._table()
        return (*names, *map(str, distinct[ids >= known][np.argsort(ids[ids >= known])].tolist()))

    def ids(self, labels: IntArray) -> Int32Array:
        """Convert labels to ids."""
        distinct, ids = self._table()
        return ids[np.searchsorted(distinct, labels)].astype(np.int32)

    def _table(self) -> tuple[IntArray, IntArray]:
        if self._ids is None:
            distinct, _ = self._seen.result()
            ids = self._known_ids(distinct)
            unknown = ids < 0
            ids[unknown] = (self._options.known_labels or 0) + np.arange(np.count_nonzero(unknown))
            self._ids = distinct, ids
        return self._ids

    def _known_ids(self, distinct: IntArray) -> IntArray:
        """Return the model's ids of labels; -1 for new ones."""
        if self._options.label_names is not None:
            return ids_by_name(map(str, distinct.tolist()), self._options.label_names)
        known = self._options.n_labels or 0
        return np.where((distinct >= 0) & (distinct < known), distinct, -1)
