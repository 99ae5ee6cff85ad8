"""The highest cells of a query's (R, B) sketch, found without sorting it.

Floats are compared through keys: 32-bit integers in the same order, which LLVM compares eight at a time (a maximum of
floats it would take one by one, for NaN's sake).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from xmach._kernels._compile import kernel
from xmach.types import Int32Array

BLOCK = 32  # cells that share one maximum
LOWEST = -2139095041  # the key of -inf
_HIGHEST = 2139095040  # the key of +inf


@kernel
def key_of(bits: Any) -> Any:
    """A float's bits to its key, and a key to its float's bits: negative numbers are turned around."""
    return bits ^ ((bits >> np.int32(31)) & np.int32(0x7FFFFFFF))


@kernel
def value_of(key: int) -> Any:
    """The float of a key."""
    bits = np.empty(1, np.int32)
    bits[0] = key_of(np.int32(key))
    return bits.view(np.float32)[0]


@kernel
def key_of_value(value: np.float32) -> Any:
    """The key of a float."""
    number = np.empty(1, np.float32)
    number[0] = value
    return key_of(number.view(np.int32)[0])


@kernel
def block_maxima(bits: Int32Array, maxima: Int32Array) -> None:
    """The highest key of every block of cells: bits (R, B), maxima (R, ceil(B / BLOCK))."""
    n_repetitions, n_buckets = bits.shape
    for r in range(n_repetitions):
        row = bits[r]
        for block in range(maxima.shape[1]):
            highest = np.int32(LOWEST)
            for j in range(block * BLOCK, min(n_buckets, (block + 1) * BLOCK)):
                highest = max(highest, key_of(row[j]))
            maxima[r, block] = highest


@kernel
def count_cells(bits: Int32Array, maxima: Int32Array, level: int) -> int:
    """About how many cells have a key of at least `level`: bits (R, B), maxima (R, blocks).

    Few cells are nearly all in blocks of their own, so blocks are counted (32 times fewer). Where those are many, the
    cells of some repetitions stand for all.
    """
    floor, blocks = np.int32(level), maxima.reshape(-1)
    count = np.int32(0)
    for i in range(len(blocks)):
        count = np.int32(count + np.int32(blocks[i] >= floor))  # in 32 bits: twice as many at a time
    if 3 * count <= maxima.size:
        return int(count)
    some = max(1, len(bits) // 8)
    cells = bits[:some].reshape(-1)
    count = np.int32(0)
    for i in range(len(cells)):
        count = np.int32(count + np.int32(key_of(cells[i]) >= floor))
    return int(count) * len(bits) // some


@kernel
def level_of(bits: Int32Array, maxima: Int32Array, count: int) -> int:
    """A level that about `count` cells reach, by bisection."""
    low, high = LOWEST, _HIGHEST
    while high - low > 1024:
        middle = (low + high) // 2
        reached = count_cells(bits, maxima, middle)
        if reached < count:
            high = middle
            continue
        low = middle
        if 8 * reached <= 9 * count:
            break
    return low


@kernel
def collect(
    bits: Int32Array, maxima: Int32Array, level: int, below: int, repetitions: Int32Array, buckets: Int32Array
) -> int:
    """Write down the cells with level <= key < below; returns how many.

    A block's cells are compared all at once, into marks, which are then looked at eight by eight: three to five times
    as fast as cell by cell.
    """
    floor, ceiling, count = np.int32(level), np.int32(below), 0
    marks = np.zeros(BLOCK, np.uint8)
    eights = marks.view(np.uint64)
    for r in range(len(bits)):
        for block in range(maxima.shape[1]):
            if maxima[r, block] < floor:
                continue
            start = block * BLOCK
            size = min(BLOCK, bits.shape[1] - start)
            if size < BLOCK:
                marks[size:] = 0
            for j in range(size):
                key = key_of(bits[r, start + j])
                marks[j] = (key >= floor) & (key < ceiling)
            for eighth in range(len(eights)):
                left = eights[eighth]
                while left != 0:
                    lowest = left & (~left + np.uint64(1))
                    left ^= lowest
                    place = 8 * eighth
                    while lowest > 1:  # a mark is 1 in its byte
                        lowest >>= np.uint64(8)
                        place += 1
                    repetitions[count], buckets[count] = r, start + place
                    count += 1
    return count
