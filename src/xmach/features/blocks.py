"""Processes texts in blocks: folds and encodes them, and joins the resulting rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from xmach.errors import InputError
from xmach.features.words import character_kinds, folded
from xmach.types import AnyArray, FloatArray, Int32Array, IntArray, SparseRows

_BLOCK = 1 << 18  # characters at a time: bounds the working memory, which is about 20 times as large


class Encoded(NamedTuple):
    """Folded texts in UTF-8, where each text ends, and the kinds of their characters."""

    data: AnyArray  # uint8
    ends: IntArray  # (n,)
    kinds: AnyArray  # uint8, by code point


def encoded_blocks(texts: Sequence[str]) -> Iterator[Encoded]:
    """Yield the texts in order, in blocks; raises InputError if one is not a string."""
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
    """Join the rows that `count` returns for each block: lengths, columns and counts. `binary` sets counts to 1."""
    lengths, indices, values = [np.zeros(1, np.int64)], [np.zeros(0, np.int32)], [np.zeros(0, np.float32)]
    for block in encoded_blocks(texts):
        row_lengths, columns, counts = count(block)
        lengths.append(row_lengths)
        indices.append(columns)
        values.append(np.ones_like(counts) if binary else counts)
    indptr = np.cumsum(np.concatenate(lengths))
    return SparseRows(indptr, np.concatenate(indices), np.concatenate(values), n_features)


def _bounds(texts: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield (start, stop) of blocks of texts, each of at most `_BLOCK` characters or of one text."""
    try:
        totals = np.cumsum(np.fromiter(map(len, texts), np.int64, len(texts)))
    except TypeError:  # a text without a length
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
    # Folded text has no ASCII capitals, so lowering all texts at once changes only the others.
    data = np.frombuffer(_utf8(joined).lower(), dtype=np.uint8)
    largest = data.max(initial=0)
    n_points = 0x80 if largest < 0x80 else 0x10000 if largest < 0xF0 else 0x110000
    return Encoded(data, np.cumsum(sizes), character_kinds(n_points))


def _utf8(text: str) -> bytes:
    """Encode a text, lone surrogates included: they are part of no word, but may separate two."""
    return text.encode("utf-8", "surrogatepass")


def check_texts(texts: Sequence[str], first_row: int = 0) -> None:
    """Raise InputError if a text is not a string; rows are counted from `first_row`."""
    for row, text in enumerate(texts, first_row):
        if not isinstance(text, str):
            raise InputError(f"texts: row {row} is a {type(text).__name__}, not a string; drop or convert it")
