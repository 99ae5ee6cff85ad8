"""The inverted index: which labels are in a bucket."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from xmach.buckets.universal import UniversalHashes
from xmach.types import AnyArray, Int32Array, IntArray


@dataclass(frozen=True)
class InvertedIndex:
    """The labels of every bucket of every repetition, by rising id; 4 bytes a label and repetition."""

    offsets: IntArray  # (R, B + 1)
    labels: Int32Array  # (R, K)

    def members(self, repetition: int, bucket: int) -> Int32Array:
        """The labels in a bucket of a repetition, by rising id."""
        start, stop = self.offsets[repetition, bucket : bucket + 2]
        return self.labels[repetition, start:stop]


def invert(hashes: UniversalHashes | AnyArray, n_buckets: int | None = None) -> InvertedIndex:
    """The inverted index of hashes or of a (K, R) table of buckets, one repetition at a time."""
    if isinstance(hashes, UniversalHashes):
        n_labels, n_repetitions, n_buckets = hashes.n_labels, hashes.n_repetitions, hashes.n_buckets
    else:
        n_labels, n_repetitions = hashes.shape
        n_buckets = int(hashes.max()) + 1 if n_buckets is None else n_buckets
    offsets = np.zeros((n_repetitions, n_buckets + 1), np.int64)
    labels = np.empty((n_repetitions, n_labels), np.int32)
    ids = np.arange(n_labels)
    for r in range(n_repetitions):
        column = hashes.buckets(ids, r) if isinstance(hashes, UniversalHashes) else hashes[:, r].astype(np.int64)
        offsets[r, 1:] = np.cumsum(np.bincount(column, minlength=n_buckets))
        labels[r] = np.argsort(column, kind="stable")
    return InvertedIndex(offsets, labels)
