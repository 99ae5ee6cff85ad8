"""A pass of dual coordinate descent for 64 buckets; rows like those of citeulike_t."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from tests.reference.descent import squared_hinge_pass_slow

from benchmarks.micro.entry import OURS, Entry
from benchmarks.micro.rows import zipf_rows
from xmach._kernels._compile import kernel
from xmach._kernels.train.descent import squared_hinge_pass, squared_norms
from xmach._kernels.train.rows import unit_rows
from xmach.block_sizes import LANES
from xmach.types import AnyArray, BoolArray, FloatArray, Int32Array, IntArray, SparseRows

N_ROWS, N_FEATURES, EACH, COST = 1000, 20_000, 60, 1.0
SHAPE = f"{N_ROWS:,} rows of {EACH} values, d = {N_FEATURES:,}"


def entries() -> Iterator[Entry]:
    """The first pass, in which every row moves a dual variable of almost every bucket.

    A value and bucket are two multiply-adds, and each touched weight has to be read and written once. The times include
    setting all weights and duals to zero.
    """
    rows = zipf_rows(N_ROWS, N_FEATURES, EACH)
    ways: dict[str, Callable[..., object]] = {
        OURS: squared_hinge_pass,
        "NumPy twin": squared_hinge_pass_slow,
        "NumPy, 64 buckets at a time": _numpy_pass,
        "plain Numba, a bucket at a time": _plain_pass,
    }
    yield Entry(
        "squared_hinge_pass", SHAPE, "value and bucket", rows.nnz * LANES,
        {"gemm": 4 * rows.nnz * LANES, "update": 8 * LANES * len(np.unique(rows.indices))},
        {name: Descent(way, rows) for name, way in ways.items()},
        tolerance=1e-3,  # of float32 after a thousand dependent steps
    )  # fmt: skip


class Descent:
    """One way to make a pass, from zero at every call; returns the duals."""

    def __init__(self, way: Callable[..., object], rows: SparseRows, seed: int = 0) -> None:
        draw, n = np.random.default_rng(seed), rows.n_rows
        values, norms = np.empty_like(rows.values), np.empty(n, np.float32)
        unit_rows(rows.indptr, rows.values, values)
        squared_norms(rows.indptr, values, norms)
        costs, masks = np.full(n, COST, np.float32), np.full(n, 2**64 - 1, np.uint64)
        for _ in range(6):  # each of a row's bits is 1 with probability 1/64
            masks &= draw.integers(0, 2**64, n, np.uint64)
        order = draw.permutation(n)
        self._problem = (rows.indptr, rows.indices, values, norms, costs, masks, order, np.float32(0.0))
        self._way, self._moved = way, np.empty(n, np.bool_)
        self.state = tuple(np.zeros((*size, LANES), np.float32) for size in ((rows.n_columns,), (), (n,)))

    def __call__(self) -> FloatArray:
        for array in self.state:
            array.fill(0.0)
        self._way(*self._problem, *self.state, self._moved)
        return self.state[2]


def _numpy_pass(
    indptr: IntArray, indices: Int32Array, values: FloatArray, norms: FloatArray, costs: FloatArray, masks: AnyArray,
    order: IntArray, smallest: np.float32, weights: FloatArray, bias: FloatArray, duals: FloatArray,
    moved: BoolArray,
) -> None:  # fmt: skip
    """What one writes in NumPy: a row's 64 margins, steps and updates in a few calls."""
    lanes = np.arange(LANES, dtype=np.uint64)
    for i in order:
        columns, row = indices[indptr[i] : indptr[i + 1]], values[indptr[i] : indptr[i + 1]]
        signs = np.where(masks[i] >> lanes & np.uint64(1), np.float32(1), np.float32(-1))
        ridge = np.float32(0.5) / costs[i]
        new = duals[i] - (row @ weights[columns] + bias - signs + duals[i] * ridge) / (norms[i] + ridge)
        steps = np.where(new * signs > 0, new, np.float32(0)) - duals[i]
        weights[columns] += np.outer(row, steps)
        bias += steps
        duals[i] += steps


@kernel
def _plain_pass(
    indptr: IntArray, indices: Int32Array, values: FloatArray, norms: FloatArray, costs: FloatArray, masks: AnyArray,
    order: IntArray, smallest: np.float32, weights: FloatArray, bias: FloatArray, duals: FloatArray,
    moved: BoolArray,
) -> None:  # fmt: skip
    """One bucket after the other, as LIBLINEAR does it."""
    w = np.empty(len(weights), np.float32)
    for lane in range(LANES):
        w[:] = weights[:, lane]
        constant = bias[lane]
        for s in range(len(order)):
            i = order[s]
            sign = np.float32(1.0) if (masks[i] >> np.uint64(lane)) & np.uint64(1) else np.float32(-1.0)
            margin = constant
            for j in range(indptr[i], indptr[i + 1]):
                margin += values[j] * w[indices[j]]
            old, ridge = duals[i, lane], np.float32(0.5) / costs[i]
            new = old - (margin - sign + old * ridge) / (norms[i] + ridge)
            step = (new if new * sign > 0 else np.float32(0.0)) - old
            if abs(step) > smallest:
                for j in range(indptr[i], indptr[i + 1]):
                    w[indices[j]] += step * values[j]
                constant += step
                duals[i, lane] = old + step
        weights[:, lane] = w
        bias[lane] = constant
