"""NumPy's numbers as Arrow's."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from xmach.types import AnyArray


def arrow_numbers(array: AnyArray) -> pa.Array:
    """A vector of numbers as Arrow's, without a copy where it is contiguous.

    Not by `pa.array`, nor by an Arrow function with a plain string among its arguments: each imports pandas where that
    is installed, a quarter of a second before the first answer.
    """
    values = np.ascontiguousarray(array)
    return pa.Array.from_buffers(pa.from_numpy_dtype(values.dtype), len(values), [None, pa.py_buffer(values)])
