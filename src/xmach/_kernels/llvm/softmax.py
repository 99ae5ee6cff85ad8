"""Walks along rows of logits for softmax.

exp(x) = 2^k * exp(r) with |r| <= ln 2 / 2, by a Taylor polynomial of degree 7: the relative error is 1e-7. Numba's own
exp is scalar.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba.core import cgutils, types
from numba.extending import intrinsic

from xmach._kernels.llvm.walk import LANES, LINE, VECTOR, Walk, must_be_rows
from xmach.types import FloatArray

_INTS = ir.VectorType(ir.IntType(32), LANES)
_LOG2_E = 1.4426950408889634
_LN2_HIGH, _LN2_LOW = 0.693359375, -2.12194440054690583e-4  # the first has 9 bits: k * it is exact
_LOWEST = -88.0  # exp is 0 from here down: k is -127, which gives the bits of 0.0
_ROUND = 1.5 * 2.0**23  # added to a number, it leaves the nearest whole number in the last bits
_TAYLOR = (1 / 5040, 1 / 720, 1 / 120, 1 / 24, 1 / 6, 0.5, 1.0, 1.0)  # falling powers


def _all(number: float) -> Any:
    return ir.Constant(VECTOR, [float(np.float32(number))] * LANES)


def _exp(walk: Walk, x: Any) -> Any:
    """exp(x) of a vector without positive numbers; NaN stays NaN."""
    builder = walk.builder
    x = builder.select(builder.fcmp_ordered("<", x, _all(_LOWEST)), _all(_LOWEST), x)
    rounded = walk.plus(walk.times(x, _all(_LOG2_E)), _all(_ROUND))
    k = builder.fsub(rounded, _all(_ROUND))
    r = walk.plus(walk.times(k, _all(-_LN2_LOW)), walk.plus(walk.times(k, _all(-_LN2_HIGH)), x))
    result = _all(_TAYLOR[0])
    for coefficient in _TAYLOR[1:]:
        result = walk.plus(walk.times(result, r), _all(coefficient))
    shift, middle = (ir.Constant(_INTS, [number] * LANES) for number in (23, 127 << 23))
    bits = builder.add(builder.shl(builder.bitcast(rounded, _INTS), shift), middle)  # of 2^k
    return builder.fmul(result, builder.bitcast(bits, VECTOR))


def _folded(builder: Any, places: list[Any], fold: Callable[[Any, Any], Any]) -> Any:
    """Fold all lanes of the vectors at `places` into one number."""
    vector = builder.load(places[0])
    for place in places[1:]:
        vector = fold(vector, builder.load(place))
    lanes = [builder.extract_element(vector, ir.IntType(32)(i)) for i in range(LANES)]
    while len(lanes) > 1:
        lanes = [fold(a, b) for a, b in zip(lanes[::2], lanes[1::2], strict=True)]
    return lanes[0]


def _kept(builder: Any, number: float) -> list[Any]:
    """Stack slots for running vectors, one for each vector of a line."""
    start = _all(number)
    return [cgutils.alloca_once_value(builder, start) for _ in range(LINE // LANES)]  # type: ignore[no-untyped-call]


if TYPE_CHECKING:

    def top_lines(row: FloatArray, bias: FloatArray) -> np.float32:
        """row += bias; returns the largest, or -inf if there is no whole line."""

    def power_lines(row: FloatArray, top: np.float32) -> np.float32:
        """row = exp(row - top), where top >= row; returns the sum."""

else:

    @intrinsic
    def top_lines(context, row, bias):
        """row += bias; returns the largest, or -inf if there is no whole line."""

        def generate(target: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            walk = Walk(target, builder, signature.args, arguments)
            logits, more, best = walk.row(0), walk.row(1), _kept(builder, -np.inf)

            def larger(a: Any, b: Any) -> Any:
                return builder.select(builder.fcmp_ordered(">", a, b), a, b)

            def body(i: Any, lane: int) -> None:
                logit = builder.fadd(walk.load(logits, i), walk.load(more, i))
                walk.store(logit, logits, i)
                builder.store(larger(logit, builder.load(best[lane])), best[lane])

            walk.vectors(body)
            return _folded(builder, best, larger)

        must_be_rows(row, bias)
        return types.float32(row, bias), generate

    @intrinsic
    def power_lines(context, row, top):
        """row = exp(row - top), where top >= row; returns the sum."""

        def generate(target: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            walk = Walk(target, builder, signature.args, arguments)
            logits, above, sums = walk.row(0), walk.number(1), _kept(builder, 0.0)

            def body(i: Any, lane: int) -> None:
                power = _exp(walk, builder.fsub(walk.load(logits, i), above))
                walk.store(power, logits, i)
                builder.store(builder.fadd(builder.load(sums[lane]), power), sums[lane])

            walk.vectors(body)
            return _folded(builder, sums, builder.fadd)

        must_be_rows(row)
        return types.float32(row, types.float32), generate
