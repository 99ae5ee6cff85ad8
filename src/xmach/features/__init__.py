"""Text to sparse rows, and the scaling of rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from xmach.features.featurizers import featurizer, learned, stored_text
from xmach.features.hashed import HashedText
from xmach.features.scaling import Scaler, Scaling, fit_scaler
from xmach.features.words import word_spans

if TYPE_CHECKING:
    from xmach.features.vocabulary import VocabularyText

__all__ = [
    "HashedText",
    "Scaler",
    "Scaling",
    "VocabularyText",
    "featurizer",
    "fit_scaler",
    "learned",
    "stored_text",
    "word_spans",
]


def __getattr__(name: str) -> Any:
    """Import `VocabularyText` on first use: a model without a vocabulary does not need its kernels."""
    if name != "VocabularyText":
        raise AttributeError(f"module 'xmach.features' has no attribute {name!r}")
    from xmach.features.vocabulary import VocabularyText

    return VocabularyText
