"""Both losses, from the logits without their bias to the gradients of logits and bias; Amazon-670K's output layer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from torch.nn import functional

from benchmarks.micro.dense import BATCH, EACH, N_BUCKETS, N_LABELS, batch_targets
from benchmarks.micro.entry import OURS, Entry
from benchmarks.micro.rows import zipf_rows
from xmach._kernels.train.dense import TargetBatch, bce_gradient
from xmach._kernels.train.softmax import softmax_loss
from xmach.buckets import UniversalHashes
from xmach.models.network import sigmoid_in_place
from xmach.types import AnyArray, FloatArray

_ROOM = np.empty((BATCH, N_BUCKETS), np.float32)  # not anew each time: fresh pages cost more than the kernel
_ONES = np.ones(BATCH, np.float32)
OPERATIONS = 20  # of an exponential by a polynomial, with what comes before and after


def entries() -> Iterator[Entry]:
    """One batch, a few labels a row. The copy of the logits, which are overwritten, is in the time and in the bytes."""
    draw = np.random.default_rng(0)
    logits = draw.standard_normal((BATCH, N_BUCKETS), dtype=np.float32)
    bias = draw.standard_normal(N_BUCKETS, dtype=np.float32)
    found = batch_targets(zipf_rows(BATCH, N_LABELS, EACH), UniversalHashes.draw(N_LABELS, N_BUCKETS, 1, 0))
    needs = {"update": 4 * logits.nbytes, "gemm": OPERATIONS * logits.size}
    for name, ours, numpy_way, torch_way, torch_name in (
        ("softmax_loss", _softmax, _numpy_softmax, functional.cross_entropy, "cross_entropy"),
        ("bce_gradient", _bce, _numpy_bce, functional.binary_cross_entropy_with_logits, "binary_cross_entropy"),
    ):
        contestants: dict[str, Callable[[], Any]] = {
            OURS: _bound(ours, logits, bias, found),
            "NumPy, dense targets": _bound(numpy_way, logits, bias, found),
            f"torch {torch_name} + backward": _torch(torch_way, logits, bias, found, shared=name == "softmax_loss"),
        }
        shape = f"{BATCH} x {N_BUCKETS:,}, {EACH} labels a row"
        yield Entry(name, shape, "logit", logits.size, needs, contestants)


Way = Callable[[FloatArray, FloatArray, TargetBatch], FloatArray]


def _bound(way: Way, logits: FloatArray, bias: FloatArray, found: TargetBatch) -> Callable[[], FloatArray]:
    return lambda: way(logits, bias, found)


def _softmax(logits: FloatArray, bias: FloatArray, found: TargetBatch) -> FloatArray:
    np.copyto(_ROOM, logits)
    softmax_loss(_ROOM, bias, found, _ONES, np.empty_like(bias))
    return _ROOM


def _bce(logits: FloatArray, bias: FloatArray, found: TargetBatch) -> FloatArray:
    gradient = sigmoid_in_place(np.add(logits, bias, out=_ROOM))
    bce_gradient(gradient, found, _ONES)
    gradient *= np.float32(1 / BATCH)
    gradient.sum(axis=0)  # of the bias
    return gradient


def _numpy_softmax(logits: FloatArray, bias: FloatArray, found: TargetBatch) -> FloatArray:
    dense, z = _dense(found, found[2]), logits + bias
    raised = np.exp(z - z.max(axis=1, keepdims=True))
    p = raised / raised.sum(axis=1, keepdims=True)
    -(dense * np.log(p + np.float32(1e-30))).sum()  # the loss
    gradient: FloatArray = (p - dense) / np.float32(BATCH)
    gradient.sum(axis=0)
    return gradient


def _numpy_bce(logits: FloatArray, bias: FloatArray, found: TargetBatch) -> FloatArray:
    dense = _dense(found, np.ones_like(found[2]))
    p = 1 / (1 + np.exp(-(logits + bias)))
    -(dense * np.log(p) + (1 - dense) * np.log(1 - p)).sum()  # the loss
    gradient: FloatArray = (p - dense) / np.float32(BATCH)
    gradient.sum(axis=0)
    return gradient


def _dense(found: TargetBatch, values: AnyArray) -> FloatArray:
    dense = np.zeros((BATCH, N_BUCKETS), np.float32)
    dense[np.repeat(np.arange(BATCH), np.diff(found[0])), found[1]] = values
    return dense


def _torch(loss: Any, logits: FloatArray, bias: FloatArray, found: TargetBatch, shared: bool) -> Callable[[], Any]:
    """As one writes it: a dense target matrix, the loss, autograd. `shared`: a row's mass is 1, not 1 a bucket."""
    rows, columns = np.repeat(np.arange(BATCH), np.diff(found[0])), found[1].astype(np.int64)
    places = (torch.tensor(rows), torch.tensor(columns))
    values = torch.tensor(found[2]) if shared else torch.ones(len(rows))
    source = torch.tensor(logits)
    leaf, leaf_bias = torch.nn.Parameter(torch.tensor(logits)), torch.nn.Parameter(torch.tensor(bias))

    def step() -> Any:
        leaf.data.copy_(source)
        leaf.grad = leaf_bias.grad = None
        dense = torch.zeros(logits.shape).index_put_(places, values)
        torch.autograd.backward(loss(leaf + leaf_bias, dense, reduction="sum") / BATCH)
        assert leaf.grad is not None
        return leaf.grad.numpy()

    return step
