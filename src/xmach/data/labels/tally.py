"""Counts of whole numbers, in memory that grows with the distinct numbers seen and not with their size."""

from __future__ import annotations

import numpy as np

from xmach.types import IntArray


class Tally:
    """Distinct numbers and their counts."""

    def __init__(self) -> None:
        self._numbers = self._counts = np.zeros(0, np.int64)
        self._waiting: list[tuple[IntArray, IntArray]] = []
        self._n_waiting = 0

    def add(self, numbers: IntArray) -> None:
        """Count more numbers."""
        part = np.unique(numbers, return_counts=True)
        self._waiting.append((part[0], part[1]))
        self._n_waiting += len(part[0])
        if self._n_waiting > len(self._numbers) + (1 << 16):  # merging this rarely costs n log n in all
            self._merge()

    def result(self) -> tuple[IntArray, IntArray]:
        """Return the distinct numbers, ascending, and the count of each."""
        self._merge()
        return self._numbers, self._counts

    def _merge(self) -> None:
        parts = [(self._numbers, self._counts), *self._waiting]
        numbers, where = np.unique(np.concatenate([part[0] for part in parts]), return_inverse=True)
        counts = np.zeros(len(numbers), np.int64)
        np.add.at(counts, where, np.concatenate([part[1] for part in parts]))
        self._numbers, self._counts = numbers, counts
        self._waiting, self._n_waiting = [], 0
