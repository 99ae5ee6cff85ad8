"""Slow twins of the kernels in `xmach._kernels.train.clusters`: the same results from plain NumPy and Python."""

from __future__ import annotations

import numpy as np

from xmach._kernels.train.clusters import ROUNDS
from xmach.types import AnyArray, BoolArray, FloatArray, Int32Array, IntArray


def add_to_labels_slow(
    indptr: IntArray, labels: Int32Array, first: int, weights: FloatArray, rows: FloatArray, points: FloatArray
) -> None:
    """The twin of `add_to_labels`."""
    for i in range(len(rows)):
        own = labels[indptr[first + i] : indptr[first + i + 1]]
        np.add.at(points, own, weights[i] * rows[i] / max(1, len(own)))


def unit_points_slow(points: FloatArray, known: BoolArray) -> None:
    """The twin of `unit_points`."""
    lengths = np.linalg.norm(points.astype(np.float64), axis=1)
    known[:] = lengths > 0
    points[known] /= lengths[known, None]


def balanced_clusters_slow(points: FloatArray, keys: AnyArray, n_clusters: int) -> IntArray:
    """The twin of `balanced_clusters`: sets are sorted instead of parted."""
    out = np.empty(len(points), np.int64)

    def split(members: IntArray, cluster: int, count: int) -> None:
        if count == 1:
            out[members] = cluster
            return
        half = count // 2
        cut = len(members) * half // count
        if 0 < cut < len(members):
            own = points[members].astype(np.float64)
            line = own[np.argmax(keys[members])] - own[np.argmin(keys[members])]
            for _ in range(ROUNDS):
                order = np.lexsort((members, own @ line))
                line = own[order[cut:]].mean(axis=0) - own[order[:cut]].mean(axis=0)
            members = members[order]
        split(members[:cut], cluster, half)
        split(members[cut:], cluster + half, count - half)

    split(np.arange(len(points)), 0, n_clusters)
    return out
