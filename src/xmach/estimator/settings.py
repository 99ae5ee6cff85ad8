"""What `MACHClassifier` was told, checked when it is fitted: scikit-learn wants `__init__` to store it untouched."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from xmach.buckets import check_bucketing
from xmach.decoding import ESTIMATORS
from xmach.errors import ParameterError
from xmach.executors import Executor, LocalExecutor, PoolExecutor
from xmach.features import featurizer
from xmach.learners import NetworkSettings, SklearnLearner
from xmach.parameters import MOST_REPETITIONS, whole
from xmach.planning import usable_cores
from xmach.training.plan import NETWORK


def network_settings(parameters: dict[str, Any]) -> NetworkSettings:
    """The network's part of the parameters; the others are checked on the way."""
    if parameters["features"] is not None:
        featurizer(parameters["features"], also="None, ")
    if parameters["estimator"] not in ("auto", *ESTIMATORS):
        legal = ", ".join(ESTIMATORS)
        raise ParameterError(f"estimator must be one of auto, {legal}, got {parameters['estimator']!r}")
    check_bucketing(parameters["bucketing"])
    whole("n_buckets", parameters["n_buckets"], 2, 2**31 - 1)
    whole("n_repetitions", parameters["n_repetitions"], 1, MOST_REPETITIONS)
    hidden, loss = parameters["hidden"], parameters["loss"]
    return NetworkSettings(
        hidden=tuple(hidden) if isinstance(hidden, list | np.ndarray) else hidden,
        loss="softmax" if loss == "auto" else loss,
        epochs=parameters["epochs"],
        batch_size=parameters["batch_size"],
        learning_rate=parameters["learning_rate"],
        weight_decay=parameters["weight_decay"],
        dropout=parameters["dropout"],
        skip_below=parameters["skip_below"],
    )


def wrapped(learner: Any, settings: NetworkSettings) -> SklearnLearner | None:
    """The learner of a scikit-learn classifier; None for the network, an error for anything else."""
    is_network = isinstance(learner, str) and learner == NETWORK
    return None if is_network else SklearnLearner(learner, settings.loss)


def seed_of(random_state: Any) -> int:
    """The seed that everything random is derived from."""
    if isinstance(random_state, int | np.integer) and not isinstance(random_state, bool):
        return whole("random_state", random_state, 0, 2**63 - 1)
    return int(check_random_state(random_state).randint(2**31 - 1))


def executor_of(n_jobs: Any) -> Executor:
    """This process, or a pool of as many workers as n_jobs asks for; -1 is one a core, -2 one fewer."""
    jobs = 1 if n_jobs is None else whole("n_jobs", n_jobs, -(2**31))
    jobs = max(1, usable_cores() + 1 + jobs) if jobs < 0 else whole("n_jobs", jobs, 1)
    return LocalExecutor() if jobs == 1 else PoolExecutor(jobs)
