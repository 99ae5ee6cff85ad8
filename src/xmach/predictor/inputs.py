"""Texts as a list and as rows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from xmach.errors import InputError
from xmach.types import SparseRows, TextRows


def text_list(X: Any) -> list[str]:
    """Texts as a list; only a plain sequence of str will do."""
    if isinstance(X, str | bytes) or not isinstance(X, Iterable) or getattr(X, "ndim", 1) != 1:
        seen = "one text" if isinstance(X, str) else type(X).__name__
        seen += f" of {X.ndim} dimensions" if hasattr(X, "ndim") else ""
        raise InputError(f"X must be a list of texts, got {seen}; put texts in a list, or choose one column")
    return X.to_pylist() if hasattr(X, "to_pylist") else list(X)  # Arrow's own strings are not str


def text_rows(X: Any, text: TextRows) -> SparseRows:
    """Texts as rows."""
    rows = text.transform(text_list(X))
    if rows.n_rows == 0:
        raise InputError("X has no text in it: Found array with 0 sample(s)")
    return rows
