"""The run of a job's repetitions: handed to an executor, watched, stopped by signals."""

from __future__ import annotations

import signal
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from logging import getLogger
from math import isnan
from types import FrameType
from typing import NamedTuple, TypeAlias

from xmach.errors import Interrupted, ModelIncomplete, WorkerDied
from xmach.executors import Board, Executor
from xmach.learners import Outcome, PartLearner
from xmach.models.linear import BucketWeights
from xmach.store import ModelStore
from xmach.training.job import Job, is_built_in
from xmach.training.memory import check_training_memory
from xmach.training.repetition import RepetitionSpec, join_parts, train_repetition
from xmach.types import Monitor, Sink

_log = getLogger(__name__)
_POLL_SECONDS = 0.5


class StageProgress(NamedTuple):
    """How far one stage of training is."""

    stage: str  # such as "training"
    done: int
    total: int
    unit: str  # what is counted
    loss: float | None = None  # mean training loss of the repetitions under way


ProgressHandler: TypeAlias = Callable[[StageProgress], None]


@dataclass(frozen=True)
class Resources:
    """Where a run keeps its work, what runs it, and who is told."""

    store: ModelStore | None  # None: everything stays in memory
    executor: Executor
    on_progress: ProgressHandler | None


def train(
    job: Job, repetitions: Sequence[int], executor: Executor, monitor: Monitor, sink: Sink | None = None
) -> dict[int, Outcome]:
    """Train the given repetitions; models go to the sink, or come back if there is none.

    Raises `Interrupted` if the monitor stopped the work before its end.
    """
    if is_built_in(job.plan):  # the memory of a wrapped classifier is unknown
        check_training_memory(job, min(executor.workers, max(1, len(repetitions))), 0 if sink else len(repetitions))
    specs = [
        RepetitionSpec(r, plan, job.learner, job.data, job.validation, job.scaler, monitor, sink, part)
        for r in repetitions
        for plan in (job.plan.of_repetition(r),)
        for part in range(parts_of(job)) or (None,)
    ]
    outcomes: dict[int, Outcome] = {}
    weights: dict[int, list[BucketWeights]] = {r: [] for r in repetitions}
    finished = Counter[int]()
    for result in executor.run(train_repetition, specs):
        finished[result.repetition] += result.finished
        if result.outcome is not None:
            outcomes[result.repetition] = result.outcome
        if result.weights is not None:
            weights[result.repetition].append(result.weights)
        if parts_of(job) and finished[result.repetition] == parts_of(job):
            _join(job, result.repetition, weights.pop(result.repetition), sink, outcomes)
    if finished.total() < len(specs):
        unfinished = sum(finished[r] < max(1, parts_of(job)) for r in repetitions)
        raise Interrupted(f"stopped with {unfinished} of {len(repetitions)} repetitions unfinished")
    return outcomes


def parts_of(job: Job) -> int:
    """The parts that each repetition is trained in; 0 if the learner trains it as a whole."""
    learner = job.learner
    return len(learner.parts(job.plan.hashes.n_buckets)) if isinstance(learner, PartLearner) else 0


def _join(
    job: Job, repetition: int, weights: list[BucketWeights], sink: Sink | None, outcomes: dict[int, Outcome]
) -> None:
    """Make the model of a repetition whose parts are all there."""
    learner, n_buckets = job.learner, job.plan.hashes.n_buckets
    assert isinstance(learner, PartLearner)
    if sink is None:
        outcomes[repetition] = learner.join(weights, job.plan.n_features, n_buckets, repetition)
        return
    join_parts(learner, sink, repetition, job.plan.n_features, n_buckets)  # if all parts were there from the start
    if not sink.has(repetition):
        every = range(len(learner.parts(n_buckets)))
        gone = next((part for part in every if sink.load_part(repetition, part) is None), every[-1])
        raise ModelIncomplete(f"part {gone} of repetition {repetition} is gone; run the same command again")


@contextmanager
def watched(
    job: Job, repetitions: Sequence[int], sink: Sink | None, on_progress: ProgressHandler | None
) -> Iterator[Board]:
    """Yield the board that workers report to, and tell `on_progress` what they report.

    With a sink, SIGINT and SIGTERM make each repetition save a checkpoint, and `train` raises `Interrupted`.
    """
    board = Board.for_repetitions(list(repetitions), max(1, parts_of(job)))
    stopping = stopping_on_signals(board if sink is not None else None, "each repetition saves a checkpoint")
    try:
        with stopping, _watch(board, job, on_progress):
            yield board
    except WorkerDied:
        if not board.should_stop():
            raise
        raise Interrupted("stopped") from None  # a signal to the whole group ended a worker before it could save
    finally:
        board.close()


def rows_to_visit(job: Job) -> int:
    """The rows that the training of a repetition visits, each as often as it does."""
    learner, n_rows = job.learner, job.data.n_rows
    if isinstance(learner, PartLearner):
        return sum(learner.rows_to_visit(buckets, n_rows) for buckets in learner.parts(job.plan.hashes.n_buckets))
    passes = job.plan.settings.epochs if job.plan.linear is None else job.plan.linear.passes
    return int(passes) * n_rows


@contextmanager
def stopping_on_signals(board: Board | None, what_happens: str) -> Iterator[None]:
    """Let SIGINT and SIGTERM ask the workers to save and stop, and say `what_happens`; a second signal stops at once.

    Python delivers signals to the main thread only: elsewhere, or without a board, nothing changes.
    """
    if board is None or threading.current_thread() is not threading.main_thread():
        yield
        return

    def handle(number: int, frame: FrameType | None) -> None:
        if board.should_stop():
            raise KeyboardInterrupt
        board.stop()
        _log.warning(f"stopping: {what_happens} (press again to stop at once)")

    previous = {number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


@contextmanager
def _watch(board: Board, job: Job, on_progress: ProgressHandler | None) -> Iterator[None]:
    """Report the progress of all repetitions now and then, from a thread, while the work goes on.

    What `on_progress` raises stops the work as a signal would, and is raised here.
    """
    if on_progress is None:
        yield
        return
    over, raised = threading.Event(), []
    rows_each = rows_to_visit(job)

    def watch() -> None:
        finished = False
        while not finished:
            finished = over.wait(_POLL_SECONDS)  # and one last report
            running = list(board.progress().values())
            losses = [each.loss for each in running if 0 < each.done < rows_each and not isnan(each.loss)]
            loss = sum(losses) / len(losses) if losses else None
            done = sum(progress.done for progress in running)
            try:
                on_progress(StageProgress("training", done, rows_each * len(running), "rows", loss))
            except BaseException as error:
                raised.append(error)
                board.stop()
                return

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
        if raised:
            raise raised[0] from None
