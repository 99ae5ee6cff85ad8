"""Joins two files line by line, in bounded memory: line i of one belongs to line i of the other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from xmach.data.read.rows import Batch, Fault, row_offsets
from xmach.types import BoolArray


class Lane:
    """The rows of one file, taken up to any line."""

    def __init__(self, parts: Iterator[tuple[int, Batch]], first_line: int) -> None:
        self._parts = parts  # the number of rows, good or bad, and the batch of good ones with the faults of the others
        self._left: Batch | None = None
        self.end = self._next = first_line  # the lines after the current part and after the rows taken so far

    def fill(self) -> bool:
        """Return whether any row remains, good or bad."""
        while self._next == self.end:
            part = next(self._parts, None)
            if part is None:
                return False
            self.end, self._left = self._next + part[0], part[1]
        return True

    def take(self, stop: int) -> Batch:
        """Take the rows of the current part before line `stop`."""
        assert self._left is not None
        self._next = stop
        batch, chosen = self._left, self._left.lines < stop
        later = [fault for fault in batch.faults if (fault.line or 0) >= stop]
        sooner = [fault for fault in batch.faults if (fault.line or 0) < stop]
        self._left = replace(select(batch, ~chosen), faults=later)
        return replace(select(batch, chosen), faults=sooner)

    def rest(self) -> Iterator[Fault]:
        """Yield the faults of all remaining rows."""
        while self.fill():
            yield from self.take(self.end).faults


def select(batch: Batch, rows: BoolArray) -> Batch:
    """Return some rows of a batch of sparse features without labels or weights."""
    if rows.all():
        return batch
    counts = batch.feature_counts
    entries = np.repeat(rows, counts)
    return replace(
        batch,
        lines=batch.lines[rows],
        label_counts=batch.label_counts[rows],
        feature_counts=counts[rows],
        features=batch.features[entries],
        values=batch.values[entries],
    )


def join(features: Batch, labels: Batch, label_file: Path) -> Batch:
    """Join rows that are good in both, with one fault for each other row; labels are the columns of the second batch.

    The value of a label is its count or weight: below 0 is a fault, and a stored 0 is not a label.
    """
    labels, negative = _without_negative(labels, label_file)
    reported = {fault.line for fault in features.faults}
    faults = features.faults + [fault for fault in labels.faults + negative if fault.line not in reported]
    features = select(features, np.isin(features.lines, labels.lines))
    labels = select(labels, np.isin(labels.lines, features.lines))
    stored = labels.values != 0
    ends = row_offsets(stored)[row_offsets(labels.feature_counts)]
    values = labels.values[stored]
    return replace(
        features,
        label_counts=np.diff(ends),
        labels=labels.features[stored].astype(np.int64),
        label_values=None if (values == 1).all() else values,
        faults=sorted(faults, key=lambda fault: fault.line or 0),
    )


def _without_negative(labels: Batch, label_file: Path) -> tuple[Batch, list[Fault]]:
    places = np.flatnonzero(labels.values < 0)
    if not len(places):
        return labels, []
    rows, first = np.unique(np.repeat(np.arange(len(labels.lines)), labels.feature_counts)[places], return_index=True)
    faults = []
    for row, place in zip(rows.tolist(), places[first].tolist(), strict=True):
        message = f"label {labels.features[place]} has the value {labels.values[place]:g}: expected a count or weight"
        faults.append(Fault(int(labels.lines[row]), "label value below 0", message, file=label_file))
    good = np.ones(len(labels.lines), np.bool_)
    good[rows] = False
    return select(labels, good), faults
