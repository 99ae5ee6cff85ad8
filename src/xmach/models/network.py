"""A network d-hidden...-B: plain arrays and a forward pass. Without hidden layers it is logistic regression."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from xmach._kernels.train.few_rows import dense_forward
from xmach._kernels.train.softmax import softmax
from xmach._kernels.train.sparse import sparse_forward
from xmach.errors import InputError
from xmach.types import FloatArray, Loss, Rows, SparseRows

ROWS_ALIKE = 32  # a row in a batch of at most this size gets the same bits as alone


def _layer(layer: Rows, weights: FloatArray, bias: FloatArray) -> FloatArray:
    """layer @ weights + bias, (n, H): a kernel for sparse rows and for a few dense ones, a matrix product for many."""
    out = np.empty((layer.shape[0], len(bias)), np.float32)
    if isinstance(layer, SparseRows):
        sparse_forward(layer.indptr, layer.indices, layer.values, np.ascontiguousarray(weights), bias, out)
    elif len(layer) <= ROWS_ALIKE and weights.flags.c_contiguous:
        dense_forward(np.ascontiguousarray(layer), weights, bias, out)
    else:
        np.matmul(layer, weights, out=out)
        out += bias
    return out


def softmax_in_place(logits: FloatArray) -> FloatArray:
    """Apply softmax over the last axis of (n, B), in place."""
    softmax(logits)
    return logits


def sigmoid_in_place(logits: FloatArray) -> FloatArray:
    """Apply 1 / (1 + exp(-z)) in place; clipped so that float32 does not overflow."""
    np.clip(logits, -80.0, 80.0, out=logits)
    np.negative(logits, out=logits)
    np.exp(logits, out=logits)
    logits += 1.0
    np.reciprocal(logits, out=logits)
    return logits


@dataclass(frozen=True, repr=False)
class NetworkModel:
    """A trained network: weights[i] is (width of layer i, width of layer i + 1), biases[i] the latter."""

    weights: tuple[FloatArray, ...]
    biases: tuple[FloatArray, ...]
    loss: Loss
    kind: str = "network"

    def __repr__(self) -> str:
        widths = [self.n_features, *(len(bias) for bias in self.biases)]
        return f"<NetworkModel {'-'.join(map(str, widths))}, loss={self.loss!r}>"

    @property
    def n_features(self) -> int:
        """d."""
        return int(self.weights[0].shape[0])

    @property
    def n_buckets(self) -> int:
        """B."""
        return int(self.weights[-1].shape[1])

    def logits(self, rows: Rows) -> FloatArray:
        """Return the (n, B) outputs before softmax or sigmoid."""
        width = rows.shape[1]
        if width != self.n_features:
            raise InputError(f"the model was trained on {self.n_features} features, the rows have {width}")
        layer = _layer(rows, self.weights[0], self.biases[0])  # (n, H)
        for weights, bias in zip(self.weights[1:], self.biases[1:], strict=True):
            np.maximum(layer, 0.0, out=layer)
            layer = _layer(layer, weights, bias)
        return layer

    def probabilities(self, rows: Rows) -> FloatArray:
        """The (n, B) bucket probabilities: they sum to 1 with softmax, each is its own with binary cross-entropy."""
        outputs = self.logits(rows)
        if self.loss == "bce":
            return sigmoid_in_place(outputs)
        softmax(outputs)
        return outputs

    def arrays(self) -> dict[str, FloatArray]:
        """Return the weights and biases by name."""
        named = {f"weights.{i}": w for i, w in enumerate(self.weights)}
        return named | {f"biases.{i}": b for i, b in enumerate(self.biases)}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, FloatArray], loss: Loss) -> NetworkModel:
        """Rebuild the network from `arrays`."""
        depth = sum(name.startswith("weights.") for name in arrays)
        weights = tuple(arrays[f"weights.{i}"] for i in range(depth))
        biases = tuple(arrays[f"biases.{i}"] for i in range(depth))
        return cls(weights, biases, loss)
