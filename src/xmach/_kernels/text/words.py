"""The words of folded UTF-8 text, copied into a line, ` red shoe `: words, pairs and trigrams are stretches of it."""

from __future__ import annotations

import numpy as np

from xmach._kernels._compile import kernel
from xmach._kernels.text.murmur import Byte
from xmach.types import AnyArray, IntArray

OTHER, MARK, WORD, SINGLE = range(4)  # a mark goes on with a word but begins none; a single is a word by itself

SPACE, HASH = np.uint8(ord(" ")), np.uint8(ord("#"))
W, B, C = np.uint32(ord("w")), np.uint32(ord("b")), np.uint32(ord("c"))  # what the tokens of a kind are tagged with
LINE = 1 << 13  # bytes of words at a time, but for a longer word: what is hashed stays in the first cache


def most_tokens(ends: IntArray) -> IntArray:
    """(n,) bounds on the tokens of texts that end before these bytes, and on the bytes of their lines.

    A text of n bytes has 3 (n + 1) / 2 tokens or less, and its line hardly more bytes: as `a b c` and `a漢a漢` have.
    """
    sizes: IntArray = 3 * (np.diff(ends, prepend=0) + 1) // 2 + 2
    return sizes


@kernel
def copy_words(data: AnyArray, i: int, end: int, kinds: AnyArray, line: AnyArray, n: int) -> tuple[int, int, bool]:
    """Append words, a blank after each; where text and line are then, and whether the words are all ASCII."""
    enough, ascii, inside = min(end, i + LINE), True, False
    while i < enough or (inside and i < end):
        byte = data[i]
        if byte < 128:  # no branch a letter: a blank is written over until a word has come
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
    """The width in bytes and the number of the character, not an ASCII one, that begins here."""
    width = width_of(data[i])
    point = data[i] & (0x7F >> width)
    for j in range(1, width):
        point = point << 6 | (data[i + j] & 0x3F)
    return width, point


@kernel
def width_of(lead: Byte) -> int:
    """The bytes of a character, from its first."""
    width: int = 1 + (lead >= 0xC0) + (lead >= 0xE0) + (lead >= 0xF0)
    return width


@kernel
def keep_last_word(line: AnyArray, last: int, n: int) -> int:
    """Move it to the beginning, as the first half of a pair to come; where the line ends now."""
    if last == 0:
        return 1
    for j in range(last, n):
        line[1 + j - last] = line[j]
    return 1 + n - last


@kernel
def word_end(line: AnyArray, begin: int) -> int:
    """Where the word ends that begins here."""
    end = begin + 1
    while line[end] != SPACE:
        end += 1
    return end


@kernel
def character_before(line: AnyArray, i: int) -> int:
    """Where the character begins that ends here."""
    i -= 1
    while line[i] & 0xC0 == 0x80:
        i -= 1
    return i


@kernel
def copy_trigram(line: AnyArray, before: int, after: int, gram: AnyArray) -> int:
    """Copy the characters from `before` to the one that begins at `after`, with HASH for a blank; their bytes."""
    size = after + width_of(line[after]) - before
    for k in range(size):
        byte = line[before + k]
        gram[k] = byte if byte != SPACE else HASH
    return size
