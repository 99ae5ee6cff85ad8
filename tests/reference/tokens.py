"""Slow twins of the kernels in `xmach._kernels.text.tokens`: the same results from plain NumPy and Python."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from tests.reference.murmur import murmur3_slow

from xmach._kernels.text.murmur import SECOND_SEED
from xmach._kernels.text.tokens import _HASHED, BIGRAMS, KIND_SHIFT, TRIGRAMS, WORDS, Kinds


def token_keys_slow(words_of_rows: Sequence[Sequence[str]], wanted: Kinds) -> list[list[int]]:
    """The keys of each text, sorted, of texts that were divided into words already."""
    rows = []
    for found in words_of_rows:
        tokens: list[tuple[int, str]] = [(WORDS, f"w:{word}") for word in found] if wanted.words else []
        tokens += [(BIGRAMS, f"b:{left} {right}") for left, right in pairwise(found)] if wanted.bigrams else []
        for bounded in [f"#{word}#" for word in found] if wanted.trigrams else []:
            tokens += [(TRIGRAMS, f"c:{bounded[i : i + 3]}") for i in range(len(bounded) - 2)]
        rows.append(sorted(key_slow(kind, token) for kind, token in tokens))
    return rows


def key_slow(kind: int, token: str) -> int:
    """The key of a token with its tag, as `w:shoe`."""
    data = token.encode()
    hashed: Any = murmur3_slow(data) | murmur3_slow(data, SECOND_SEED) << 32
    return int(hashed & int(_HASHED) | kind << KIND_SHIFT)
