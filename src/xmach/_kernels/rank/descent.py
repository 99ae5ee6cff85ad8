"""Dual coordinate descent for linear classifiers that are each trained on few rows: one after the other.

A label's problem is: minimise |w|^2 / 2 + sum over its rows of C_i max(0, 1 - y_i w x_i)^2, as LIBLINEAR solves it
(Hsieh et al. 2008), with shrinking. Every row ends with a constant 1, so the bias is regularised, too. Labels share no
rows to speak of, so there are no lanes as in `train/descent.py`: the weights of one label are a dense vector, which is
set back to zero by another walk over the label's rows.

A label's bits depend on its rows, the seed and its number only.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from xmach._kernels._compile import float64, inlined, int64, kernel
from xmach.types import DoubleArray, FloatArray, Int32Array, IntArray

UNTRAINED_BIAS = np.float32(-1.0)  # of a label without positive rows: the margin at which a negative has no loss
_SMALLEST_COST = 1e-30  # rows with less have no weight; 0.5 / C would overflow
_SMALLEST_STEP = 1e-12  # as LIBLINEAR
_GOLDEN, _MIX1, _MIX2 = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_S27, _S30, _S31, _S32 = np.uint64(27), np.uint64(30), np.uint64(31), np.uint64(32)


class CsrRows(NamedTuple):
    """Sparse rows."""

    indptr: IntArray  # (n + 1,)
    indices: Int32Array  # (nnz,)
    values: FloatArray  # (nnz,)


class RowLists(NamedTuple):
    """The rows of some labels: `LabelRows` without its first label."""

    starts: IntArray  # (m + 1,)
    rows: Int32Array
    weights: FloatArray  # empty: all 1


class Problem(NamedTuple):
    """The rows of the label in training; long enough for the label with the most rows."""

    rows: Int32Array
    signs: DoubleArray  # 1 for positives, -1 for negatives
    ridges: DoubleArray  # 1 / (2 C)
    norms: DoubleArray  # |x|^2 + 1 + 1 / (2 C)
    duals: DoubleArray
    order: Int32Array  # positions in `rows`; those that are not shrunk come first


class Scratch(NamedTuple):
    """Dense vectors of one worker."""

    weights: FloatArray  # (d,) zero between labels
    kept: FloatArray  # (d,) the weights that are kept, at their features; anything elsewhere
    features: Int32Array  # (d,) the features of these


class Kept(NamedTuple):
    """Where trained labels go."""

    starts: IntArray  # (m + 1,)
    features: Int32Array
    values: FloatArray
    biases: FloatArray  # (m,)


@kernel
def mixed(number: np.uint64) -> np.uint64:
    """Scramble 64 bits (the output function of splitmix64)."""
    bits = np.uint64(number)  # never int64: with uint64 that makes a float
    bits = (bits ^ (bits >> _S30)) * _MIX1
    bits = (bits ^ (bits >> _S27)) * _MIX2
    return bits ^ (bits >> _S31)


@kernel
def shuffle(order: Int32Array, n: int, state: np.uint64) -> np.uint64:
    """Shuffle order[:n]; returns the next state of the generator (splitmix64)."""
    bits = np.uint64(state)
    for i in range(n - 1):
        bits += _GOLDEN
        at = i + int64(((mixed(bits) >> _S32) * np.uint64(n - i)) >> _S32)
        order[i], order[at] = order[at], order[i]
    return bits


@inlined
def _cost(cost: float, weights: FloatArray, e: int) -> float:
    """The cost of an entry: weighted, if there are weights."""
    return cost * float64(weights[e]) if len(weights) > 0 else cost


@kernel
def list_rows(label: int, positives: RowLists, negatives: RowLists, cost: float, problem: Problem) -> int:
    """Write the rows of a label that have weight; returns how many. None if no positive row has.

    A negative row that is also a positive one is left out.
    """
    n = 0
    begin, end = positives.starts[label], positives.starts[label + 1]
    for e in range(begin, end):
        of_row = _cost(cost, positives.weights, e)
        if of_row > _SMALLEST_COST:
            problem.rows[n], problem.signs[n], problem.ridges[n] = positives.rows[e], 1.0, 0.5 / of_row
            n += 1
    if n == 0:
        return 0
    place = begin
    for e in range(negatives.starts[label], negatives.starts[label + 1]):
        row, of_row = negatives.rows[e], _cost(cost, negatives.weights, e)
        while place < end and positives.rows[place] < row:
            place += 1
        if of_row > _SMALLEST_COST and not (place < end and positives.rows[place] == row):
            problem.rows[n], problem.signs[n], problem.ridges[n] = row, -1.0, 0.5 / of_row
            n += 1
    return n


@inlined
def _dot(rows: CsrRows, row: int, weights: FloatArray) -> np.float32:
    """The product of a row and dense weights, in four sums: one would wait for each addition."""
    start, stop = rows.indptr[row], rows.indptr[row + 1]
    a = b = c = d = np.float32(0.0)
    fours = start + ((stop - start) & ~3)
    for j in range(start, fours, 4):
        a += rows.values[j] * weights[np.uint32(rows.indices[j])]
        b += rows.values[j + 1] * weights[np.uint32(rows.indices[j + 1])]
        c += rows.values[j + 2] * weights[np.uint32(rows.indices[j + 2])]
        d += rows.values[j + 3] * weights[np.uint32(rows.indices[j + 3])]
    for j in range(fours, stop):
        a += rows.values[j] * weights[np.uint32(rows.indices[j])]
    return (a + b) + (c + d)


@inlined
def _add(rows: CsrRows, row: int, step: np.float32, weights: FloatArray) -> None:
    """Add step times a row to dense weights."""
    for j in range(rows.indptr[row], rows.indptr[row + 1]):
        weights[np.uint32(rows.indices[j])] += step * rows.values[j]


@kernel
def prepare(rows: CsrRows, n: int, problem: Problem) -> float:
    """Set the norms, the duals and the order of a label's n rows; the sum of norms is finite if all values are."""
    norms = 0.0
    for i in range(n):
        row, total = problem.rows[i], 1.0
        for j in range(rows.indptr[row], rows.indptr[row + 1]):
            total += float64(rows.values[j]) * float64(rows.values[j])
        problem.norms[i] = total + problem.ridges[i]
        problem.duals[i] = 0.0
        problem.order[i] = i
        norms += total
    return norms


@kernel
def descend(
    rows: CsrRows, n: int, passes: int, epsilon: float, state: np.uint64, problem: Problem, weights: FloatArray
) -> np.float32:
    """Train one label on its n rows; returns the bias. `weights` (d,) must be zero.

    A row whose dual is 0 and whose gradient is above the largest of the pass before is left out from then on. If the
    projected gradients of a pass differ by at most epsilon, all rows return, and if that holds for all, it ends.
    """
    bias, active, bound, random = np.float32(0.0), n, np.inf, np.uint64(state)
    for _ in range(passes):
        random = shuffle(problem.order, active, random)
        top, low, s = -np.inf, np.inf, 0
        while s < active:
            i = problem.order[s]
            row, sign, dual = problem.rows[i], problem.signs[i], problem.duals[i]
            margin = float64(_dot(rows, row, weights) + bias)
            gradient = sign * margin - 1.0 + dual * problem.ridges[i]
            if dual == 0.0 and gradient > bound:
                active -= 1
                problem.order[s], problem.order[active] = problem.order[active], i
                continue
            projected = min(gradient, 0.0) if dual == 0.0 else gradient
            top, low = max(top, projected), min(low, projected)
            if abs(projected) > _SMALLEST_STEP:
                problem.duals[i] = max(dual - gradient / problem.norms[i], 0.0)
                step = np.float32((problem.duals[i] - dual) * sign)
                _add(rows, row, step, weights)
                bias += step
            s += 1
        bound = top if top > 0.0 else np.inf
        if top - low <= epsilon:
            if active == n:
                break
            active, bound = n, np.inf
    return bias


@kernel
def collect(rows: CsrRows, n: int, problem: Problem, threshold: np.float32, scratch: Scratch) -> int:
    """Move the weights w != 0 with |w| >= threshold to `kept` and set all to zero; returns how many are kept."""
    zero, n_kept = np.float32(0.0), 0
    weights = scratch.weights
    for i in range(n):
        row = problem.rows[i]
        for j in range(rows.indptr[row], rows.indptr[row + 1]):
            feature = np.uint32(rows.indices[j])
            weight = weights[feature]
            if weight != zero:
                weights[feature] = zero
                if abs(weight) >= threshold:
                    scratch.kept[feature] = weight
                    scratch.features[n_kept] = feature
                    n_kept += 1
    return n_kept


@kernel
def train_labels_from(
    begin: int,
    first: int,
    rows: CsrRows,
    positives: RowLists,
    negatives: RowLists,
    settings: tuple[float, int, float, float],
    seed: np.uint64,
    problem: Problem,
    scratch: Scratch,
    out: Kept,
) -> int:
    """Train labels first + begin, ..., until all are trained or `out` is full; returns where to continue.

    `settings` are the cost, the passes, epsilon and the threshold for weights.
    """
    cost, passes, epsilon, threshold = settings
    for label in range(begin, len(out.biases)):
        place = out.starts[label]
        out.starts[label + 1], out.biases[label] = place, UNTRAINED_BIAS
        n = list_rows(label, positives, negatives, cost, problem)
        if n == 0:
            continue
        if not np.isfinite(prepare(rows, n, problem)):
            out.biases[label] = np.nan
            continue
        state = mixed(seed ^ mixed(np.uint64(first + label) + _GOLDEN))
        out.biases[label] = descend(rows, n, passes, epsilon, state, problem, scratch.weights)
        n_kept = collect(rows, n, problem, np.float32(threshold), scratch)
        if place + n_kept > len(out.features):
            return label
        features = scratch.features[:n_kept]
        features.sort()
        for e in range(n_kept):
            out.features[place + e] = features[e]
            out.values[place + e] = scratch.kept[features[e]]
        out.starts[label + 1] = place + n_kept
    return len(out.biases)
