"""Memory that a step leaves to the next: fresh pages for a gradient of 20 MB would cost milliseconds each time."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod
from typing import NamedTuple

import numpy as np

from xmach._kernels.sparse import (
    BLOCK,
    count_features,
    forward_by_feature,
    list_features,
    sparse_adam,
    transpose_batch,
)
from xmach.types import BoolArray, FloatArray, Int32Array, SparseRows


class Rates(NamedTuple):
    """What an Adam kernel takes beside arrays; `rate` carries the bias correction of the step."""

    rate: np.float32
    beta1: np.float32
    beta2: np.float32
    epsilon: np.float32
    decay: np.float32


def aligned_zeros(*shape: int) -> FloatArray:
    """Zeros that begin on a cache line: a row of 32 floats is then two lines, not parts of three."""
    size = prod(shape)
    room = np.zeros(size + 16, np.float32)
    skipped = -room.ctypes.data % 64 // room.itemsize
    return room[skipped : skipped + size].reshape(shape)


@dataclass
class Room:
    """Arrays by name, each as large as the largest asked for; what was in them is lost."""

    arrays: dict[str, FloatArray] = field(default_factory=dict)

    def array(self, name: str, *shape: int) -> FloatArray:
        """A float32 array, not cleared."""
        size = prod(shape)
        if name not in self.arrays or len(self.arrays[name]) < size:
            self.arrays[name] = np.empty(size, np.float32)
        return self.arrays[name][:size].reshape(shape)


class LazyAdam:
    """Adam over the weight rows that a batch of sparse rows touches; keeps room for the batch's transpose."""

    def __init__(self, n_columns: int) -> None:
        self.counts: Int32Array = np.zeros(n_columns, np.int32)  # all zero between batches, as are the marks
        self.blocks: BoolArray = np.zeros(-(-n_columns // BLOCK), np.bool_)
        self._make_room(0)

    def _make_room(self, nnz: int) -> None:
        distinct = min(len(self.counts), nnz)
        self.features = np.empty(distinct + 1, np.int32)
        self.starts = np.empty(distinct + 1, np.int32)
        self.rows = np.empty(nnz, np.int32)
        self.values = np.empty(nnz, np.float32)

    def take(self, rows: SparseRows) -> None:
        """Transpose a batch: for `forward` and `step`."""
        if len(self.values) < rows.nnz:
            self._make_room(rows.nnz + rows.nnz // 4)
        count_features(rows.indptr, rows.indices, self.counts, self.blocks)
        # rising: memory walked upwards made the step on 30,000 rows of 500 a fifth faster
        self.touched = self.features[: list_features(self.counts, self.blocks, self.features)]
        transpose_batch(
            rows.indptr, rows.indices, rows.values, self.counts, self.touched, self.starts, self.rows, self.values
        )

    def forward(self, weights: FloatArray, bias: FloatArray, out: FloatArray) -> FloatArray:
        """The batch @ weights + bias, in `out`."""
        forward_by_feature(self.touched, self.starts, self.rows, self.values, weights, bias, out)
        return out

    def step(
        self, delta: FloatArray, weights: FloatArray, moments: tuple[FloatArray, FloatArray], rates: Rates
    ) -> None:
        """One Adam step with the gradient batch^T @ delta."""
        sparse_adam(self.touched, self.starts, self.rows, self.values, delta, weights, *moments, *rates)
