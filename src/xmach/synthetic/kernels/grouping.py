"""Equal texts get one number: a hash table from bytes to rows, numbered as they first come."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from xmach._kernels._compile import kernel
from xmach.types import AnyArray, Int32Array, IntArray

_OFFSET, _PRIME = np.uint64(0xCBF29CE484222325), np.uint64(0x100000001B3)  # FNV-1a
_M1, _M2 = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)  # the finaliser of splitmix64
_S1, _S2, _S3 = np.uint64(30), np.uint64(27), np.uint64(31)


class _Kept(NamedTuple):
    """The different texts so far."""

    data: AnyArray  # their bytes, one after the other
    ends: IntArray
    hashes: AnyArray  # uint64
    places: Int32Array  # (2^m,) open addressing: the row in each place, -1 for none


class TextGroups:
    """The different ones of at most `capacity` texts, in order of first sight."""

    def __init__(self, capacity: int) -> None:
        self._n = 0
        places = np.full(1 << (2 * capacity).bit_length(), -1, np.int32)
        self._kept = _Kept(
            np.empty(32 * capacity, np.uint8), np.empty(capacity, np.int64), np.empty(capacity, np.uint64), places
        )

    def __len__(self) -> int:
        """How many there are."""
        return self._n

    def rows(self, data: AnyArray, ends: IntArray) -> IntArray:
        """The number of each text, 0 for the first; texts are bytes one after the other, each with its end."""
        if self._n + len(ends) > len(self._kept.ends):
            raise ValueError(f"{self._n} texts and {len(ends)} more are beyond the {len(self._kept.ends)} announced")
        used = self._bytes(self._n)
        if used + len(data) > len(self._kept.data):
            larger = np.empty(2 * (used + len(data)), np.uint8)
            larger[:used] = self._kept.data[:used]
            self._kept = self._kept._replace(data=larger)
        rows = np.empty(len(ends), np.int64)
        self._n = _group(data, ends, self._kept, self._n, rows)
        return rows

    def first(self, n: int) -> tuple[AnyArray, IntArray, AnyArray]:
        """The bytes of the first n, where each ends, and a 64-bit hash of each."""
        n = min(n, self._n)
        return self._kept.data[: self._bytes(n)].copy(), self._kept.ends[:n].copy(), self._kept.hashes[:n].copy()

    def _bytes(self, n: int) -> int:
        return int(self._kept.ends[n - 1]) if n else 0


@kernel
def _group(data: AnyArray, ends: IntArray, kept: _Kept, n: int, rows: IntArray) -> int:
    """Number the texts; how many different ones there are now."""
    mask = np.uint64(len(kept.places) - 1)
    begin = np.int64(0)
    used = kept.ends[n - 1] if n else np.int64(0)
    for i in range(len(ends)):
        text_hash = _hash(data, begin, ends[i])
        place = text_hash & mask
        row = kept.places[place]
        while row >= 0 and (kept.hashes[row] != text_hash or not _equal(data, begin, ends[i], kept, row)):
            place = (place + np.uint64(1)) & mask
            row = kept.places[place]
        if row < 0:
            row = np.int32(n)
            kept.places[place], kept.hashes[n] = row, text_hash
            for j in range(begin, ends[i]):
                kept.data[used] = data[j]
                used += 1
            kept.ends[n] = used
            n += 1
        rows[i] = row
        begin = ends[i]
    return n


@kernel
def _hash(data: AnyArray, begin: Any, end: Any) -> Any:
    h = _OFFSET
    for i in range(begin, end):
        h = (h ^ np.uint64(data[i])) * _PRIME
    h = (h ^ (h >> _S1)) * _M1
    h = (h ^ (h >> _S2)) * _M2
    return h ^ (h >> _S3)


@kernel
def _equal(data: AnyArray, begin: Any, end: Any, kept: _Kept, row: int) -> bool:
    first = kept.ends[row - 1] if row > 0 else np.int64(0)
    if kept.ends[row] - first != end - begin:
        return False
    i = np.int64(0)
    while i < end - begin and kept.data[first + i] == data[begin + i]:
        i += 1
    return bool(i == end - begin)
