"""What one core of this machine can do, measured when asked: the limits that kernels are held against.

Every limit is the speed of a loop that does nothing else; where two ways were tried the faster one stayed. A kernel
near its limit has little left to win; one above it gets part of its data from a cache, or the machine was busy.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from benchmarks.contest import Spread, alternate
from benchmarks.places import OUT, table, write_results
from benchmarks.plots import Panel, bars
from xmach._kernels._compile import kernel
from xmach.types import AnyArray, FloatArray, Int32Array

FLOATS = 2**26  # an array of 256 MiB: eight times the largest cache here
TABLE = 2**23  # lines of 64 bytes: 512 MiB
GEMMS = {  # (rows, inner, columns): the output layers of training, and one of their gradients
    "gemm": (256, 500, 10_000),  # Amazon-670K
    "gemm, search": (512, 256, 5000),
    "gemm, wiki": (128, 500, 2000),
    "gemm, gradient": (500, 256, 10_000),
}
SCALES = {"GB/s": 1e-9, "GFLOP/s": 1e-9, "million/s": 1e-6}


class Limit(NamedTuple):
    """A speed that nothing on this core exceeds, in bytes, floating-point operations or pieces a second."""

    about: str
    unit: str
    speed: Spread

    def shown(self) -> Spread:
        """In its unit."""
        return self.speed.times(SCALES[self.unit])


class Loop(NamedTuple):
    """What is timed: a call does `amount` bytes, operations or pieces."""

    about: str
    unit: str
    amount: float
    run: Callable[[], object]


@kernel
def _read_lines(lines: AnyArray, order: Int32Array) -> int:
    """One word of each line in the order given; no read waits for another."""
    total = np.uint64(0)
    for i in order:
        total += lines[i, 0]
    return int(total)


@kernel
def _gather(cells: FloatArray, buckets: AnyArray, out: FloatArray) -> None:
    """What a scan must do for each label and repetition: read a bucket's number, add its cell."""
    for i in range(len(out)):
        out[i] += cells[buckets[i]]


@kernel
def _triad(out: FloatArray, left: FloatArray, right: FloatArray, factor: np.float32) -> None:
    for i in range(len(out)):
        out[i] = left[i] + factor * right[i]


@kernel
def _remainders(numbers: AnyArray, divisor: int) -> int:
    total, by = np.uint64(0), np.uint64(divisor)
    for number in numbers:
        total += number % by
    return int(total)


def streams() -> dict[str, Loop]:
    """Memory from one end to the other. Writing elsewhere than one reads costs a third transfer: the old line."""
    a, b, c = (np.ones(FLOATS, np.float32) for _ in range(3))
    size = a.nbytes
    one = np.float32(1.0)  # what is halved again and again becomes denormal, and slow
    return {
        "read": Loop("reading memory", "GB/s", 2 * size, lambda: np.dot(a, b)),
        "update": Loop("updating memory in place", "GB/s", 2 * size, lambda: np.multiply(c, one, out=c)),
        "copy": Loop("copying memory", "GB/s", 2 * size, lambda: np.copyto(b, a)),
        "triad": Loop("triad, two reads and a write", "GB/s", 3 * size, lambda: _triad(c, a, b, one)),
    }


def chance() -> dict[str, Loop]:
    """Memory by chance: lines far beyond the cache, and cells that stay in it."""
    draw = np.random.default_rng(0)
    lines = np.ones((TABLE, 8), np.uint64)
    order = draw.integers(0, TABLE, 2**20, dtype=np.int32)
    buckets = draw.integers(0, 10_000, 2**20, dtype=np.uint16)
    scores, out = np.ones(10_000, np.float32), np.zeros(2**20, np.float32)  # one repetition's cells: 40 KB
    return {
        "lines": Loop("random 64-byte lines", "million/s", len(order), lambda: _read_lines(lines, order)),
        "cells": Loop("random cached cells", "million/s", len(out), lambda: _gather(scores, buckets, out)),
    }


def arithmetic() -> dict[str, Loop]:
    """GEMM in float32 by the shapes of training, exp as NumPy has it, 64-bit remainders."""
    draw = np.random.default_rng(0)
    loops: dict[str, Loop] = {}
    for name, (n, inner, m) in GEMMS.items():
        left, right = draw.random((n, inner), dtype=np.float32), draw.random((inner, m), dtype=np.float32)
        loops[name] = Loop(f"GEMM {n:,} x {inner:,} x {m:,}", "GFLOP/s", 2 * n * inner * m, _product(left, right))
    x = draw.random(2**20, dtype=np.float32)
    y = np.empty_like(x)
    loops["exp"] = Loop("NumPy's exp, float32", "million/s", len(x), lambda: np.exp(x, out=y))
    numbers = draw.integers(0, 2**62, 2**18, dtype=np.uint64)
    loops["remainders"] = Loop("64-bit remainders", "million/s", len(numbers), lambda: _remainders(numbers, 670_111))
    return loops


def _product(left: FloatArray, right: FloatArray) -> Callable[[], object]:
    out = np.empty((len(left), right.shape[1]), np.float32)
    return lambda: np.matmul(left, right, out=out)


def every() -> dict[str, Loop]:
    """All loops by name, ready to run; their arrays take 1.4 GB."""
    return {**streams(), **chance(), **arithmetic()}


def measure(loops: Mapping[str, Loop], rounds: int = 7) -> dict[str, Limit]:
    """The speed of each loop, one thread."""
    times = alternate({name: loop.run for name, loop in loops.items()}, rounds, least=0.02)
    return {name: Limit(loop.about, loop.unit, times.spread(name).into(loop.amount)) for name, loop in loops.items()}


def main() -> None:
    """Measure, write a table and a plot."""
    limits = measure(every())
    results = {name: {"about": limit.about, **limit.speed._asdict()} for name, limit in limits.items()}
    rows = [[limit.about, str(limit.shown()), limit.unit] for limit in limits.values()]
    panels = [
        Panel(unit, {"": {limit.about: limit.shown() for limit in limits.values() if limit.unit == unit}})
        for unit in SCALES
    ]
    bars(OUT / "limits.svg", "What one core can do: median of 7 rounds, least to most", panels)
    write_results("limits", results, table(["one core", "median (least to most)", "unit"], rows))
