"""Training as a whole: decide what `auto` means, check the memory, hand the repetitions to an executor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xmach.buckets import UniversalHashes
from xmach.data import Dataset
from xmach.errors import Interrupted
from xmach.executors import Executor
from xmach.features import Scaler
from xmach.learners import Learner, NetworkLearner, NetworkSettings, Outcome
from xmach.planning import available_bytes, check_memory, training_bytes
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
    check_training_memory(job, min(executor.workers, max(1, len(repetitions))))
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


def check_training_memory(job: Job, workers: int) -> None:
    """Refuse to start what cannot fit; says what it would need and what to change."""
    features = job.data.features
    sparse = isinstance(features, SparseRows)
    needed = workers * training_bytes(
        job.plan.n_features,
        job.plan.settings.hidden,
        job.plan.hashes.n_buckets,
        job.plan.settings.batch_size,
        sparse=sparse,
        nonzeros_per_row=features.nnz / max(1, features.n_rows) if isinstance(features, SparseRows) else 0.0,
        n_rows=job.data.n_rows,
    )
    what = f"training {workers} repetition{'s' if workers > 1 else ''} at a time"
    advice = "train fewer at a time (workers, n_jobs), or with a smaller hidden layer or fewer buckets"
    check_memory(needed, what, advice, available_bytes())
