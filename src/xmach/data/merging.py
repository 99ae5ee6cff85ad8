"""Merging rows with equal features: a search log has a line per purchased product, a model needs a row per query."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np

from xmach._kernels.parse.row_keys import row_keys
from xmach.data.arrays import as_sparse_rows
from xmach.data.dataset import Dataset
from xmach.data.dataset_cache import built, describe
from xmach.data.npy import NpyAppender, SparseAppender
from xmach.data.read.rows import row_offsets
from xmach.types import DoubleArray, IntArray, Rows, SparseRows, row_batches, slice_rows

MERGE_VERSION = 1  # part of the cache key: raise it when the same rows would merge differently
_ROWS = 1 << 16  # rows read, and merged rows written, at a time


def merge_rows(data: Dataset, cache: str | os.PathLike[str] | None = None) -> Dataset:
    """Merge all rows with equal features into one, in the order of first occurrence.

    The weight of a merged row is the sum of its rows' weights, or their number if they have none. Its labels are the
    union of theirs. The value of a label is the sum over rows of value times row weight; labels with value 0 are
    dropped. So lines of (query, product, sessions) become queries weighted by sessions, with the number of purchases
    of each product.

    With a `cache` folder the result is memory-mapped from there. Merging needs 50 bytes of memory per row. The result
    has no `row_numbers`, because its rows are no longer those of a file.
    """
    return built(None if cache is None else Path(cache) / _cache_key(data), lambda folder: _build(folder, data))


class Groups(NamedTuple):
    """n rows in m groups of equal rows, ordered by their first rows."""

    rows: IntArray  # (n,) group by group, ascending within each
    indptr: IntArray  # (m + 1,)

    @property
    def first(self) -> IntArray:
        """Return the first row of each group (m,), ascending."""
        return self.rows[self.indptr[:-1]]

    def batches(self) -> Iterator[tuple[IntArray, IntArray]]:
        """Yield the rows of consecutive groups and the size of each group, about `_ROWS` rows at a time."""
        wanted = np.searchsorted(self.indptr[:-1], np.arange(0, len(self.rows), _ROWS))
        for start, stop in pairwise(np.unique(np.append(wanted, len(self.indptr) - 1)).tolist()):
            yield self.rows[self.indptr[start] : self.indptr[stop]], np.diff(self.indptr[start : stop + 1])


def equal_rows(features: Rows) -> Groups:
    """Group rows with equal features, compared by a 128-bit hash; stored zeros are ignored."""
    n_rows = features.shape[0]
    keys = np.empty((n_rows, 2), np.uint64)
    for start, stop in row_batches(n_rows, _ROWS):
        block = as_sparse_rows(slice_rows(features, start, stop))
        row_keys(block.indptr, block.indices, block.values, keys[start:stop])
    order = np.lexsort((keys[:, 1], keys[:, 0]))  # stable: the first row of a group stays first
    begins = np.ones(n_rows, np.bool_)
    begins[1:] = (keys[order[1:]] != keys[order[:-1]]).any(axis=1)
    starts = np.flatnonzero(begins)
    by_first = np.argsort(order[starts])
    lengths = np.diff(np.append(starts, n_rows))[by_first]
    indptr = row_offsets(lengths)
    return Groups(order[np.repeat(starts[by_first] - indptr[:-1], lengths) + np.arange(n_rows)], indptr)


def _cache_key(data: Dataset) -> str:
    columns = None if data.columns is None else data.columns.to_dict()  # not part of the fingerprint
    facts = [MERGE_VERSION, data.fingerprint, columns, sorted(data.skipped.items())]
    return f"merged-{hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:24]}"


def _build(folder: Path, data: Dataset) -> None:
    """Write the merged rows into a folder."""
    groups = equal_rows(data.features)
    each = np.ones(data.n_rows) if data.weights is None else np.asarray(data.weights, np.float64)
    _write_features(folder, data.features, groups)
    _write_labels(folder, data.labels, groups, each)
    if data.weights is not None or len(groups.first) < data.n_rows:
        with NpyAppender(folder / "weights.npy", np.float32) as weights:
            weights.append(np.add.reduceat(each[groups.rows], groups.indptr[:-1]) if data.n_rows else each)
    describe(folder, data.n_features, data.n_labels, data.label_names, data.skipped, data.columns)


def _write_features(folder: Path, features: Rows, groups: Groups) -> None:
    """Write the features of the first row of each group."""
    first = groups.first
    if not isinstance(features, SparseRows):
        with NpyAppender(folder / "features.npy", np.float32, features.shape[1]) as dense:
            for start, stop in row_batches(len(first), _ROWS):
                dense.append(features[first[start:stop]])
        return
    with SparseAppender(folder, "features") as out:
        for start, stop in row_batches(len(first), _ROWS):
            part = features.take(first[start:stop])
            out.append(np.diff(part.indptr), part.indices, part.values)


def _write_labels(folder: Path, labels: SparseRows, groups: Groups, weights: DoubleArray) -> None:
    """Write the labels of each group, each once, with the weighted sum of its values."""
    with SparseAppender(folder, "labels") as out:
        for rows, lengths in groups.batches():
            part = labels.take(rows)
            per_row = np.diff(part.indptr)
            group = np.repeat(np.repeat(np.arange(len(lengths)), lengths), per_row)
            keys = group * labels.n_columns + part.indices
            distinct, place = np.unique(keys, return_inverse=True)
            sums = np.bincount(place, part.values * np.repeat(weights[rows], per_row), len(distinct))
            values = sums.astype(np.float32)
            kept = distinct[values > 0]  # labels of value 0, or of rows of weight 0 only, are dropped
            counts = np.bincount(kept // labels.n_columns, minlength=len(lengths))
            out.append(counts, kept % labels.n_columns, values[values > 0])
