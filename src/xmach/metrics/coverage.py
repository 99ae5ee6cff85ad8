"""Coverage: the share of labels that are ever found."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from xmach.errors import InputError
from xmach.metrics.hits import Hits
from xmach.types import BoolArray, DoubleArray, IntArray

_MOST_LABELS = 2**31  # label ids of the project lie below it


class Coverage:
    """The share of the occurring labels that are in the top k of at least one row where they are true.

    A label counts once however many rows it has, so row weights have no effect.
    """

    def __init__(self) -> None:
        self._occurs = np.zeros(0, np.bool_)  # (highest id so far + 1,)
        self._found: dict[int, BoolArray] = {}  # by k, of the same length

    def check(self, hits: Hits) -> None:
        """Raise InputError if ids are too large for a bitmap."""
        highest = int(hits.true.ids.max(initial=-1))
        if highest >= _MOST_LABELS:
            raise InputError(f"true label ids go up to {highest}; coverage needs them below 2^31: number them from 0")

    def update(self, hits: Hits, ks: Sequence[int], weights: DoubleArray) -> None:
        """Add a batch of rows."""
        self._occurs = _marked(self._occurs, hits.true.ids)
        for k in ks:
            found = hits.ids[:, :k][hits.places[:, :k]]
            self._found[k] = _marked(self._found.get(k, np.zeros(0, np.bool_)), found)

    def result(self, weighted: bool) -> dict[str, float]:
        """Return `coverage@k`; 0 if no label occurs."""
        occurring = max(int(self._occurs.sum()), 1)
        return {f"coverage@{k}": int(found.sum()) / occurring for k, found in self._found.items()}


def _marked(bitmap: BoolArray, ids: IntArray) -> BoolArray:
    missing = int(ids.max(initial=-1)) + 1 - len(bitmap)
    if missing > 0:
        bitmap = np.append(bitmap, np.zeros(missing, np.bool_))
    bitmap[ids] = True
    return bitmap
