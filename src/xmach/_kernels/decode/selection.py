"""The highest of many numbers, found without sorting them: by bisection, which counts eight of them at a time."""

from __future__ import annotations

from typing import Any

import numpy as np

from xmach._kernels._compile import int64, kernel
from xmach.types import Int32Array

_SAMPLE = 16  # every 16th value is looked at first


@kernel
def level_of_best(values: Int32Array, count: int) -> int:
    """A level that exactly `count` of the values reach, or the `count`-th highest value if others tie with it."""
    low, high = int64(values.min()), int64(values.max())
    while low < high:
        middle = (low + high + 1) // 2
        floor, reached = np.int32(middle), np.int32(0)
        for i in range(len(values)):
            reached = np.int32(reached + np.int32(values[i] >= floor))
        if reached < count:
            high = middle - 1
            continue
        low = middle
        if reached == count:
            break
    return low


@kernel
def median(values: Int32Array) -> Any:
    """The median; of two in the middle the higher one."""
    level = level_of_best(values, (len(values) + 1) // 2)
    lowest = values.max()
    for i in range(len(values)):
        lowest = min(lowest, values[i] if values[i] >= level else lowest)
    return lowest


@kernel
def _leave_out_most(count: int, wanted: int, ids: Int32Array, values: Int32Array, some: Int32Array) -> int:
    """Leave out ids whose value is below a level that at least `wanted` reach; return how many are left.

    The level comes from a sample, which is quickly bisected. If it turns out too high, all ids stay.
    """
    sampled, reached = count // _SAMPLE, int64(0)
    rank = wanted // _SAMPLE + 2 * int(np.sqrt(wanted // _SAMPLE)) + 4
    if rank >= sampled:
        return count
    for i in range(sampled):
        some[i] = values[i * _SAMPLE]
    level = np.int32(level_of_best(some[:sampled], rank))
    for i in range(count):
        reached += values[i] >= level
    if reached < wanted:
        return count
    kept = int64(0)
    for i in range(count):
        ids[kept], values[kept] = ids[i], values[i]
        kept += values[kept] >= level
    return kept


@kernel
def keep_best(count: int, wanted: int, ids: Int32Array, values: Int32Array, some: Int32Array) -> int:
    """Keep the first `count` ids with the highest values, ties by smallest id, in their order; return how many.

    `values` and `some` are overwritten; `some` has room for `count` numbers.
    """
    if count <= wanted:
        return count
    count = _leave_out_most(count, wanted, ids, values, some)
    level = level_of_best(values[:count], wanted)
    above, equal, last = int64(0), int64(0), int64(2**31 - 1)
    for i in range(count):
        above += values[i] > level
        some[equal] = -ids[i]
        equal += values[i] == level
    if above + equal > wanted:
        last = -int64(level_of_best(some[:equal], wanted - above))
    kept = int64(0)
    for i in range(count):
        chosen = values[i] > level or (values[i] == level and ids[i] <= last)
        ids[kept] = ids[i]
        kept += chosen
    return kept
