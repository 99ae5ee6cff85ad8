"""Hand-written LLVM for the loops that Numba does not compile well; call these functions inside kernels only.

Why each function is kept:

- `add_lines` prefetches the next row while it adds one; a plain loop with a prefetch in it does not vectorise. It gains
  only if rows come from memory: from the caches the plain loop is 6 to 8 % faster.
- `add_four_lines` also skips the comparisons with which a plain loop makes sure that its five arrays do not overlap.
- `adam_lines` gains from both: the prefetch in sparse layers, the skipped comparisons in short dense rows.
- `top_lines` finds the maximum in vectors; LLVM does not vectorise a plain maximum of floats.
- `power_lines` computes exp in vectors and sums in the same pass; Numba's exp is scalar.
- `dot_lanes` keeps 64 sums in registers along a sparse row; a plain loop stores and loads them at every entry.
- `add_lanes` keeps 64 steps in registers; a plain loop loads them at every entry, and checks that no arrays overlap.
- `prefetch` loads a posting list before the pruned search reads it, rows before descent visits them, and trained
  weights before they are pruned; Numba has no such function.

This package is the only place that imports llvmlite, `numba.core` or `numba.extending`. These interfaces change without
notice, so `pyproject.toml` limits numba to the versions that passed `tests/_kernels`.

`python -m benchmarks vectors` compares each function with plain Numba; `docs/performance.md` has the results. A
function stays if it gains at least 5 % on a shape bound by memory or on one that fits in the caches.
"""

from xmach._kernels.llvm.lanes import add_lanes, dot_lanes
from xmach._kernels.llvm.prefetching import prefetch
from xmach._kernels.llvm.rows import adam_lines, add_four_lines, add_lines
from xmach._kernels.llvm.softmax import power_lines, top_lines
from xmach._kernels.llvm.walk import LINE

__all__ = [
    "LINE",
    "adam_lines",
    "add_four_lines",
    "add_lanes",
    "add_lines",
    "dot_lanes",
    "power_lines",
    "prefetch",
    "top_lines",
]
