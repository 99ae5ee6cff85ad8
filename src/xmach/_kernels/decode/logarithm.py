"""Logarithms of probabilities, in plain arithmetic that LLVM turns into vector instructions."""

from __future__ import annotations

import numpy as np

from xmach._kernels._compile import kernel
from xmach.types import FloatArray

FLOOR = np.float32(1e-30)  # log(0) would let one repetition veto a label for good
_PIECE = 1024  # cells at a time: mantissas and exponents stay in the first-level cache


@kernel
def floored_log(values: FloatArray, out: FloatArray) -> None:
    """out = log(max(values, 1e-30)) over flat arrays; at most one unit in the last place off.

    x = m 2^e with m in [sqrt(1/2), sqrt(2)), log x = log m + e log 2, log m by the polynomial of Moshier's Cephes
    library. NumPy's logarithm after a maximum took about twice as long at 32 x 10,000 cells.
    """
    bits = values.view(np.int32)
    mantissa_bits = np.empty(_PIECE, np.int32)
    mantissa = mantissa_bits.view(np.float32)
    one, half = np.float32(1.0), np.float32(0.5)
    log2_high, log2_low = np.float32(0.693359375), np.float32(-2.12194440e-4)
    floor_bits = np.int32(0x0DA24260)  # 1e-30
    for start in range(0, len(values), _PIECE):
        size = min(_PIECE, len(values) - start)
        source, target = bits[start : start + size], out[start : start + size]
        for j in range(size):
            pattern = max(source[j], floor_bits)  # negative numbers are negative integers, too
            exponent = (pattern - np.int32(0x3F3504F3)) >> np.int32(23)  # relative to sqrt(1/2)
            mantissa_bits[j] = pattern - (exponent << np.int32(23))
            target[j] = np.float32(exponent)
        for j in range(size):
            x, e = mantissa[j] - one, target[j]
            y = np.float32(7.0376836292e-2) * x - np.float32(1.1514610310e-1)
            y = y * x + np.float32(1.1676998740e-1)
            y = y * x - np.float32(1.2420140846e-1)
            y = y * x + np.float32(1.4249322787e-1)
            y = y * x - np.float32(1.6668057665e-1)
            y = y * x + np.float32(2.0000714765e-1)
            y = y * x - np.float32(2.4999993993e-1)
            y = y * x + np.float32(3.3333331174e-1)
            square = x * x
            target[j] = x + (y * x * square + e * log2_low - half * square) + e * log2_high
