"""Text to hashed words, pairs of words and trigrams: titles of the made-up shop."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
from sklearn.feature_extraction.text import HashingVectorizer
from tests.reference.hashing import hash_texts_slow

from benchmarks.micro.entry import OURS, Entry
from xmach._kernels.text.hashing import hash_texts
from xmach.features.words import character_kinds, words_of
from xmach.synthetic import Shop
from xmach.types import DoubleArray

N_TEXTS, N_FEATURES = 1000, 80_000


def entries() -> Iterator[Entry]:
    """Everybody gives the sum of the counts of each text; scikit-learn's hash puts them in other columns."""
    texts = [title.lower() for title in Shop(n_products=N_TEXTS).titles()]
    words = [words_of(text) for text in texts]
    data = "".join(texts).encode("ascii")
    buffer, ends = np.frombuffer(data, np.uint8), np.cumsum([len(text) for text in texts])
    kinds = character_kinds(0x80)
    vectorizer = HashingVectorizer(analyzer=_tokens, n_features=N_FEATURES, norm=None, alternate_sign=False)

    def ours() -> DoubleArray:
        lengths, _, counts = hash_texts(buffer, ends, kinds, True, True, True, N_FEATURES)
        return np.add.reduceat(counts.astype(np.float64), np.cumsum(lengths) - lengths)

    def twin() -> DoubleArray:
        lengths, _, counts = hash_texts_slow(words, True, True, True, N_FEATURES)
        return np.add.reduceat(counts.astype(np.float64), np.cumsum(lengths) - lengths)

    def theirs() -> DoubleArray:
        sums: DoubleArray = np.asarray(vectorizer.transform(texts).sum(axis=1)).ravel()
        return sums

    yield Entry(
        "hash_texts", f"{N_TEXTS:,} titles, {len(data) // 1000} KB", "byte", len(data), {"read": len(data)},
        {OURS: ours, "NumPy twin": twin, "scikit-learn HashingVectorizer": theirs}, tolerance=0.0,
    )  # fmt: skip


def _tokens(text: str) -> list[str]:
    words = words_of(text)
    tokens = [f"w:{word}" for word in words] + [f"b:{left} {right}" for left, right in pairwise(words)]
    for bounded in (f"#{word}#" for word in words):
        tokens += [f"c:{bounded[i : i + 3]}" for i in range(len(bounded) - 2)]
    return tokens
