"""NumPy arrays to Arrow arrays."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from xmach.types import AnyArray


def arrow_numbers(array: AnyArray) -> pa.Array:
    """Convert a vector of numbers to an Arrow array, without a copy if it is contiguous.

    `pa.array`, and any Arrow function with a plain string as an argument, would import pandas if it is installed: a
    quarter of a second before the first answer.
    """
    values = np.ascontiguousarray(array)
    return pa.Array.from_buffers(pa.from_numpy_dtype(values.dtype), len(values), [None, pa.py_buffer(values)])
