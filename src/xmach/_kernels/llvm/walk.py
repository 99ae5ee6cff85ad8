"""What all walks share: a loop over rows of float32, one cache line at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba.core import cgutils, types
from numba.core.errors import TypingError

from xmach._kernels.llvm.prefetching import emit_prefetch

LINE = 16  # floats in a cache line
LANES = 8  # floats in an AVX vector; LLVM splits them on processors with shorter vectors
VECTOR = ir.VectorType(ir.FloatType(), LANES)
_INT, _LONG = ir.IntType(32), ir.IntType(64)
_FUSED = ("contract",)  # a product and its sum may become one multiply-add


class Walk:
    """Generates a loop over the whole cache lines of some rows.

    A walk computes as many numbers as fill whole lines and returns how many that is; the caller computes the rest. Rows
    must not overlap.
    """

    def __init__(self, context: Any, builder: Any, kinds: Sequence[Any], arguments: Sequence[Any]) -> None:
        self.context, self.builder, self._kinds, self._arguments = context, builder, kinds, arguments
        self.length: Any = None  # of the rows
        self.size: Any = None  # numbers in whole lines, (length // LINE) * LINE

    def row(self, place: int) -> Any:
        """A pointer to the vectors of the array that is the argument at `place`."""
        view = self.context.make_array(self._kinds[place])(self.context, self.builder, self._arguments[place])
        if self.size is None:
            (self.length,) = cgutils.unpack_tuple(self.builder, view.shape, 1)  # type: ignore[no-untyped-call]
            self.size = self.builder.and_(self.length, _LONG(-LINE))
        return self.builder.bitcast(view.data, VECTOR.as_pointer())

    def number(self, place: int) -> Any:
        """The number that is the argument at `place`, copied to every lane."""
        none, first = ir.Constant(VECTOR, ir.Undefined), ir.Constant(ir.VectorType(_INT, LANES), [0] * LANES)
        return self.builder.shuffle_vector(
            self.builder.insert_element(none, self._arguments[place], _INT(0)), none, first
        )

    def vectors(self, body: Callable[[Any, int], None], soon: Sequence[Any] = ()) -> None:
        """Loop over whole lines and prefetch the rows `soon`.

        `body` gets the index of a vector and its place in the line.
        """
        count = self.builder.udiv(self.size, _LONG(LANES))
        last = self.builder.sub(self.length, _LONG(1))
        for row in soon:  # an unaligned row ends in one line more than it fills
            emit_prefetch(
                self.builder, self.builder.gep(self.builder.bitcast(row, ir.FloatType().as_pointer()), [last])
            )
        with cgutils.for_range_slice(self.builder, _LONG(0), count, _LONG(LINE // LANES), intp=_LONG) as (place, _):
            for row in soon:
                emit_prefetch(self.builder, self.builder.gep(row, [place]))
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
    """Raise `TypingError`, when a kernel is compiled, unless all are contiguous rows of float32."""
    for array in arrays:
        if not isinstance(array, types.Array) or (array.dtype, array.ndim, array.layout) != (types.float32, 1, "C"):
            raise TypingError(f"expected contiguous rows of float32, got {array}")
