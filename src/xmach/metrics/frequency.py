"""Head, torso and tail: recall of the labels that were frequent in training, and of those that were not."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from xmach.errors import InputError
from xmach.metrics.hits import Hits
from xmach.metrics.sums import RatioSums
from xmach.types import AnyArray, DoubleArray, IntArray

GROUPS = ("head", "torso", "tail")
_TAIL = GROUPS.index("tail")


def frequency_groups(label_counts: npt.ArrayLike) -> npt.NDArray[np.int8]:
    """Return the group of each label (K,), an index into GROUPS, from its number of training rows.

    Labels are ordered by descending count, ties by ascending id. The head is the first labels that together have half
    of the label occurrences in training, the torso the next ones up to 90 %, and the tail the rest, with labels never
    seen. A label that crosses a border belongs to the group before it.
    """
    counts = np.asarray(label_counts)
    if counts.ndim != 1 or (counts.size and counts.dtype.kind not in "iu") or not bool((counts >= 0).all()):
        raise InputError(
            "label_counts must be the number of training rows of each label: one dimension, whole numbers from 0"
        )
    order = np.argsort(-counts.astype(np.int64), kind="stable")
    falling = counts[order].astype(np.int64)
    before = np.cumsum(falling) - falling  # occurrences of the labels before each
    total = int(falling.sum())
    half, most = -(-total // 2), -(-9 * total // 10)  # rounded up: whole numbers compare exactly
    groups = np.empty(len(counts), np.int8)
    groups[order] = (before >= half).astype(np.int8) + (before >= most)  # labels never seen come last: tail
    return groups


class RecallByFrequency:
    """For each group, the share of its true labels that are found (over all rows), and its share of all labels."""

    def __init__(self, groups: npt.NDArray[np.int8]) -> None:
        self._groups = np.append(groups, np.int8(_TAIL))  # (K + 1,): the last entry stands for labels beyond K
        self._sums = RatioSums()

    def check(self, hits: Hits) -> None:
        """Accept all rows: a label that is unknown to training belongs to the tail."""

    def update(self, hits: Hits, ks: Sequence[int], weights: DoubleArray) -> None:
        """Add a batch of rows, with (n,) weights."""
        ranked, true = self._of(hits.ids), self._of(hits.true.ids)  # (n, depth), (nnz,)
        for group, name in enumerate(GROUPS):
            n_true = np.bincount(hits.true.rows, true == group, len(weights))  # (n,)
            found = hits.places & (ranked == group)
            for k in ks:
                self._sums.add(f"recall@{k} {name}", found[:, :k].sum(axis=1), n_true, weights)
            self._sums.add(f"true share {name}", n_true, hits.n_true, weights)

    def result(self, weighted: bool) -> dict[str, float]:
        """Return `recall@k head`, its share of the true labels, `true share head`, and of all, `label share head`."""
        known = self._groups[:-1]
        sizes = np.bincount(known, minlength=len(GROUPS)) / max(len(known), 1)
        shares = {f"label share {name}": float(size) for name, size in zip(GROUPS, sizes, strict=True)}
        return self._sums.result(weighted) | shares

    def _of(self, ids: IntArray) -> AnyArray:
        return self._groups[np.minimum(ids, len(self._groups) - 1)]  # -1 is never a hit: its group does not matter
