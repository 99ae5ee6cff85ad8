"""Signatures (K, R): which labels can be told apart at all."""

from __future__ import annotations

import numpy as np

from xmach.buckets.learned import Buckets, LearnedBuckets
from xmach.buckets.universal import UniversalHashes
from xmach.errors import InputError
from xmach.types import AnyArray, IntArray


def as_signatures(hashes: Buckets | AnyArray) -> AnyArray:
    """The (K, R) table of buckets of hashes, or the table itself, checked and contiguous."""
    if isinstance(hashes, UniversalHashes | LearnedBuckets):
        return hashes.signatures()
    table = np.asarray(hashes)
    if table.ndim != 2 or 0 in table.shape or not np.issubdtype(table.dtype, np.integer):
        raise InputError(
            f"signatures must be a (labels, repetitions) array of whole numbers, got shape {table.shape}, {table.dtype}"
        )
    if table.min() < 0:
        raise InputError(f"signatures must be buckets from 0 on, got {table.min()}")
    return np.ascontiguousarray(table)


def indistinguishable_groups(signatures: AnyArray) -> list[IntArray]:
    """The groups of two or more labels that share every bucket: MACH cannot tell them apart (the paper's Definition).

    Sorts the signatures as byte strings: O(K log K) comparisons, memory of one copy of the table.
    """
    table = np.ascontiguousarray(signatures)
    keys = table.view(np.dtype((np.void, table.dtype.itemsize * table.shape[1]))).ravel()
    _, inverse, counts = np.unique(keys, return_inverse=True, return_counts=True)
    shared = np.flatnonzero(counts[inverse] > 1)  # labels that are not alone
    order = shared[np.argsort(inverse[shared], kind="stable")]
    ends = np.flatnonzero(np.diff(inverse[order])) + 1
    return [np.asarray(group, np.int64) for group in np.split(order, ends)] if len(order) else []


def count_indistinguishable_pairs(signatures: AnyArray) -> int:
    """How many pairs of labels share every bucket."""
    return sum(len(group) * (len(group) - 1) // 2 for group in indistinguishable_groups(signatures))
