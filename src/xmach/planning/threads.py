"""Rows divided among threads."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from xmach.planning.machine import usable_cores
from xmach.types import row_batches

T = TypeVar("T")


def by_rows(work: Callable[[int, int], T], n_rows: int, threads: int | None = None) -> list[T]:
    """Call `work(start, stop)` on consecutive rows, in at most `threads` threads; by default one per usable core.

    For kernels, which release the GIL. Returns the results in the order of the rows.
    """
    # counting cores takes longer than answering one row
    workers = 1 if n_rows < 2 else min(n_rows, usable_cores() if threads is None else threads)
    if workers <= 1:
        return [work(0, n_rows)]
    starts, stops = zip(*row_batches(n_rows, -(-n_rows // workers)), strict=True)
    with ThreadPoolExecutor(workers) as pool:
        return list(pool.map(work, starts, stops))
