"""Dual coordinate descent for L2-regularised linear classifiers, 64 of them in step.

Each lane is one bucket's one-vs-rest problem: minimise |w|^2 / 2 + sum over rows of C_i loss(y_i (w x_i)). Every row
ends with a constant 1, so the bias is regularised, too (as in LIBLINEAR). A visit to a row solves its dual variable
exactly, lane by lane, with everything else fixed. Lanes share the order of the rows and nothing else: a bucket gets the
same bits whatever its neighbours are.

Why in step: the weights of a feature are then four whole cache lines, and the row's columns and values are read once
for 64 buckets. On citeulike_t a pass over 1,000 buckets takes 0.17 s of one core; one bucket at a time takes 2.6 s.
"""

from __future__ import annotations

import numpy as np

from xmach._kernels._compile import float64, inlined, kernel
from xmach._kernels.llvm import add_lanes, dot_lanes, prefetch
from xmach.block_sizes import LANES
from xmach.types import AnyArray, BoolArray, FloatArray, Int32Array, IntArray

# Rows come in random order. Of one that comes soon the indices, values and duals are asked for, of the next one the
# weights, too: together that saves a third of a pass on GeoNames, a fifth on tate and citeulike_t.
_SOON = 3
_LINE = 16  # float32 values in a cache line
_NEWTON_STEPS = 50  # at most; two or three are usual, about log(norm C) more if the dual was 0 or C


@kernel
def squared_norms(indptr: IntArray, values: FloatArray, out: FloatArray) -> None:
    """The squared length of every row with its constant feature: |x|^2 + 1."""
    for i in range(len(indptr) - 1):
        total = 1.0
        for j in range(indptr[i], indptr[i + 1]):
            total += float64(values[j]) * float64(values[j])
        out[i] = np.float32(total)


@kernel
def positive_masks(
    indptr: IntArray,
    labels: Int32Array,
    table: AnyArray,
    a: int,
    b: int,
    prime: int,
    n_buckets: int,
    first: int,
    masks: AnyArray,
) -> None:
    """Set bit l of masks[i] (n,) if row i has a label of bucket first + l, for the 64 buckets from `first` on.

    The bucket of a label is in the `table` (K,), or, if that is empty, ((a x + b) mod p) mod B.
    """
    a64, b64, p64, n64 = np.uint64(a), np.uint64(b), np.uint64(prime), np.uint64(n_buckets)
    one, start, lanes = np.uint64(1), np.uint64(first), np.uint64(LANES)
    for i in range(len(indptr) - 1):
        mask = np.uint64(0)
        for j in range(indptr[i], indptr[i + 1]):
            bucket = ((a64 * np.uint64(labels[j]) + b64) % p64) % n64
            if len(table) > 0:
                bucket = np.uint64(table[labels[j]])
            lane = bucket - start  # wraps around for buckets before the first
            if lane < lanes:
                mask |= one << lane
        masks[i] = mask


@inlined
def _ask_for(
    order: IntArray,
    s: int,
    indptr: IntArray,
    entries: tuple[AnyArray, AnyArray],
    weights: FloatArray,
    duals: FloatArray,
) -> None:
    """Prefetch what the rows after order[s] need; of long rows the start, as the processor goes on by itself.

    `entries` are the indices and values as one row each: `reshape` in a loop takes more time than this saves.
    """
    indices, values = entries
    if s + _SOON < len(order):
        soon = order[s + _SOON]
        for line in range(0, LANES, _LINE):
            prefetch(duals, soon, line)
        for j in range(indptr[soon], indptr[soon] + 2 * _LINE, _LINE):
            prefetch(indices, 0, j)
            prefetch(values, 0, j)
    if s + 1 < len(order):
        following = order[s + 1]
        for j in range(indptr[following], indptr[following + 1]):
            for line in range(0, LANES, _LINE):
                prefetch(weights, indices[0, j], line)


@kernel
def squared_hinge_pass(
    indptr: IntArray,
    indices: Int32Array,
    values: FloatArray,
    norms: FloatArray,
    costs: FloatArray,
    masks: AnyArray,
    order: IntArray,
    smallest: np.float32,
    weights: FloatArray,
    bias: FloatArray,
    duals: FloatArray,
    moved: BoolArray,
) -> int:
    """One pass over the rows in `order`, loss max(0, 1 - y f)^2; returns how many dual variables moved.

    `norms` are |x|^2 + 1 and `costs` C_i, both (n,); `weights` (d, 64), `bias` (64,) and `duals` (n, 64) are changed.
    `duals` holds y_i alpha_i: at least 0 for a positive row, at most 0 for a negative one. Moves of at most `smallest`
    are left out, which saves most updates of the last passes. `moved` (n,) says which of the visited rows moved.
    """
    margins, steps = np.empty(LANES, np.float32), np.empty(LANES, np.float32)
    zero, one, half = np.float32(0.0), np.float32(1.0), np.float32(0.5)
    entries = (indices.reshape(1, -1), values.reshape(1, -1))
    n_moves = 0
    for s in range(len(order)):
        _ask_for(order, s, indptr, entries, weights, duals)
        i = order[s]
        mask, dual = masks[i], duals[i]
        margins[:] = bias
        dot_lanes(margins, indices, values, indptr[i], indptr[i + 1], weights)
        ridge = half / costs[i]
        rate = one / (norms[i] + ridge)
        count = 0
        if mask == np.uint64(0):  # negative in every lane, as most rows are: a loop without branches
            for lane in range(LANES):
                old = dual[lane]
                new = old - (margins[lane] + one + old * ridge) * rate
                step = (new if new < zero else zero) - old
                step = step if abs(step) > smallest else zero
                steps[lane] = step
                dual[lane] = old + step
                count += step != zero
        else:
            for lane in range(LANES):
                old = dual[lane]
                if (mask >> np.uint64(lane)) & np.uint64(1):
                    new = max(old - (margins[lane] - one + old * ridge) * rate, zero)
                else:
                    new = min(old - (margins[lane] + one + old * ridge) * rate, zero)
                step = new - old
                step = step if abs(step) > smallest else zero
                steps[lane] = step
                dual[lane] = old + step
                count += step != zero
        moved[i] = count > 0
        if count:
            n_moves += count
            add_lanes(weights, indices, values, indptr[i], indptr[i + 1], steps)
            bias += steps
    return n_moves


@kernel
def logistic_dual(dual: float, margin: float, norm: float, cost: float) -> float:
    """The alpha in (0, C) that minimises the dual of log(1 + exp(-y f)) in one variable.

    Its derivative is norm (alpha - dual) + margin + log(alpha / (C - alpha)). With alpha = C sigmoid(s) it is
    s + norm C sigmoid(s) + a constant, which is convex for s < 0 and concave for s > 0. On the root's side of zero,
    Newton's steps overshoot at most once and then approach the root from the side nearer to zero, without oscillating.
    """
    constant, rise = margin - norm * dual, norm * cost
    low, high = -constant - rise, -constant  # the root is between them, as sigmoid is between 0 and 1
    if 0.5 * rise + constant > 0.0:  # the derivative at s = 0
        high = min(high, 0.0)
        s = high
    else:
        low = max(low, 0.0)
        s = low
    if 0.0 < dual < cost:
        s = min(max(np.log(dual / (cost - dual)), low), high)
    for _ in range(_NEWTON_STEPS):
        share = 1.0 / (1.0 + np.exp(-s))
        value = s + rise * share + constant
        if abs(value) < 1e-6:
            break
        s = min(max(s - value / (1.0 + rise * share * (1.0 - share)), low), high)
    return float64(cost / (1.0 + np.exp(-s)))


@kernel
def logistic_pass(
    indptr: IntArray,
    indices: Int32Array,
    values: FloatArray,
    norms: FloatArray,
    costs: FloatArray,
    masks: AnyArray,
    order: IntArray,
    smallest: np.float32,
    weights: FloatArray,
    bias: FloatArray,
    duals: FloatArray,
    moved: BoolArray,
) -> int:
    """The pass of `squared_hinge_pass` for the loss log(1 + exp(-y f)) (Yu, Huang and Lin 2011)."""
    margins, steps = np.empty(LANES, np.float32), np.empty(LANES, np.float32)
    entries = (indices.reshape(1, -1), values.reshape(1, -1))
    n_moves = 0
    for s in range(len(order)):
        _ask_for(order, s, indptr, entries, weights, duals)
        i = order[s]
        mask, dual = masks[i], duals[i]
        margins[:] = bias
        dot_lanes(margins, indices, values, indptr[i], indptr[i + 1], weights)
        count = 0
        for lane in range(LANES):
            sign = 1.0 if (mask >> np.uint64(lane)) & np.uint64(1) else -1.0
            old = sign * float64(dual[lane])
            new = logistic_dual(old, sign * float64(margins[lane]), float64(norms[i]), float64(costs[i]))
            rounded = np.float32(sign * new)  # at most C: adding a rounded step could pass it by the last bit
            step = rounded - dual[lane]
            if abs(step) > smallest:
                dual[lane] = rounded
                count += 1
            else:
                step = np.float32(0.0)
            steps[lane] = step
        moved[i] = count > 0
        if count:
            n_moves += count
            add_lanes(weights, indices, values, indptr[i], indptr[i + 1], steps)
            bias += steps
    return n_moves
