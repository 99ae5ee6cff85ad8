"""Working memory of kernels, kept from one call to the next."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Generic, TypeVar

T = TypeVar("T")


class ScratchPool(Generic[T]):
    """Scratch space for as many threads as work at a time; `make` allocates one more."""

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._free: deque[T] = deque()

    @contextmanager
    def take(self) -> Iterator[T]:
        """Yield scratch space that no other thread uses meanwhile."""
        try:
            scratch = self._free.pop()
        except IndexError:
            scratch = self._make()
        yield scratch
        self._free.append(scratch)  # not after an error: then it is not clean
