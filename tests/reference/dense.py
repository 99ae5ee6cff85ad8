"""Slow twins of the kernels in `xmach._kernels.train.dense`: the same results from plain NumPy and Python."""

from __future__ import annotations

import numpy as np

from xmach.types import FloatArray, Int32Array, IntArray


def bucket_targets_slow(
    indptr: IntArray, labels: Int32Array, values: FloatArray, rows: IntArray, bucket_of: IntArray
) -> list[dict[int, float]]:
    """The twin of `bucket_targets`: a dictionary bucket -> mass for each row, given the bucket of every label."""
    targets = []
    for i in rows:
        row: dict[int, float] = {}
        for j in range(indptr[i], indptr[i + 1]):
            bucket = int(bucket_of[labels[j]])
            row[bucket] = row.get(bucket, 0.0) + float(values[j])
        total = sum(row.values())
        targets.append({bucket: mass / total for bucket, mass in row.items()})
    return targets


def cross_entropy_slow(loss: str, logits: FloatArray, targets: list[dict[int, float]], weights: FloatArray) -> float:
    """The twin of both losses, in float64 from the logits: the summed weighted cross-entropy."""
    z = logits.astype(np.float64)
    total = 0.0
    for row, target, weight in zip(z, targets, weights, strict=True):
        if loss == "softmax":
            log_p = row - row.max() - np.log(np.exp(row - row.max()).sum())
            total -= weight * sum(mass * log_p[bucket] for bucket, mass in target.items())
        else:
            total += weight * (np.logaddexp(0.0, row).sum() - sum(row[bucket] for bucket in target))
    return float(total)
