"""Slow twins of the kernels in `xmach._kernels.train.descent`: one bucket at a time, in plain NumPy and Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import brentq

from xmach.types import AnyArray, BoolArray, FloatArray, Int32Array, IntArray

Solver = Callable[[float, float, float, float], float]  # alpha, y f, |x|^2 + 1, C -> the best alpha


def squared_norms_slow(indptr: IntArray, values: FloatArray, out: FloatArray) -> None:
    """The twin of `squared_norms`."""
    for i in range(len(indptr) - 1):
        row = values[indptr[i] : indptr[i + 1]].astype(np.float64)
        out[i] = row @ row + 1.0


def positive_masks_slow(
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
    """The twin of `positive_masks`: sets of buckets, in Python's integers."""
    for i in range(len(indptr) - 1):
        own = labels[indptr[i] : indptr[i + 1]].tolist()
        buckets = {int(table[x]) if len(table) else (a * x + b) % prime % n_buckets for x in own}
        masks[i] = sum(1 << (bucket - first) for bucket in buckets if first <= bucket < first + 64)


def squared_hinge_dual_slow(alpha: float, margin: float, norm: float, cost: float) -> float:
    """The alpha of at least 0 where the derivative norm (alpha - old) + margin - 1 + alpha / (2 C) is zero, or 0."""
    return max((norm * alpha - margin + 1.0) / (norm + 0.5 / cost), 0.0) if cost > 0 else 0.0


def logistic_dual_slow(alpha: float, margin: float, norm: float, cost: float) -> float:
    """The twin of `logistic_dual`: Brent's method in alpha itself; 0 or C if a double cannot be nearer to the root."""
    if cost == 0.0:
        return 0.0

    def derivative(new: float) -> float:
        return float(norm * (new - alpha) + margin + np.log(new / (cost - new)))

    low, high = cost * 1e-300, cost * (1.0 - 2.0**-53)
    if derivative(low) >= 0.0:
        return 0.0
    if derivative(high) <= 0.0:
        return cost
    return float(brentq(derivative, low, high, xtol=1e-15 * cost, rtol=1e-14, maxiter=2000))


def squared_hinge_pass_slow(*arguments: Any) -> int:
    """The twin of `squared_hinge_pass`."""
    return _pass_slow(squared_hinge_dual_slow, *arguments)


def logistic_pass_slow(*arguments: Any) -> int:
    """The twin of `logistic_pass`."""
    return _pass_slow(logistic_dual_slow, *arguments)


def _pass_slow(
    solve: Solver,
    indptr: IntArray,
    indices: Int32Array,
    values: FloatArray,
    norms: FloatArray,
    costs: FloatArray,
    masks: AnyArray,
    order: IntArray,
    smallest: float,
    weights: FloatArray,
    bias: FloatArray,
    duals: FloatArray,
    moved: BoolArray,
) -> int:
    n_moves = 0
    moved[order] = False
    for lane in range(len(bias)):
        w = weights[:, lane]  # (d,), a view
        for i in order:
            part = slice(indptr[i], indptr[i + 1])
            columns, row = indices[part], values[part]
            sign = 1.0 if int(masks[i]) >> lane & 1 else -1.0
            old = sign * float(duals[i, lane])
            margin = sign * float(row @ w[columns] + bias[lane])
            step = sign * (solve(old, margin, float(norms[i]), float(costs[i])) - old)
            if abs(step) <= smallest:
                continue
            w[columns] += step * row
            bias[lane] += step
            duals[i, lane] += step
            moved[i] = True
            n_moves += 1
    return n_moves
