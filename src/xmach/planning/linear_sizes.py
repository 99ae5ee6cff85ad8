"""How many weights sparse linear buckets will keep: a formula fitted to measurements (docs/planning.md)."""

from __future__ import annotations

import math

from xmach.config import BOTH, LOGISTIC, SOFTMAX
from xmach.planning.data_size import DataSize

LOSS_SHARES = {LOGISTIC: 2.5, BOTH: 1.75}  # times the weights of the squared hinge, at their usual costs; bibtex
CLUSTERED = 0.85  # of the weights of hashed buckets are kept by clustered ones, in the median; 0.5 to 1.4 was measured
SOFTMAX_SHARE = 0.66  # of all pairs of a label's feature and its bucket: kept on Home Depot at `prune_below` 0.1
LEAST_THRESHOLD = 0.001  # below it, pruning leaves nearly everything
TYPICAL_COST = 1.0  # what is assumed of a cost that will be chosen on held-out rows


def expected_weights(
    n_features: int, n_buckets: int, data: DataSize, cost: float = TYPICAL_COST, prune_below: float = 0.1
) -> int:
    """The weights that a repetition of hashed buckets keeps, roughly.

    Labels times values of a row: so often a label meets a feature. A row that alone has a bucket's label gives its
    features weights of about 1 / ((1 + 1 / 2C) sqrt(values)); t is how far that is above `prune_below`. There is at
    most one weight for each feature and bucket; frequent features fill up first.
    """
    values = max(1.0, data.nonzeros_per_row if data.sparse else float(n_features))
    labels = data.n_rows * data.labels_per_row
    if not labels:
        return 0
    t = 1 / ((1 + 0.5 / cost) * math.sqrt(values) * max(LEAST_THRESHOLD, prune_below))
    shared = math.pow(labels / n_buckets, -0.1)  # rows of a bucket have features in common
    pairs = labels * values * shared * 0.97 * math.pow(t, 2.2) / (1 + math.pow(0.84 * t, 2.2))
    room = n_features * n_buckets * min(1.0, 0.56 * math.pow(t, 0.47))
    return math.ceil(pairs / math.pow(1 + math.pow(pairs / room, 3.2), 1 / 3.2))


def softmax_weights(n_features: int, n_buckets: int, data: DataSize) -> int:
    """The weights that a repetition trained by softmax keeps, roughly: a share of the features that its labels have."""
    values = max(1.0, data.nonzeros_per_row if data.sparse else float(n_features))
    pairs, room = data.n_rows * data.labels_per_row * values, n_features * n_buckets
    return math.ceil(SOFTMAX_SHARE * pairs / (1 + pairs / room))


def kept_weights(
    n_features: int,
    n_buckets: int,
    data: DataSize,
    loss: str,
    cost: float = TYPICAL_COST,
    prune_below: float = 0.1,
    clustered: float = 0.0,
) -> int:
    """The weights that a repetition keeps in the mean, roughly; a share of the repetitions is `clustered`."""
    if loss == SOFTMAX:
        return softmax_weights(n_features, n_buckets, data)
    hashed = expected_weights(n_features, n_buckets, data, cost, prune_below)
    return with_clusters(round(LOSS_SHARES.get(loss, 1.0) * hashed), clustered)


def with_clusters(weights: int, share: float) -> int:
    """The mean weights of a repetition if a share of them has clustered buckets; hashed ones keep `weights`."""
    return round(weights * (1 - share + CLUSTERED * share))
