"""Shortlists: the few labels of each row that are ranked again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from xmach.types import AnyArray, BoolArray, FloatArray, IntArray, SparseRows


class Shortlist(NamedTuple):
    """The candidates of n rows: row i has ids[indptr[i]:indptr[i + 1]], ascending."""

    indptr: IntArray  # (n + 1,)
    ids: IntArray

    @classmethod
    def of(cls, found: Sequence[AnyArray]) -> Shortlist:
        """Join the label ids (n, m) found in different ways; -1 is not a label."""
        together = np.sort(np.hstack(found).astype(np.int64, copy=False), axis=1)  # (n, M)
        kept = together >= 0
        kept[:, 1:] &= together[:, 1:] != together[:, :-1]
        return cls(np.append(0, np.cumsum(kept.sum(axis=1))), together[kept])

    def without(self, labels: SparseRows) -> Shortlist:
        """The candidates that are not among the labels (n, K) of their row."""
        return self.where(~self.are_labels(labels))

    def where(self, kept: BoolArray) -> Shortlist:
        """The candidates that are kept."""
        counts = np.bincount(self.rows[kept], minlength=len(self.indptr) - 1)
        return Shortlist(np.append(0, np.cumsum(counts)), self.ids[kept])

    def are_labels(self, labels: SparseRows) -> BoolArray:
        """Which candidates are labels (n, K) of their row."""
        width = labels.n_columns
        own = np.repeat(np.arange(labels.n_rows), np.diff(labels.indptr)) * width + labels.indices
        right: BoolArray = np.isin(self.rows * width + self.ids, own)
        return right

    @property
    def rows(self) -> IntArray:
        """The row of each candidate."""
        rows: IntArray = np.repeat(np.arange(len(self.indptr) - 1), np.diff(self.indptr))
        return rows

    def places(self) -> tuple[IntArray, IntArray]:
        """The row of each candidate and its place among the row's candidates."""
        rows = self.rows
        return rows, np.arange(len(self.ids)) - self.indptr[rows]

    def table(self, values: AnyArray, missing: float) -> AnyArray:
        """One value per candidate as a table (n, longest), with `missing` where a row has fewer."""
        rows, places = self.places()
        longest = int(np.diff(self.indptr).max(initial=0))
        table = np.full((len(self.indptr) - 1, longest), missing, values.dtype)
        table[rows, places] = values
        return table

    def best(self, scores: FloatArray, k: int) -> tuple[FloatArray, IntArray]:
        """Scores and ids (n, k) of the best candidates, ties to the smaller id; -inf and -1 if there are fewer."""
        ranked = self.table(scores, -np.inf)
        order = np.argsort(-ranked, axis=1, kind="stable")[:, :k]  # candidates are in the order of their ids
        ids = np.take_along_axis(self.table(self.ids, -1), order, axis=1)
        found = np.take_along_axis(ranked, order, axis=1)
        if order.shape[1] < k:
            wider = ((0, 0), (0, k - order.shape[1]))
            ids, found = np.pad(ids, wider, constant_values=-1), np.pad(found, wider, constant_values=-np.inf)
        return found, ids
