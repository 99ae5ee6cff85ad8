"""One kernel in its contest: who takes part, how much work it is, what bounds it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.contest import Spread, Times, alternate
from benchmarks.limits import Limit, Loop

OURS = "xmach"
_LIMIT = "limit"


@dataclass(frozen=True)
class Entry:
    """A kernel and the other ways; each contestant returns an array, and at their first call all must agree."""

    kernel: str
    shape: str  # what it was run on, in words
    unit: str
    units: float  # units a call
    needs: Mapping[str, float]  # limit (a name in benchmarks.limits) -> bytes, operations or pieces a call
    contestants: Mapping[str, Callable[[], Any]]
    tolerance: float = 1e-4  # relative to the largest number in the answer

    def check(self) -> None:
        """Run everybody once: whoever answers something else was given another task."""
        with threadpool_limits(1):
            answers = {name: np.array(contestant()) for name, contestant in self.contestants.items()}
        ours = answers[OURS]
        for name, answer in answers.items():
            off = float(np.abs(ours - answer).max() / np.abs(answer).max())
            if off > self.tolerance:
                raise AssertionError(f"{self.kernel}: {OURS} and {name} differ by {off:.1e} of the largest number")


@dataclass(frozen=True)
class Result:
    """What an entry's contest gave."""

    entry: Entry
    times: Times
    bound: Limit  # the one that takes longest
    share: Spread  # of that limit's speed, 1 is all of it

    @property
    def cost(self) -> Spread:
        """Nanoseconds a unit."""
        return self.times.spread(OURS).times(1e9 / self.entry.units)

    @property
    def ratios(self) -> dict[str, Spread]:
        """How many times as long the others took."""
        return {name: self.times.ratio(name, OURS) for name in self.times.seconds if name not in (OURS, _LIMIT)}

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        entry = self.entry
        return {
            "kernel": entry.kernel, "shape": entry.shape, "unit": entry.unit, "units": entry.units,
            "needs": dict(entry.needs), "bound": self.bound.about, "share": self.share._asdict(),
            "nanoseconds": self.cost._asdict(), "times": self.times.to_dict(),
            "ratios": {name: ratio._asdict() for name, ratio in self.ratios.items()},
        }  # fmt: skip


def contest(entry: Entry, loops: Mapping[str, Loop], limits: Mapping[str, Limit], rounds: int) -> Result:
    """Check an entry and time it; the loop of the limit that binds it takes its turn among the contestants."""
    entry.check()
    least = {name: amount / limits[name].speed.median for name, amount in entry.needs.items()}  # seconds at the limit
    bound = max(least, key=lambda name: least[name])
    times = alternate({**entry.contestants, _LIMIT: loops[bound].run}, rounds, least=0.02)
    calls = entry.needs[bound] / loops[bound].amount  # of the loop, to do as much
    share = times.ratio(_LIMIT, OURS).times(calls)
    return Result(replace(entry, contestants={}), times, limits[bound], share)  # lets go of the arrays
