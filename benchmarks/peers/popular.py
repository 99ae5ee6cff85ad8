"""The same answer to every query: what was bought most. What learns nothing about queries must lose to the others."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.peers.adapter import Settings
from benchmarks.peers.search_data import Training
from xmach.types import DoubleArray, FloatArray, IntArray, SparseRows


class Popular:
    """Ranks products by their purchases."""

    def __init__(self, settings: Settings, folder: Path) -> None:
        self._file = folder / "purchases.npy"

    def warm_up(self) -> None:
        """Nothing to do."""

    def prepare(self, data: Training) -> None:
        """Keep the purchases."""
        self._data = data

    def train(self) -> None:
        """Count."""
        bought = self._data.bought
        counts = np.bincount(bought.indices, bought.values, bought.n_columns)
        self._purchases: DoubleArray = counts.astype(np.float64)

    def save(self) -> dict[str, Any]:
        """One number a product."""
        np.save(self._file, self._purchases)
        return {"parameters": len(self._purchases)}

    def open(self, answering: Settings) -> None:
        """Read the counts."""
        self._purchases = np.load(self._file)

    def top(self, texts: Sequence[str], k: int) -> IntArray:
        """The same k products, n times; of those that tie, the smaller number first."""
        best = np.argsort(-self._purchases, kind="stable")[:k]
        return np.tile(best, (len(texts), 1))

    def scores(self, texts: Sequence[str], candidates: SparseRows) -> FloatArray:
        """How often each was bought."""
        found: FloatArray = self._purchases[candidates.indices].astype(np.float32)
        return found
