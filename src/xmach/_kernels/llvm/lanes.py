"""Sparse rows times 64 weight vectors that lie side by side, so that a feature's weights are four cache lines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba.core import cgutils, types
from numba.core.errors import TypingError
from numba.extending import intrinsic

from xmach.block_sizes import LANES
from xmach.types import FloatArray, Int32Array

_WIDTH = 16  # floats in a cache line; LLVM splits the vector on processors with shorter ones
_VECTOR = ir.VectorType(ir.FloatType(), _WIDTH)
_INT, _LONG = ir.IntType(32), ir.IntType(64)
_FUSED = ("contract",)  # a product and its sum may become one multiply-add

if TYPE_CHECKING:

    def dot_lanes(
        out: FloatArray, indices: Int32Array, values: FloatArray, start: int, stop: int, weights: FloatArray
    ) -> None:
        """out += the sum of values[j] * weights[indices[j]] for start <= j < stop, added in that order."""

    def add_lanes(
        weights: FloatArray, indices: Int32Array, values: FloatArray, start: int, stop: int, step: FloatArray
    ) -> None:
        """weights[indices[j]] += values[j] * step for start <= j < stop."""

else:

    @intrinsic
    def dot_lanes(context, out, indices, values, start, stop, weights):
        """out += the sum of values[j] * weights[indices[j]] for start <= j < stop, added in that order."""

        def generate(target: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            lanes = _Lanes(target, builder, signature.args, arguments)
            sums, table = lanes.data(0), lanes.data(5)
            first = [lanes.load(sums, _LONG(k * _WIDTH)) for k in range(LANES // _WIDTH)]
            before = builder.block
            body, after = builder.append_basic_block("row"), builder.append_basic_block("row.end")
            builder.cbranch(builder.icmp_signed("<", arguments[3], arguments[4]), body, after)
            builder.position_at_end(body)
            place = builder.phi(_LONG)
            place.add_incoming(arguments[3], before)
            totals = [builder.phi(_VECTOR) for _ in first]
            offset, value = lanes.entry(place)
            grown = []
            for k, total in enumerate(totals):
                total.add_incoming(first[k], before)
                term = lanes.load(table, builder.add(offset, _LONG(k * _WIDTH)))
                grown.append(builder.fadd(builder.fmul(value, term, flags=_FUSED), total, flags=_FUSED))
                total.add_incoming(grown[k], body)
            later = builder.add(place, _LONG(1))
            place.add_incoming(later, body)
            builder.cbranch(builder.icmp_signed("<", later, arguments[4]), body, after)
            builder.position_at_end(after)
            results = [builder.phi(_VECTOR) for _ in first]
            for k, result in enumerate(results):
                result.add_incoming(first[k], before)
                result.add_incoming(grown[k], body)
            for k, result in enumerate(results):
                lanes.store(result, sums, _LONG(k * _WIDTH))
            return target.get_dummy_value()

        _must_be(out, types.float32, 1)
        _must_be(weights, types.float32, 2)
        _must_be_entries(indices, values)
        return types.void(out, indices, values, types.int64, types.int64, weights), generate

    @intrinsic
    def add_lanes(context, weights, indices, values, start, stop, step):
        """weights[indices[j]] += values[j] * step for start <= j < stop."""

        def generate(target: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            lanes = _Lanes(target, builder, signature.args, arguments)
            table, change = lanes.data(0), lanes.data(5)
            steps = [lanes.load(change, _LONG(k * _WIDTH)) for k in range(LANES // _WIDTH)]
            with cgutils.for_range_slice(builder, arguments[3], arguments[4], _LONG(1), intp=_LONG) as (place, _):
                offset, value = lanes.entry(place)
                for k, vector in enumerate(steps):
                    where = builder.add(offset, _LONG(k * _WIDTH))
                    product = builder.fmul(value, vector, flags=_FUSED)
                    lanes.store(builder.fadd(product, lanes.load(table, where), flags=_FUSED), table, where)
            return target.get_dummy_value()

        _must_be(step, types.float32, 1)
        _must_be(weights, types.float32, 2)
        _must_be_entries(indices, values)
        return types.void(weights, indices, values, types.int64, types.int64, step), generate


class _Lanes:
    """What both walks share: arguments 1 and 2 are the columns and values of sparse rows."""

    def __init__(self, context: Any, builder: Any, kinds: Any, arguments: Any) -> None:
        self._context, self._builder, self._kinds, self._arguments = context, builder, kinds, arguments
        self._columns, self._values = self.data(1), self.data(2)

    def data(self, place: int) -> Any:
        """A pointer to the first number of the array that is the argument at `place`."""
        return self._context.make_array(self._kinds[place])(self._context, self._builder, self._arguments[place]).data

    def entry(self, place: Any) -> tuple[Any, Any]:
        """Where the weights of an entry's feature begin, and its value copied to every lane."""
        builder = self._builder
        column = builder.sext(builder.load(builder.gep(self._columns, [place])), _LONG)
        value = builder.load(builder.gep(self._values, [place]))
        none, first = ir.Constant(_VECTOR, ir.Undefined), ir.Constant(ir.VectorType(_INT, _WIDTH), [0] * _WIDTH)
        spread = builder.shuffle_vector(builder.insert_element(none, value, _INT(0)), none, first)
        return builder.mul(column, _LONG(LANES)), spread

    def load(self, base: Any, offset: Any) -> Any:
        return self._builder.load(self._vector(base, offset), align=4)

    def store(self, vector: Any, base: Any, offset: Any) -> None:
        self._builder.store(vector, self._vector(base, offset), align=4)

    def _vector(self, base: Any, offset: Any) -> Any:
        return self._builder.bitcast(self._builder.gep(base, [offset]), _VECTOR.as_pointer())


def _must_be(array: Any, dtype: Any, dimensions: int) -> None:
    """Raise `TypingError`, when a kernel is compiled, unless an array is contiguous and of this type."""
    if not isinstance(array, types.Array) or (array.dtype, array.ndim, array.layout) != (dtype, dimensions, "C"):
        raise TypingError(f"expected a contiguous array of {dtype} with {dimensions} dimensions, got {array}")


def _must_be_entries(indices: Any, values: Any) -> None:
    _must_be(indices, types.int32, 1)
    _must_be(values, types.float32, 1)
