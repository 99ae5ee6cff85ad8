"""Copies the words of folded UTF-8 text into a line, ` red shoe `; words, pairs and trigrams are stretches of it."""

from __future__ import annotations

import numpy as np

from xmach._kernels._compile import kernel
from xmach._kernels.text.murmur import Byte
from xmach.types import AnyArray, IntArray

OTHER, MARK, WORD, SINGLE = range(4)  # a mark continues a word but does not begin one; a single is a word by itself

SPACE, HASH = np.uint8(ord(" ")), np.uint8(ord("#"))
W, B, C = np.uint32(ord("w")), np.uint32(ord("b")), np.uint32(ord("c"))  # the tags of the kinds of tokens
LINE = 1 << 13  # bytes of words at a time, unless a word is longer: stays in the first-level cache


def most_tokens(ends: IntArray) -> IntArray:
    """Return upper bounds (n,) on the tokens of texts that end before these bytes, and on the bytes of their lines.

    A text of n bytes has at most 3 (n + 1) / 2 tokens, and its line hardly more bytes; `a b c` and `a漢a漢` come close.
    """
    sizes: IntArray = 3 * (np.diff(ends, prepend=0) + 1) // 2 + 2
    return sizes


@kernel
def copy_words(data: AnyArray, i: int, end: int, kinds: AnyArray, line: AnyArray, n: int) -> tuple[int, int, bool]:
    """Append words, each with a blank; return the positions in text and line, and whether the words are all ASCII."""
    enough, ascii, inside = min(end, i + LINE), True, False
    while i < enough or (inside and i < end):
        byte = data[i]
        if byte < 128:  # without a branch per letter: blanks are overwritten until a word begins
            word = kinds[byte] == WORD
            line[n] = byte if word else SPACE
            n += word | inside
            inside = word
            i += 1
            continue
        width, point = _code_point(data, i)
        kind = kinds[point]
        if inside and kind in (OTHER, SINGLE):
            line[n] = SPACE
            n, inside = n + 1, False
        if kind in (WORD, SINGLE) or (kind == MARK and inside):
            for j in range(width):
                line[n + j] = data[i + j]
            n, inside, ascii = n + width, True, False
        if kind == SINGLE:
            line[n] = SPACE
            n, inside = n + 1, False
        i += width
    if inside:
        line[n] = SPACE
        n += 1
    return i, n, ascii


@kernel
def _code_point(data: AnyArray, i: int) -> tuple[int, int]:
    """Return the width in bytes and the code point of the non-ASCII character that begins here."""
    width = width_of(data[i])
    point = data[i] & (0x7F >> width)
    for j in range(1, width):
        point = point << 6 | (data[i + j] & 0x3F)
    return width, point


@kernel
def width_of(lead: Byte) -> int:
    """Return the width in bytes of a character, given its first byte."""
    width: int = 1 + (lead >= 0xC0) + (lead >= 0xE0) + (lead >= 0xF0)
    return width


@kernel
def keep_last_word(line: AnyArray, last: int, n: int) -> int:
    """Move the last word to the beginning, as the first half of the next pair; return where the line ends."""
    if last == 0:
        return 1
    for j in range(last, n):
        line[1 + j - last] = line[j]
    return 1 + n - last


@kernel
def word_end(line: AnyArray, begin: int) -> int:
    """Return where the word that begins here ends."""
    end = begin + 1
    while line[end] != SPACE:
        end += 1
    return end


@kernel
def character_before(line: AnyArray, i: int) -> int:
    """Return where the character that ends here begins."""
    i -= 1
    while line[i] & 0xC0 == 0x80:
        i -= 1
    return i


@kernel
def copy_trigram(line: AnyArray, before: int, after: int, gram: AnyArray) -> int:
    """Copy the characters from `before` to the one that begins at `after`, with HASH for a blank; return their size."""
    size = after + width_of(line[after]) - before
    for k in range(size):
        byte = line[before + k]
        gram[k] = byte if byte != SPACE else HASH
    return size
