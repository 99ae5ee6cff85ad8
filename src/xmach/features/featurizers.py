"""Text vectorizers by name and from stored settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from xmach.errors import InputError, ParameterError
from xmach.features.hashed import HashedText
from xmach.types import AnyArray, TextRows

if TYPE_CHECKING:
    from xmach.features.vocabulary import VocabularyText

NAMES: tuple[str, ...] = ("text", "paper")


def featurizer(features: Any, also: str = "") -> HashedText | VocabularyText:
    """Return a vectorizer: `"text"` is plain hashing, `"paper"` the paper's vocabulary, still to be learned.

    An existing vectorizer is returned as it is. `also` lists what else the caller accepts, for the error message.
    """
    from xmach.features.vocabulary import VocabularyText

    if isinstance(features, HashedText | VocabularyText):
        return features
    if isinstance(features, str) and features in NAMES:
        return HashedText() if features == "text" else VocabularyText()
    legal = ", ".join(map(repr, NAMES))
    raise ParameterError(f"features must be one of {also}{legal}, a HashedText or a VocabularyText, got {features!r}")


def learned(text: HashedText | VocabularyText, texts: Sequence[str]) -> HashedText | VocabularyText:
    """Learn the vocabulary from these texts if the vectorizer needs one and has none yet."""
    return text if isinstance(text, HashedText) or text.is_learned else text.learn(texts)


def stored_text(settings: Mapping[str, Any], arrays: Mapping[str, AnyArray]) -> TextRows:
    """Rebuild a vectorizer from its stored settings and arrays."""
    if not needs_arrays(settings):
        return HashedText.from_dict(settings)
    from xmach.features.vocabulary import VocabularyText

    text = VocabularyText.from_dict(settings, arrays.get("keys"))
    if text.keys is None or text.digest != settings.get("vocabulary"):
        raise InputError("this is not the vocabulary that the plan names")
    return text


def needs_arrays(settings: Mapping[str, Any] | None) -> bool:
    """Return whether a vectorizer with these settings has learned arrays."""
    return settings is not None and settings.get("kind") != HashedText.kind


def is_plain(settings: Mapping[str, Any] | None) -> bool:
    """Return whether the first model formats support these settings: none, or hashed counts."""
    return settings is None or (settings.get("kind") == HashedText.kind and not settings.get("binary"))
