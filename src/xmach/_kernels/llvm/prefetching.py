"""A hint to the processor to load memory that will be needed soon."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba.core import cgutils, types
from numba.extending import intrinsic

_BYTE, _INT = ir.IntType(8).as_pointer(), ir.IntType(32)


def emit_prefetch(builder: Any, address: Any) -> None:
    """Generate a prefetch of the cache line at an address: data, to be read, kept in every cache."""
    kind = ir.FunctionType(ir.VoidType(), [_BYTE, _INT, _INT, _INT])
    hint = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")  # type: ignore[no-untyped-call]
    builder.call(hint, [builder.bitcast(address, _BYTE), *(_INT(code) for code in (0, 3, 1))])


if TYPE_CHECKING:
    from xmach.types import AnyArray

    def prefetch(array: AnyArray, row: int, column: int) -> None:
        """Prefetch the cache line that holds array[row, column]."""

else:

    @intrinsic
    def prefetch(context: Any, array: Any, row: Any, column: Any) -> Any:
        """Prefetch the cache line that holds array[row, column].

        Numba has no such function. It never changes a result; a line that is not used costs a little time.
        """

        def generate(target: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            view = target.make_array(signature.args[0])(target, builder, arguments[0])
            strides = cgutils.unpack_tuple(builder, view.strides, 2)
            offset = builder.add(builder.mul(arguments[1], strides[0]), builder.mul(arguments[2], strides[1]))
            emit_prefetch(builder, builder.gep(builder.bitcast(view.data, _BYTE), [offset]))
            return target.get_dummy_value()

        return types.void(array, types.int64, types.int64), generate
