"""A dense layer for a few rows, computed separately: a row gets the same bits alone and in a batch.

The order of sums in a matrix product depends on the number of rows, so the last digits of an answer would depend on
the other requests in its batch. It is also faster for very few rows. Microseconds per row on one core, half of the
units inactive, this kernel / OpenBLAS:

    layer        1 row      16 rows    64 rows
    256-2000     30 / 47    25 / 19    26 / 14
    500-10000    270 / 510  266 / 203  231 / 129
"""

from __future__ import annotations

import numpy as np

from xmach._kernels._compile import kernel
from xmach.types import FloatArray

_COLUMNS = 1024  # at a time: of 256 inputs they are 1 MiB, and stay in the cache from row to row


@kernel
def dense_forward(inputs: FloatArray, weights: FloatArray, bias: FloatArray, out: FloatArray) -> None:
    """inputs @ weights + bias, (n, B), each row's terms added in the order of its inputs; zeros are left out."""
    n_rows, n_inputs = inputs.shape
    units = np.empty((n_rows, n_inputs), np.int64)  # of each row, those that are not zero
    counts = np.zeros(n_rows, np.int64)
    for i in range(n_rows):
        for j in range(n_inputs):
            units[i, counts[i]] = j
            counts[i] += inputs[i, j] != 0.0  # NaN is not zero
    for start in range(0, len(bias), _COLUMNS):
        stop = min(start + _COLUMNS, len(bias))
        for i in range(n_rows):
            sums, given, active = out[i, start:stop], inputs[i], units[i, : counts[i]]
            sums[:] = bias[start:stop]
            whole = len(active) - len(active) % 4
            for at in range(0, whole, 4):  # four at a time: sums are read and written a quarter as often
                a, b, c, d = active[at], active[at + 1], active[at + 2], active[at + 3]
                _add_four(
                    sums,
                    *(given[a], weights[a, start:stop], given[b], weights[b, start:stop]),
                    *(given[c], weights[c, start:stop], given[d], weights[d, start:stop]),
                )
            for j in active[whole:]:
                h, row = given[j], weights[j, start:stop]
                for column in range(stop - start):
                    sums[column] += h * row[column]


@kernel
def _add_four(
    sums: FloatArray,
    a: np.float32,
    a_row: FloatArray,
    b: np.float32,
    b_row: FloatArray,
    c: np.float32,
    c_row: FloatArray,
    d: np.float32,
    d_row: FloatArray,
) -> None:
    """Add four weighted rows to sums, one after the other."""
    for column in range(len(sums)):
        total = sums[column]
        total += a * a_row[column]
        total += b * b_row[column]
        total += c * c_row[column]
        total += d * d_row[column]
        sums[column] = total
