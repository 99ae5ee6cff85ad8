"""The kernels of training as plain Numba loops, without the hand-written LLVM; `vectors` times both.

Each function does the operations of its namesake in `xmach._kernels` in the same order and returns the same bytes. For
this, a row has two parts: `fused` functions compute whole cache lines, in which LLVM may turn a product and a sum into
one multiply-add; the remaining numbers have no multiply-adds. No loop prefetches: a loop with a prefetch in it does not
vectorise, and a separate prefetch loop made `sparse_adam` 17 to 27 % slower.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, TypeVar, cast

import numba
import numpy as np

from xmach._kernels._compile import kernel
from xmach._kernels.llvm import LINE
from xmach._kernels.train.dense import AdamRates
from xmach.types import AnyArray, FloatArray, Int32Array

P = ParamSpec("P")
T = TypeVar("T")

_LANES = 64  # running maxima in `top_lines`; 16 and 256 were not faster on both shapes
_LOG2_E, _ROUND, _LOWEST = np.float32(1.4426950408889634), np.float32(1.5 * 2.0**23), np.float32(-88.0)
_LN2_HIGH, _LN2_LOW = np.float32(0.693359375), np.float32(-2.12194440054690583e-4)
_C7, _C6, _C5, _C4 = np.float32(1 / 5040), np.float32(1 / 720), np.float32(1 / 120), np.float32(1 / 24)
_C3, _C2, _ONE = np.float32(1 / 6), np.float32(0.5), np.float32(1.0)


def fused(function: Callable[P, T]) -> Callable[P, T]:
    """Compile a function whose products and sums may become multiply-adds."""
    return cast(Callable[P, T], numba.njit(function, nogil=True, error_model="numpy", fastmath={"contract"}))


@fused
def _add(out: FloatArray, value: np.float32, source: FloatArray, stop: int) -> None:
    for h in range(stop):
        out[h] += value * source[h]


@fused
def _add_four(
    out: FloatArray, w: np.float32, a: FloatArray, x: np.float32, b: FloatArray,
    y: np.float32, c: FloatArray, z: np.float32, d: FloatArray, stop: int,
) -> None:  # fmt: skip
    for h in range(stop):
        out[h] = z * d[h] + (y * c[h] + (x * b[h] + (w * a[h] + out[h])))


@kernel
def add_rows(
    out: FloatArray, start: int, stop: int, indices: Int32Array, values: FloatArray, source: FloatArray
) -> None:
    """out += the sum of values[j] * source[indices[j]] for start <= j < stop."""
    j, whole = start, len(out) - len(out) % LINE
    while j + 4 <= stop:
        w, x, y, z = values[j], values[j + 1], values[j + 2], values[j + 3]
        a, b = source[indices[j]], source[indices[j + 1]]
        c, d = source[indices[j + 2]], source[indices[j + 3]]
        _add_four(out, w, a, x, b, y, c, z, d, whole)
        for h in range(whole, len(out)):
            out[h] = out[h] + w * a[h] + x * b[h] + y * c[h] + z * d[h]
        j += 4
    while j < stop:
        w, a = values[j], source[indices[j]]
        _add(out, w, a, whole)
        for h in range(whole, len(out)):
            out[h] += w * a[h]
        j += 1


@fused
def _adam(
    weights: FloatArray, scale: np.float32, gradient: FloatArray, first: FloatArray, second: FloatArray,
    rates: AdamRates, stop: int,
) -> None:  # fmt: skip
    rate, beta1, beta2, epsilon, decay = rates
    take1, take2 = _ONE - beta1, _ONE - beta2
    for i in range(stop):
        g = scale * gradient[i]
        m = take1 * g + beta1 * first[i]
        v = take2 * g * g + beta2 * second[i]
        first[i] = m
        second[i] = v
        weights[i] = decay * weights[i] + (-rate * m) / (np.sqrt(v) + epsilon)


@kernel
def scaled_adam_row(
    weights: FloatArray, scale: np.float32, gradient: FloatArray, first: FloatArray, second: FloatArray,
    rates: AdamRates,
) -> None:  # fmt: skip
    """One Adam step in place with scale * gradient."""
    rate, beta1, beta2, epsilon, decay = rates
    whole = len(weights) - len(weights) % LINE
    _adam(weights, scale, gradient, first, second, rates, whole)
    for i in range(whole, len(weights)):
        g = scale * gradient[i]
        m = beta1 * first[i] + (_ONE - beta1) * g
        v = beta2 * second[i] + (_ONE - beta2) * g * g
        first[i] = m
        second[i] = v
        weights[i] = decay * weights[i] - rate * m / (np.sqrt(v) + epsilon)


@kernel
def adam_row(
    weights: FloatArray, gradient: FloatArray, first: FloatArray, second: FloatArray,
    rates: AdamRates,
) -> None:  # fmt: skip
    """One Adam step in place."""
    scaled_adam_row(weights, _ONE, gradient, first, second, rates)


@kernel
def sparse_adam(
    features: Int32Array, starts: Int32Array, rows: Int32Array, row_values: FloatArray, delta: FloatArray,
    weights: FloatArray, first: FloatArray, second: FloatArray,
    rates: AdamRates,
) -> None:  # fmt: skip
    """The gradient of the touched rows of weights and their Adam step."""
    total = np.empty(weights.shape[1], np.float32)
    for t in range(len(features)):
        f, j = features[t], starts[t]
        scale, gradient = row_values[j], delta[rows[j]]
        if starts[t + 1] != j + 1:
            total[:] = 0.0
            add_rows(total, j, starts[t + 1], rows, row_values, delta)
            scale, gradient = _ONE, total
        scaled_adam_row(weights[f], scale, gradient, first[f], second[f], rates)


@kernel
def top_lines(row: FloatArray, bias: FloatArray) -> np.float32:
    """row += bias in whole lines; returns the largest. LLVM vectorises a maximum of floats only in lanes."""
    whole = len(row) - len(row) % LINE
    best = np.full(_LANES, -np.inf, np.float32)
    for start in range(0, whole, _LANES):
        stop = min(whole, start + _LANES)
        part, more = row[start:stop], bias[start:stop]
        for k in range(len(part)):
            logit = part[k] + more[k]
            part[k] = logit
            best[k] = logit if logit > best[k] else best[k]
    return np.float32(best.max())


@fused
def _exponentials(row: FloatArray, top: np.float32, stop: int) -> None:
    for j in range(stop):
        x = row[j] - top
        x = _LOWEST if x < _LOWEST else x
        rounded = x * _LOG2_E + _ROUND
        k = rounded - _ROUND
        r = k * -_LN2_LOW + (k * -_LN2_HIGH + x)
        y = ((((((_C7 * r + _C6) * r + _C5) * r + _C4) * r + _C3) * r + _C2) * r + _ONE) * r + _ONE
        bits = (np.int64(np.float32(rounded).view(np.int32)) << 23) + (127 << 23)
        row[j] = y * np.int32(bits).view(np.float32)


@kernel
def _sum(row: FloatArray, stop: int) -> np.float32:
    lanes = np.zeros(LINE, np.float32)
    for start in range(0, stop, LINE):
        for k in range(LINE):
            lanes[k] += row[start + k]
    s = lanes[: LINE // 2] + lanes[LINE // 2 :]
    return np.float32(((s[0] + s[1]) + (s[2] + s[3])) + ((s[4] + s[5]) + (s[6] + s[7])))


@kernel
def power_lines(row: FloatArray, top: np.float32) -> np.float32:
    """row = exp(row - top) in whole lines; returns the sum. Two passes, because one does not vectorise."""
    whole = len(row) - len(row) % LINE
    _exponentials(row, top, whole)
    return _sum(row, whole)


@kernel
def numpy_powers(row: FloatArray, top: np.float32) -> np.float32:
    """`power_lines` with Numba's own exp, whose bits differ."""
    whole = len(row) - len(row) % LINE
    for j in range(whole):
        row[j] = np.exp(row[j] - top)
    return _sum(row, whole)


@kernel
def no_prefetch(array: AnyArray, row: int, column: int) -> None:
    """Nothing. A read of the same place, added to a sum so that it stays, was no faster than nothing."""
