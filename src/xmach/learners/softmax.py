"""Linear buckets trained together: a softmax over all buckets of a repetition, pruned when it is trained.

One classifier per bucket, trained against the rest, only learns which features its rows have more often than others. If
most labels have one or two rows, what tells buckets apart is which features their labels do *not* have. Softmax learns
that, because it compares the buckets of a row: on Home Depot's product search its recall@100 was 70, and 59 with the
squared hinge.

Training needs all weights of a repetition, d x B, and their Adam moments. Most of them end near a value that a feature
has in nearly every bucket. Softmax does not change if that value is subtracted, so what is left can be pruned.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from xmach.block_sizes import LANES
from xmach.config import LINEAR, SOFTMAX, LinearSettings, NetworkSettings
from xmach.features import Scaler
from xmach.learners.linear import prepared_rows
from xmach.learners.session import NetworkLearner
from xmach.learners.task import Outcome, Task
from xmach.models import NetworkModel
from xmach.models.linear import BucketWeights, LinearModel, weights_of_lanes
from xmach.types import FloatArray, Int32Array, row_batches

RATE = 5e-3  # Adam's initial rate, for rows whose norm is about 1
_CENTRED_ROWS = 4096  # features whose median is taken at a time


@dataclass(frozen=True, eq=False)
class SoftmaxLearner:
    """Trains all linear classifiers of a repetition together."""

    settings: LinearSettings  # with passes decided; there is no cost
    features: Int32Array | Path | None = None  # as in `LinearLearner`
    scale: float = 1.0

    @property
    def kind(self) -> str:
        """Its name in plan.json."""
        return LINEAR

    def train(self, task: Task) -> Outcome | None:
        """Train to the end, or until the monitor asks to stop; saves a checkpoint after each epoch."""
        rows, features, scale = prepared_rows(task.rows, self.features, self.scale)
        labelled = replace(task.rows, features=rows, scaler=Scaler("none", rows.n_columns))
        network = NetworkSettings(hidden=(), loss=SOFTMAX, epochs=self.settings.passes, learning_rate=RATE)
        outcome = NetworkLearner(network).train(
            replace(task, n_features=rows.n_columns, rows=labelled, validation=None)
        )
        if outcome is None:
            return None
        assert isinstance(outcome.model, NetworkModel)
        (weights,), (biases,) = outcome.model.weights, outcome.model.biases
        parts = centred_parts(weights, biases, features, self.settings.prune_below)
        parts = [part._replace(values=part.values / np.float32(scale)) for part in parts]
        bits = int(self.settings.store_bits)
        model = LinearModel.join(parts, task.n_features, task.n_buckets, SOFTMAX, bits=bits, normalised=True)
        last = outcome.history[-1] | {"passes": float(self.settings.passes), "weights": float(model.n_weights)}
        return Outcome(model, [*outcome.history[:-1], last])


def centred_parts(
    weights: FloatArray, biases: FloatArray, features: Int32Array, threshold: float
) -> list[BucketWeights]:
    """The weights (d', B) less the median of each feature, without those below the threshold, 64 buckets a part."""
    middle = np.empty(len(weights), np.float32)
    for start, stop in row_batches(len(weights), _CENTRED_ROWS):
        middle[start:stop] = np.median(weights[start:stop], axis=1)
    parts = []
    lanes, lane_biases = np.zeros((len(weights), LANES), np.float32), np.zeros(LANES, np.float32)
    for first in range(0, len(biases), LANES):
        n_lanes = min(LANES, len(biases) - first)
        np.subtract(weights[:, first : first + n_lanes], middle[:, None], out=lanes[:, :n_lanes])
        lane_biases[:n_lanes] = biases[first : first + n_lanes]
        parts.append(weights_of_lanes(first, lanes, lane_biases, n_lanes, features, threshold))
    return parts
