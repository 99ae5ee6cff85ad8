"""The default learner: a network d-hidden...-B trained by Adam in NumPy and Numba, no framework."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from xmach._kernels.train.dense import adam, adam_row
from xmach._kernels.train.sparse import sparse_forward
from xmach.config import NetworkSettings
from xmach.learners.losses import LOSSES
from xmach.learners.room import Rates, Room, Transposer, aligned_zeros
from xmach.learners.silent import Active
from xmach.learners.skipping import SparseGradient
from xmach.learners.task import Batch, TargetBatch
from xmach.models import NetworkModel
from xmach.models.network import first_layer
from xmach.types import AnyArray, FloatArray, IntArray, Rows, SparseRows

BETA1, BETA2, EPSILON = np.float32(0.9), np.float32(0.999), np.float32(1e-8)


def stream(seed: int, repetition: int, purpose: str, *position: int) -> np.random.Generator:
    """The named random stream of one purpose at one position: no state to keep, so any moment can be resumed."""
    return np.random.default_rng([seed, repetition, int.from_bytes(purpose.encode(), "big"), *position])


@dataclass
class Layer:
    """One layer's parameters with their Adam moments."""

    weights: FloatArray  # (inputs, outputs)
    bias: FloatArray  # (outputs,)
    moments: tuple[FloatArray, FloatArray, FloatArray, FloatArray]  # first and second of weights, then of bias


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
            self.layers.append(_new_layer(inputs, outputs, draw if settings.hidden else None, by_bucket))
        self._room, self._transposer = Room(), Transposer(n_features)
        self._skipping = SparseGradient(n_buckets, settings.skip_below) if settings.skip_below > 0.0 else None

    def prepare(self, batch: Batch) -> Batch:
        """What a step needs of a batch that does not depend on the weights; any thread may do it, one at a time."""
        if isinstance(batch.rows, SparseRows) and batch.lists is None:
            return batch._replace(lists=self._transposer.of(batch.rows))
        return batch

    def step(self, batch: Batch, rate: float, position: tuple[int, int]) -> float:
        """One Adam step; returns the batch's summed loss. `position` (epoch, step) names what is drawn."""
        batch = self.prepare(batch)
        inputs, layers, masks = self._forward(batch.rows, position)
        logits = inputs.pop()  # (n, B), without bias
        self.steps_done += 1
        first_rates, rates = self._rates(rate)
        top = len(self.layers) - 1
        loss, delta, bias_gradient = self._loss(logits, batch.targets, batch.weights, position)
        if isinstance(delta, SparseRows):
            delta = self._back_sparsely(delta, bias_gradient, inputs[-1], rates)
            bias_gradient = self._below(top, delta, inputs, masks)
            top -= 1
        for depth in range(top, 0, -1):
            active = layers[depth - 1]
            gradient = active.gradient(delta, self._room)
            lower = active.lower(delta, self._room, depth)
            _update(self.layers[depth], *gradient, bias_gradient, rates)
            bias_gradient, delta = self._below(depth, lower, inputs, masks), lower
        self._update_first(batch, delta, bias_gradient, first_rates)
        return loss

    def _rates(self, rate: float) -> tuple[Rates, Rates]:
        """Of the first layer and of the others, where epsilon has a bias correction, too: as PyTorch's SparseAdam and
        Adam have it, so that losses can be compared."""
        second = math.sqrt(1.0 - float(BETA2) ** self.steps_done)
        corrected = np.float32(rate * second / (1.0 - float(BETA1) ** self.steps_done))
        decay = np.float32(1.0 - rate * self.settings.weight_decay)
        first = Rates(corrected, BETA1, BETA2, EPSILON, decay)
        return first, first._replace(epsilon=np.float32(second * EPSILON))

    def _loss(
        self, logits: FloatArray, targets: TargetBatch, weights: FloatArray, position: tuple[int, int]
    ) -> tuple[float, Rows, FloatArray]:
        """The summed loss, d loss / d logits (n, B), sparse where small ones are skipped, and the bias's gradient."""
        bias = self.layers[-1].bias
        if self._skipping is not None:
            draw = stream(self.seed, self.repetition, "skip", *position)
            return self._skipping.of(logits, bias, targets, weights, draw)
        gradient = self._room.array("bias gradient", len(bias))
        loss = LOSSES[self.settings.loss](logits, bias, *targets, weights, gradient)
        return loss, logits, gradient

    def _below(self, depth: int, delta: FloatArray, inputs: list[FloatArray], masks: list[FloatArray]) -> FloatArray:
        """Take a gradient back through ReLU and dropout, in place; returns the gradient of the bias beneath."""
        delta *= inputs[depth - 1] > 0.0
        if masks:
            delta *= masks[depth - 1]
        gradient: FloatArray = delta.sum(axis=0)
        return gradient

    def _back_sparsely(
        self, kept: SparseRows, bias_gradient: FloatArray, below: FloatArray, rates: Rates
    ) -> FloatArray:
        """Update the output layer with the gradients that were kept; returns the gradient of what it was given."""
        layer, skipping = self.layers[-1], self._skipping
        assert skipping is not None
        delta = self._room.array(f"delta {len(self.layers) - 2}", *below.shape)
        by_bucket = layer.weights.T  # (B, H), contiguous: see `_new_layer`
        sparse_forward(kept.indptr, kept.indices, kept.values, by_bucket, np.zeros(below.shape[1], np.float32), delta)
        moments = layer.moments[0].T, layer.moments[1].T
        skipping.by_bucket.of(kept).adam(below, by_bucket, moments, rates)
        _update_bias(layer, bias_gradient, rates)
        return delta

    def _forward(
        self, rows: Rows, position: tuple[int, int]
    ) -> tuple[list[FloatArray], list[Active], list[FloatArray]]:
        """Every layer's output, hidden ones after ReLU and dropout; what each layer but the first multiplied; and the
        dropout masks, scaled.

        The last output lacks its bias, which the loss adds on its way.
        """
        biases = [*(layer.bias for layer in self.layers[:-1]), np.zeros_like(self.layers[-1].bias)]
        room, n_rows = self._room, rows.shape[0]
        width = self.layers[0].weights.shape[1]
        out = room.array("output 0", n_rows, width)
        outputs = [first_layer(rows, self.layers[0].weights, biases[0], out)]
        actives: list[Active] = []
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
            active = Active.of(hidden, layer.weights, room, depth)
            out = room.array(f"output {depth}", n_rows, layer.weights.shape[1])
            outputs.append(np.matmul(active.inputs, active.weights, out=out))
            actives.append(active)
            if depth < len(self.layers) - 1:
                out += biases[depth]
        return outputs, actives, masks

    def _update_first(self, batch: Batch, delta: FloatArray, bias_gradient: FloatArray, rates: Rates) -> None:
        layer = self.layers[0]
        if batch.lists is not None:
            batch.lists.adam(delta, layer.weights, layer.moments[:2], rates)
            _update_bias(layer, bias_gradient, rates)
        else:
            assert isinstance(batch.rows, np.ndarray)
            gradient = np.matmul(batch.rows.T, delta, out=self._room.array("gradient", *layer.weights.shape))
            _update(layer, gradient, np.arange(len(gradient)), bias_gradient, rates)

    def model(self) -> NetworkModel:
        """The network as it is now; it shares memory with the trainer, but for weights that are kept by bucket."""
        weights = tuple(np.ascontiguousarray(layer.weights) for layer in self.layers)
        return NetworkModel(weights, tuple(layer.bias for layer in self.layers), self.settings.loss)

    def state(self) -> dict[str, AnyArray]:
        """Everything that the next step depends on, by name."""
        steps = {"steps_done": np.array([self.steps_done], np.int64)}
        return steps | {name: np.ascontiguousarray(array) for name, array in self._arrays().items()}

    def _arrays(self) -> dict[str, FloatArray]:
        named: dict[str, FloatArray] = {}
        for i, layer in enumerate(self.layers):
            named |= {f"layer.{i}.weights": layer.weights, f"layer.{i}.bias": layer.bias}
            named |= {f"layer.{i}.moment.{j}": moment for j, moment in enumerate(layer.moments)}
        return named

    def restore(self, state: Mapping[str, AnyArray]) -> None:
        """Go back to a state that `state` gave."""
        self.steps_done = int(state["steps_done"][0])
        for name, array in self._arrays().items():
            array[...] = state[name]


def _new_layer(inputs: int, outputs: int, draw: np.random.Generator | None, by_bucket: bool) -> Layer:
    """Weights drawn after Glorot and Bengio 2010; zero without a draw: logistic regression is convex.

    `by_bucket`: the weights of an output lie together in memory, which sparse gradients of outputs need.
    """
    shape = (outputs, inputs) if by_bucket else (inputs, outputs)
    weights, first, second = (aligned_zeros(*shape) for _ in range(3))
    if by_bucket:
        weights, first, second = weights.T, first.T, second.T
    if draw is not None:
        # no copy of a large layer on the way, unless it has to be turned
        given = draw.random((inputs, outputs), dtype=np.float32, out=None if by_bucket else weights)
        given -= np.float32(0.5)
        np.multiply(given, np.float32(2.0 * math.sqrt(6.0 / (inputs + outputs))), out=weights)
    bias = np.zeros(outputs, np.float32)
    return Layer(weights, bias, (first, second, np.zeros_like(bias), np.zeros_like(bias)))


def _update(layer: Layer, gradient: FloatArray, places: IntArray, bias_gradient: FloatArray, rates: Rates) -> None:
    adam(layer.weights, gradient, places, *layer.moments[:2], *rates)
    _update_bias(layer, bias_gradient, rates)


def _update_bias(layer: Layer, gradient: FloatArray, rates: Rates) -> None:
    """Adam on the bias, which does not decay."""
    adam_row(layer.bias, gradient, *layer.moments[2:], *rates._replace(decay=np.float32(1.0)))


def batch_loss(model: NetworkModel, batch: Batch) -> float:
    """The summed weighted loss of a model on a batch, without learning from it."""
    none = np.zeros(model.n_buckets, np.float32)  # the logits have their bias
    return LOSSES[model.loss](model.logits(batch.rows), none, *batch.targets, batch.weights, np.empty_like(none))
