"""Slow twins of the kernels in `xmach._kernels.decode.index`: the same results from plain NumPy and Python."""

from __future__ import annotations

import numpy as np

from xmach._kernels.decode.index import Index
from xmach.types import AnyArray, IntArray


def signature_slow(index: Index, label: int) -> IntArray:
    """The twin of `signature`, in Python's unbounded integers."""
    pairs = zip(index.a.tolist(), index.b.tolist(), strict=True)
    return np.array([(a * label + b) % index.prime % index.n_buckets for a, b in pairs], np.int64)


def column_slow(index: Index, r: int) -> IntArray:
    """The twin of `fill_column`."""
    return np.array([signature_slow(index, x)[r] for x in range(index.n_labels)], np.int64)


def members_slow(index: Index, r: int, bucket: int) -> IntArray:
    """The twin of `members`: every label asked, by rising id."""
    return np.array([x for x in range(index.n_labels) if signature_slow(index, x)[r] == bucket], np.int64)


def sort_into_buckets_slow(column: AnyArray, n_buckets: int) -> tuple[IntArray, IntArray]:
    """The twin of `sort_into_buckets`."""
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(np.bincount(column, minlength=n_buckets))])
    return offsets, np.argsort(column, kind="stable")
