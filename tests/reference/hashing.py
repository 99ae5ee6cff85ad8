"""Slow twins of the kernels in `xmach._kernels.text.hashing`: the same results from plain NumPy and Python."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from tests.reference.murmur import murmur3_slow
from tests.reference.tally import tally_slow

from xmach.types import IntArray


def hash_texts_slow(
    words_of_rows: Sequence[Sequence[str]], words: bool, bigrams: bool, trigrams: bool, n_features: int
) -> tuple[IntArray, IntArray, IntArray]:
    """The same of texts that were divided into words already, token by token."""
    rows, columns = [], []
    for row, found in enumerate(words_of_rows):
        tokens = [f"w:{word}" for word in found] if words else []
        tokens += [f"b:{left} {right}" for left, right in pairwise(found)] if bigrams else []
        for bounded in [f"#{word}#" for word in found] if trigrams else []:
            tokens += [f"c:{bounded[i : i + 3]}" for i in range(len(bounded) - 2)]
        rows += [row] * len(tokens)
        columns += [murmur3_slow(token.encode()) % n_features for token in tokens]
    return tally_slow(np.array(rows, np.int64), np.array(columns, np.int64), len(words_of_rows))
