"""Labels in readers: ids as they are, or a table that assigns ids once all labels have been seen."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

import numpy as np

from xmach.data.options import ReadOptions
from xmach.errors import InputError
from xmach.types import Int32Array, IntArray


class LabelTable(Protocol):
    """The labels of a file: first those of the model, then new ones."""

    @property
    def n_labels(self) -> int:
        """The number of labels: the model's and new ones."""

    @property
    def names(self) -> Sequence[str] | None:
        """All names by id; None if the model's labels have no names and there are no new ones."""

    def ids(self, labels: IntArray) -> Int32Array:
        """Convert labels as they are in batches to ids."""


class LabelsByTable:
    """A reader whose labels get their ids once all batches have been read."""

    _labels: LabelTable

    @property
    def n_labels(self) -> int:
        """The number of labels: the model's and new ones."""
        return self._labels.n_labels

    @property
    def label_names(self) -> Sequence[str] | None:
        """The labels as text; None if the model's labels have no names and there are no new ones."""
        return self._labels.names

    def label_ids(self, labels: IntArray) -> Int32Array:
        """Convert labels to ids: first the model's, then new labels in their order."""
        return self._labels.ids(labels)


class LabelsById:
    """A reader of a format in which labels are ids."""

    columns = None  # not a table
    _options: ReadOptions

    @property
    def label_names(self) -> Sequence[str] | None:
        """The given names; the file has none."""
        return self._options.label_names

    def label_ids(self, labels: IntArray) -> Int32Array:
        """Return the labels, which are ids."""
        return labels.astype(np.int32)


def ids_by_name(seen: Iterable[str], names: Sequence[str]) -> IntArray:
    """Return the ids of labels in the model's names; -1 for new ones. Raise InputError if a name has two ids."""
    ids = {name: i for i, name in enumerate(names)}
    found = np.array([ids.get(label, -1) for label in seen], np.int64)
    if len(ids) < len(names):
        last, wanted = np.fromiter((ids[name] for name in names), np.int64, len(names)), set(found.tolist())
        for first in np.flatnonzero(last != np.arange(len(names))).tolist():
            if int(last[first]) in wanted:
                raise InputError(
                    f"the label {names[first]!r} of the file could be {first} or {int(last[first])}: two labels have "
                    "that name; pass label_names without duplicates"
                )
    return found
