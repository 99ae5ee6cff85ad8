"""Folded UTF-8 text to the keys of its tokens: 62 bits of hash each, and the kind above them.

The low 32 bits are the hash that plain hashing takes its columns from. The next 30 are from a second seed, so that
keys distinguish millions of tokens and no token has to be kept as text.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from xmach._kernels._compile import kernel
from xmach._kernels.text.murmur import SLACK, murmur3_pair, murmur3_trigram_pair
from xmach._kernels.text.tally import ZERO
from xmach._kernels.text.words import (
    HASH,
    SPACE,
    B,
    C,
    W,
    character_before,
    copy_trigram,
    copy_words,
    keep_last_word,
    most_tokens,
    width_of,
    word_end,
)
from xmach.types import AnyArray, IntArray

WORDS, BIGRAMS, TRIGRAMS = range(3)  # kinds of tokens
KIND_SHIFT = 62  # bits of a key below its kind
_HASHED = np.uint64((1 << KIND_SHIFT) - 1)
_BIGRAM, _TRIGRAM = np.uint64(BIGRAMS << KIND_SHIFT), np.uint64(TRIGRAMS << KIND_SHIFT)


class Kinds(NamedTuple):
    """Which kinds of tokens are wanted."""

    words: bool
    bigrams: bool
    trigrams: bool


def token_keys(data: AnyArray, ends: IntArray, kinds: AnyArray, wanted: Kinds) -> tuple[AnyArray, IntArray]:
    """Return the keys (uint64) of all tokens, text by text, and where those of each text end (n,).

    Text r ends before byte `ends[r]`; `kinds` has the kind of every code point that occurs.
    """
    sizes = most_tokens(ends)
    keys = np.empty(int(sizes.sum()) + 1, np.uint64)  # one more: a blank writes a trigram that is overwritten
    line = np.empty(int(sizes.max(initial=0)) + SLACK, np.uint8)
    key_ends = np.empty(len(ends), np.int64)
    n = _text_keys(data, ends, kinds, wanted, line, keys, key_ends)
    return keys[:n], key_ends


@kernel
def _text_keys(
    data: AnyArray, ends: IntArray, kinds: AnyArray, wanted: Kinds, line: AnyArray, keys: AnyArray, key_ends: IntArray
) -> int:
    """Fill `keys` and `key_ends`; return the number of keys."""
    i: int = ZERO
    at: int = ZERO
    for row in range(len(ends)):
        n = fresh = last = ZERO + 1  # where the line ends, its new words begin, its last word begins
        line[0] = SPACE
        while i < ends[row]:
            i, n, ascii = copy_words(data, i, ends[row], kinds, line, n)
            if fresh < n:
                at, last = _word_keys(line, fresh, n, wanted, keys, at)
                if wanted.trigrams and ascii:
                    at = _ascii_trigram_keys(line, fresh, n, keys, at)
                elif wanted.trigrams:
                    at = _trigram_keys(line, fresh, n, keys, at)
            if i < ends[row]:
                n = fresh = keep_last_word(line, last, n)
        key_ends[row] = at
    return at


@kernel
def _word_keys(line: AnyArray, begin: int, n: int, wanted: Kinds, keys: AnyArray, at: int) -> tuple[int, int]:
    """Add keys of words and of pairs; return the number of keys, and where the last word begins."""
    previous = ZERO + (begin > 1)  # the word that was kept; 0: none
    while begin < n:
        end = word_end(line, begin)
        if wanted.words:
            keys[at] = murmur3_pair(W, line, begin, end) & _HASHED
            at += 1
        if wanted.bigrams and previous:
            keys[at] = murmur3_pair(B, line, previous, end) & _HASHED | _BIGRAM
            at += 1
        previous, begin = begin, end + 1
    return at, previous


@kernel
def _ascii_trigram_keys(line: AnyArray, begin: int, end: int, keys: AnyArray, at: int) -> int:
    """Add keys of the trigrams around the letters from `begin` to `end`; return the number of keys."""
    for j in range(begin, end):
        a = line[j - 1] if line[j - 1] != SPACE else HASH
        c = line[j + 1] if line[j + 1] != SPACE else HASH
        keys[at] = murmur3_trigram_pair(C, a, line[j], c) & _HASHED | _TRIGRAM
        at += line[j] != SPACE
    return at


@kernel
def _trigram_keys(line: AnyArray, begin: int, end: int, keys: AnyArray, at: int) -> int:
    """Do the same for letters of several bytes."""
    gram = np.empty(12 + SLACK, np.uint8)
    before, j = character_before(line, begin), begin
    while j < end:
        after = j + width_of(line[j])
        if line[j] != SPACE:
            size = copy_trigram(line, before, after, gram)
            keys[at] = murmur3_pair(C, gram, ZERO, size) & _HASHED | _TRIGRAM
            at += 1
        before, j = j, after
    return at
