"""128 bits that tell rows of features apart."""

from __future__ import annotations

import numpy as np

from xmach._kernels._compile import kernel
from xmach.types import AnyArray, FloatArray, Int32Array, IntArray

# murmur3's 64-bit finisher, and David Stafford's thirteenth variant of it: two that have nothing in common
_SHIFTS = (33, 33, 33), (30, 27, 31)
_FACTORS = (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53), (0xBF58476D1CE4E5B9, 0x94D049BB133111EB)
_A0, _A1, _A2 = (np.uint64(shift) for shift in _SHIFTS[0])
_B0, _B1, _B2 = (np.uint64(shift) for shift in _SHIFTS[1])
_A3, _A4 = (np.uint64(factor) for factor in _FACTORS[0])
_B3, _B4 = (np.uint64(factor) for factor in _FACTORS[1])
_SEEDS = (0x243F6A8885A308D3, 0x13198A2E03707344)  # of pi
_SEED_A, _SEED_B = (np.uint64(seed) for seed in _SEEDS)
_HALF = np.uint64(32)


@kernel
def row_keys(indptr: IntArray, indices: Int32Array, values: FloatArray, out: AnyArray) -> None:
    """out (n, 2) uint64: equal for equal rows, and for others with a chance of 2^-128. Stored zeros do not count.

    Columns ascend within a row. Two chains, h = mix(h ^ column and value), each with a mixer of its own.
    """
    bits = values.view(np.uint32)
    for i in range(len(indptr) - 1):
        a, b = _SEED_A, _SEED_B
        for j in range(indptr[i], indptr[i + 1]):
            if values[j] != 0:
                word = (np.uint64(indices[j]) << _HALF) | np.uint64(bits[j])
                a ^= word
                a = (a ^ (a >> _A0)) * _A3
                a = (a ^ (a >> _A1)) * _A4
                a ^= a >> _A2
                b ^= word
                b = (b ^ (b >> _B0)) * _B3
                b = (b ^ (b >> _B1)) * _B4
                b ^= b >> _B2
        out[i, 0], out[i, 1] = a, b
