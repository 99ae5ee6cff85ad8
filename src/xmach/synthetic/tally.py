"""Counts queries in memory that does not grow with their number."""

from __future__ import annotations

import numpy as np

from xmach.synthetic.block import QueryBlock
from xmach.types import AnyArray, IntArray

_TEXTS = 1 << 16  # different texts of a sample; its error is about 1 / sqrt of it
_PRODUCTS = 1 << 20  # products of a sample
_ONES = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1).sum(axis=1, dtype=np.uint8)
_SPACE = ord(" ")


class ProductTally:
    """Which products were bought, one bit each, and the purchases of a sample of products.

    Ids are shuffled, so the first million are a random sample; with fewer products it is all of them.
    """

    def __init__(self, n_products: int) -> None:
        self._bits = np.full(n_products // 8 + 1, 0, np.uint8)  # full: every page is taken now
        self._counts = np.full(min(n_products, _PRODUCTS), 0, np.int64)

    def add(self, products: IntArray, purchases: IntArray) -> None:
        """Count purchases."""
        np.bitwise_or.at(self._bits, products >> 3, (1 << (products & 7)).astype(np.uint8))
        sampled = products < len(self._counts)
        np.add.at(self._counts, products[sampled], purchases[sampled])

    def knows(self, products: IntArray) -> IntArray:
        """Return 1 for each product that was bought, otherwise 0."""
        known: IntArray = self._bits[products >> 3].astype(np.int64) >> (products & 7) & 1
        return known

    def different(self) -> int:
        """Return the number of products that were bought."""
        return int(_ONES[self._bits].sum(dtype=np.int64))

    def top_share(self, of_all: float = 0.01) -> float:
        """Return the share of all purchases of the most bought 1 % of the products."""
        return _top_share(self._counts, of_all)


class TextTally:
    """A sample of the distinct texts, those with the lowest hashes, with the sessions of each."""

    def __init__(self) -> None:
        self._hashes = np.empty(0, np.uint64)  # ascending
        self._sessions = np.empty(0, np.int64)
        self._bar = np.uint64(2**64 - 1)  # no hash above it is kept

    def add(self, hashes: AnyArray, sessions: IntArray) -> None:
        """Count texts. A hash among the lowest at the end was among them all along, so its count is complete."""
        low = hashes <= self._bar
        every = np.concatenate([self._hashes, hashes[low]])
        self._hashes, which = np.unique(every, return_inverse=True)
        summed = np.bincount(which, np.concatenate([self._sessions, sessions[low]]), len(self._hashes))
        if len(self._hashes) > _TEXTS:
            self._bar = np.uint64(self._hashes[_TEXTS - 1])
        self._hashes, self._sessions = self._hashes[:_TEXTS], summed[:_TEXTS].astype(np.int64)

    def different(self) -> int:
        """Return the number of distinct texts: exact up to 65,536, then within about 0.4 %."""
        if self._bar == 2**64 - 1:
            return len(self._hashes)
        return round((_TEXTS - 1) * 2.0**64 / float(self._bar))

    def known(self, hashes: AnyArray) -> tuple[int, int]:
        """Return how many of these texts fall in the sample's range, and how many of those are in the sample."""
        low = hashes[hashes <= self._bar]
        return len(low), int(np.isin(low, self._hashes).sum())

    def top_share(self, of_all: float = 0.01) -> float:
        """Return the share of all sessions of the most common 1 % of the texts."""
        return _top_share(self._sessions, of_all)


def words(block: QueryBlock) -> int:
    """Return the number of words in all texts."""
    return int((block.text_data == _SPACE).sum()) + block.n_queries


def _top_share(counts: IntArray, of_all: float) -> float:
    most = np.sort(counts)[::-1][: max(1, round(of_all * len(counts)))]
    return float(most.sum() / max(counts.sum(), 1))
