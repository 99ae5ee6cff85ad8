"""The number of rows of each label, in memory that grows with the labels seen and not with K."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from xmach.block_sizes import COUNTED_LABELS
from xmach.data.labels.tally import Tally
from xmach.errors import InputError
from xmach.types import AnyArray, BoolArray, IntArray, SparseRows

_FEW_LABELS = 1 << 18  # up to here all counts take a megabyte at most: nothing to save


@dataclass(frozen=True, eq=False, repr=False)
class LabelCounts:
    """The number of rows of each of K labels; if most have none, stored only for those that have some.

    For 50 million labels of which 100,000 occur, that is 0.8 MB instead of 200 MB. Either array may be memory-mapped.
    """

    n_labels: int
    counts: AnyArray  # (K,) whole numbers, or those of `ids`
    ids: AnyArray | None = None  # labels with a row, ascending; None: `counts` has all labels

    def __repr__(self) -> str:
        seen = np.count_nonzero(self.counts) if self.ids is None else len(self.ids)
        return f"<LabelCounts of {self.n_labels:,} labels, {seen:,} of them with a row>"

    def __post_init__(self) -> None:
        expected = self.n_labels if self.ids is None else len(self.ids)
        if self.counts.shape != (expected,):
            raise InputError(f"there must be {expected} label counts, got shape {self.counts.shape}")

    @classmethod
    def of(cls, counts: AnyArray) -> LabelCounts:
        """Build from the counts of all labels."""
        seen = np.flatnonzero(counts)
        return cls._smaller(len(counts), seen, counts[seen], counts)

    @classmethod
    def of_rows(cls, labels: SparseRows) -> LabelCounts:
        """Count the labels of (n, K) rows; allocates nothing of size K if few labels occur."""
        blocks = (labels.indices[start : start + COUNTED_LABELS] for start in range(0, labels.nnz, COUNTED_LABELS))
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
        """Choose the smaller form: two numbers per label that has a row, or one per label."""
        dtype = np.int32 if counts.max(initial=0) < 2**31 else np.int64
        if n_labels > _FEW_LABELS and 2 * len(ids) < n_labels:
            return cls(n_labels, counts.astype(dtype), ids.astype(np.int32))
        if every is None:
            every = np.zeros(n_labels, dtype)
            every[ids] = counts
        return cls(n_labels, every.astype(dtype))

    def dense(self) -> IntArray:
        """Return the number of rows of every label (K,)."""
        if self.ids is None:
            return np.asarray(self.counts, np.int64)
        every = np.zeros(self.n_labels, np.int64)
        every[self.ids] = self.counts
        return every

    def most_frequent(self, n: int) -> IntArray:
        """Return the ids of the n most frequent labels, or of all if there are fewer; the most frequent first."""
        best = np.argsort(-np.asarray(self.counts, np.int64), kind="stable")[:n]
        return best if self.ids is None else np.asarray(self.ids[best], np.int64)

    def seen(self) -> BoolArray | None:
        """Return which labels have a row (K,); None if all have."""
        if self.ids is None:
            seen = self.counts > 0
            return None if seen.all() else seen
        seen = np.zeros(self.n_labels, np.bool_)
        seen[self.ids] = True
        return seen

    @property
    def total(self) -> int:
        """Return the sum of all counts."""
        return int(self.counts.sum(dtype=np.int64))
