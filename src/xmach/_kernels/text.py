"""Folded UTF-8 text to rows of hashed tokens, from bytes to columns: no string is made of a word, a pair or a trigram.

The words of a text are copied into a line, ` red shoe `, where a word, a pair and three characters are each a stretch
of bytes to hash. The keys (row, column) of some lines are sorted and counted together.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from xmach._kernels._compile import kernel
from xmach._kernels.murmur import SLACK, Byte, Word, murmur3_slow, murmur3_tagged, murmur3_trigram
from xmach._kernels.tally import ZERO, Counted, tally, tally_slow
from xmach.types import AnyArray, FloatArray, Int32Array, IntArray

OTHER, MARK, WORD, SINGLE = range(4)  # a mark goes on with a word but begins none; a single is a word by itself

_SPACE, _HASH = np.uint8(ord(" ")), np.uint8(ord("#"))
_W, _B, _C = np.uint32(ord("w")), np.uint32(ord("b")), np.uint32(ord("c"))
_LINE = 1 << 13  # bytes of words at a time, but for a longer word: what is hashed stays in the first cache
_KEYS = 1 << 14  # keys sorted at a time: both arrays of them stay in the second cache


class Wanted(NamedTuple):
    """What to hash, and into how many columns, which take `shift` bits."""

    words: bool
    bigrams: bool
    trigrams: bool
    modulus: Word
    shift: int


def hash_texts(
    data: AnyArray, ends: IntArray, kinds: AnyArray, words: bool, bigrams: bool, trigrams: bool, n_features: int
) -> tuple[IntArray, Int32Array, FloatArray]:
    """Rows of counts: (n,) lengths, then columns (sorted within a row) and counts of one row after the other.

    Text r ends before byte `ends[r]`; `kinds` has the kind of every code point that occurs.
    """
    # A text of n bytes has 3 (n + 1) / 2 tokens or less, and its line hardly more bytes: as `a b c` and `a漢a漢` have.
    sizes = 3 * (np.diff(ends, prepend=0) + 1) // 2 + 2
    longest = int(sizes.max(initial=0))
    room = max(_KEYS, min(longest, n_features)) + 3 * _LINE
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
    """How many keys are left to count, the row from which on they are, and how many columns are counted."""
    i = at = done = first_row = ZERO
    for row in range(len(ends)):
        n = fresh = last = ZERO + 1  # where the line ends, its new words begin, its last word begins
        line[0] = _SPACE
        while i < ends[row]:
            i, n, ascii = _copy_words(data, i, ends[row], kinds, line, n)
            todo = fresh
            while todo < n:
                if at >= max(_KEYS, counted.lengths[first_row]):  # so many that merging them into the row pays
                    done = tally(keys, spare, at, wanted.shift, first_row, counted, done)
                    at, first_row = ZERO, row
                base = np.uint64(row - first_row) << np.uint64(wanted.shift)
                if todo == fresh:
                    at, last = _hash_words(line, fresh, n, wanted, base, keys, at)
                stop = min(todo + _LINE, n)
                if not wanted.trigrams:
                    todo = n
                elif ascii:
                    at = _hash_ascii_trigrams(line, todo, stop, wanted.modulus, base, keys, at)
                    todo = stop
                else:
                    at, todo = _hash_trigrams(line, todo, stop, wanted.modulus, base, keys, at)
            if i < ends[row]:
                n = fresh = _keep_last_word(line, last, n)
    return at, first_row, done


@kernel
def _copy_words(data: AnyArray, i: int, end: int, kinds: AnyArray, line: AnyArray, n: int) -> tuple[int, int, bool]:
    """Append words, a blank after each; where text and line are then, and whether the words are all ASCII."""
    enough, ascii, inside = min(end, i + _LINE), True, False
    while i < enough or (inside and i < end):
        byte = data[i]
        if byte < 128:  # no branch a letter: a blank is written over until a word has come
            word = kinds[byte] == WORD
            line[n] = byte if word else _SPACE
            n += word | inside
            inside = word
            i += 1
            continue
        width, point = _code_point(data, i)
        kind = kinds[point]
        if inside and kind in (OTHER, SINGLE):
            line[n] = _SPACE
            n, inside = n + 1, False
        if kind in (WORD, SINGLE) or (kind == MARK and inside):
            for j in range(width):
                line[n + j] = data[i + j]
            n, inside, ascii = n + width, True, False
        if kind == SINGLE:
            line[n] = _SPACE
            n, inside = n + 1, False
        i += width
    if inside:
        line[n] = _SPACE
        n += 1
    return i, n, ascii


@kernel
def _code_point(data: AnyArray, i: int) -> tuple[int, int]:
    """The width in bytes and the number of the character, not an ASCII one, that begins here."""
    width = _width(data[i])
    point = data[i] & (0x7F >> width)
    for j in range(1, width):
        point = point << 6 | (data[i + j] & 0x3F)
    return width, point


@kernel
def _width(lead: Byte) -> int:
    """The bytes of a character, from its first."""
    width: int = 1 + (lead >= 0xC0) + (lead >= 0xE0) + (lead >= 0xF0)
    return width


@kernel
def _hash_words(
    line: AnyArray, begin: int, n: int, wanted: Wanted, base: Any, keys: AnyArray, at: int
) -> tuple[int, int]:
    """Keys of the words and of each with the one before; how many keys there are, and where the last word begins."""
    previous = ZERO + (begin > 1)  # the word that was kept; 0 is none
    while begin < n:
        end = begin + 1
        while line[end] != _SPACE:
            end += 1
        if wanted.words:
            keys[at] = base | np.uint64(murmur3_tagged(_W, line, begin, end) % wanted.modulus)
            at += 1
        if wanted.bigrams and previous:
            keys[at] = base | np.uint64(murmur3_tagged(_B, line, previous, end) % wanted.modulus)
            at += 1
        previous, begin = begin, end + 1
    return at, previous


@kernel
def _hash_ascii_trigrams(
    line: AnyArray, begin: int, end: int, modulus: Word, base: Any, keys: AnyArray, at: int
) -> int:
    """Keys of the trigrams around the letters from `begin` to `end`; how many keys there are."""
    for j in range(begin, end):
        a = line[j - 1] if line[j - 1] != _SPACE else _HASH
        c = line[j + 1] if line[j + 1] != _SPACE else _HASH
        keys[at] = base | np.uint64(murmur3_trigram(_C, a, line[j], c) % modulus)
        at += line[j] != _SPACE
    return at


@kernel
def _hash_trigrams(
    line: AnyArray, begin: int, end: int, modulus: Word, base: Any, keys: AnyArray, at: int
) -> tuple[int, int]:
    """The same where letters have several bytes; also where the next letter is."""
    gram = np.empty(12 + SLACK, np.uint8)
    before = begin - 1
    while line[before] & 0xC0 == 0x80:
        before -= 1
    j = begin
    while j < end:
        after = j + _width(line[j])
        if line[j] != _SPACE:
            size = after + _width(line[after]) - before
            for k in range(size):
                byte = line[before + k]
                gram[k] = byte if byte != _SPACE else _HASH
            keys[at] = base | np.uint64(murmur3_tagged(_C, gram, ZERO, size) % modulus)
            at += 1
        before, j = j, after
    return at, j


@kernel
def _keep_last_word(line: AnyArray, last: int, n: int) -> int:
    """Move it to the beginning, as the first half of a pair to come; where the line ends now."""
    if last == 0:
        return 1
    for j in range(last, n):
        line[1 + j - last] = line[j]
    return 1 + n - last


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
