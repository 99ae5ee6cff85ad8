"""Walks along rows of float32 a cache line at a time, in LLVM's own vectors; inside kernels only.

What Numba makes of such a loop compares all arrays for overlaps at every call, takes up to 31 last numbers one by one,
neither fuses products with sums nor asks for the row that comes next while it works on this one. On 30,700 rows of 500
weights and two moments that is 23.1 ms against 19.2 here, where memory itself takes 15 to 17.

Each walk does as many numbers as fill whole lines and returns how many these are; the few that are left are the
caller's. Rows must not overlap.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba.core import cgutils, types
from numba.core.errors import TypingError
from numba.extending import intrinsic

from xmach._kernels._prefetch import ask
from xmach.types import FloatArray

LINE = 16  # floats in a cache line
LANES = 8  # floats in one of AVX's vectors; other processors take them in parts
VECTOR = ir.VectorType(ir.FloatType(), LANES)
_INT, _LONG = ir.IntType(32), ir.IntType(64)
_FUSED = ("contract",)  # a product and its sum may be one operation, where the processor has it


class Walk:
    """The code of a loop over the lines of some rows."""

    def __init__(self, context: Any, builder: Any, kinds: Sequence[Any], arguments: Sequence[Any]) -> None:
        self.context, self.builder, self._kinds, self._arguments = context, builder, kinds, arguments
        self.length: Any = None  # of the rows
        self.size: Any = None  # numbers in whole lines, (length // LINE) * LINE

    def row(self, place: int) -> Any:
        """Where the vectors of the array begin that is the argument at `place`."""
        view = self.context.make_array(self._kinds[place])(self.context, self.builder, self._arguments[place])
        if self.size is None:
            (self.length,) = cgutils.unpack_tuple(self.builder, view.shape, 1)  # type: ignore[no-untyped-call]
            self.size = self.builder.and_(self.length, _LONG(-LINE))
        return self.builder.bitcast(view.data, VECTOR.as_pointer())

    def number(self, place: int) -> Any:
        """The number that is the argument at `place`, in every lane."""
        none, first = ir.Constant(VECTOR, ir.Undefined), ir.Constant(ir.VectorType(_INT, LANES), [0] * LANES)
        return self.builder.shuffle_vector(
            self.builder.insert_element(none, self._arguments[place], _INT(0)), none, first
        )

    def vectors(self, body: Callable[[Any, int], None], soon: Sequence[Any] = ()) -> None:
        """A loop over whole lines: `body` for each vector and its place in the line; asks for the lines of `soon`."""
        count = self.builder.udiv(self.size, _LONG(LANES))
        last = self.builder.sub(self.length, _LONG(1))
        for row in soon:  # whole lines may lie across two each: the end of the row is in one more
            ask(self.builder, self.builder.gep(self.builder.bitcast(row, ir.FloatType().as_pointer()), [last]))
        with cgutils.for_range_slice(self.builder, _LONG(0), count, _LONG(LINE // LANES), intp=_LONG) as (place, _):
            for row in soon:
                ask(self.builder, self.builder.gep(row, [place]))
            for lane in range(LINE // LANES):
                body(self.builder.add(place, _LONG(lane)), lane)

    def load(self, row: Any, place: Any) -> Any:
        return self.builder.load(self.builder.gep(row, [place]), align=4)

    def store(self, vector: Any, row: Any, place: Any) -> None:
        self.builder.store(vector, self.builder.gep(row, [place]), align=4)

    def times(self, a: Any, b: Any) -> Any:
        return self.builder.fmul(a, b, flags=_FUSED)

    def plus(self, a: Any, b: Any) -> Any:
        return self.builder.fadd(a, b, flags=_FUSED)


def must_be_rows(*arrays: Any) -> None:
    """Refuse, when a kernel is compiled, whatever does not lie in memory number after number."""
    for array in arrays:
        if not isinstance(array, types.Array) or (array.dtype, array.ndim, array.layout) != (types.float32, 1, "C"):
            raise TypingError(f"lines are walked along contiguous rows of float32, not {array}")


if TYPE_CHECKING:

    def add_lines(out: FloatArray, value: np.float32, source: FloatArray, soon: FloatArray) -> int:
        """out += value * source; asks for the lines of `soon`, a row as long."""

    def add_four_lines(
        out: FloatArray,
        values: tuple[np.float32, np.float32, np.float32, np.float32],
        sources: tuple[FloatArray, FloatArray, FloatArray, FloatArray],
        soon: tuple[FloatArray, FloatArray, FloatArray, FloatArray],
    ) -> int:
        """out += values[i] * sources[i], for i = 0 to 3 in this order; the bits of four `add_lines`."""

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
        """An Adam step with scale * gradient; prefetches the lines of the rows in `soon`, which are as long."""

else:

    @intrinsic
    def add_lines(context, out, value, source, soon):
        """out += value * source; asks for the lines of `soon`, a row as long."""

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
        """out += values[i] * sources[i], for i = 0 to 3 in this order; the bits of four `add_lines`."""

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
        """An Adam step with scale * gradient; prefetches the lines of the rows in `soon`, which are as long."""

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
