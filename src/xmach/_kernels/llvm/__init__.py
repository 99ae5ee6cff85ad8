"""Hand-written LLVM for the loops that Numba does not compile well; call these functions inside kernels only.

- `add_lines`, `add_four_lines` and `adam_lines` prefetch the next rows while they compute; a plain loop with a prefetch
  in it does not vectorise.
- `top_lines` keeps its maxima in registers; LLVM does not vectorise a maximum of floats.
- `power_lines` computes exp in vectors and sums in the same pass; Numba's exp is scalar.
- `prefetch` loads a posting list before it is read; Numba has no such function.

This package is the only place that imports llvmlite, `numba.core` or `numba.extending`. These interfaces change without
notice, so `pyproject.toml` limits numba to the versions that passed `tests/_kernels`.

`python -m benchmarks vectors` compares each function with plain Numba; `docs/performance.md` has the results. A
function stays if it gains at least 5 % on a shape bound by memory or on one that fits in the caches.
"""

from xmach._kernels.llvm.prefetching import prefetch
from xmach._kernels.llvm.rows import adam_lines, add_four_lines, add_lines
from xmach._kernels.llvm.softmax import power_lines, top_lines
from xmach._kernels.llvm.walk import LINE

__all__ = ["LINE", "adam_lines", "add_four_lines", "add_lines", "power_lines", "prefetch", "top_lines"]
