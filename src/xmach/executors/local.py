"""One task after the other, in this process."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from typing import TypeVar

S = TypeVar("S")
T = TypeVar("T")


class LocalExecutor:
    """Runs tasks in this process, in order."""

    workers = 1

    def run(self, task: Callable[[S], T], specs: Sequence[S]) -> Iterator[T]:
        """The result of each spec, in order, as it comes."""
        for spec in specs:
            yield task(spec)

    def in_order(self, task: Callable[[S], T], specs: Iterable[S]) -> Generator[T]:
        """The result of each spec, in order; specs may be endless."""
        for spec in specs:
            yield task(spec)
