"""Walks along rows of weights: sums of scaled rows, and Adam."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba.core import cgutils, types
from numba.extending import intrinsic

from xmach._kernels.llvm.walk import LANES, VECTOR, Walk, must_be_rows
from xmach.types import FloatArray

if TYPE_CHECKING:

    def add_lines(out: FloatArray, value: np.float32, source: FloatArray, soon: FloatArray) -> int:
        """out += value * source; prefetches the lines of `soon`, a row of the same length."""

    def add_four_lines(
        out: FloatArray,
        values: tuple[np.float32, np.float32, np.float32, np.float32],
        sources: tuple[FloatArray, FloatArray, FloatArray, FloatArray],
        soon: tuple[FloatArray, FloatArray, FloatArray, FloatArray],
    ) -> int:
        """out += values[i] * sources[i], for i = 0 to 3 in this order; same bytes as four `add_lines`."""

    def adam_lines(
        weights: FloatArray,
        scale: np.float32,
        gradient: FloatArray,
        first: FloatArray,
        second: FloatArray,
        rate: np.float32,
        beta1: np.float32,
        beta2: np.float32,
        epsilon: np.float32,
        decay: np.float32,
        soon: tuple[FloatArray, ...],
    ) -> int:
        """An Adam step with scale * gradient; prefetches the lines of `soon`, rows of the same length."""

else:

    @intrinsic
    def add_lines(context, out, value, source, soon):
        """out += value * source; prefetches the lines of `soon`, a row of the same length."""

        def generate(target: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            walk = Walk(target, builder, signature.args, arguments)
            sums, factor, terms, later = walk.row(0), walk.number(1), walk.row(2), walk.row(3)

            def body(i: Any, lane: int) -> None:
                walk.store(walk.plus(walk.times(factor, walk.load(terms, i)), walk.load(sums, i)), sums, i)

            walk.vectors(body, [later])
            return walk.size

        must_be_rows(out, source, soon)
        return types.int64(out, types.float32, source, soon), generate

    @intrinsic
    def add_four_lines(context, out, values, sources, soon):
        """out += values[i] * sources[i], for i = 0 to 3 in this order; same bytes as four `add_lines`."""

        def generate(target: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            numbers, rows, next_rows = (cgutils.unpack_tuple(builder, argument, 4) for argument in arguments[1:])
            kinds = [out, *([types.float32] * 4), *sources.types, *soon.types]
            walk = Walk(target, builder, kinds, [arguments[0], *numbers, *rows, *next_rows])
            sums = walk.row(0)
            terms = [(walk.number(1 + i), walk.row(5 + i)) for i in range(4)]

            def body(i: Any, lane: int) -> None:
                total = walk.load(sums, i)
                for factor, row in terms:
                    total = walk.plus(walk.times(factor, walk.load(row, i)), total)
                walk.store(total, sums, i)

            walk.vectors(body, [walk.row(9 + i) for i in range(4)])
            return walk.size

        must_be_rows(out, *sources.types, *soon.types)
        return types.int64(out, types.UniTuple(types.float32, 4), sources, soon), generate

    @intrinsic
    def adam_lines(context, weights, scale, gradient, first, second, rate, beta1, beta2, epsilon, decay, soon):
        """An Adam step with scale * gradient; prefetches the lines of `soon`, rows of the same length."""

        def generate(target: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            next_rows = cgutils.unpack_tuple(builder, arguments[10], len(soon))
            kinds = [*signature.args[:10], *soon.types]
            walk = Walk(target, builder, kinds, [*arguments[:10], *next_rows])
            w, g, m, v, *later = (walk.row(i) for i in (0, 2, 3, 4, *range(10, 10 + len(soon))))
            by, step, keep1, keep2, least, kept = (walk.number(i) for i in (1, 5, 6, 7, 8, 9))
            one = ir.Constant(VECTOR, [1.0] * LANES)
            take1, take2, back = builder.fsub(one, keep1), builder.fsub(one, keep2), builder.fneg(step)
            root = cgutils.get_or_insert_function(
                builder.module, ir.FunctionType(VECTOR, [VECTOR]), f"llvm.sqrt.v{LANES}f32"
            )

            def body(i: Any, lane: int) -> None:
                slope = walk.times(by, walk.load(g, i))
                mean = walk.plus(walk.times(take1, slope), walk.times(keep1, walk.load(m, i)))
                square = walk.plus(walk.times(walk.times(take2, slope), slope), walk.times(keep2, walk.load(v, i)))
                walk.store(mean, m, i)
                walk.store(square, v, i)
                move = builder.fdiv(builder.fmul(back, mean), builder.fadd(builder.call(root, [square]), least))
                walk.store(walk.plus(walk.times(kept, walk.load(w, i)), move), w, i)

            walk.vectors(body, later)
            return walk.size

        must_be_rows(weights, gradient, first, second, *soon.types)
        numbers = [types.float32] * 5
        return types.int64(weights, types.float32, gradient, first, second, *numbers, soon), generate
