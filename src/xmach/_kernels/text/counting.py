"""How often keys occur, in a hash table: a key lies where its low bits say, or in the next place that was free."""

from __future__ import annotations

import numpy as np

from xmach._kernels._compile import kernel
from xmach._kernels.text.tokens import KIND_SHIFT
from xmach.types import AnyArray, IntArray

_SHIFT = np.uint64(KIND_SHIFT)


@kernel
def count_keys(
    keys: AnyArray, start: int, kind: int, known: AnyArray, counts: IntArray, used: int, most: int
) -> tuple[int, int]:
    """Count keys of a kind from `start` on, until one would be the `most` + 1st of the table, which has `used`.

    Where it stopped, and how many the table has then. `known` and `counts` have a power of two of places, more than
    `most`; a place is free where the count is 0.
    """
    mask = np.uint64(len(counts) - 1)
    for i in range(start, len(keys)):
        key = keys[i]
        if key >> _SHIFT != np.uint64(kind):
            continue
        place = key & mask
        while counts[place] and known[place] != key:
            place = (place + np.uint64(1)) & mask
        if counts[place] == 0:
            if used >= most:
                return i, used
            known[place] = key
            used += 1
        counts[place] += 1
    return len(keys), used


@kernel
def insert_keys(keys: AnyArray, times: IntArray, known: AnyArray, counts: IntArray) -> None:
    """Put distinct keys with their counts into a table that has none of them, and room."""
    mask = np.uint64(len(counts) - 1)
    for i in range(len(keys)):
        place = keys[i] & mask
        while counts[place]:
            place = (place + np.uint64(1)) & mask
        known[place], counts[place] = keys[i], times[i]
