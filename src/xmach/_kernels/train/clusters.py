"""Clusters of equal size by repeated halving; the same on every machine."""

from __future__ import annotations

import numpy as np

from xmach._kernels._compile import kernel
from xmach.types import AnyArray, BoolArray, DoubleArray, FloatArray, Int32Array, IntArray

ROUNDS = 5  # of 2-means a halving; recall of a shop of 20,000 products was the same with 3 and with 10
_LANES = 8  # lanes of a sum, whatever the processor has: the order of additions is the same everywhere
_DEEPEST = 128  # halvings that wait at a time: one a level, and fewer than 64 levels


@kernel
def add_to_labels(
    indptr: IntArray, labels: Int32Array, first: int, weights: FloatArray, rows: FloatArray, points: FloatArray
) -> None:
    """points (K, D) += each row's vector (rows is (n, D)), shared among the labels of row first + i, by its weight."""
    for i in range(len(rows)):
        start, stop = indptr[first + i], indptr[first + i + 1]
        if stop > start:
            share = weights[i] / np.float32(stop - start)
            for j in range(start, stop):
                point, row = points[labels[j]], rows[i]
                for h in range(len(row)):
                    point[h] += share * row[h]


@kernel
def unit_points(points: FloatArray, known: BoolArray) -> None:
    """Scale every point (n, D) that is not zero to unit length, in place; `known` (n,) marks those."""
    for i in range(len(points)):
        point = points[i]
        square = _along(point, point)
        known[i] = square > 0.0
        if known[i]:
            length = np.sqrt(square)
            for h in range(len(point)):
                point[h] /= length


@kernel
def balanced_clusters(points: FloatArray, keys: AnyArray, n_clusters: int, out: AnyArray) -> None:
    """out (n,): the cluster of each point (n, D), whose sizes differ by about one; D is a multiple of 8.

    A set that is to be m clusters is parted in two, in the proportion of m // 2 to the rest, by 2-means: from the two
    points with the least and the greatest of their random `keys` (n,) on, along the line between the means. Ties go
    by number, so nothing depends on the order in which a set is looked at but the last digits of its means.
    """
    n, width = points.shape
    order, heights = np.arange(n).astype(np.int32), np.empty(n, np.float32)
    line, low, high = np.empty(width, np.float32), np.empty(width, np.float64), np.empty(width, np.float64)
    waiting = np.empty((_DEEPEST, 4), np.int64)  # first and last + 1 in `order`, first cluster, how many
    waiting[0] = np.array([0, n, 0, n_clusters])
    depth = 1
    while depth > 0:
        depth -= 1
        start, stop, cluster, count = waiting[depth]
        if count == 1:
            for i in range(start, stop):
                out[order[i]] = cluster
            continue
        half = count // 2
        cut = start + (stop - start) * half // count
        if start < cut < stop:
            _first_line(points, keys, order[start:stop], line)
            for step in range(ROUNDS):
                if step > 0:
                    _mean(points, order[start:cut], low)
                    _mean(points, order[cut:stop], high)
                    for h in range(width):
                        line[h] = np.float32(high[h] - low[h])
                for i in range(start, stop):
                    heights[i] = _along(points[order[i]], line)
                _part(heights, order, start, stop - 1, cut)
        waiting[depth] = np.array([cut, stop, cluster + half, count - half])
        waiting[depth + 1] = np.array([start, cut, cluster, half])
        depth += 2


@kernel
def _first_line(points: FloatArray, keys: AnyArray, members: Int32Array, line: FloatArray) -> None:
    """From the member with the least key to the one with the greatest."""
    least, most = members[0], members[0]
    for member in members:
        least = member if keys[member] < keys[least] else least
        most = member if keys[member] > keys[most] else most
    for h in range(len(line)):
        line[h] = points[most, h] - points[least, h]


@kernel
def _mean(points: FloatArray, members: Int32Array, out: DoubleArray) -> None:
    out[:] = 0.0
    for member in members:
        for h in range(len(out)):
            out[h] += points[member, h]
    for h in range(len(out)):
        out[h] /= len(members)


@kernel
def _along(point: FloatArray, line: FloatArray) -> np.float32:
    """The scalar product, in eight lanes."""
    lanes = np.zeros(_LANES, np.float32)
    for start in range(0, len(line), _LANES):
        for h in range(_LANES):
            lanes[h] += point[start + h] * line[start + h]
    even = (lanes[0] + lanes[4]) + (lanes[2] + lanes[6])
    total: np.float32 = even + ((lanes[1] + lanes[5]) + (lanes[3] + lanes[7]))
    return total


@kernel
def _part(heights: FloatArray, order: Int32Array, first: int, last: int, cut: int) -> None:
    """Hoare's quickselect, in place: what comes before `cut` is lower than what comes from there on; ties by number."""
    while first < last:
        middle = (first + last) // 2
        height, number = heights[middle], order[middle]
        i, j = first, last
        while i <= j:
            while heights[i] < height or (heights[i] == height and order[i] < number):
                i += 1
            while heights[j] > height or (heights[j] == height and order[j] > number):
                j -= 1
            if i <= j:
                heights[i], heights[j] = heights[j], heights[i]
                order[i], order[j] = order[j], order[i]
                i += 1
                j -= 1
        if cut <= j:
            last = j
        elif cut >= i:
            first = i
        else:
            return
