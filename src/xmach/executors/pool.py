"""N processes on this machine, one task each at a time."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Executor, Future, as_completed
from contextlib import contextmanager
from typing import TypeVar

from xmach.errors import WorkerDied

S = TypeVar("S")
T = TypeVar("T")

_POLITE = (signal.SIGINT, signal.SIGTERM)


class PoolExecutor:
    """Runs tasks in processes. loky's workers do not import the main script: unguarded scripts and notebooks work."""

    def __init__(self, workers: int) -> None:
        self.workers = workers

    def run(self, task: Callable[[S], T], specs: Sequence[S]) -> Iterator[T]:
        """The result of each spec as it comes, in the order of completion; the first failure ends the run."""
        if not specs:
            return
        again = "What was finished is kept; run the same command again to go on, with fewer workers if memory is short."
        with _pool(min(self.workers, len(specs)), again) as pool:
            with _polite_signals_blocked():  # workers are started here and inherit it
                futures = [pool.submit(task, spec) for spec in specs]
            for future in as_completed(futures):
                yield future.result()

    def in_order(self, task: Callable[[S], T], specs: Iterable[S]) -> Generator[T]:
        """The result of each spec, in the order of the specs.

        Few are under way or waiting to be taken at a time: results may be large, and specs as many as one likes.
        """
        with _pool(self.workers, "Run the same command again, with fewer workers if memory is short.") as pool:
            waiting: deque[Future[T]] = deque()
            for spec in specs:
                with _polite_signals_blocked():
                    waiting.append(pool.submit(task, spec))
                if len(waiting) > self.workers:  # one ahead: no worker waits while a result is taken
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()


@contextmanager
def _pool(workers: int, advice: str) -> Iterator[Executor]:
    """So many processes, none of them left in the end."""
    from loky import ProcessPoolExecutor  # not imported by those who open a model
    from loky.process_executor import BrokenProcessPool

    pool = ProcessPoolExecutor(max_workers=workers, initializer=_prepare_worker, initargs=(os.getpid(),))
    try:
        yield pool
    except BrokenProcessPool as error:
        reason = "it was killed, or the machine ran out of memory"
        raise WorkerDied(f"a worker process ended in the middle of its work: {reason}. {advice}") from error
    finally:
        pool.shutdown(wait=True, kill_workers=True)


@contextmanager
def _polite_signals_blocked() -> Iterator[None]:
    """Hold SIGINT and SIGTERM back in this thread; they arrive when it is over."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _POLITE)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _prepare_worker(parent: int) -> None:
    """Leave Ctrl-C and SIGTERM, which may reach the whole group, to the parent; and end when the parent ends."""
    for number in _POLITE:
        signal.signal(number, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, args=(parent,), daemon=True).start()


def _end_with_parent(parent: int) -> None:
    """A worker whose parent was killed would wait for work for ever. Files are written atomically: no end can harm."""
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(1)
