"""Compiles kernels; the only module that calls Numba."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, cast

import numba
import numpy as np

P = ParamSpec("P")
T = TypeVar("T")

if TYPE_CHECKING:

    def int64(number: Any) -> int:
        """Convert to a fixed width. Numba compiles a callee again for every other width, and for every constant."""

    def float64(number: Any) -> float:
        """Convert to double precision; in a kernel, `float` leaves a float32 unchanged."""

else:
    int64, float64 = np.int64, np.float64


def kernel(function: Callable[P, T]) -> Callable[P, T]:
    """Compile on the first call, cache the machine code on disk, and release the GIL.

    No `parallel=True`: a repetition is trained by one thread, and it triples the compile time. No fastmath: sums keep
    their order, so results are the same bytes everywhere on one machine. `error_model="numpy"` lets loops with a
    division be vectorized.
    """
    try:
        compiled = numba.njit(function, cache=True, nogil=True, error_model="numpy")
        _stamp(compiled, function)
    except RuntimeError:  # neither the package folder nor the user's cache folder can be written
        compiled = numba.njit(function, nogil=True, error_model="numpy")
    return cast(Callable[P, T], compiled)


def inlined(function: Callable[P, T]) -> Callable[P, T]:
    """Make part of every kernel that calls it: a call counts references to its arrays, twice for each of them."""
    return cast(Callable[P, T], numba.njit(function, inline="always"))


def _stamp(compiled: Any, function: Callable[..., Any]) -> None:
    """Invalidate cached machine code when any kernel source changes.

    Numba checks only the time and size of the function's own file. But kernels from other files are compiled into
    their callers, and all files of a wheel have the same time: after an upgrade the old code would run.
    """
    file = compiled._cache._cache_file
    file._source_stamp = (file._source_stamp, _sources(Path(function.__code__.co_filename).parent))


@cache
def _sources(folder: Path) -> str:
    """Return a digest of all kernel sources, and of a folder of kernels elsewhere in the package."""
    digest = hashlib.sha256()
    for path in sorted({*Path(__file__).parent.rglob("*.py"), *folder.glob("*.py")}):
        digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()
