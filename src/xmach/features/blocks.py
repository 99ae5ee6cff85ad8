"""Processes texts in blocks: folds and encodes them, and joins the resulting rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
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
    """Encode the texts in order, about `_BLOCK` characters at a time. Raise `InputError` if one is not a string."""
    if isinstance(texts, str):
        raise InputError("texts must be a list of strings, got one string; put it in a list")
    try:
        lengths = np.fromiter(map(len, texts), np.int64, len(texts))
    except TypeError:  # one has no length
        check_texts(texts)
        raise
    totals, start = np.cumsum(lengths), 0
    while start < len(texts):
        done = totals[start - 1] if start else 0
        stop = max(start + 1, int(np.searchsorted(totals, done + _BLOCK, side="right")))
        parts, sizes = list(texts[start:stop]), lengths[start:stop]  # sizes: bytes of each in UTF-8
        try:
            joined = "".join(parts)
        except TypeError:
            check_texts(parts, start)
            raise
        if not joined.isascii():
            for row, text in enumerate(parts):
                if not text.isascii():
                    parts[row] = folded(text)
                    sizes[row] = len(parts[row].encode("utf-8", "surrogatepass"))
            joined = "".join(parts)
        # Folded text has no ASCII capitals left, so the other texts can be lowered with it, all at once.
        # Lone surrogates have an encoding, too: they are in no word, but may be between two.
        data = np.frombuffer(joined.encode("utf-8", "surrogatepass").lower(), dtype=np.uint8)
        largest = data.max(initial=0)
        n_points = 0x80 if largest < 0x80 else 0x10000 if largest < 0xF0 else 0x110000
        yield Encoded(data, np.cumsum(sizes), character_kinds(n_points))
        start = stop


def counted_rows(
    blocks: Iterable[tuple[IntArray, Int32Array, FloatArray]], n_features: int, binary: bool
) -> SparseRows:
    """Join blocks of row lengths, columns and counts. With `binary`, every count becomes 1."""
    lengths, indices, values = [np.zeros(1, np.int64)], [np.zeros(0, np.int32)], [np.zeros(0, np.float32)]
    for row_lengths, columns, counts in blocks:
        lengths.append(row_lengths)
        indices.append(columns)
        values.append(np.ones_like(counts) if binary else counts)
    indptr = np.cumsum(np.concatenate(lengths))
    return SparseRows(indptr, np.concatenate(indices), np.concatenate(values), n_features)


def check_texts(texts: Sequence[str], first_row: int = 0) -> None:
    """Raise InputError if a text is not a string; rows are counted from `first_row`."""
    for row, text in enumerate(texts, first_row):
        if not isinstance(text, str):
            raise InputError(f"texts: row {row} is a {type(text).__name__}, not a string; drop or convert it")
