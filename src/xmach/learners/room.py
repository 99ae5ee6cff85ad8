"""What steps share: memory (fresh pages for a gradient of 20 MB would cost milliseconds each time), and batches by
feature."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod
from typing import NamedTuple

import numpy as np

from xmach._kernels.llvm import LINE
from xmach._kernels.train.sparse import (
    BLOCK,
    count_features,
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
    return _aligned(np.zeros(prod(shape) + LINE, np.float32)).reshape(shape)


def _aligned(room: FloatArray) -> FloatArray:
    """What begins on a cache line, a line less."""
    skipped = -room.ctypes.data % 64 // room.itemsize
    return room[skipped : len(room) - LINE + skipped]


@dataclass
class Room:
    """Arrays by name, each as large as the largest asked for, from a cache line on; what was in them is lost."""

    arrays: dict[str, FloatArray] = field(default_factory=dict)

    def array(self, name: str, *shape: int) -> FloatArray:
        """A float32 array, not cleared."""
        size = prod(shape)
        if name not in self.arrays or len(self.arrays[name]) < size:
            self.arrays[name] = _aligned(np.empty(size + LINE, np.float32))
        return self.arrays[name][:size].reshape(shape)


class ByFeature(NamedTuple):
    """A batch of sparse rows listed by feature: features[t] has the entries starts[t]:starts[t+1]."""

    features: Int32Array  # rising: memory walked upwards made the step on 30,000 rows of 500 a fifth faster
    starts: Int32Array
    rows: Int32Array  # of each entry
    values: FloatArray

    def adam(
        self, delta: FloatArray, weights: FloatArray, moments: tuple[FloatArray, FloatArray], rates: Rates
    ) -> None:
        """One Adam step with the gradient batch^T @ delta, on the weights of features that occur."""
        sparse_adam(*self, delta, weights, *moments, *rates)


class Transposer:
    """Lists batches by feature, one at a time; its counters stay from batch to batch."""

    def __init__(self, n_columns: int) -> None:
        self._counts: Int32Array = np.zeros(n_columns, np.int32)  # all zero between batches, as are the marks
        self._blocks: BoolArray = np.zeros(-(-n_columns // BLOCK), np.bool_)

    def of(self, rows: SparseRows) -> ByFeature:
        """The lists of a batch."""
        count_features(rows.indptr, rows.indices, self._counts, self._blocks)
        features = np.empty(min(len(self._counts), rows.nnz) + 1, np.int32)
        features = features[: list_features(self._counts, self._blocks, features)]
        starts, which = np.empty(len(features) + 1, np.int32), np.empty(rows.nnz, np.int32)
        lists = ByFeature(features, starts, which, np.empty(rows.nnz, np.float32))
        transpose_batch(rows.indptr, rows.indices, rows.values, self._counts, *lists)
        return lists
