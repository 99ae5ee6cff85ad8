"""The output layer's targets and its optimizer; Amazon-670K's shape."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from tests.reference.dense import bucket_targets_slow

from benchmarks.micro.entry import OURS, Entry
from benchmarks.micro.rows import zipf_rows
from xmach._kernels.train.dense import AdamRates, TargetBatch, adam, bucket_targets
from xmach.buckets import UniversalHashes
from xmach.types import FloatArray, SparseRows

BATCH, N_BUCKETS, N_LABELS, EACH, WIDTH = 256, 10_000, 670_091, 5, 500
RATE, BETA1, BETA2, EPSILON = 1e-3, 0.9, 0.999, 1e-8


def entries() -> Iterator[Entry]:
    """Both kernels on one batch."""
    hashes = UniversalHashes.draw(N_LABELS, N_BUCKETS, 1, 0)
    labels = zipf_rows(BATCH, N_LABELS, EACH)
    yield targets(labels, hashes)
    yield optimizer()


def targets(labels: SparseRows, hashes: UniversalHashes) -> Entry:
    """Labels to distinct buckets with their masses: two remainders a label."""
    every, bucket_of = np.arange(BATCH), hashes.signatures()[:, 0].astype(np.int64)

    def obvious() -> FloatArray:
        """A lookup, then what has one row and bucket added up: the masses in the order of (row, bucket)."""
        rows = np.repeat(every, np.diff(labels.indptr))
        keys, which = np.unique(rows * N_BUCKETS + bucket_of[labels.indices], return_inverse=True)
        sums = np.bincount(which, labels.values)
        return np.sort(sums / np.bincount(rows, labels.values)[keys // N_BUCKETS])

    def twin() -> FloatArray:
        found = bucket_targets_slow(labels.indptr, labels.indices, labels.values, every, bucket_of)
        return np.sort([mass for row in found for mass in row.values()])

    return Entry(
        "bucket_targets", f"{BATCH} rows of {EACH} labels, B = {N_BUCKETS:,}", "label", labels.nnz,
        {"remainders": 2 * labels.nnz, "lines": BATCH},
        {OURS: lambda: np.sort(batch_targets(labels, hashes)[2]), "NumPy twin": twin, "NumPy lookup + unique": obvious},
    )  # fmt: skip


def optimizer() -> Entry:
    """An Adam step of all output weights: four arrays read, three of them written."""
    shape = (WIDTH, N_BUCKETS)
    gradient = 0.5 + np.random.default_rng(1).random(shape, dtype=np.float32)  # far above epsilon: see sparse.py
    correction = np.float32(RATE * np.sqrt(1 - BETA2) / (1 - BETA1))  # of the first step
    rates = AdamRates(correction, *(np.float32(number) for number in (BETA1, BETA2, EPSILON, 1.0)))
    w, m, v = (np.zeros(shape, np.float32) for _ in range(3))
    places = np.arange(len(w))
    W, M, V = (np.zeros(shape, np.float32) for _ in range(3))
    parameter = torch.nn.Parameter(torch.zeros(shape))
    parameter.grad = torch.tensor(gradient)
    fused = torch.optim.Adam([parameter], lr=RATE, fused=True)

    def ours() -> FloatArray:
        adam(w, gradient, places, m, v, rates)
        return w

    def obvious() -> FloatArray:
        M[:] = np.float32(BETA1) * M + np.float32(1 - BETA1) * gradient
        V[:] = np.float32(BETA2) * V + np.float32(1 - BETA2) * gradient**2
        W[:] -= correction * M / (np.sqrt(V) + np.float32(EPSILON))
        return W

    def theirs() -> Any:
        fused.step()
        return parameter.detach().numpy()

    return Entry(
        "adam", f"{WIDTH} x {N_BUCKETS:,} weights", "weight", w.size, {"update": 7 * w.nbytes},
        {OURS: ours, "NumPy": obvious, "torch fused Adam": theirs},
    )  # fmt: skip


def batch_targets(labels: SparseRows, hashes: UniversalHashes) -> TargetBatch:
    """The targets of all rows, in arrays as long as they need be."""
    offsets, buckets = np.empty(BATCH + 1, np.int64), np.empty(labels.nnz, np.int32)
    masses = np.empty(labels.nnz, np.float32)
    bucket_targets(
        labels.indptr, labels.indices, labels.values, np.arange(BATCH),
        *hashes.rule(0), TargetBatch(offsets, buckets, masses),
    )  # fmt: skip
    n = int(offsets[-1])
    return TargetBatch(offsets, buckets[:n], masses[:n])
