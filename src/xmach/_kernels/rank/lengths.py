"""The lengths of profiles as they are stored."""

from __future__ import annotations

from xmach._kernels._compile import int64, kernel
from xmach.types import AnyArray, IntArray


@kernel
def square_lengths(starts: AnyArray, gaps: AnyArray, codes: AnyArray, out: IntArray) -> None:
    """Add to out[label] the sum of the label's squared codes, from lists by feature; exact, so in any order."""
    for feature in range(len(starts) - 1):
        label = int64(-1)
        for e in range(int64(starts[feature]), int64(starts[feature + 1])):
            label += int64(gaps[e])
            out[label] += int64(codes[e]) * int64(codes[e])
