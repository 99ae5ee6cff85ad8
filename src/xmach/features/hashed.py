"""Hashed text: words, pairs of words and character trigrams, by murmur3 into a fixed number of columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, ClassVar

from xmach._kernels.text.hashing import hash_texts
from xmach.errors import ParameterError
from xmach.features.blocks import counted_rows, encoded_blocks
from xmach.types import AnyArray, SparseRows


@dataclass(frozen=True)
class HashedText:
    """Converts texts to rows; stateless, so a text gives the same row in every process."""

    n_features: int = 80_000  # the paper's
    words: bool = True
    bigrams: bool = True
    trigrams: bool = True
    binary: bool = False  # 1 for every token that occurs, instead of its count

    kind: ClassVar[str] = "hashed-text"

    def __repr__(self) -> str:
        """Only what differs from the defaults."""
        changed = [each for each in fields(self) if each.repr and getattr(self, each.name) != each.default]
        return f"HashedText({', '.join(f'{each.name}={getattr(self, each.name)!r}' for each in changed)})"

    def __post_init__(self) -> None:
        size = self.n_features
        if isinstance(size, bool) or not isinstance(size, int) or not 1 <= size < 2**31:
            raise ParameterError(f"n_features must be a whole number from 1 to 2**31 - 1, got {size!r}")
        for name in ("words", "bigrams", "trigrams", "binary"):
            if not isinstance(getattr(self, name), bool):
                raise ParameterError(f"{name} must be True or False, got {getattr(self, name)!r}")
        if not (self.words or self.bigrams or self.trigrams):
            raise ParameterError("at least one of words, bigrams and trigrams must be True")

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as JSON values; `binary` is left out if False, as in older formats."""
        settings = asdict(self)
        if not self.binary:
            del settings["binary"]
        return {"kind": self.kind, **settings}

    @classmethod
    def from_dict(cls, settings: Mapping[str, Any]) -> HashedText:
        """Rebuild the vectorizer from `to_dict`."""
        given = {name: value for name, value in settings.items() if name != "kind"}
        unknown = sorted(set(given) - {field.name for field in fields(cls)})
        if settings.get("kind") != cls.kind or unknown:
            raise ParameterError(f"not the settings of a {cls.kind!r} vectorizer: {dict(settings)!r}")
        return cls(**given)

    def arrays(self) -> dict[str, AnyArray]:
        """Return the learned arrays: none."""
        return {}

    def transform(self, texts: Sequence[str]) -> SparseRows:
        """Convert each text to a row of counts, or of ones; a text without words gives an empty row."""
        wanted = self.words, self.bigrams, self.trigrams
        blocks = (hash_texts(*block, *wanted, self.n_features) for block in encoded_blocks(texts))
        return counted_rows(blocks, self.n_features, self.binary)
