"""Which bucket each label goes to: by the hash, or beside the labels whose rows are like its own.

Random buckets hold labels that have nothing in common, which is hard to learn where a label has few rows. Labels that
are alike share rows' features, so a bucket of them is learnt well, and the k best labels are mostly in few buckets;
but who is the best among them, such repetitions cannot tell. `mixed` has both kinds by turns.
"""

from __future__ import annotations

import numpy as np
from threadpoolctl import threadpool_limits

from xmach._kernels.train.clusters import add_to_labels
from xmach._kernels.train.sparse import sparse_forward
from xmach.buckets import (
    WIDTH,
    Buckets,
    LearnedBuckets,
    UniversalHashes,
    clustered,
    clustered_repetitions,
    signs,
)
from xmach.data import Dataset
from xmach.features import Scaler
from xmach.types import FloatArray, OnProgress, SparseRows, row_batches, slice_rows

_ROWS = 4096  # projected at a time


def make_buckets(
    hashes: UniversalHashes,
    bucketing: str,
    data: Dataset,
    scaler: Scaler,
    seed: int,
    on_progress: OnProgress | None = None,
) -> Buckets:
    """The buckets of all repetitions; `on_progress(done, total)` counts the tables."""
    repetitions = clustered_repetitions(bucketing, hashes.n_repetitions)
    if not repetitions:
        return hashes
    tables = {}
    for done, r in enumerate(repetitions, 1):
        tables[r] = clustered(label_points(data, scaler, seed, r), hashes, seed, r)
        if on_progress is not None:
            on_progress(done, len(repetitions))
    return LearnedBuckets(hashes, tables)


def label_points(data: Dataset, scaler: Scaler, seed: int, repetition: int) -> FloatArray:
    """(K, WIDTH): the sum of each label's rows, scaled and randomly projected; a row's labels have equal shares of it.

    Not shares by how often each was seen: what a label is like should not be told by one heavy row.
    """
    points = np.zeros((data.n_labels, WIDTH), np.float32)
    projection, none = signs(data.n_features, seed, repetition), np.zeros(WIDTH, np.float32)
    every = mean_one(data.weights, data.n_rows)
    with threadpool_limits(1), np.errstate(over="ignore", invalid="ignore"):  # as repetitions are trained
        for start, stop in row_batches(data.n_rows, _ROWS):
            rows = scaler.apply(slice_rows(data.features, start, stop))
            projected = np.empty((stop - start, WIDTH), np.float32)
            if isinstance(rows, SparseRows):
                sparse_forward(rows.indptr, rows.indices, rows.values, projection, none, projected)
            else:
                np.matmul(rows, projection, out=projected)
            add_to_labels(data.labels.indptr, data.labels.indices, start, every[start:stop], projected, points)
    return points


def mean_one(weights: FloatArray | None, n_rows: int) -> FloatArray:
    """Row weights of mean 1: what is added up by them, and a network's rate, keep their scale."""
    if weights is None:
        return np.ones(n_rows, np.float32)
    return np.asarray(weights / np.mean(weights, dtype=np.float64), np.float32)
