"""The one place where Numba is called."""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, TypeVar, cast

import numba

P = ParamSpec("P")
T = TypeVar("T")


def kernel(function: Callable[P, T]) -> Callable[P, T]:
    """Compile at the first call, keep the machine code on disk, release the GIL.

    No `parallel=True`: one repetition is one thread, and it triples the compile time. No fastmath: sums keep their
    order, so that results are the same bytes everywhere on one machine. `error_model="numpy"` lets loops with a
    division vectorise.
    """
    try:
        compiled = numba.njit(function, cache=True, nogil=True, error_model="numpy")
    except RuntimeError:  # neither the package folder nor the user's cache folder can be written
        compiled = numba.njit(function, nogil=True, error_model="numpy")
    return cast(Callable[P, T], compiled)
