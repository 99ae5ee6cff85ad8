"""Slow twins of the kernels in `xmach._kernels.text.murmur`: the same results from plain NumPy and Python."""

from __future__ import annotations

from xmach._kernels.text.murmur import _ADD, _C1, _C2, _F1, _F2


def murmur3_slow(data: bytes, seed: int = 0) -> int:
    """The same of any bytes, in Python's own numbers: as the definition reads."""
    mask, h = 0xFFFFFFFF, seed
    for i in range(0, len(data), 4):
        k = int.from_bytes(data[i : i + 4], "little") * int(_C1) & mask
        k = (k << 15 | k >> 17) * int(_C2) & mask
        h ^= k
        if i + 4 <= len(data):
            h = (h << 13 | h >> 19) & mask
            h = h * 5 + int(_ADD) & mask
    h ^= len(data)
    h = (h ^ h >> 16) * int(_F1) & mask
    h = (h ^ h >> 13) * int(_F2) & mask
    return h ^ h >> 16
