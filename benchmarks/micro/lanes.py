"""A pass of dual coordinate descent with and without hand-written LLVM, as `walks` has the other kernels."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from benchmarks.micro.descent import Descent
from benchmarks.micro.plain_loops import fused
from benchmarks.micro.rows import zipf_rows
from benchmarks.micro.walks import LLVM, PLAIN, Arrays, Entry, with_walks
from xmach._kernels.train.descent import squared_hinge_pass
from xmach.block_sizes import LANES
from xmach.types import FloatArray, Int32Array

MEMORY, CACHE = (16_384, 2**18, 60), (1000, 2000, 60)  # rows, features, features a row


@fused
def dot_lanes(
    out: FloatArray, indices: Int32Array, values: FloatArray, start: int, stop: int, weights: FloatArray
) -> None:
    """out += the sum of values[j] * weights[indices[j]] for start <= j < stop."""
    for j in range(start, stop):
        value, source = values[j], weights[indices[j]]
        for lane in range(LANES):
            out[lane] += value * source[lane]


@fused
def add_lanes(
    weights: FloatArray, indices: Int32Array, values: FloatArray, start: int, stop: int, step: FloatArray
) -> None:
    """weights[indices[j]] += values[j] * step for start <= j < stop."""
    for j in range(start, stop):
        value, target = values[j], weights[indices[j]]
        for lane in range(LANES):
            target[lane] += value * step[lane]


def entries() -> Iterator[Entry]:
    """Each function on a shape bound by memory (64 MB of weights) and on one that fits in the caches (512 KB)."""
    plain: dict[str, Callable[..., Any]] = {"dot_lanes": dot_lanes, "add_lanes": add_lanes}
    for n_rows, n_features, each in (MEMORY, CACHE):
        rows = zipf_rows(n_rows, n_features, each)
        shape = f"{n_rows:,} rows of {each}, d = {n_features:,}"
        ours = Descent(squared_hinge_pass, rows)
        for name, loop in plain.items():
            other = Descent(with_walks(squared_hinge_pass, **{name: loop}), rows)
            yield Entry(name, shape, {LLVM: partial(_pass, ours), PLAIN: partial(_pass, other)})


def _pass(descent: Descent) -> Arrays:
    descent()
    return descent.state
