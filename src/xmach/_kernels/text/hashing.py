"""Folded UTF-8 text to rows of hashed tokens, without creating a string per word, pair or trigram.

The words of a text are copied into a line, ` red shoe `, in which every word, pair and trigram is a stretch of bytes
to hash. The keys (row, column) of several lines are sorted and counted together.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from xmach._kernels._compile import kernel
from xmach._kernels.text.murmur import SLACK, Word, murmur3_tagged, murmur3_trigram
from xmach._kernels.text.tally import ZERO, Counted, tally
from xmach._kernels.text.words import (
    HASH,
    LINE,
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
from xmach.types import AnyArray, FloatArray, Int32Array, IntArray

KEYS = 1 << 14  # keys sorted at a time: both arrays stay in the second-level cache


class Wanted(NamedTuple):
    """The kinds of tokens to hash, and the number of columns, which takes `shift` bits."""

    words: bool
    bigrams: bool
    trigrams: bool
    modulus: Word
    shift: int


def hash_texts(
    data: AnyArray, ends: IntArray, kinds: AnyArray, words: bool, bigrams: bool, trigrams: bool, n_features: int
) -> tuple[IntArray, Int32Array, FloatArray]:
    """Return rows of counts: lengths (n,), then the columns (sorted within a row) and counts of all rows.

    Text r ends before byte `ends[r]`; `kinds` has the kind of every code point that occurs.
    """
    sizes = most_tokens(ends)
    longest = int(sizes.max(initial=0))
    room = max(KEYS, min(longest, n_features)) + 3 * LINE
    most = int(np.minimum(sizes, n_features).sum()) + room
    keys, spare = np.empty(room, np.uint64), np.empty(room, np.uint64)
    counted = Counted(np.zeros(len(ends), np.int64), np.empty(most, np.int32), np.empty(most, np.uint32))
    line = np.empty(longest + SLACK, np.uint8)
    shift = (n_features - 1).bit_length()
    wanted = Wanted(words, bigrams, trigrams, np.uint32(n_features), shift)
    at, first_row, done = _hash_rows(data, ends, kinds, wanted, line, keys, spare, counted)
    if at:
        done = tally(keys, spare, at, shift, first_row, counted, done)
    return counted.lengths, counted.columns[:done].copy(), counted.counts[:done].astype(np.float32)


@kernel
def _hash_rows(
    data: AnyArray,
    ends: IntArray,
    kinds: AnyArray,
    wanted: Wanted,
    line: AnyArray,
    keys: AnyArray,
    spare: AnyArray,
    counted: Counted,
) -> tuple[int, int, int]:
    """Return the number of keys still to count, the row of the first, and the number of columns counted."""
    i = at = done = first_row = ZERO
    for row in range(len(ends)):
        n = fresh = last = ZERO + 1  # where the line ends, its new words begin, its last word begins
        line[0] = SPACE
        while i < ends[row]:
            i, n, ascii = copy_words(data, i, ends[row], kinds, line, n)
            todo = fresh
            while todo < n:
                if at >= max(KEYS, counted.lengths[first_row]):  # enough to be worth merging into the row
                    done = tally(keys, spare, at, wanted.shift, first_row, counted, done)
                    at, first_row = ZERO, row
                base = np.uint64(row - first_row) << np.uint64(wanted.shift)
                if todo == fresh:
                    at, last = _hash_words(line, fresh, n, wanted, base, keys, at)
                stop = min(todo + LINE, n)
                if not wanted.trigrams:
                    todo = n
                elif ascii:
                    at = _hash_ascii_trigrams(line, todo, stop, wanted.modulus, base, keys, at)
                    todo = stop
                else:
                    at, todo = _hash_trigrams(line, todo, stop, wanted.modulus, base, keys, at)
            if i < ends[row]:
                n = fresh = keep_last_word(line, last, n)
    return at, first_row, done


@kernel
def _hash_words(
    line: AnyArray, begin: int, n: int, wanted: Wanted, base: Any, keys: AnyArray, at: int
) -> tuple[int, int]:
    """Add keys of words and of pairs; return the number of keys, and where the last word begins."""
    previous = ZERO + (begin > 1)  # the word that was kept; 0: none
    while begin < n:
        end = word_end(line, begin)
        if wanted.words:
            keys[at] = base | np.uint64(murmur3_tagged(W, line, begin, end) % wanted.modulus)
            at += 1
        if wanted.bigrams and previous:
            keys[at] = base | np.uint64(murmur3_tagged(B, line, previous, end) % wanted.modulus)
            at += 1
        previous, begin = begin, end + 1
    return at, previous


@kernel
def _hash_ascii_trigrams(
    line: AnyArray, begin: int, end: int, modulus: Word, base: Any, keys: AnyArray, at: int
) -> int:
    """Add keys of the trigrams around the letters from `begin` to `end`; return the number of keys."""
    for j in range(begin, end):
        a = line[j - 1] if line[j - 1] != SPACE else HASH
        c = line[j + 1] if line[j + 1] != SPACE else HASH
        keys[at] = base | np.uint64(murmur3_trigram(C, a, line[j], c) % modulus)
        at += line[j] != SPACE
    return at


@kernel
def _hash_trigrams(
    line: AnyArray, begin: int, end: int, modulus: Word, base: Any, keys: AnyArray, at: int
) -> tuple[int, int]:
    """Do the same for letters of several bytes; also return where the next letter begins."""
    gram = np.empty(12 + SLACK, np.uint8)
    before, j = character_before(line, begin), begin
    while j < end:
        after = j + width_of(line[j])
        if line[j] != SPACE:
            size = copy_trigram(line, before, after, gram)
            keys[at] = base | np.uint64(murmur3_tagged(C, gram, ZERO, size) % modulus)
            at += 1
        before, j = j, after
    return at, j
