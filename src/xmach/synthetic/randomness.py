"""Named randomness: keys, streams, hashes of numbers and a shuffle without a table; the same on every platform."""

from __future__ import annotations

from hashlib import blake2b
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from xmach.types import DoubleArray, IntArray

HashArray: TypeAlias = npt.NDArray[np.uint64]

_ROUNDS = 4


def key(*names: int | str) -> int:
    """Return the 64-bit key of these names."""
    return int.from_bytes(blake2b(repr(names).encode(), digest_size=8).digest(), "little")


def stream(*names: int | str) -> np.random.Generator:
    """Return the random stream of these names.

    Only `.random()` is drawn from it: NumPy may change its other distributions from version to version.
    """
    return np.random.Generator(np.random.PCG64(key(*names)))


def mix(numbers: IntArray, by: int) -> HashArray:
    """Return a 64-bit hash of each number (the finaliser of splitmix64), different for every key."""
    z: HashArray = numbers.astype(np.uint64)
    z += np.uint64(by)
    z ^= z >> np.uint64(30)
    z *= np.uint64(0xBF58476D1CE4E5B9)
    z ^= z >> np.uint64(27)
    z *= np.uint64(0x94D049BB133111EB)
    z ^= z >> np.uint64(31)
    return z


def below(hashes: HashArray, bounds: IntArray | int, lane: int = 0) -> IntArray:
    """Return a number in 0..bound-1 from the 16 bits of a lane (0 to 3) of each hash; for small bounds."""
    bits = (hashes >> np.uint64(16 * lane)) & np.uint64(0xFFFF)
    result: IntArray = bits.astype(np.int64) % bounds
    return result


def uniform(hashes: HashArray) -> DoubleArray:
    """Return a number in [0, 1) from each hash."""
    result: DoubleArray = (hashes >> np.uint64(11)).astype(np.float64) * 2.0**-53
    return result


class Shuffle:
    """A permutation of 0..size-1 without a table: a Feistel network, repeated until the result is in range."""

    def __init__(self, size: int, by: int) -> None:
        self._size = size
        self._half_bits = max(1, ((size - 1).bit_length() + 1) // 2)
        self._keys = [key(by, turn) for turn in range(_ROUNDS)]

    def forward(self, numbers: IntArray) -> IntArray:
        """Return the image of each number."""
        return self._walk(numbers, self._keys, inverse=False)

    def backward(self, numbers: IntArray) -> IntArray:
        """Return the preimage of each number."""
        return self._walk(numbers, self._keys[::-1], inverse=True)

    def _walk(self, numbers: IntArray, keys: list[int], inverse: bool) -> IntArray:
        result = self._pass(np.asarray(numbers, dtype=np.int64), keys, inverse)
        outside = np.flatnonzero(result >= self._size)
        while len(outside):
            result[outside] = self._pass(result[outside], keys, inverse)
            outside = outside[result[outside] >= self._size]
        return result

    def _pass(self, numbers: IntArray, keys: list[int], inverse: bool) -> IntArray:
        bits, mask = self._half_bits, (1 << self._half_bits) - 1
        left, right = numbers >> bits, numbers & mask
        if inverse:
            left, right = right, left
        for each in keys:
            left, right = right, left ^ (mix(right, each) & np.uint64(mask)).astype(np.int64)
        if inverse:
            left, right = right, left
        return (left << bits) | right
