"""The default learner: a network d-hidden...-B trained by Adam in NumPy and Numba, no framework."""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import pairwise

import numpy as np

from xmach._kernels.train.dense import AdamRates
from xmach._kernels.train.sparse import sparse_adam, sparse_forward
from xmach.config import NetworkSettings
from xmach.learners.buffers import BatchTransposer, Buffers
from xmach.learners.layers import ActiveUnits, Layer, new_layer, update_bias, update_layer
from xmach.learners.losses import LOSSES, SparseGradient
from xmach.learners.task import Batch
from xmach.models import NetworkModel
from xmach.types import AnyArray, FloatArray, Rows, SparseRows

BETA1, BETA2, EPSILON = np.float32(0.9), np.float32(0.999), np.float32(1e-8)


def stream(seed: int, repetition: int, purpose: str, *position: int) -> np.random.Generator:
    """Return the random stream for a purpose and position; there is no state to save, so any step can be resumed."""
    return np.random.default_rng([seed, repetition, int.from_bytes(purpose.encode(), "big"), *position])


class NetworkTrainer:
    """The state of one network in training: parameters, moments, step number."""

    def __init__(self, n_features: int, n_buckets: int, settings: NetworkSettings, seed: int, repetition: int) -> None:
        self.settings, self.seed, self.repetition = settings, seed, repetition
        self.n_features = n_features
        self.steps_done = 0
        widths = (n_features, *settings.hidden, n_buckets)
        draw = stream(seed, repetition, "init")
        self.layers: list[Layer] = []
        for depth, (inputs, outputs) in enumerate(pairwise(widths)):
            by_bucket = settings.skip_below > 0.0 and depth == len(settings.hidden)
            self.layers.append(new_layer(inputs, outputs, draw if settings.hidden else None, by_bucket))
        self._buffers, self._transposer = Buffers(), BatchTransposer(n_features)
        self._sparse_loss = SparseGradient(n_buckets, settings.skip_below) if settings.skip_below > 0.0 else None

    def prepare(self, batch: Batch) -> Batch:
        """Add what a step needs that does not depend on the weights; any thread may call it, one at a time."""
        if isinstance(batch.rows, SparseRows) and batch.lists is None:
            return batch._replace(lists=self._transposer.transpose(batch.rows))
        return batch

    def step(self, batch: Batch, rate: float, position: tuple[int, int]) -> float:
        """Take one Adam step and return the summed loss of the batch; `position` (epoch, step) seeds what is drawn."""
        batch = self.prepare(batch)
        inputs, layers, masks = self._forward(batch.rows, position)
        logits = inputs.pop()  # (n, B), without the bias
        self.steps_done += 1
        first_rates, rates = self._rates(rate)
        top = len(self.layers) - 1
        bias = self.layers[-1].bias
        if self._sparse_loss is not None:
            draw = stream(self.seed, self.repetition, "skip", *position)
            loss, kept, bias_gradient = self._sparse_loss.compute(logits, bias, batch.targets, batch.weights, draw)
            delta = self._backward_sparse(kept, bias_gradient, inputs[-1], rates)
            bias_gradient = self._backward_activation(top, delta, inputs, masks)
            top -= 1
        else:  # the logits become their gradient
            delta, bias_gradient = logits, self._buffers.array("bias gradient", len(bias))
            loss = LOSSES[self.settings.loss](logits, bias, batch.targets, batch.weights, bias_gradient)
        for depth in range(top, 0, -1):
            active = layers[depth - 1]
            gradient = active.weight_gradient(delta, self._buffers)
            lower = active.input_gradient(delta, self._buffers, depth)
            update_layer(self.layers[depth], *gradient, bias_gradient, rates)
            bias_gradient, delta = self._backward_activation(depth, lower, inputs, masks), lower
        self._update_first(batch, delta, bias_gradient, first_rates)
        return loss

    def _rates(self, rate: float) -> tuple[AdamRates, AdamRates]:
        """Return the rates of the first layer and of the others, where epsilon is bias-corrected, too.

        That is what SparseAdam and Adam of PyTorch do, so losses can be compared.
        """
        second = math.sqrt(1.0 - float(BETA2) ** self.steps_done)
        corrected = np.float32(rate * second / (1.0 - float(BETA1) ** self.steps_done))
        decay = np.float32(1.0 - rate * self.settings.weight_decay)
        first = AdamRates(corrected, BETA1, BETA2, EPSILON, decay)
        return first, first._replace(epsilon=np.float32(second * EPSILON))

    def _backward_activation(
        self, depth: int, delta: FloatArray, inputs: list[FloatArray], masks: list[FloatArray]
    ) -> FloatArray:
        """Propagate a gradient through ReLU and dropout, in place; returns the gradient of the bias below."""
        delta *= inputs[depth - 1] > 0.0
        if masks:
            delta *= masks[depth - 1]
        gradient: FloatArray = delta.sum(axis=0)
        return gradient

    def _backward_sparse(
        self, kept: SparseRows, bias_gradient: FloatArray, below: FloatArray, rates: AdamRates
    ) -> FloatArray:
        """Update the output layer with the gradients that were kept; returns the gradient of its inputs."""
        layer, sparse_loss = self.layers[-1], self._sparse_loss
        assert sparse_loss is not None
        delta = self._buffers.array(f"delta {len(self.layers) - 2}", *below.shape)
        by_bucket = layer.weights.T  # (B, H), contiguous: see `new_layer`
        sparse_forward(kept.indptr, kept.indices, kept.values, by_bucket, np.zeros(below.shape[1], np.float32), delta)
        moments = layer.moments[0].T, layer.moments[1].T
        sparse_adam(*sparse_loss.transposer.transpose(kept), below, by_bucket, *moments, rates)
        update_bias(layer, bias_gradient, rates)
        return delta

    def _forward(
        self, rows: Rows, position: tuple[int, int]
    ) -> tuple[list[FloatArray], list[ActiveUnits], list[FloatArray]]:
        """Return the output of every layer, the active units of every layer but the first, and scaled dropout masks.

        Hidden outputs are after ReLU and dropout. The last one lacks its bias, which the loss adds.
        """
        biases = [*(layer.bias for layer in self.layers[:-1]), np.zeros_like(self.layers[-1].bias)]
        buffers, n_rows = self._buffers, rows.shape[0]
        width = self.layers[0].weights.shape[1]
        out = buffers.array("output 0", n_rows, width)
        if isinstance(rows, SparseRows):
            sparse_forward(rows.indptr, rows.indices, rows.values, self.layers[0].weights, biases[0], out)
        else:
            np.matmul(rows, self.layers[0].weights, out=out)
            out += biases[0]
        outputs = [out]
        actives: list[ActiveUnits] = []
        masks: list[FloatArray] = []
        keep = 1.0 - self.settings.dropout
        draw = stream(self.seed, self.repetition, "dropout", *position) if keep < 1.0 else None
        for depth, layer in enumerate(self.layers[1:], 1):
            hidden = outputs[-1]
            np.maximum(hidden, 0.0, out=hidden)
            if draw is not None:
                mask = (draw.random(hidden.shape, dtype=np.float32) < keep).astype(np.float32)
                mask *= np.float32(1.0 / keep)
                hidden *= mask
                masks.append(mask)
            active = ActiveUnits.select(hidden, layer.weights, buffers, depth)
            out = buffers.array(f"output {depth}", n_rows, layer.weights.shape[1])
            outputs.append(np.matmul(active.inputs, active.weights, out=out))
            actives.append(active)
            if depth < len(self.layers) - 1:
                out += biases[depth]
        return outputs, actives, masks

    def _update_first(self, batch: Batch, delta: FloatArray, bias_gradient: FloatArray, rates: AdamRates) -> None:
        layer = self.layers[0]
        if batch.lists is not None:
            sparse_adam(*batch.lists, delta, layer.weights, *layer.moments[:2], rates)
            update_bias(layer, bias_gradient, rates)
        else:
            assert isinstance(batch.rows, np.ndarray)
            gradient = np.matmul(batch.rows.T, delta, out=self._buffers.array("gradient", *layer.weights.shape))
            update_layer(layer, gradient, np.arange(len(gradient)), bias_gradient, rates)

    def model(self) -> NetworkModel:
        """Return the current network; it shares memory with the trainer, except for weights stored by bucket."""
        weights = tuple(np.ascontiguousarray(layer.weights) for layer in self.layers)
        return NetworkModel(weights, tuple(layer.bias for layer in self.layers), self.settings.loss)

    def state(self) -> dict[str, AnyArray]:
        """Return everything that the next step depends on, by name."""
        steps = {"steps_done": np.array([self.steps_done], np.int64)}
        return steps | {name: np.ascontiguousarray(array) for name, array in self._arrays().items()}

    def _arrays(self) -> dict[str, FloatArray]:
        named: dict[str, FloatArray] = {}
        for i, layer in enumerate(self.layers):
            named |= {f"layer.{i}.weights": layer.weights, f"layer.{i}.bias": layer.bias}
            named |= {f"layer.{i}.moment.{j}": moment for j, moment in enumerate(layer.moments)}
        return named

    def restore(self, state: Mapping[str, AnyArray]) -> None:
        """Restore a state that `state` returned."""
        self.steps_done = int(state["steps_done"][0])
        for name, array in self._arrays().items():
            array[...] = state[name]


def batch_loss(model: NetworkModel, batch: Batch) -> float:
    """Return the summed weighted loss of a model on a batch, without training on it."""
    no_bias = np.zeros(model.n_buckets, np.float32)  # the logits include it
    return LOSSES[model.loss](model.logits(batch.rows), no_bias, batch.targets, batch.weights, np.empty_like(no_bias))
