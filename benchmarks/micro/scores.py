"""What surrounds a search: logarithms of bucket scores, and the buckets' lists of labels."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from tests.reference.index import sort_into_buckets_slow
from tests.reference.logarithm import floored_log_slow

from benchmarks.micro.entry import OURS, Entry
from xmach._kernels.decode.index import sort_into_buckets
from xmach._kernels.decode.logarithm import floored_log
from xmach.buckets import UniversalHashes
from xmach.types import AnyArray, FloatArray

N_LABELS, N_REPETITIONS, N_BUCKETS = 670_091, 32, 10_000
OPERATIONS = 25  # of a logarithm by a polynomial


def entries() -> Iterator[Entry]:
    """Amazon-670K's shape."""
    yield logarithms()
    yield postings()


def logarithms() -> Entry:
    """One query's bucket scores, before they are summed."""
    cells = np.random.default_rng(0).random(N_REPETITIONS * N_BUCKETS, dtype=np.float32)
    tensor, out = torch.tensor(cells), np.empty_like(cells)

    def ours() -> FloatArray:
        floored_log(cells, out)
        return out

    return Entry(
        "floored_log", f"{N_REPETITIONS} x {N_BUCKETS:,} bucket scores", "score", cells.size,
        {"copy": 2 * cells.nbytes, "gemm": OPERATIONS * cells.size},
        {
            OURS: ours,
            "NumPy twin": lambda: floored_log_slow(cells),
            "torch clamp + log": lambda: tensor.clamp(min=1e-30).log().numpy(),
        },
    )  # fmt: skip


def postings() -> Entry:
    """One repetition's lists: the bucket of each label is read twice, each label's place written once."""
    column = np.ascontiguousarray(UniversalHashes.draw(N_LABELS, N_BUCKETS, 1, 0).signatures()[:, 0])
    tensor = torch.tensor(column.astype(np.int64))

    def ours() -> AnyArray:
        offsets, labels = np.empty(N_BUCKETS + 1, np.int64), np.empty(N_LABELS, np.int32)
        sort_into_buckets(column, offsets, labels)
        return labels

    return Entry(
        "sort_into_buckets", f"K = {N_LABELS:,}, B = {N_BUCKETS:,}", "label", N_LABELS,
        {"update": 2 * column.nbytes + 2 * 4 * N_LABELS, "cells": 2 * N_LABELS},
        {
            OURS: ours,
            "NumPy twin": lambda: sort_into_buckets_slow(column, N_BUCKETS)[1],
            "torch stable argsort": lambda: torch.argsort(tensor, stable=True).numpy(),
        },
        tolerance=0.0,
    )  # fmt: skip
