"""How readers tell labels: by their ids, or by a table that gives ids once all labels are seen."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

import numpy as np

from xmach.data.options import ReadOptions
from xmach.errors import InputError
from xmach.types import Int32Array, IntArray


class LabelTable(Protocol):
    """The labels of a file: first those of the model, then the others."""

    @property
    def n_labels(self) -> int:
        """The model's labels and those it does not know."""

    @property
    def names(self) -> Sequence[str] | None:
        """All names by id; None if the model calls labels by their ids and no others were seen."""

    def ids(self, labels: IntArray) -> Int32Array:
        """The ids of labels as batches have them."""


class LabelsByTable:
    """A reader whose labels get their ids when all batches are through."""

    _labels: LabelTable

    @property
    def n_labels(self) -> int:
        """The model's labels and those it does not know."""
        return self._labels.n_labels

    @property
    def label_names(self) -> Sequence[str] | None:
        """The labels as text; None if the model calls them by their ids and no others were seen."""
        return self._labels.names

    def label_ids(self, labels: IntArray) -> Int32Array:
        """The ids of labels: those of the model's, then the others in their order."""
        return self._labels.ids(labels)


class LabelsById:
    """A reader of a format in which labels are their ids."""

    columns = None  # no table
    _options: ReadOptions

    @property
    def label_names(self) -> Sequence[str] | None:
        """The given names; the file has none."""
        return self._options.label_names

    def label_ids(self, labels: IntArray) -> Int32Array:
        """Labels are their ids."""
        return labels.astype(np.int32)


def ids_by_name(seen: Iterable[str], names: Sequence[str]) -> IntArray:
    """The ids that labels have among the model's names; -1 for new ones. A name of two ids is refused where seen."""
    ids = {name: i for i, name in enumerate(names)}
    found = np.array([ids.get(label, -1) for label in seen], np.int64)
    if len(ids) < len(names):
        last, wanted = np.fromiter((ids[name] for name in names), np.int64, len(names)), set(found.tolist())
        for first in np.flatnonzero(last != np.arange(len(names))).tolist():
            if int(last[first]) in wanted:
                raise InputError(
                    f"the label {names[first]!r} of the file could be {first} or {int(last[first])}: two labels have "
                    "that name; give label_names in which every name is there once"
                )
    return found
