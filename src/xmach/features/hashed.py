"""Hashed text: words, pairs of words and character trigrams, by murmur3 into a fixed number of columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from itertools import chain
from typing import Any, ClassVar

import numpy as np

from xmach.errors import InputError, ParameterError
from xmach.features.words import words_of
from xmach.types import Int32Array, IntArray, SparseRows, row_batches

_BLOCK = 4096  # texts at a time: bounds the working memory, and is long enough for words to repeat


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
        blocks = [self._block(texts[start:stop], start) for start, stop in row_batches(len(texts), _BLOCK)]
        lengths = np.concatenate([np.zeros(1, np.int64), *[np.diff(block.indptr) for block in blocks]])
        indices = [np.zeros(0, np.int32), *[block.indices for block in blocks]]
        values = [np.zeros(0, np.float32), *[block.values for block in blocks]]
        return SparseRows(np.cumsum(lengths), np.concatenate(indices), np.concatenate(values), self.n_features)

    def _block(self, texts: Iterable[str], first_row: int) -> SparseRows:
        """The rows of a few texts; each distinct word and pair of words is hashed once."""
        vocabulary: dict[str, int] = {}
        flat: list[int] = []  # word numbers of all texts, one after the other
        lengths: list[int] = []
        for row, text in enumerate(texts, first_row):
            if not isinstance(text, str):
                raise InputError(
                    f"texts: row {row} is a {type(text).__name__}, not a string; leave it out or convert it"
                )
            found = words_of(text)
            flat.extend([vocabulary.setdefault(word, len(vocabulary)) for word in found])
            lengths.append(len(found))
        words = list(vocabulary)
        numbers = np.array(flat, dtype=np.int64)
        rows = np.repeat(np.arange(len(lengths)), lengths)  # the row of each word
        keys = [self._single_keys(words, numbers, rows)]
        if self.bigrams:
            keys.append(self._pair_keys(words, numbers, rows))
        return self._count(np.concatenate(keys), len(lengths))

    def _single_keys(self, words: list[str], numbers: IntArray, rows: IntArray) -> IntArray:
        """row * n_features + column of every word and trigram."""
        columns = [self._columns(self._tokens(word)) for word in words]
        widths = np.array([len(each) for each in columns], dtype=np.int64)
        starts = np.cumsum(widths) - widths
        table = np.fromiter(chain.from_iterable(columns), dtype=np.int64, count=int(widths.sum()))
        counts = widths[numbers]  # columns of each word in turn
        offsets = np.cumsum(counts) - counts
        source = np.repeat(starts[numbers] - offsets, counts) + np.arange(counts.sum())
        keys: IntArray = np.repeat(rows, counts) * self.n_features + table[source]
        return keys

    def _pair_keys(self, words: list[str], numbers: IntArray, rows: IntArray) -> IntArray:
        """row * n_features + column of every two words that follow each other."""
        together = np.flatnonzero(rows[1:] == rows[:-1])
        pairs, which = np.unique(numbers[together] * len(words) + numbers[together + 1], return_inverse=True)
        lefts, rights = np.divmod(pairs, max(len(words), 1))
        tokens = [
            f"b:{words[left]} {words[right]}" for left, right in zip(lefts.tolist(), rights.tolist(), strict=True)
        ]
        table = np.array(self._columns(tokens), dtype=np.int64)
        return rows[together] * self.n_features + table[which]

    def _tokens(self, word: str) -> list[str]:
        """A word's own features; the letter before the colon keeps the kinds apart."""
        tokens = [f"w:{word}"] if self.words else []
        if self.trigrams:
            bounded = f"#{word}#"
            tokens.extend([f"c:{bounded[i : i + 3]}" for i in range(len(word))])
        return tokens

    def _columns(self, tokens: list[str]) -> list[int]:
        from sklearn.utils import (
            murmurhash3_32,
        )  # here: scikit-learn takes two seconds to import, which no command needs

        return [murmurhash3_32(token, 0, True) % self.n_features for token in tokens]

    def _count(self, keys: IntArray, n_rows: int) -> SparseRows:
        """Rows of counts from (row, column) keys in any order."""
        distinct, counts = np.unique(keys, return_counts=True)
        rows, columns = np.divmod(distinct, self.n_features)
        indptr = np.searchsorted(rows, np.arange(n_rows + 1)).astype(np.int64)
        indices: Int32Array = columns.astype(np.int32)
        return SparseRows(indptr, indices, counts.astype(np.float32), self.n_features)
