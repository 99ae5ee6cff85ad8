"""Slow twins of the kernels in `xmach.synthetic.kernels.grouping`: the same results from plain NumPy and Python."""

from __future__ import annotations

from collections.abc import Iterable


def group_slow(texts: Iterable[bytes]) -> list[int]:
    """The number of each text, by a dictionary."""
    known: dict[bytes, int] = {}
    return [known.setdefault(text, len(known)) for text in texts]
