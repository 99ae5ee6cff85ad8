"""Hashed text: words, pairs of words and character trigrams, by murmur3 into a fixed number of columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, ClassVar

import numpy as np

from xmach._kernels.text import hash_texts
from xmach.errors import InputError, ParameterError
from xmach.features.words import character_kinds, folded
from xmach.types import AnyArray, IntArray, SparseRows

_BLOCK = 1 << 18  # characters at a time: bounds the working memory, which is some 20 times as much


@dataclass(frozen=True)
class HashedText:
    """Turns texts into rows of counts; stateless, so the same text gives the same row in every process."""

    n_features: int = 80_000  # the paper's
    words: bool = True
    bigrams: bool = True
    trigrams: bool = True

    kind: ClassVar[str] = "hashed-text"

    def __post_init__(self) -> None:
        size = self.n_features
        if isinstance(size, bool) or not isinstance(size, int) or not 1 <= size < 2**31:
            raise ParameterError(f"n_features must be a whole number from 1 to 2**31 - 1, got {size!r}")
        for name in ("words", "bigrams", "trigrams"):
            if not isinstance(getattr(self, name), bool):
                raise ParameterError(f"{name} must be True or False, got {getattr(self, name)!r}")
        if not (self.words or self.bigrams or self.trigrams):
            raise ParameterError("at least one of words, bigrams and trigrams must be True")

    def to_dict(self) -> dict[str, Any]:
        """The settings as JSON values."""
        return {"kind": self.kind, **asdict(self)}

    @classmethod
    def from_dict(cls, settings: Mapping[str, Any]) -> HashedText:
        """The inverse of `to_dict`."""
        given = {name: value for name, value in settings.items() if name != "kind"}
        unknown = sorted(set(given) - {field.name for field in fields(cls)})
        if settings.get("kind") != cls.kind or unknown:
            raise ParameterError(f"not the settings of a {cls.kind!r} featurizer: {dict(settings)!r}")
        return cls(**given)

    def transform(self, texts: Sequence[str]) -> SparseRows:
        """One row of counts a text; a text without words gives an empty row."""
        if isinstance(texts, str):
            raise InputError("texts must be a list of strings, got one string; put it in a list")
        lengths, indices, values = [np.zeros(1, np.int64)], [np.zeros(0, np.int32)], [np.zeros(0, np.float32)]
        for start, stop in _blocks(texts):
            data, ends, kinds = _encoded(texts[start:stop], start)
            row_lengths, columns, counts = hash_texts(
                data, ends, kinds, self.words, self.bigrams, self.trigrams, self.n_features
            )
            lengths.append(row_lengths)
            indices.append(columns)
            values.append(counts)
        indptr = np.cumsum(np.concatenate(lengths))
        return SparseRows(indptr, np.concatenate(indices), np.concatenate(values), self.n_features)


def _blocks(texts: Sequence[str]) -> Iterator[tuple[int, int]]:
    """(start, stop) of texts that are hashed together: as many as have `_BLOCK` characters, or one."""
    try:
        totals = np.cumsum(np.fromiter(map(len, texts), np.int64, len(texts)))
    except TypeError:  # one has no length
        _refuse_others(texts, 0)
        raise
    start = 0
    while start < len(texts):
        done = totals[start - 1] if start else 0
        stop = max(start + 1, int(np.searchsorted(totals, done + _BLOCK, side="right")))
        yield start, stop
        start = stop


def _encoded(texts: Sequence[str], first_row: int) -> tuple[AnyArray, IntArray, AnyArray]:
    """The folded texts as UTF-8, where each ends in it, and the kinds of the characters that they have."""
    try:
        joined = "".join(texts)
    except TypeError:
        _refuse_others(texts, first_row)
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
    return data, np.cumsum(sizes), character_kinds(n_points)


def _utf8(text: str) -> bytes:
    """Lone surrogates have an encoding, too: they are in no word, but may be between two."""
    return text.encode("utf-8", "surrogatepass")


def _refuse_others(texts: Sequence[str], first_row: int) -> None:
    for row, text in enumerate(texts, first_row):
        if not isinstance(text, str):
            raise InputError(f"texts: row {row} is a {type(text).__name__}, not a string; leave it out or convert it")
