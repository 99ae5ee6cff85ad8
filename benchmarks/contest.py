"""Contestants timed by turns in one process: on a shared machine only ratios of neighbours in time mean anything."""

from __future__ import annotations

import gc
import math
import statistics
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from threadpoolctl import threadpool_limits


class Spread(NamedTuple):
    """A median, with the least and the most seen."""

    median: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{figures(self.median)} ({figures(self.low)} to {figures(self.high)})"

    @classmethod
    def of(cls, numbers: list[float]) -> Spread:
        """Of numbers measured one after the other."""
        return cls(statistics.median(numbers), min(numbers), max(numbers))

    def times(self, factor: float) -> Spread:
        """In another unit."""
        return Spread(self.median * factor, self.low * factor, self.high * factor)

    def into(self, amount: float) -> Spread:
        """Seconds as a speed: so much in that time; the longest time is the lowest speed."""
        return Spread(amount / self.median, amount / self.high, amount / self.low)


class Times(NamedTuple):
    """The seconds of each contestant, round by round."""

    seconds: dict[str, list[float]]

    def spread(self, name: str) -> Spread:
        """The seconds of one."""
        return Spread.of(self.seconds[name])

    def ratio(self, slow: str, fast: str) -> Spread:
        """How many times as long one took as the other, each round for itself."""
        return Spread.of([s / f for s, f in zip(self.seconds[slow], self.seconds[fast], strict=True)])

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        return {name: {"seconds": seconds, **self.spread(name)._asdict()} for name, seconds in self.seconds.items()}


def alternate(
    contestants: Mapping[str, Callable[[], object]], rounds: int = 7, threads: int = 1, least: float = 0.0
) -> Times:
    """Call every contestant to warm up, then all of them in turn for some rounds, linear algebra on `threads`.

    What takes less than `least` seconds is called so often in each turn that the turn takes about as long; its seconds
    are still those of one call.
    """
    seconds: dict[str, list[float]] = {name: [] for name in contestants}
    with threadpool_limits(threads):
        calls = {}
        for name, contestant in contestants.items():
            contestant()  # compiles, fills caches
            calls[name] = max(1, math.ceil(least / _seconds(contestant, 1))) if least else 1
        gc.collect()
        gc.freeze()  # what is there stays there: with PyTorch imported each collection would take 0.2 s
        for _ in range(rounds):
            for name, contestant in contestants.items():
                gc.collect()
                seconds[name].append(_seconds(contestant, calls[name]))
        gc.unfreeze()
    return Times(seconds)


def _seconds(contestant: Callable[[], object], calls: int) -> float:
    """The seconds of one call, over some."""
    start = time.perf_counter()
    for _ in range(calls):
        contestant()
    return (time.perf_counter() - start) / calls


def figures(number: float) -> str:
    """Three figures, without an exponent."""
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"
