"""murmur3 with 32 bits: the hash of names and tokens, given as stretches of bytes."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from xmach._kernels._compile import kernel
from xmach.types import AnyArray

Byte: TypeAlias = Any  # np.uint8, and
Word: TypeAlias = Any  # np.uint32: as kernels have them

SLACK = 4  # bytes after a stretch that are read, too; their values do not matter

_C1, _C2 = np.uint32(0xCC9E2D51), np.uint32(0x1B873593)
_FIVE, _ADD = np.uint32(5), np.uint32(0xE6546B64)
_F1, _F2 = np.uint32(0x85EBCA6B), np.uint32(0xC2B2AE35)
# Typed: for a bare number Numba would compile `_finish` once more.
_THREE, _FOUR_BYTES, _FIVE_BYTES = np.int64(3), np.int64(4), np.int64(5)
_COLON = np.uint32(ord(":") << 8)
SECOND_SEED = 0x9747B28C  # of the second hash of a pair; any number except 0 would do
_SECOND = np.uint32(SECOND_SEED)


@kernel
def murmur3_tagged(tag: Word, data: AnyArray, begin: int, end: int) -> Word:
    """Return the hash of a letter, a colon and data[begin:end] (not empty), with seed 0."""
    size = end - begin
    head = np.uint32(tag | _COLON | (np.uint32(data[begin]) << np.uint32(16)))
    if size == 1:
        return _finish(_scramble(head), _THREE)
    head = np.uint32(head | (np.uint32(data[begin + 1]) << np.uint32(24)))
    return _finish(_body(_add_block(np.uint32(0), head), data, begin + 2, end), size + 2)


@kernel
def murmur3_trigram(tag: Word, a: Byte, b: Byte, c: Byte) -> Word:
    """Do the same for a letter, a colon and three bytes."""
    head = np.uint32(tag | _COLON | (np.uint32(a) << np.uint32(16)) | (np.uint32(b) << np.uint32(24)))
    return _finish(np.uint32(_add_block(np.uint32(0), head) ^ _scramble(np.uint32(c))), _FIVE_BYTES)


@kernel
def murmur3_pair(tag: Word, data: AnyArray, begin: int, end: int) -> Any:
    """Return the hash of a letter, a colon and data[begin:end] (not empty), and above it that with the second seed.

    One pass over the bytes computes both, because the scrambling of a block does not depend on the seed.
    """
    size = end - begin
    head = np.uint32(tag | _COLON | (np.uint32(data[begin]) << np.uint32(16)))
    if size == 1:
        k = _scramble(head)
        return _joined(_finish(k, _THREE), _finish(np.uint32(_SECOND ^ k), _THREE))
    k = _scramble(np.uint32(head | (np.uint32(data[begin + 1]) << np.uint32(24))))
    a, b = _mix(np.uint32(0), k), _mix(_SECOND, k)
    i = begin + 2
    while i + 4 <= end:
        k = _scramble(_four(data, i))
        a, b = _mix(a, k), _mix(b, k)
        i += 4
    k = _scramble(np.uint32(_four(data, i) & _low_bytes(end - i)))
    return _joined(_finish(np.uint32(a ^ k), size + 2), _finish(np.uint32(b ^ k), size + 2))


@kernel
def murmur3_trigram_pair(tag: Word, a: Byte, b: Byte, c: Byte) -> Any:
    """Do the same for a letter, a colon and three bytes."""
    head = np.uint32(tag | _COLON | (np.uint32(a) << np.uint32(16)) | (np.uint32(b) << np.uint32(24)))
    block, tail = _scramble(head), _scramble(np.uint32(c))
    first, second = np.uint32(_mix(np.uint32(0), block) ^ tail), np.uint32(_mix(_SECOND, block) ^ tail)
    return _joined(_finish(first, _FIVE_BYTES), _finish(second, _FIVE_BYTES))


@kernel
def murmur3_number(number: Word) -> Word:
    """Return the hash of a 32-bit number: of its four bytes, lowest first."""
    return _finish(_add_block(np.uint32(0), number), _FOUR_BYTES)


@kernel
def _joined(low: Word, high: Word) -> Any:
    return np.uint64(low) | (np.uint64(high) << np.uint64(32))


@kernel
def _body(h: Word, data: AnyArray, i: int, end: int) -> Word:
    """Hash blocks of four bytes, then the remaining three at most."""
    while i + 4 <= end:
        h = _add_block(h, _four(data, i))
        i += 4
    return np.uint32(h ^ _scramble(np.uint32(_four(data, i) & _low_bytes(end - i))))


@kernel
def _low_bytes(n: int) -> Word:
    """Return a mask of the low n bytes, n at most 3; 0 for none."""
    return np.uint32((np.uint32(1) << np.uint32(8 * n)) - np.uint32(1))


@kernel
def _four(data: AnyArray, i: int) -> Word:
    """Return four bytes as a number, lowest first; LLVM compiles this to one load."""
    low = np.uint32(data[i]) | (np.uint32(data[i + 1]) << np.uint32(8))
    return np.uint32(low | (np.uint32(data[i + 2]) << np.uint32(16)) | (np.uint32(data[i + 3]) << np.uint32(24)))


@kernel
def _scramble(k: Word) -> Word:
    k = np.uint32(k * _C1)
    k = np.uint32((k << np.uint32(15)) | (k >> np.uint32(17)))
    return np.uint32(k * _C2)


@kernel
def _add_block(h: Word, k: Word) -> Word:
    return _mix(h, _scramble(k))


@kernel
def _mix(h: Word, scrambled: Word) -> Word:
    h = np.uint32(h ^ scrambled)
    h = np.uint32((h << np.uint32(13)) | (h >> np.uint32(19)))
    return np.uint32(h * _FIVE + _ADD)


@kernel
def _finish(h: Word, size: Any) -> Word:
    h = np.uint32(h ^ np.uint32(size))
    h = np.uint32((h ^ (h >> np.uint32(16))) * _F1)
    h = np.uint32((h ^ (h >> np.uint32(13))) * _F2)
    return np.uint32(h ^ (h >> np.uint32(16)))
