"""Training as a whole: decide what `auto` means, check the memory, hand the repetitions to an executor."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from xmach.buckets import RANDOM, UniversalHashes, clustered_repetitions
from xmach.data import Dataset
from xmach.errors import InputError, Interrupted
from xmach.executors import Executor
from xmach.features import Scaler
from xmach.features.featurizers import needs_arrays
from xmach.learners import Learner, NetworkLearner, NetworkSettings, Outcome
from xmach.learners.session import effective_batch_size
from xmach.planning import DataSize, Shape, available_bytes, check_memory, clustering_bytes, training_memory
from xmach.planning import workers_within as most_workers
from xmach.training.bucketing import make_buckets
from xmach.training.plan import NETWORK, Plan
from xmach.training.repetition import RepetitionSpec, train_repetition
from xmach.types import Monitor, Sink, SparseRows

if TYPE_CHECKING:
    from xmach.learners import SklearnLearner


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
    learner: SklearnLearner | None = None,
    bucketing: str = RANDOM,
    tell: Callable[[int, int], None] | None = None,
    begun: Plan | None = None,
) -> Job:
    """The job that these arguments and data make.

    `multilabel=None`: told by whether some row has not exactly one label. `fingerprints=False`: nothing is resumed.
    `learner`: a wrapped classifier instead of the network, to which the settings belong. `bucketing`: `random`, or
    `mixed` or `clustered`, whose tables are made here; `tell` hears how many of them are. `begun`: the plan of a run
    that is gone on with; its tables serve where all else is the same.
    """
    _check_rows(data)
    hashes = UniversalHashes.draw(data.n_labels, n_buckets, n_repetitions, seed)
    validation = None if validation is None else _known_labels(validation, data.n_labels)
    plan = Plan(
        hashes=hashes,
        n_features=data.n_features,
        settings=settings,
        scaling=scaler.kind,
        multilabel=not data.is_multiclass if multilabel is None else multilabel,
        mean_labels=data.labels.nnz / data.n_rows,
        seed=seed,
        features=features,
        columns=None if data.columns is None else data.columns.to_dict(),
        data=data.fingerprint if fingerprints else "",
        validation=validation.fingerprint if fingerprints and validation is not None else "",
        learner=NETWORK if learner is None else learner.kind,
        bucketing=bucketing,
    )
    if clustered_repetitions(bucketing, n_repetitions):
        if begun is not None and not plan.differences(begun):
            plan = begun
        else:
            needed = clustering_bytes(data.n_labels, data.n_features)
            check_memory(needed, "making buckets of labels that are alike", "take random ones", available_bytes())
            plan = replace(plan, hashes=make_buckets(hashes, bucketing, data, scaler, seed, tell))
    return Job(plan, learner or NetworkLearner(settings), data, validation, scaler)


def train(
    job: Job, repetitions: Sequence[int], executor: Executor, monitor: Monitor, sink: Sink | None = None
) -> dict[int, Outcome]:
    """Train the given repetitions; models go to the sink, or without one come back.

    Raises `Interrupted` when the monitor stopped the work before its end.
    """
    if job.plan.learner == NETWORK:  # what a wrapped classifier needs, nobody knows
        check_training_memory(job, min(executor.workers, max(1, len(repetitions))), 0 if sink else len(repetitions))
    specs = [
        RepetitionSpec(r, job.plan.of_repetition(r), job.learner, job.data, job.validation, job.scaler, monitor, sink)
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


def sizes_of(job: Job) -> tuple[Shape, DataSize, int]:
    """What the memory of a job follows from: the model, the rows, and how many of them a step takes."""
    plan, data, features = job.plan, job.data, job.data.features
    hashes, settings = plan.hashes, plan.settings
    shape = Shape(
        hashes.n_labels, plan.n_features, settings.hidden, hashes.n_buckets, hashes.n_repetitions,
        n_tables=len(clustered_repetitions(plan.bucketing, hashes.n_repetitions)),
    )  # fmt: skip
    rows = DataSize(
        n_rows=data.n_rows,
        nonzeros_per_row=features.nnz / max(1, data.n_rows) if isinstance(features, SparseRows) else 0.0,
        labels_per_row=plan.mean_labels,
        sparse=isinstance(features, SparseRows),
        n_validation=0 if job.validation is None else job.validation.n_rows,
        source="numbers" if data.columns is None else "text" if data.columns.text else "table",
        vocabulary=_vocabulary_of(job),
    )
    return shape, rows, effective_batch_size(settings.batch_size, data.n_rows)


def _vocabulary_of(job: Job) -> int:
    """Slots of known tokens, of a run that reads text itself."""
    columns, settings = job.data.columns, job.plan.features
    if columns is None or not columns.text or settings is None or not needs_arrays(settings):
        return 0
    return sum(int(settings[kind]) for kind in ("words", "bigrams", "trigrams"))


def workers_within(job: Job, budget: int, most: int) -> int:
    """How many repetitions at a time, up to `most`, fit into so many bytes; an error where not one does."""
    return most_workers(budget, *sizes_of(job), most)


def check_training_memory(job: Job, workers: int, models_held: int) -> None:
    """Refuse to start what cannot fit; `models_held` are kept in memory, as no store takes them.

    This process is in memory already, and the pages of mapped rows can leave it: they do not count here.
    """
    memory = training_memory(*sizes_of(job), workers, models_held=models_held)
    needed = workers * memory.repetition + memory.held
    what = f"training {workers} repetition{'s' if workers > 1 else ''} at a time"
    fewer = "train fewer at a time (workers, n_jobs), or with " if workers > 1 else "train with "
    smaller = "a smaller hidden layer, " if job.plan.settings.hidden else ""
    check_memory(needed, what, f"{fewer}{smaller}fewer buckets or fewer features", available_bytes())


def _check_rows(data: Dataset) -> None:
    """Refuse what nothing can be learnt from."""
    if data.weights is not None and not np.any(data.weights):
        raise InputError("the weights of all rows are zero: there is nothing to learn from")
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
