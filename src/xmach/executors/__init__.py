"""Executors run one function over many specs: here, in processes. They know no machine learning and import no NumPy."""

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol, TypeVar

from xmach.config import EXECUTORS
from xmach.errors import ParameterError
from xmach.executors.board import Board
from xmach.executors.local import LocalExecutor
from xmach.executors.pool import PoolExecutor

S = TypeVar("S")
T = TypeVar("T")


class Executor(Protocol):
    """Runs one picklable function over picklable specs."""

    workers: int  # how many run at once

    def run(self, task: Callable[[S], T], specs: Sequence[S]) -> Iterator[T]:
        """The result of each spec as it comes."""


def executor_named(name: str, workers: int) -> Executor:
    """The executor called `local` or `pool`; `auto` is a pool if more than one task runs at a time."""
    if name == "pool" or (name == "auto" and workers > 1):
        return PoolExecutor(workers)
    if name in ("auto", "local"):
        return LocalExecutor()
    raise ParameterError(f"executor must be one of {', '.join(EXECUTORS)}, got {name!r}")


__all__ = ["Board", "Executor", "LocalExecutor", "PoolExecutor", "executor_named"]
