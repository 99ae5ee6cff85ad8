"""Work that the next step needs is done beside this one."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")
U = TypeVar("U")


def one_ahead(make: Callable[[T], U], items: Iterable[T]) -> Generator[U, None, None]:
    """make(item) of each, in order; a second thread makes the next while this one is used. Close it to stop early.

    Kernels and most of NumPy let the other thread run: with a core to spare, making batches costs no time. Where no
    thread can be had (the interpreter is ending, or the process may have no more) items are made when they are asked
    for. `np.errstate` of the caller does not reach the other thread.
    """
    with ThreadPoolExecutor(1, "next batch") as thread:
        made: Future[U] | None = None
        for item in items:
            coming = _submitted(thread, make, item)
            if made is not None:
                yield made.result()
            made = coming
            if made is None:
                yield make(item)
        if made is not None:
            yield made.result()


def _submitted(thread: ThreadPoolExecutor, make: Callable[[T], U], item: T) -> Future[U] | None:
    try:
        return thread.submit(make, item)
    except RuntimeError:
        return None
