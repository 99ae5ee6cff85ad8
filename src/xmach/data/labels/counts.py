"""How many rows each label has, in memory that grows with the labels seen and not with K."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from xmach.data.labels.tally import Tally
from xmach.errors import InputError
from xmach.types import AnyArray, BoolArray, IntArray, SparseRows

_BLOCK = 1 << 22  # labels counted at a time: what counts them copies them
_FEW_LABELS = 1 << 18  # all counts of so many labels take a megabyte: nothing to save


@dataclass(frozen=True, eq=False, repr=False)
class LabelCounts:
    """The rows of each of K labels; where most labels have none, only of those that have some.

    Among 50 million labels of which a file shows 100,000 that is 0.8 MB instead of 200. Either array may be mapped.
    """

    n_labels: int
    counts: AnyArray  # (K,) whole numbers, or those of `ids`
    ids: AnyArray | None = None  # labels that have a row, ascending; None: `counts` has all

    def __repr__(self) -> str:
        seen = np.count_nonzero(self.counts) if self.ids is None else len(self.ids)
        return f"<LabelCounts of {self.n_labels:,} labels, {seen:,} of them with a row>"

    def __post_init__(self) -> None:
        expected = self.n_labels if self.ids is None else len(self.ids)
        if self.counts.shape != (expected,):
            raise InputError(f"there must be {expected} counts of labels, got shape {self.counts.shape}")

    @classmethod
    def of(cls, counts: AnyArray) -> LabelCounts:
        """From the counts of all labels."""
        seen = np.flatnonzero(counts)
        return cls._smaller(len(counts), seen, counts[seen], counts)

    @classmethod
    def of_rows(cls, labels: SparseRows) -> LabelCounts:
        """The counts of the labels of (n, K) rows; nothing of size K is made where there are fewer labels than K."""
        blocks = (labels.indices[start : start + _BLOCK] for start in range(0, labels.nnz, _BLOCK))
        if labels.n_columns <= max(labels.nnz, _FEW_LABELS):
            counts = np.zeros(labels.n_columns, np.int64)
            for block in blocks:
                counts += np.bincount(block, minlength=labels.n_columns)
            return cls.of(counts)
        tally = Tally()
        for block in blocks:
            tally.add(block.astype(np.int64))
        return cls._smaller(labels.n_columns, *tally.result())

    @classmethod
    def _smaller(cls, n_labels: int, ids: IntArray, counts: AnyArray, every: AnyArray | None = None) -> LabelCounts:
        """Two numbers for each label that has a row, or one for each label."""
        dtype = np.int32 if counts.max(initial=0) < 2**31 else np.int64
        if n_labels > _FEW_LABELS and 2 * len(ids) < n_labels:
            return cls(n_labels, counts.astype(dtype), ids.astype(np.int32))
        if every is None:
            every = np.zeros(n_labels, dtype)
            every[ids] = counts
        return cls(n_labels, every.astype(dtype))

    def dense(self) -> IntArray:
        """(K,) the rows of every label."""
        if self.ids is None:
            return np.asarray(self.counts, np.int64)
        every = np.zeros(self.n_labels, np.int64)
        every[self.ids] = self.counts
        return every

    def most_frequent(self, n: int) -> IntArray:
        """The ids of the n labels with the most rows, or of all where there are fewer; the most frequent first."""
        best = np.argsort(-np.asarray(self.counts, np.int64), kind="stable")[:n]
        return best if self.ids is None else np.asarray(self.ids[best], np.int64)

    def seen(self) -> BoolArray | None:
        """(K,) which labels have a row; None where all have."""
        if self.ids is None:
            seen = self.counts > 0
            return None if seen.all() else seen
        seen = np.zeros(self.n_labels, np.bool_)
        seen[self.ids] = True
        return seen

    @property
    def total(self) -> int:
        """All rows of all labels."""
        return int(self.counts.sum(dtype=np.int64))
