"""The full scan: from bucket scores to the best labels, without any pruning; Amazon-670K's shape."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from tests.reference.scan import scan_top_k_slow

from benchmarks.micro.entry import OURS, Entry
from xmach._kernels.decode.scan import MEAN, finish_top_k, scan_means, scan_top_k, start_top_k
from xmach.buckets import UniversalHashes
from xmach.types import FloatArray, IntArray

N_LABELS, N_REPETITIONS, N_BUCKETS, K = 670_091, 32, 10_000, 5
NO_MASK = np.zeros(0, np.bool_)


def entries() -> Iterator[Entry]:
    """One query. Each cell of the (K, R) table of signatures is read once, and a bucket score for each."""
    signatures = UniversalHashes.draw(N_LABELS, N_BUCKETS, N_REPETITIONS, 0).signatures()
    cells = np.random.default_rng(0).dirichlet(np.full(N_BUCKETS, 0.1), (1, N_REPETITIONS)).astype(np.float32)
    flat = torch.tensor(signatures.astype(np.int64) + N_BUCKETS * np.arange(N_REPETITIONS))
    repetitions = np.arange(N_REPETITIONS)

    def scanned(scan: Callable[..., None], *rule: int) -> IntArray:
        scores, ids = np.empty((1, K), np.float32), np.empty((1, K), np.int64)
        start_top_k(scores, ids)
        scan(cells, signatures, 0, NO_MASK, True, *rule, scores, ids)
        finish_top_k(scores, ids)
        best: IntArray = ids[0]
        return best

    def gather() -> IntArray:
        scores: FloatArray = cells[0][repetitions, signatures].mean(axis=1)
        best: IntArray = np.argpartition(-scores, K)[:K]
        order: IntArray = best[np.argsort(-scores[best])]
        return order

    def take() -> Any:
        return torch.take(torch.tensor(cells[0]), flat).mean(1).topk(K).indices.numpy()

    size = N_LABELS * N_REPETITIONS
    yield Entry(
        "scan_means", f"K = {N_LABELS:,}, R = {N_REPETITIONS}, B = {N_BUCKETS:,}, k = {K}", "label and repetition",
        size, {"read": size * signatures.itemsize, "cells": size},
        {
            OURS: lambda: scanned(scan_means),
            "label by label (`scan_top_k`)": lambda: scanned(scan_top_k, MEAN),
            "NumPy twin": lambda: scan_top_k_slow(cells, signatures, NO_MASK, True, MEAN, K)[1][0],
            "NumPy gather + argpartition": gather,
            "torch take + topk": take,
        },
        tolerance=0.0,
    )  # fmt: skip
