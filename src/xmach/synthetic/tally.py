"""Counting queries as they are made, in memory that does not grow with their number."""

from __future__ import annotations

import numpy as np

from xmach.synthetic.block import QueryBlock
from xmach.types import AnyArray, IntArray

_TEXTS = 1 << 16  # different texts of a sample; its error is about 1 / sqrt of it
_PRODUCTS = 1 << 20  # products of a sample
_ONES = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1).sum(axis=1, dtype=np.uint8)
_SPACE = ord(" ")


class ProductTally:
    """Which products were bought, a bit each, and how often those of a sample were.

    Ids are shuffled, so that the first of them are a sample like any other; of up to a million products it is all.
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
        """1 for each product that was bought, otherwise 0."""
        known: IntArray = self._bits[products >> 3].astype(np.int64) >> (products & 7) & 1
        return known

    def different(self) -> int:
        """How many products were bought."""
        return int(_ONES[self._bits].sum(dtype=np.int64))

    def top_share(self, of_all: float = 0.01) -> float:
        """What the most bought hundredth of the products has of all purchases."""
        return _top_share(self._counts, of_all)


class TextTally:
    """A sample of the different texts, those with the lowest hashes, with the sessions of each."""

    def __init__(self) -> None:
        self._hashes = np.empty(0, np.uint64)  # ascending
        self._sessions = np.empty(0, np.int64)
        self._bar = np.uint64(2**64 - 1)  # no hash above it is kept

    def add(self, hashes: AnyArray, sessions: IntArray) -> None:
        """Count texts; whatever is among the lowest in the end has been so from its first sight on."""
        low = hashes <= self._bar
        every = np.concatenate([self._hashes, hashes[low]])
        self._hashes, which = np.unique(every, return_inverse=True)
        summed = np.bincount(which, np.concatenate([self._sessions, sessions[low]]), len(self._hashes))
        if len(self._hashes) > _TEXTS:
            self._bar = np.uint64(self._hashes[_TEXTS - 1])
        self._hashes, self._sessions = self._hashes[:_TEXTS], summed[:_TEXTS].astype(np.int64)

    def different(self) -> int:
        """How many different texts there were: exact up to 65,536, then within about 0.4 %."""
        if self._bar == 2**64 - 1:
            return len(self._hashes)
        return round((_TEXTS - 1) * 2.0**64 / float(self._bar))

    def known(self, hashes: AnyArray) -> tuple[int, int]:
        """Of these texts, how many can be told and how many of them were here before."""
        low = hashes[hashes <= self._bar]
        return len(low), int(np.isin(low, self._hashes).sum())

    def top_share(self, of_all: float = 0.01) -> float:
        """What the commonest hundredth of the texts has of all sessions."""
        return _top_share(self._sessions, of_all)


def words(block: QueryBlock) -> int:
    """The words of all texts together."""
    return int((block.text_data == _SPACE).sum()) + block.n_queries


def _top_share(counts: IntArray, of_all: float) -> float:
    most = np.sort(counts)[::-1][: max(1, round(of_all * len(counts)))]
    return float(most.sum() / max(counts.sum(), 1))
