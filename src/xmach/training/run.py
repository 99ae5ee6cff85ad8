"""Training as a whole: decide what `auto` means, check the memory, hand the repetitions to an executor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from xmach.buckets import UniversalHashes
from xmach.data import Dataset
from xmach.errors import InputError, Interrupted
from xmach.executors import Executor
from xmach.features import Scaler
from xmach.learners import Learner, NetworkLearner, NetworkSettings, Outcome
from xmach.planning import available_bytes, check_memory, network_parameters, training_bytes
from xmach.planning.memory import FLOAT_BYTES
from xmach.training.plan import Plan
from xmach.training.repetition import RepetitionSpec, train_repetition
from xmach.types import Monitor, Sink, SparseRows


@dataclass(frozen=True)
class Job:
    """A plan with the rows it is to be trained on."""

    plan: Plan
    learner: Learner
    data: Dataset
    validation: Dataset | None
    scaler: Scaler


def plan_training(
    data: Dataset,
    settings: NetworkSettings,
    n_buckets: int,
    n_repetitions: int,
    seed: int,
    scaler: Scaler,
    validation: Dataset | None = None,
    multilabel: bool | None = None,
    features: dict[str, object] | None = None,
    fingerprints: bool = True,
) -> Job:
    """The job that these arguments and data make.

    `multilabel=None`: told by whether some row has not exactly one label. `fingerprints=False`: nothing is resumed.
    """
    _check_rows(data)
    validation = None if validation is None else _known_labels(validation, data.n_labels)
    plan = Plan(
        hashes=UniversalHashes.draw(data.n_labels, n_buckets, n_repetitions, seed),
        n_features=data.n_features,
        settings=settings,
        scaling=scaler.kind,
        multilabel=not data.is_multiclass if multilabel is None else multilabel,
        mean_labels=data.labels.nnz / data.n_rows,
        seed=seed,
        features=features,
        data=data.fingerprint if fingerprints else "",
        validation=validation.fingerprint if fingerprints and validation is not None else "",
    )
    return Job(plan, NetworkLearner(settings), data, validation, scaler)


def train(
    job: Job, repetitions: Sequence[int], executor: Executor, monitor: Monitor, sink: Sink | None = None
) -> dict[int, Outcome]:
    """Train the given repetitions; models go to the sink, or without one come back.

    Raises `Interrupted` when the monitor stopped the work before its end.
    """
    check_training_memory(job, min(executor.workers, max(1, len(repetitions))), 0 if sink else len(repetitions))
    specs = [
        RepetitionSpec(r, job.plan, job.learner, job.data, job.validation, job.scaler, monitor, sink)
        for r in repetitions
    ]
    outcomes: dict[int, Outcome] = {}
    unfinished = []
    for result in executor.run(train_repetition, specs):
        if not result.finished:
            unfinished.append(result.repetition)
        elif result.outcome is not None:
            outcomes[result.repetition] = result.outcome
    if unfinished:
        raise Interrupted(f"stopped with {len(unfinished)} of {len(specs)} repetitions unfinished")
    return outcomes


def check_training_memory(job: Job, workers: int, models_held: int) -> None:
    """Refuse to start what cannot fit; `models_held` are kept in memory, as no store takes them."""
    features = job.data.features
    sparse = isinstance(features, SparseRows)
    shape = (job.plan.n_features, job.plan.settings.hidden, job.plan.hashes.n_buckets)
    model = FLOAT_BYTES * network_parameters(*shape)
    best = model if job.validation is not None else 0  # a copy of the best epoch's weights
    each = training_bytes(
        *shape,
        job.plan.settings.batch_size,
        sparse=sparse,
        nonzeros_per_row=features.nnz / max(1, features.n_rows) if isinstance(features, SparseRows) else 0.0,
        n_rows=job.data.n_rows,
    )
    needed = workers * (each + best) + models_held * model
    what = f"training {workers} repetition{'s' if workers > 1 else ''} at a time"
    advice = "train fewer at a time (workers, n_jobs), or with a smaller hidden layer or fewer buckets"
    check_memory(needed, what, advice, available_bytes())


def _check_rows(data: Dataset) -> None:
    """Refuse what nothing can be learnt from."""
    for count, what in ((data.n_rows, "rows"), (data.n_features, "features"), (data.labels.nnz, "labels in any row")):
        if count == 0:
            raise InputError(f"there are no {what} to train on")


def _known_labels(validation: Dataset, n_labels: int) -> Dataset:
    """Validation rows without the labels that training never saw: they have no bucket to be right about."""
    labels = validation.labels
    known = labels.indices < n_labels
    if not known.any():
        raise InputError("no label of the validation rows occurs among the training labels: are they of the same set?")
    if known.all():
        return validation
    indptr = np.concatenate([np.zeros(1, np.int64), np.cumsum(known)])[labels.indptr]
    kept = SparseRows(indptr, labels.indices[known], labels.values[known], n_labels)
    return Dataset(validation.features, kept, weights=validation.weights)
