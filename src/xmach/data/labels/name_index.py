"""From label names to ids: an index of hashes, 16 bytes a label."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import Any

import numpy as np

from xmach.data.labels.names import LabelNames
from xmach.errors import InputError
from xmach.types import IntArray, row_batches

_BLOCK = 1 << 16  # names hashed at a time


class NameIndex:
    """Finds the ids of label names. Building it reads all names once; a lookup reads only the names it compares.

    `key` maps a label name to what it is looked up by, for example its spelling in a file.
    Python salts the hashes of strings, so an index is valid in the process that built it only.
    """

    def __init__(self, names: LabelNames, key: Callable[[Any], Hashable] | None = None) -> None:
        self._names, self._key = names, key
        hashes = np.empty(len(names), np.int64)
        for start, stop in row_batches(len(names), _BLOCK):
            keys = self._keys(np.arange(start, stop))
            hashes[start:stop] = np.fromiter(map(hash, keys), np.int64, stop - start)
        self._ids = np.argsort(hashes, kind="stable")  # of equal hashes, the smaller id comes first
        self._hashes = hashes[self._ids]

    def find(self, wanted: Iterable[Hashable]) -> dict[Hashable, int]:
        """Return the ids of the wanted names that exist. Raise `InputError` if two labels share one of the names."""
        distinct = list(dict.fromkeys(wanted))
        hashes = np.fromiter(map(hash, distinct), np.int64, len(distinct))
        first = np.searchsorted(self._hashes, hashes, "left")
        lengths = np.searchsorted(self._hashes, hashes, "right") - first
        owners = np.repeat(np.arange(len(distinct)), lengths)
        places = np.repeat(first - np.cumsum(lengths) + lengths, lengths) + np.arange(len(owners))
        ids = self._ids[places]
        found: dict[Hashable, int] = {}
        for owner, i, key in zip(owners.tolist(), ids.tolist(), self._keys(ids), strict=True):
            name = distinct[owner]
            if key != name:  # another name of the same hash
                continue
            if name in found:
                raise InputError(f"{name!r} is the name of labels {found[name]} and {i}: give ids instead")
            found[name] = i
        return found

    def _keys(self, ids: IntArray) -> list[Any]:
        names: list[Any] = self._names[ids].tolist() if len(ids) else []
        return names if self._key is None else list(map(self._key, names))
