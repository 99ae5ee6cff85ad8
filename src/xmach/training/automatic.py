"""A configuration without `auto`: decided by the rows, by validation rows if there are some, or by an earlier run."""

from __future__ import annotations

from dataclasses import replace
from logging import getLogger
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from xmach.buckets import UniversalHashes
from xmach.config import AUTO, MachConfig
from xmach.data import Dataset
from xmach.features import Scaler
from xmach.learners import compare_learners
from xmach.planning import (
    COMPARED_ROWS,
    DataSize,
    Plan,
    Shape,
    available_bytes,
    decide,
    is_close,
    training_memory,
)
from xmach.training.job import aligned, facts_of, first_repetition
from xmach.types import SparseRows

_log = getLogger(__name__)


def decided(
    config: MachConfig, data: Dataset, validation: Dataset | None, scaler: Scaler, begun: Plan | None
) -> MachConfig:
    """The configuration with learner, n_buckets, n_repetitions and bucketing decided, as in `begun` if that is given.

    If the rows leave open which learner is better, both are tried on a sample, provided there are validation rows.
    """
    if begun is not None:
        config = _as_begun(config, begun)
    facts = facts_of(data)
    choice = decide(config, facts)
    is_open = config.implied_learner == AUTO and validation is not None and is_close(facts)
    if is_open and data.labels.nnz and _network_fits(choice, data):
        assert validation is not None
        known = aligned(validation, data)
        hashes = UniversalHashes.draw(data.n_labels, choice.n_buckets, 1, config.seed)
        rows, held_out = (first_repetition(each, scaler, hashes) for each in (data, known))
        with threadpool_limits(1), np.errstate(over="ignore", invalid="ignore"):  # as repetitions are trained
            scores = compare_learners(config.network, config.linear, rows, held_out, config.seed)
        learner = max(scores, key=lambda name: (scores[name], name == choice.learner))
        found = ", ".join(f"{name} {100 * score:.1f} %" for name, score in scores.items())
        _log.info(f"learner: {learner} (buckets of a sample, mean P@1, 3 and 5 on validation rows: {found})")
        choice = decide(config, facts, learner)
    return choice


def _network_fits(config: MachConfig, data: Dataset) -> bool:
    """Whether there is memory to train a network on a sample of the rows."""
    features = data.features
    shape = Shape(data.n_labels, data.n_features, config.network.hidden, config.n_buckets, 1)
    values = features.nnz / data.n_rows if isinstance(features, SparseRows) else 0.0
    rows = DataSize(min(COMPARED_ROWS, data.n_rows), values, sparse=isinstance(features, SparseRows))
    return training_memory(shape, rows, config.batch_size).working <= available_bytes()


def _as_begun(config: MachConfig, plan: Plan) -> MachConfig:
    """The configuration with what an earlier run decided, where `auto` leaves it open."""
    hashes = plan.hashes
    values: dict[str, Any] = {
        "learner": plan.learner,
        "n_buckets": hashes.n_buckets,
        "n_repetitions": hashes.n_repetitions,
        "bucketing": plan.bucketing,
        "ranker": plan.ranker,
    }
    if config.implied_learner != AUTO:
        del values["learner"]
    return replace(config, **{name: value for name, value in values.items() if getattr(config, name) == AUTO})
