"""Text labels: numbered by first occurrence while a file is read; ids are assigned once all have been seen."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import islice

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from xmach.data.read.labels import ids_by_name
from xmach.types import Int32Array, IntArray

_WHOLE = re.compile(r"0|-?[1-9][0-9]{0,999}")  # Python does not convert thousands of digits

_FIRST = 1 << 17  # labels that Arrow looks up: CSV with 100,000 labels reads at 59 MB/s, with Python's dict alone at 46


class StringLabels:
    """The labels of one file. Known ones (the model's) keep their ids; new ones follow, sorted.

    Without names the known labels are named 0..n-1. New labels are sorted as numbers if all of them are whole numbers
    without leading zeros, so that 10 comes after 9; otherwise as text.
    """

    def __init__(self, names: Sequence[str] | None, n_known: int | None) -> None:
        self._known_names, self._n_known = names, n_known
        self._numbers: dict[str, int] = {}  # label -> its number, by first occurrence
        self._first = pa.array([], pa.string())  # most of the first `_FIRST` labels
        self._table: tuple[Int32Array, list[str]] | None = None

    def number(self, labels: pa.Array) -> IntArray:
        """Return the number of each label (n,), a text or a whole number; Arrow looks up the first, Python the rest."""
        encoded = labels.dictionary_encode()
        distinct = encoded.dictionary.cast(pa.string())
        found = pc.index_in(distinct, value_set=self._first)
        numbers = np.array(found.fill_null(-1), np.int64)
        rest = distinct.filter(found.is_null()).to_pylist()
        numbers[numbers < 0] = [self._numbers.setdefault(label, len(self._numbers)) for label in rest]
        if min(len(self._numbers), _FIRST) > 1.1 * len(self._first):
            self._first = pa.array(list(islice(self._numbers, _FIRST)), pa.string())
        chosen: IntArray = numbers[encoded.indices.to_numpy()]
        return chosen

    def ids(self, numbers: IntArray) -> Int32Array:
        """Convert numbers of labels to ids."""
        return self._settled()[0][numbers]

    @property
    def n_labels(self) -> int:
        """The number of labels, known and new."""
        return (self._n_known or 0) + len(self._settled()[1])

    @property
    def names(self) -> Sequence[str] | None:
        """All names by id; None if the known labels have no names and there are no new ones."""
        new = self._settled()[1]
        if self._known_names is None and self._n_known is not None and not new:
            return None
        known = self._known_names if self._known_names is not None else map(str, range(self._n_known or 0))
        return (*known, *new)

    def _settled(self) -> tuple[Int32Array, list[str]]:
        """Return the id of each number, and the new names by id."""
        if self._table is None:
            seen = list(self._numbers)
            ids = self._known_ids(seen)
            new = _sorted([seen[i] for i in np.flatnonzero(ids < 0)])
            ids[[self._numbers[name] for name in new]] = (self._n_known or 0) + np.arange(len(new))
            self._table = ids, new
        return self._table

    def _known_ids(self, seen: list[str]) -> Int32Array:
        """Return the ids of known labels; -1 for new ones."""
        if self._known_names is not None:
            return ids_by_name(seen, self._known_names).astype(np.int32)
        if not self._n_known:
            return np.full(len(seen), -1, np.int32)
        bound = self._n_known
        values = (int(name) if _WHOLE.fullmatch(name) else -1 for name in seen)
        return np.array([value if 0 <= value < bound else -1 for value in values], np.int32)


def _sorted(names: list[str]) -> list[str]:
    numbers = all(_WHOLE.fullmatch(name) for name in names)
    return sorted(names, key=int) if numbers else sorted(names)
