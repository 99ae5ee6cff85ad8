"""`train_repetition`: the training of one of the R classifiers, or of a part of it; a pure function of its spec."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from xmach.data import Dataset
from xmach.features import Scaler
from xmach.learners import LabelledRows, Learner, Outcome, PartLearner, Task
from xmach.models.linear import BucketWeights
from xmach.planning import Plan
from xmach.training.bucketing import mean_one
from xmach.training.job import is_built_in
from xmach.types import AnyArray, Monitor, Progress, Sink


@dataclass(frozen=True)
class RepetitionSpec:
    """All that one repetition needs; picklable. A dataset opened from a folder travels as its path."""

    repetition: int
    plan: Plan
    learner: Learner
    data: Dataset
    validation: Dataset | None
    scaler: Scaler
    monitor: Monitor
    sink: Sink | None  # None: the model comes back in the result
    part: int | None = None  # of the learner's parts; None: the whole repetition


class Trained(NamedTuple):
    """The end of a repetition."""

    repetition: int
    finished: bool  # False: it was told to stop, and has saved where it was
    outcome: Outcome | None  # the model, where no sink took it
    weights: BucketWeights | None = None  # of a part, where no sink took them


def train_repetition(spec: RepetitionSpec) -> Trained:
    """Train one repetition, or go on from its checkpoint, or find that it is done already.

    One thread learns: linear algebra on two threads beside other work was six times slower, and the order of its sums
    would depend on how many there are.
    """
    r, sink = spec.repetition, spec.sink
    if sink is not None and sink.has(r):
        return Trained(r, True, None)
    if sink is not None and spec.part is not None and sink.load_part(r, spec.part) is not None:
        _report_found(spec, spec.part)
        return Trained(r, True, None)
    if spec.monitor.should_stop():
        return Trained(r, False, None)

    def labelled(data: Dataset) -> LabelledRows:
        weights = data.weights
        if weights is not None and is_built_in(spec.plan):
            weights = mean_one(weights, data.n_rows)
        return LabelledRows(data.features, data.labels, weights, spec.scaler, spec.plan.hashes, r)

    task = Task(
        repetition=r,
        seed=spec.plan.seed,
        n_features=spec.plan.n_features,
        n_buckets=spec.plan.hashes.n_buckets,
        rows=labelled(spec.data),
        validation=None if spec.validation is None else labelled(spec.validation),
        monitor=spec.monitor,
        load_progress=lambda: None if sink is None else sink.load_progress(r),
        save_progress=lambda state: _save(sink, r, state),
    )
    with threadpool_limits(1), np.errstate(over="ignore", invalid="ignore"):  # what overflows is refused as a whole
        if spec.part is not None:
            return _train_part(spec, task, spec.part)
        outcome = spec.learner.train(task)
    if outcome is None:
        return Trained(r, False, None)
    if sink is None:
        return Trained(r, True, outcome)
    sink.put(r, outcome.model, outcome.history)
    return Trained(r, True, None)


def _train_part(spec: RepetitionSpec, task: Task, part: int) -> Trained:
    learner, r = spec.learner, spec.repetition
    assert isinstance(learner, PartLearner)
    weights = learner.train_part(task, learner.parts(task.n_buckets)[part])
    if weights is None:
        return Trained(r, False, None)
    if spec.sink is None:
        return Trained(r, True, None, weights)
    spec.sink.put_part(r, part, weights.arrays())
    join_parts(learner, spec.sink, r, task.n_features, task.n_buckets)
    return Trained(r, True, None)


def join_parts(learner: PartLearner, sink: Sink, repetition: int, n_features: int, n_buckets: int) -> None:
    """Make the model of a repetition, if all of its parts are there.

    The process that finishes the last part does it, while the others train: a process that only joined parts would
    compete with them for the cores. Two that finish at once write the same file.
    """
    ranges = learner.parts(n_buckets)
    if sink.has(repetition) or not all(sink.has_part(repetition, part) for part in range(len(ranges))):
        return
    parts = []
    for part, buckets in enumerate(ranges):
        arrays = sink.load_part(repetition, part)
        if arrays is None:
            return  # another process has joined them in the meantime
        parts.append(BucketWeights.from_arrays(buckets.start, arrays))
    sink.put(repetition, *learner.join(parts, n_features, n_buckets, repetition))


def _report_found(spec: RepetitionSpec, part: int) -> None:
    """Count a part that an earlier run finished as done."""
    assert isinstance(spec.learner, PartLearner)
    buckets = spec.learner.parts(spec.plan.hashes.n_buckets)[part]
    rows = spec.learner.rows_to_visit(buckets, spec.data.n_rows)
    spec.monitor.report(spec.repetition, Progress(rows, rows, np.nan), part)


def _save(sink: Sink | None, repetition: int, state: Mapping[str, AnyArray]) -> None:
    if sink is not None:
        sink.save_progress(repetition, state)
