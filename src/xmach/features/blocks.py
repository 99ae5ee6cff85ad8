"""Texts a block at a time: folded, encoded, and put together as rows again."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from xmach.errors import InputError
from xmach.features.words import character_kinds, folded
from xmach.types import AnyArray, FloatArray, Int32Array, IntArray, SparseRows

_BLOCK = 1 << 18  # characters at a time: bounds the working memory, which is some 20 times as much


class Encoded(NamedTuple):
    """Folded texts as UTF-8, where each ends in it, and the kinds of the characters that they have."""

    data: AnyArray  # uint8
    ends: IntArray  # (n,)
    kinds: AnyArray  # uint8, by code point


def encoded_blocks(texts: Sequence[str]) -> Iterator[Encoded]:
    """The texts in order, some at a time; refuses what is no list of texts, with its row."""
    if isinstance(texts, str):
        raise InputError("texts must be a list of strings, got one string; put it in a list")
    for start, stop in _bounds(texts):
        yield _encoded(texts[start:stop], start)


def counted_rows(
    texts: Sequence[str],
    count: Callable[[Encoded], tuple[IntArray, Int32Array, FloatArray]],
    n_features: int,
    binary: bool,
) -> SparseRows:
    """The rows that `count` makes of blocks, as lengths, columns and counts; `binary`: 1 for every count."""
    lengths, indices, values = [np.zeros(1, np.int64)], [np.zeros(0, np.int32)], [np.zeros(0, np.float32)]
    for block in encoded_blocks(texts):
        row_lengths, columns, counts = count(block)
        lengths.append(row_lengths)
        indices.append(columns)
        values.append(np.ones_like(counts) if binary else counts)
    indptr = np.cumsum(np.concatenate(lengths))
    return SparseRows(indptr, np.concatenate(indices), np.concatenate(values), n_features)


def _bounds(texts: Sequence[str]) -> Iterator[tuple[int, int]]:
    """(start, stop) of texts that are hashed together: as many as have `_BLOCK` characters, or one."""
    try:
        totals = np.cumsum(np.fromiter(map(len, texts), np.int64, len(texts)))
    except TypeError:  # one has no length
        check_texts(texts)
        raise
    start = 0
    while start < len(texts):
        done = totals[start - 1] if start else 0
        stop = max(start + 1, int(np.searchsorted(totals, done + _BLOCK, side="right")))
        yield start, stop
        start = stop


def _encoded(texts: Sequence[str], first_row: int) -> Encoded:
    try:
        joined = "".join(texts)
    except TypeError:
        check_texts(texts, first_row)
        raise
    sizes = np.fromiter(map(len, texts), np.int64, len(texts))
    if not joined.isascii():
        parts = list(texts)
        for row, text in enumerate(texts):
            if not text.isascii():
                parts[row] = folded(text)
                sizes[row] = len(_utf8(parts[row]))
        joined = "".join(parts)
    # Folded text has no capital of ASCII's left, so that the others can be lowered with it, all at once.
    data = np.frombuffer(_utf8(joined).lower(), dtype=np.uint8)
    largest = data.max(initial=0)
    n_points = 0x80 if largest < 0x80 else 0x10000 if largest < 0xF0 else 0x110000
    return Encoded(data, np.cumsum(sizes), character_kinds(n_points))


def _utf8(text: str) -> bytes:
    """Lone surrogates have an encoding, too: they are in no word, but may be between two."""
    return text.encode("utf-8", "surrogatepass")


def check_texts(texts: Sequence[str], first_row: int = 0) -> None:
    """Refuse what is no text, with its row, counted from `first_row`."""
    for row, text in enumerate(texts, first_row):
        if not isinstance(text, str):
            raise InputError(f"texts: row {row} is a {type(text).__name__}, not a string; leave it out or convert it")
