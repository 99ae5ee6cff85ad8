"""xmach: extreme classification in log memory (MACH)."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from xmach.version import __version__

if TYPE_CHECKING:
    from xmach.data import Dataset, read_dataset
    from xmach.estimator import MACHClassifier, TextVectorizer
    from xmach.predictor import Predictor
    from xmach.store import load
    from xmach.types import TopK

_HOMES = {
    "Dataset": "xmach.data",
    "MACHClassifier": "xmach.estimator",
    "Predictor": "xmach.predictor",
    "TextVectorizer": "xmach.estimator",
    "TopK": "xmach.types",
    "load": "xmach.store",
    "read_dataset": "xmach.data",
}

__all__ = ["Dataset", "MACHClassifier", "Predictor", "TextVectorizer", "TopK", "__version__", "load", "read_dataset"]


def __getattr__(name: str) -> Any:
    """Public names come from their rooms when first asked for: `import xmach` costs nothing."""
    if name not in _HOMES:
        raise AttributeError(f"module 'xmach' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return __all__
