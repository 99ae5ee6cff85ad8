"""Text with a learned vocabulary, as in the paper: frequent tokens have a slot each, others share reserved ones."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from xmach._kernels.text.lookup import Slots, known_rows, make_slots
from xmach._kernels.text.tokens import KIND_SHIFT, Kinds, token_keys
from xmach.block_sizes import COUNTED_TOKENS
from xmach.errors import InputError, ParameterError
from xmach.features.blocks import counted_rows, encoded_blocks
from xmach.features.learning import VocabularyLearner
from xmach.parameters import whole
from xmach.types import AnyArray, IntArray, SparseRows

KINDS = ("words", "bigrams", "trigrams")
_SETTINGS = ("n_features", *KINDS, "unknown", "binary")


@dataclass(frozen=True, eq=False)
class VocabularyText:
    """Converts texts to rows with a vocabulary of the most frequent words, pairs of words and character trigrams.

    A frequent token has its own slot, by kind and rank. Any other token is hashed into one of the `unknown` slots
    after those. Slot numbers are hashed by murmur3 into `n_features` columns. The defaults are the paper's.
    """

    n_features: int = 80_000
    words: int = 125_000  # slots of each kind; 0 leaves the kind out
    bigrams: int = 20_000
    trigrams: int = 70_000
    unknown: int = 500_000  # 0 leaves other tokens out
    binary: bool = False  # 1 for every token that occurs, instead of its count
    # of the tokens by kind, the most frequent first; None: still to be learned
    keys: IntArray | None = field(default=None, repr=False)
    slack: tuple[int, ...] = (0, 0, 0)  # by how much the counts of each kind may be too low; 0: exact

    kind: ClassVar[str] = "vocabulary-text"

    def __repr__(self) -> str:
        """Only what differs from the defaults."""
        changed = [each for each in fields(self) if each.repr and getattr(self, each.name) != each.default]
        return f"VocabularyText({', '.join(f'{each.name}={getattr(self, each.name)!r}' for each in changed)})"

    def __post_init__(self) -> None:
        whole("n_features", self.n_features, 1, 2**31 - 1)
        for name in (*KINDS, "unknown"):
            whole(name, getattr(self, name), 0, 2**31 - 1)
        if not isinstance(self.binary, bool):
            raise ParameterError(f"binary must be True or False, got {self.binary!r}")
        if not any(self.sizes):
            raise ParameterError("at least one of words, bigrams and trigrams must be above 0")
        if sum(self.sizes) + self.unknown >= 2**31:
            raise ParameterError("the sum of words, bigrams, trigrams and unknown must be below 2**31")
        if self.keys is not None:
            self._check_keys(self.keys)

    def _check_keys(self, keys: IntArray) -> None:
        kinds = _kinds(keys)
        found = np.bincount(kinds, minlength=len(KINDS))
        if np.any(kinds[1:] < kinds[:-1]) or len(found) > len(KINDS) or np.any(found > self.sizes):
            raise InputError(f"the keys are not those of {', '.join(KINDS)}: {found.tolist()}, not {self.sizes}")

    @property
    def sizes(self) -> tuple[int, int, int]:
        """The number of slots of words, bigrams and trigrams."""
        return self.words, self.bigrams, self.trigrams

    @property
    def is_learned(self) -> bool:
        """Whether the vocabulary has been learned."""
        return self.keys is not None

    @property
    def found(self) -> tuple[int, ...]:
        """The number of tokens of each kind in the vocabulary; fewer than slots if the texts had no more."""
        keys = np.zeros(0, np.int64) if self.keys is None else self.keys
        return tuple(np.bincount(_kinds(keys), minlength=len(KINDS)).tolist())

    @cached_property
    def digest(self) -> str | None:
        """The SHA-256 of the vocabulary; None if there is none."""
        return None if self.keys is None else hashlib.sha256(np.ascontiguousarray(self.keys).data).hexdigest()

    def learn(self, texts: Sequence[str], held: int = COUNTED_TOKENS) -> VocabularyText:
        """Return a copy with the vocabulary of these texts; for texts that do not fit in memory, see `learner`."""
        learner = self.learner(held)
        learner.add(texts)
        return self.learned(learner)

    def learner(self, held: int = COUNTED_TOKENS) -> VocabularyLearner:
        """Return a learner that counts batches of texts, for `learned`."""
        return VocabularyLearner(self.sizes, held)

    def learned(self, learner: VocabularyLearner) -> VocabularyText:
        """Return a copy with the vocabulary of a learner."""
        return self.with_keys(learner.keys(), learner.slack)

    def with_keys(self, keys: IntArray, slack: Sequence[int]) -> VocabularyText:
        """Return a copy with a vocabulary that was learned before."""
        return replace(self, keys=keys, slack=tuple(slack))

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as JSON values, with a digest of the vocabulary."""
        settings = {name: getattr(self, name) for name in _SETTINGS}
        return {"kind": self.kind, **settings, "slack": list(self.slack), "vocabulary": self.digest}

    @classmethod
    def from_dict(cls, settings: Mapping[str, Any], keys: IntArray | None = None) -> VocabularyText:
        """Rebuild the vectorizer from `to_dict` and the keys."""
        given = {name: value for name, value in settings.items() if name not in ("kind", "vocabulary")}
        unknown = sorted(set(given) - {each.name for each in fields(cls)})
        if settings.get("kind") != cls.kind or unknown:
            raise ParameterError(f"not the settings of a {cls.kind!r} vectorizer: {dict(settings)!r}")
        return cls(**{**given, "slack": tuple(given.get("slack", (0, 0, 0)))}, keys=keys)

    def arrays(self) -> dict[str, AnyArray]:
        """Return the learned arrays."""
        return {} if self.keys is None else {"keys": self.keys}

    def transform(self, texts: Sequence[str]) -> SparseRows:
        """Convert each text to a row of counts, or of ones; a text without words gives an empty row."""
        slots, wanted = self._slots, Kinds(*(size > 0 for size in self.sizes))
        blocks = (known_rows(*token_keys(*block, wanted), slots) for block in encoded_blocks(texts))
        return counted_rows(blocks, self.n_features, self.binary)

    @cached_property
    def _slots(self) -> Slots:
        """The lookup table of tokens; built on first use."""
        if self.keys is None:
            raise InputError("this VocabularyText has no vocabulary yet: text = text.learn(training_texts)")
        kinds = _kinds(self.keys)
        keys = np.ascontiguousarray(self.keys).view(np.uint64)
        first_of_kind = np.searchsorted(kinds, np.arange(len(KINDS)))
        offsets = np.concatenate([[0], np.cumsum(self.sizes)[:-1]])
        slots = np.arange(len(keys)) - first_of_kind[kinds] + offsets[kinds]
        return make_slots(keys, slots, sum(self.sizes), self.unknown, self.n_features)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, VocabularyText) and self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        return hash((self.n_features, *self.sizes, self.unknown, self.digest))

    def __getstate__(self) -> dict[str, Any]:
        """Return the state without the lookup table, which is rebuilt when needed."""
        return {name: value for name, value in vars(self).items() if name != "_slots"}


def _kinds(keys: IntArray) -> IntArray:
    """Return the kind of each key, its two upper bits."""
    return (keys.view(np.uint64) >> np.uint64(KIND_SHIFT)).astype(np.int64)
