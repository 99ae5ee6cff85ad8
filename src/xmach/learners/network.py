"""The default learner: a network d-hidden...-B trained by Adam in NumPy and Numba, one thread, no framework."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from xmach._kernels.dense import adam, bce_gradient, softmax_gradient
from xmach._kernels.sparse import sparse_adam, transpose_batch
from xmach.learners.settings import NetworkSettings
from xmach.learners.task import Batch
from xmach.models import NetworkModel
from xmach.models.network import ACTIVATIONS, first_layer
from xmach.types import AnyArray, FloatArray, Int32Array, Rows, SparseRows

BETA1, BETA2, EPSILON = np.float32(0.9), np.float32(0.999), np.float32(1e-8)
_GRADIENTS: dict[str, Callable[..., float]] = {"softmax": softmax_gradient, "bce": bce_gradient}


def stream(seed: int, repetition: int, purpose: str, *position: int) -> np.random.Generator:
    """The named random stream of one purpose at one position: no state to keep, so any moment can be resumed."""
    return np.random.default_rng([seed, repetition, int.from_bytes(purpose.encode(), "big"), *position])


@dataclass
class Layer:
    """One layer's parameters with their Adam moments."""

    weights: FloatArray  # (inputs, outputs)
    bias: FloatArray  # (outputs,)
    moments: tuple[FloatArray, FloatArray, FloatArray, FloatArray]  # first and second of weights, then of bias


@dataclass
class _Transpose:
    """Room for a batch's transpose; grows with the largest batch."""

    counts: Int32Array  # (d,), all zero between batches
    features: Int32Array
    starts: Int32Array
    rows: Int32Array
    values: FloatArray

    @classmethod
    def room_for(cls, n_features: int, nnz: int, counts: Int32Array | None = None) -> _Transpose:
        counts = np.zeros(n_features, np.int32) if counts is None else counts
        distinct = min(n_features, nnz)
        ints = [np.empty(size, np.int32) for size in (distinct, distinct + 1, nnz)]
        return cls(counts, ints[0], ints[1], ints[2], np.empty(nnz, np.float32))


class NetworkTrainer:
    """The state of one network in training: parameters, moments, step number."""

    def __init__(self, n_features: int, n_buckets: int, settings: NetworkSettings, seed: int, repetition: int) -> None:
        self.settings, self.seed, self.repetition = settings, seed, repetition
        self.n_features = n_features
        self.steps_done = 0
        widths = (n_features, *settings.hidden, n_buckets)
        draw = stream(seed, repetition, "init")
        self.layers = []
        for inputs, outputs in pairwise(widths):
            if settings.hidden:
                limit = math.sqrt(6.0 / (inputs + outputs))  # Glorot and Bengio 2010
                weights = draw.random((inputs, outputs), dtype=np.float32)  # no float64 copy of a large layer
                weights -= np.float32(0.5)
                weights *= np.float32(2.0 * limit)
            else:
                weights = np.zeros((inputs, outputs), np.float32)  # logistic regression is convex: start at zero
            bias = np.zeros(outputs, np.float32)
            moments = (np.zeros_like(weights), np.zeros_like(weights), np.zeros_like(bias), np.zeros_like(bias))
            self.layers.append(Layer(weights, bias, moments))
        self._room: _Transpose | None = None

    def step(self, batch: Batch, rate: float, position: tuple[int, int]) -> float:
        """One Adam step; returns the batch's summed loss. `position` (epoch, step) names the dropout draw."""
        rows, targets, weights = batch
        inputs, masks = self._forward(rows, position)
        delta = ACTIVATIONS[self.settings.loss](inputs.pop())  # (n, B)
        loss = _GRADIENTS[self.settings.loss](delta, targets.offsets, targets.buckets, targets.masses, weights)
        delta *= np.float32(1.0 / len(weights))
        self.steps_done += 1
        correction = math.sqrt(1.0 - float(BETA2) ** self.steps_done) / (1.0 - float(BETA1) ** self.steps_done)
        corrected = np.float32(rate * correction)
        decay = np.float32(1.0 - rate * self.settings.weight_decay)
        for depth in range(len(self.layers) - 1, 0, -1):
            layer, below = self.layers[depth], inputs[depth - 1]  # below: what the layer was given, (n, H)
            gradient = below.T @ delta
            bias_gradient = delta.sum(axis=0)
            delta = delta @ layer.weights.T
            delta *= below > 0.0
            if masks:
                delta *= masks[depth - 1]
            _update(layer, gradient, bias_gradient, corrected, decay)
        self._update_first(rows, delta, corrected, decay)
        return loss

    def _forward(self, rows: Rows, position: tuple[int, int]) -> tuple[list[FloatArray], list[FloatArray]]:
        """Every layer's output, hidden ones after ReLU and dropout; and the dropout masks, scaled."""
        outputs = [first_layer(rows, self.layers[0].weights, self.layers[0].bias)]
        masks: list[FloatArray] = []
        keep = 1.0 - self.settings.dropout
        draw = stream(self.seed, self.repetition, "dropout", *position) if keep < 1.0 else None
        for layer in self.layers[1:]:
            hidden = outputs[-1]
            np.maximum(hidden, 0.0, out=hidden)
            if draw is not None:
                mask = (draw.random(hidden.shape, dtype=np.float32) < keep).astype(np.float32)
                mask *= np.float32(1.0 / keep)
                hidden *= mask
                masks.append(mask)
            output = hidden @ layer.weights
            output += layer.bias
            outputs.append(output)
        return outputs, masks

    def _update_first(self, rows: Rows, delta: FloatArray, rate: np.float32, decay: np.float32) -> None:
        layer = self.layers[0]
        if not isinstance(rows, SparseRows):
            _update(layer, rows.T @ delta, delta.sum(axis=0), rate, decay)
            return
        room = self._room
        if room is None or len(room.values) < rows.nnz:
            kept = None if room is None else room.counts
            room = self._room = _Transpose.room_for(self.n_features, rows.nnz + rows.nnz // 4, kept)
        touched = transpose_batch(
            rows.indptr, rows.indices, rows.values, room.counts, room.features, room.starts, room.rows, room.values
        )
        first, second = layer.moments[:2]
        sparse_adam(
            touched, room.features, room.starts, room.rows, room.values, delta, layer.weights, first, second,
            rate, BETA1, BETA2, EPSILON, decay,
        )  # fmt: skip
        adam(layer.bias, delta.sum(axis=0), *layer.moments[2:], rate, BETA1, BETA2, EPSILON, np.float32(1.0))

    def model(self) -> NetworkModel:
        """The network as it is now, sharing memory with the trainer."""
        weights = tuple(layer.weights for layer in self.layers)
        return NetworkModel(weights, tuple(layer.bias for layer in self.layers), self.settings.loss)

    def state(self) -> dict[str, AnyArray]:
        """Everything that the next step depends on, by name."""
        named: dict[str, AnyArray] = {"steps_done": np.array([self.steps_done], np.int64)}
        for i, layer in enumerate(self.layers):
            named |= {f"layer.{i}.weights": layer.weights, f"layer.{i}.bias": layer.bias}
            named |= {f"layer.{i}.moment.{j}": moment for j, moment in enumerate(layer.moments)}
        return named

    def restore(self, state: Mapping[str, AnyArray]) -> None:
        """Go back to a state that `state` gave."""
        self.steps_done = int(state["steps_done"][0])
        for name, array in self.state().items():
            if name != "steps_done":
                array[...] = state[name]


def _update(layer: Layer, gradient: FloatArray, bias_gradient: FloatArray, rate: np.float32, decay: np.float32) -> None:
    first, second, bias_first, bias_second = layer.moments
    flat = (layer.weights.ravel(), gradient.ravel(), first.ravel(), second.ravel())
    adam(*flat, rate, BETA1, BETA2, EPSILON, decay)
    adam(layer.bias, bias_gradient, bias_first, bias_second, rate, BETA1, BETA2, EPSILON, np.float32(1.0))


def batch_loss(model: NetworkModel, batch: Batch) -> float:
    """The summed weighted loss of a model on a batch, without learning from it."""
    probabilities = model.probabilities(batch.rows)
    targets = batch.targets
    return _GRADIENTS[model.loss](probabilities, targets.offsets, targets.buckets, targets.masses, batch.weights)
