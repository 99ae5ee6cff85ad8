"""What `auto` means: the learner, the buckets and the repetitions, from the labels, the rows and the other options.

The figures behind each rule are in docs/accuracy.md.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

from xmach.config import (
    AUTO,
    BOTH,
    LINEAR,
    LINEAR_RANKER,
    LOGISTIC,
    MIXED,
    NETWORK,
    NONE,
    RANDOM,
    SOFTMAX,
    SQUARED_HINGE,
    MachConfig,
)
from xmach.planning.linear_proposal import LINEAR_REPETITIONS, fits_joint, linear_buckets
from xmach.planning.proposal import GOOD_REPETITIONS, suggested_buckets

FEW_FEATURES = 1000  # a linear classifier with at most this many weights learns less than a network can
MANY_FEATURES = 10_000  # of sparse rows: beyond this the network was behind on every set, and many times slower
DENSE = 0.25  # rows count as dense if at least this share of their values is not zero
SEVERAL_LABELS = 4.0  # labels a row; from here on random buckets ranked the first five better than mixed ones
COMPARED_ROWS = 20_000  # rows at most that both learners are trained on, if validation rows choose between them
FEW_ROWS = 3.0  # rows a label, on average; below this, softmax found more of the right labels
ONE_LABEL = 2.0  # labels a row, below which softmax is tried at all: with 11 of them P@1 was 28, squared hinge 64
NETWORK_BUCKETS = 2000  # if a network is asked for: the same as in earlier versions


class RowFacts(NamedTuple):
    """What the choices rest on."""

    n_labels: int
    n_features: int
    values_per_row: float  # that are not zero
    labels_per_row: float
    rows_per_label: float


def decide(config: MachConfig, rows: RowFacts, better: str | None = None) -> MachConfig:
    """The configuration with learner, n_buckets, n_repetitions and bucketing decided.

    `better`: the learner that did better on validation rows, which is taken if the configuration leaves it open.

    Who names an estimator wants its order, so no ranker changes it unless it is asked for.
    A network that was asked for, by name or by an option that only networks have, keeps the numbers of earlier
    versions, so that such calls train the same bytes.
    """
    learner = config.implied_learner
    asked_for = not isinstance(learner, str) or learner != AUTO
    if not asked_for:
        learner = better or (LINEAR if prefers_linear(rows) else NETWORK)
    n_labels, linear = rows.n_labels, isinstance(learner, str) and learner == LINEAR
    loss = _linear_loss(config, rows)
    if linear:
        usual = suggested_buckets(n_labels)
        n_buckets = linear_buckets(n_labels, usual, joint=loss == SOFTMAX, n_features=rows.n_features)
        n_repetitions = LINEAR_REPETITIONS
    else:
        n_buckets, n_repetitions = NETWORK_BUCKETS if asked_for else suggested_buckets(n_labels), GOOD_REPETITIONS
    calibrated = config.linear_loss == LOGISTIC  # who asks for it wants probabilities, and Theorem 1 is for hashes
    similar = linear and not calibrated and rows.labels_per_row < SEVERAL_LABELS
    chosen: dict[str, Any] = {
        "n_buckets": n_buckets,
        "n_repetitions": n_repetitions,
        "bucketing": MIXED if similar and config.n_repetitions != 1 else RANDOM,
        "ranker": LINEAR_RANKER if config.estimator == AUTO and (linear or _ranks_twice(asked_for, rows)) else NONE,
    } | ({"linear_loss": loss} if linear else {})
    open_options = {name: value for name, value in chosen.items() if getattr(config, name) == AUTO}
    return replace(config, learner=learner, **open_options)


def _ranks_twice(asked_for: bool, rows: RowFacts) -> bool:
    """Whether a network gets a ranker: classifiers of labels are sparse, so rows must be, too."""
    return not asked_for and not _is_dense(rows)


def _linear_loss(config: MachConfig, rows: RowFacts) -> str:
    """The loss of linear buckets; a cost that was given implies one that has a cost."""
    if config.linear_loss != AUTO:
        return str(config.linear_loss)
    few = rows.rows_per_label < FEW_ROWS and rows.labels_per_row < ONE_LABEL
    if config.cost == AUTO and few and fits_joint(rows.n_features, suggested_buckets(rows.n_labels)):
        return SOFTMAX
    return BOTH if config.cost == AUTO and is_close(rows) else SQUARED_HINGE


def prefers_linear(rows: RowFacts) -> bool:
    """Whether rows are sparse and have many features, as texts do."""
    return rows.n_features > FEW_FEATURES and not _is_dense(rows)


def is_close(rows: RowFacts) -> bool:
    """Whether either learner may be the better one, so that validation rows should decide."""
    return rows.n_features <= MANY_FEATURES or _is_dense(rows)


def _is_dense(rows: RowFacts) -> bool:
    return rows.values_per_row >= DENSE * rows.n_features
