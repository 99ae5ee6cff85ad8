"""Finds the most frequent tokens of a stream of texts, in one pass and in bounded memory."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from xmach._kernels.text.lookup import count_keys, insert_keys, table_places
from xmach._kernels.text.tokens import Kinds, token_keys
from xmach.block_sizes import COUNTED_TOKENS
from xmach.features.blocks import encoded_blocks
from xmach.parameters import whole
from xmach.types import AnyArray, IntArray

_FIRST_PLACES = 1 << 12


class TokenCounts:
    """Counts of the tokens of a kind: exact with at most `most` distinct tokens.

    When there is one more, the median count is subtracted from every count, and tokens without a remaining count are
    dropped: at least half. `slack` is the sum of the subtracted medians. So a count is at most `slack` too low, and
    every token with more than `slack` occurrences is kept (Misra and Gries, 1982). The result depends only on the
    order of the texts.
    """

    def __init__(self, kind: int, most: int) -> None:
        self.slack = 0
        self._kind, self._most, self._used = kind, most, 0
        self._known = np.zeros(min(_FIRST_PLACES, table_places(most)), np.uint64)
        self._counts = np.zeros(len(self._known), np.int64)

    def add(self, keys: AnyArray) -> None:
        """Count the keys of this kind."""
        done = 0
        while True:
            most = min(self._most, len(self._counts) // 2)
            done, self._used = count_keys(keys, done, self._kind, self._known, self._counts, self._used, most)
            if done == len(keys):
                return
            if len(self._counts) < table_places(self._most):
                self._rebuild(2 * len(self._counts), 0)
            else:
                middle = int(np.partition(self._counts[self._counts > 0], (self._used - 1) // 2)[(self._used - 1) // 2])
                self._rebuild(len(self._counts), middle)
                self.slack += middle

    def most_frequent(self, n: int) -> AnyArray:
        """Return the keys of the n most frequent tokens, most frequent first; ties by ascending key."""
        there = self._counts > 0
        keys, counts = self._known[there], self._counts[there]
        if len(keys) > n:
            likely = counts >= np.partition(counts, len(counts) - n)[len(counts) - n] if n else counts < 0
            keys, counts = keys[likely], counts[likely]
        return keys[np.lexsort((keys, -counts))[:n]]

    def _rebuild(self, places: int, less: int) -> None:
        """Replace the table by one with `places` places and counts reduced by `less`."""
        kept = self._counts > less
        keys, counts = self._known[kept], self._counts[kept] - less
        self._known, self._counts = np.zeros(places, np.uint64), np.zeros(places, np.int64)
        self._used = len(keys)
        insert_keys(keys, counts, self._known, self._counts)


class VocabularyLearner:
    """Counts the tokens of batches of texts, and finds the most frequent of each kind.

    `sizes` are the numbers of words, bigrams and trigrams to find. `held` is the largest number of distinct tokens of
    a kind to count at a time; at least four times the number to find is used.
    """

    def __init__(self, sizes: Sequence[int], held: int = COUNTED_TOKENS) -> None:
        held = whole("held", held, 1)
        self._sizes = tuple(sizes)
        self._wanted = Kinds(*(size > 0 for size in self._sizes))
        self._counts = [TokenCounts(kind, max(held, 4 * size)) for kind, size in enumerate(self._sizes)]

    def add(self, texts: Sequence[str]) -> None:
        """Count the tokens of these texts."""
        for block in encoded_blocks(texts):
            keys, _ = token_keys(*block, self._wanted)
            for counts, wanted in zip(self._counts, self._wanted, strict=True):
                if wanted:
                    counts.add(keys)

    def keys(self) -> IntArray:
        """Return the keys of words, bigrams and trigrams, each kind by descending frequency."""
        found = [counts.most_frequent(size) for counts, size in zip(self._counts, self._sizes, strict=True)]
        keys: IntArray = np.concatenate(found).view(np.int64)
        return keys

    @property
    def slack(self) -> tuple[int, ...]:
        """By how much a count of each kind may be too low; 0 if all distinct tokens could be counted."""
        return tuple(counts.slack for counts in self._counts)
