"""Signatures (K, R), and the index that a decoder searches: tables of signatures and posting lists, or the hash."""

from __future__ import annotations

from collections import deque
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from xmach._kernels.decode.index import Index, fill_column, fill_signatures, members, sort_into_buckets
from xmach.buckets.learned import Buckets, LearnedBuckets
from xmach.buckets.universal import UniversalHashes
from xmach.errors import InputError
from xmach.types import AnyArray, Int32Array, IntArray, OnProgress

_CHUNK = 1 << 16  # labels whose signatures a thread computes at a time


class Tables(NamedTuple):
    """The tables of a stored index: per label and repetition, 2 bytes (if B <= 65,536) plus 4 bytes."""

    signatures: AnyArray  # (K, R)
    offsets: IntArray  # (R, B + 1)
    labels: Int32Array  # (R, K) by bucket, then by ascending id

    def members(self, repetition: int, bucket: int) -> Int32Array:
        """Return the labels in a bucket of a repetition, by ascending id."""
        start, stop = self.offsets[repetition, bucket : bucket + 2]
        return self.labels[repetition, start:stop]


def table_shapes(hashes: Buckets) -> dict[str, tuple[tuple[int, int], np.dtype[Any]]]:
    """Return the shape and type of each table, by name."""
    n_labels, n_repetitions = hashes.n_labels, hashes.n_repetitions
    return {
        "signatures": ((n_labels, n_repetitions), hashes.dtype),
        "offsets": ((n_repetitions, hashes.n_buckets + 1), np.dtype(np.int64)),
        "labels": ((n_repetitions, n_labels), np.dtype(np.int32)),
    }


def computed(hashes: UniversalHashes) -> Index:
    """Return the index without tables: every lookup is arithmetic modulo p."""
    n_repetitions = hashes.n_repetitions
    inverse = [pow(a, -1, hashes.prime) for a in hashes.a]
    return Index(
        hashes.n_labels,
        hashes.n_buckets,
        hashes.prime,
        np.array(hashes.a, np.int64),
        np.array(hashes.b, np.int64),
        np.array(inverse, np.int64),
        np.empty((0, n_repetitions), hashes.dtype),
        np.empty((n_repetitions, 0), np.int64),
        np.empty((n_repetitions, 0), np.int32),
    )


def bucket_members(hashes: Buckets, repetition: int, bucket: int) -> Int32Array:
    """Return the labels of a bucket. With a hash this takes time in proportion to their number; a table is scanned."""
    if isinstance(hashes, LearnedBuckets):
        if repetition in hashes.tables:
            return np.flatnonzero(hashes.tables[repetition] == bucket).astype(np.int32)
        hashes = hashes.hashes
    room = np.empty(hashes.prime // hashes.n_buckets + 2, np.int32)
    return np.sort(room[: members(computed(hashes), repetition, bucket, room)])


def stored(hashes: Buckets, tables: Tables) -> Index:
    """Return the index of hashes with their tables."""
    if isinstance(hashes, LearnedBuckets):  # their buckets cannot be computed
        nothing = np.zeros(hashes.n_repetitions, np.int64)
        return Index(hashes.n_labels, hashes.n_buckets, 0, nothing, nothing, nothing, *tables)
    return computed(hashes)._replace(**tables._asdict())


def new_tables(hashes: Buckets) -> Tables:
    """Allocate the tables of hashes in memory."""
    return Tables(**{name: np.empty(shape, dtype) for name, (shape, dtype) in table_shapes(hashes).items()})


def fill_tables(
    hashes: Buckets,
    tables: Tables,
    threads: int = 1,
    on_progress: OnProgress | None = None,
) -> None:
    """Write signatures and posting lists into arrays, in memory or memory-mapped, with `threads` threads.

    `on_progress` gets the number of table cells written so far and their total.
    """
    learned = hashes.tables if isinstance(hashes, LearnedBuckets) else {}
    index = computed(hashes.hashes if isinstance(hashes, LearnedBuckets) else hashes)
    n_labels, n_repetitions = hashes.n_labels, hashes.n_repetitions

    def label_range(start: int) -> int:
        part = tables.signatures[start : start + _CHUNK]
        fill_signatures(index, start, part)
        for r, column in learned.items():
            part[:, r] = column[start : start + _CHUNK]
        return part.size

    def repetition(r: int) -> int:
        column = np.empty(n_labels, hashes.dtype)
        if r in learned:
            column[:] = learned[r]
        else:
            fill_column(index, r, column)
        sort_into_buckets(column, tables.offsets[r], tables.labels[r])
        return n_labels

    done = 0
    with ThreadPoolExecutor(max(1, threads)) as pool:  # the kernels release the GIL
        starts = pool.map(label_range, range(0, n_labels, _CHUNK))
        try:
            for size in chain(starts, pool.map(repetition, range(n_repetitions))):
                done += size
                if on_progress is not None:
                    on_progress(done, 2 * n_labels * n_repetitions)
        except BaseException:  # Ctrl-C waits for running pieces, not for queued ones
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def table_index(signatures: AnyArray, threads: int = 1) -> Index:
    """Return the index of a (K, R) table of buckets from an unknown source."""
    n_labels, n_repetitions = signatures.shape
    n_buckets = int(signatures.max()) + 1
    offsets = np.empty((n_repetitions, n_buckets + 1), np.int64)
    labels = np.empty((n_repetitions, n_labels), np.int32)

    def repetition(r: int) -> None:
        sort_into_buckets(np.ascontiguousarray(signatures[:, r]), offsets[r], labels[r])

    with ThreadPoolExecutor(max(1, threads)) as pool:
        deque(pool.map(repetition, range(n_repetitions)), maxlen=0)  # an error of a thread is raised here
    nothing = np.zeros(n_repetitions, np.int64)
    return Index(n_labels, n_buckets, 0, nothing, nothing, nothing, signatures, offsets, labels)


def as_signatures(hashes: Buckets | AnyArray) -> AnyArray:
    """Return the (K, R) table of buckets of hashes, or check a given table and make it contiguous."""
    if isinstance(hashes, UniversalHashes | LearnedBuckets):
        return hashes.signatures()
    table = np.asarray(hashes)
    if table.ndim != 2 or 0 in table.shape or not np.issubdtype(table.dtype, np.integer):
        raise InputError(
            f"signatures must be a (labels, repetitions) array of whole numbers, got shape {table.shape}, {table.dtype}"
        )
    if table.min() < 0:
        raise InputError(f"signatures must be bucket numbers of at least 0, got {table.min()}")
    return np.ascontiguousarray(table)


def indistinguishable_groups(signatures: AnyArray) -> list[IntArray]:
    """Return the groups of labels that share every bucket: MACH cannot tell them apart (the paper's Definition).

    Sorts the signatures as byte strings: O(K log K) comparisons, and memory for one copy of the table.
    """
    table = np.ascontiguousarray(signatures)
    keys = table.view(np.dtype((np.void, table.dtype.itemsize * table.shape[1]))).ravel()
    _, inverse, counts = np.unique(keys, return_inverse=True, return_counts=True)
    shared = np.flatnonzero(counts[inverse] > 1)  # labels that are not alone
    order = shared[np.argsort(inverse[shared], kind="stable")]
    ends = np.flatnonzero(np.diff(inverse[order])) + 1
    return [np.asarray(group, np.int64) for group in np.split(order, ends)] if len(order) else []


def count_indistinguishable_pairs(signatures: AnyArray) -> int:
    """Return how many pairs of labels share every bucket."""
    return sum(len(group) * (len(group) - 1) // 2 for group in indistinguishable_groups(signatures))
