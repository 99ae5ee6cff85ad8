"""The sparse first layer: forward, and the update fused with Adam; Wiki10-31K's shape."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from tests.reference.sparse import sparse_adam_slow, sparse_forward_slow

from benchmarks.micro.entry import OURS, Entry
from benchmarks.micro.rows import zipf_rows
from xmach._kernels.train.dense import AdamRates
from xmach._kernels.train.sparse import sparse_adam, sparse_forward
from xmach.learners.buffers import BatchTransposer
from xmach.types import FloatArray, SparseRows

N_ROWS, N_FEATURES, EACH, WIDTH = 128, 101_938, 670, 500
SHAPE = f"{N_ROWS} rows of {EACH} values, d = {N_FEATURES:,}, H = {WIDTH}"
ADAM = tuple(np.float32(number) for number in (1e-3, 0.9, 0.999, 1e-8, 1.0))  # rate, beta1, beta2, epsilon, decay

_SHOWN = 1000  # rows of weights that are compared, a third of them touched: all would take longer than the contest


def entries() -> Iterator[Entry]:
    """Both kernels on one batch."""
    rows = zipf_rows(N_ROWS, N_FEATURES, EACH)
    yield forward(rows)
    yield update(rows)


def forward(rows: SparseRows) -> Entry:
    """A batch times the weights. Each row of weights that occurs must be read once, each value adds one to a sum."""
    weights = np.random.default_rng(0).standard_normal((N_FEATURES, WIDTH), dtype=np.float32)
    bias = np.zeros(WIDTH, np.float32)
    csr, (indices, offsets, values) = _matrix(rows), _tensors(rows)
    bag = torch.nn.EmbeddingBag.from_pretrained(torch.tensor(weights), mode="sum", include_last_offset=True)

    def ours(kernel: Callable[..., None]) -> FloatArray:
        out = np.empty((N_ROWS, WIDTH), np.float32)
        kernel(rows.indptr, rows.indices, rows.values, weights, bias, out)
        return out

    return Entry(
        "sparse_forward", SHAPE, "value and hidden unit", rows.nnz * WIDTH,
        {"read": 4 * WIDTH * len(np.unique(rows.indices)), "gemm": 2 * rows.nnz * WIDTH},
        {
            OURS: lambda: ours(sparse_forward),
            "NumPy twin": lambda: ours(sparse_forward_slow),
            "SciPy csr @ dense": lambda: csr @ weights,
            "torch EmbeddingBag": lambda: bag(indices, offsets, per_sample_weights=values),
        },
    )  # fmt: skip


def update(rows: SparseRows) -> Entry:
    """The touched rows' gradient and Adam step: weights and two moments, read and written."""
    delta = 0.5 + np.random.default_rng(1).random((N_ROWS, WIDTH), dtype=np.float32)
    touched = len(np.unique(rows.indices))
    return Entry(
        "transpose_batch + sparse_adam", SHAPE, "touched weight", touched * WIDTH,
        {"update": 2 * 3 * 4 * touched * WIDTH, "gemm": 2 * rows.nnz * WIDTH},
        {OURS: _fused(rows, delta), "NumPy twin": _twin(rows, delta), "torch SparseAdam": _sparse_adam(rows, delta)},
        tolerance=1e-3,  # torch corrects bias before it adds epsilon: no gradient here is so small that it matters much
    )  # fmt: skip


def _fused(rows: SparseRows, delta: FloatArray) -> Callable[[], Any]:
    weights, first, second = _state()
    transposer = BatchTransposer(N_FEATURES)

    def step() -> FloatArray:
        sparse_adam(*transposer.transpose(rows), delta, weights, first, second, AdamRates(*_corrected()))
        return weights[:_SHOWN]

    return step


def _twin(rows: SparseRows, delta: FloatArray) -> Callable[[], Any]:
    weights, first, second = _state()

    def step() -> FloatArray:
        batch = (rows.indptr, rows.indices, rows.values)
        sparse_adam_slow(batch, delta, weights, first, second, *map(float, _corrected()))
        return weights[:_SHOWN]

    return step


def _sparse_adam(rows: SparseRows, delta: FloatArray) -> Callable[[], Any]:
    """What a step costs after the layer above has its gradient: the backward pass of the bag, and SparseAdam."""
    indices, offsets, values = _tensors(rows)
    bag = torch.nn.EmbeddingBag.from_pretrained(
        torch.zeros((N_FEATURES, WIDTH)), freeze=False, mode="sum", sparse=True, include_last_offset=True
    )
    optimizer: Any = torch.optim.SparseAdam(list(bag.parameters()), lr=float(ADAM[0]))
    gradient = torch.tensor(delta)
    out = bag(indices, offsets, per_sample_weights=values)

    def step() -> Any:
        optimizer.zero_grad(set_to_none=True)
        torch.autograd.backward(out, gradient, retain_graph=True)
        optimizer.step()
        return bag.weight[:_SHOWN].detach().numpy()

    return step


def _corrected() -> tuple[np.float32, ...]:
    """The first step's arguments: the rate carries the bias correction."""
    rate, beta1, beta2, *rest = ADAM
    return (rate * np.sqrt(1 - beta2) / (1 - beta1), beta1, beta2, *rest)


def _state() -> tuple[FloatArray, ...]:
    """Weights and moments, all of them written once: fresh pages would be cheaper to read."""
    return tuple(np.full((N_FEATURES, WIDTH), 0.0, np.float32) for _ in range(3))


def _matrix(rows: SparseRows) -> Any:
    return sp.csr_matrix((rows.values, rows.indices, rows.indptr), shape=rows.shape)


def _tensors(rows: SparseRows) -> tuple[Any, Any, Any]:
    """Columns, offsets and values: PyTorch wants the first two of one type."""
    return torch.tensor(rows.indices, dtype=torch.int64), torch.tensor(rows.indptr), torch.tensor(rows.values)
