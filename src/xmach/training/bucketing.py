"""Which bucket each label goes to: by the hash, or beside the labels whose rows are like its own.

Random buckets hold labels that have nothing in common, which is hard to learn where a label has few rows. Labels that
are alike share rows' features, so a bucket of them is learnt well, and the k best labels are mostly in few buckets;
but who is the best among them, such repetitions cannot tell. `mixed` has both kinds by turns.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from xmach._kernels.clusters import add_to_labels
from xmach.buckets import WIDTH, Buckets, LearnedBuckets, UniversalHashes, clustered, signs
from xmach.data import Dataset
from xmach.errors import ParameterError
from xmach.features import Scaler
from xmach.models.network import first_layer
from xmach.types import FloatArray, row_batches, slice_rows

BUCKETINGS = ("random", "mixed", "clustered")
_ROWS = 4096  # projected at a time


def check_bucketing(bucketing: str) -> str:
    """A way to make buckets, by its name."""
    if bucketing not in BUCKETINGS:
        raise ParameterError(f"bucketing must be one of {', '.join(BUCKETINGS)}, got {bucketing!r}")
    return bucketing


def clustered_repetitions(bucketing: str, n_repetitions: int) -> range:
    """Which repetitions have clusters: in `mixed` every second, so that half of the first R are of each kind."""
    first = {"random": n_repetitions, "mixed": 1, "clustered": 0}[check_bucketing(bucketing)]
    return range(first, n_repetitions, 1 if bucketing == "clustered" else 2)


def make_buckets(
    hashes: UniversalHashes,
    bucketing: str,
    data: Dataset,
    scaler: Scaler,
    seed: int,
    tell: Callable[[int, int], None] | None = None,
) -> Buckets:
    """The buckets of all repetitions; `tell` hears how many tables are made, and how many there will be."""
    repetitions = clustered_repetitions(bucketing, hashes.n_repetitions)
    if not repetitions:
        return hashes
    tables = {}
    for done, r in enumerate(repetitions, 1):
        tables[r] = clustered(label_points(data, scaler, seed, r), hashes, seed, r)
        if tell is not None:
            tell(done, len(repetitions))
    return LearnedBuckets(hashes, tables)


def label_points(data: Dataset, scaler: Scaler, seed: int, repetition: int) -> FloatArray:
    """(K, WIDTH): the sum of each label's rows, scaled and randomly projected; a row is shared among its labels."""
    points = np.zeros((data.n_labels, WIDTH), np.float32)
    projection, none = signs(data.n_features, seed, repetition), np.zeros(WIDTH, np.float32)
    for start, stop in row_batches(data.n_rows, _ROWS):
        rows = first_layer(scaler.apply(slice_rows(data.features, start, stop)), projection, none)
        weights = np.ones(stop - start, np.float32) if data.weights is None else data.weights[start:stop]
        add_to_labels(data.labels.indptr, data.labels.indices, start, weights, rows, points)
    return points
