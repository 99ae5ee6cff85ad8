"""The run of a job's repetitions: handed to an executor, watched, stopped by signals."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from logging import getLogger
from types import FrameType
from typing import NamedTuple, TypeAlias

from xmach.errors import Interrupted, WorkerDied
from xmach.executors import Board, Executor
from xmach.learners import Outcome
from xmach.training.job import Job, is_network
from xmach.training.memory import check_training_memory
from xmach.training.repetition import RepetitionSpec, train_repetition
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


def train(
    job: Job, repetitions: Sequence[int], executor: Executor, monitor: Monitor, sink: Sink | None = None
) -> dict[int, Outcome]:
    """Train the given repetitions; models go to the sink, or come back if there is none.

    Raises `Interrupted` if the monitor stopped the work before its end.
    """
    if is_network(job.plan):  # the memory of a wrapped classifier is unknown
        check_training_memory(job, min(executor.workers, max(1, len(repetitions))), 0 if sink else len(repetitions))
    specs = [
        RepetitionSpec(r, job.plan.of_repetition(r), job.learner, job.data, job.validation, job.scaler, monitor, sink)
        for r in repetitions
    ]
    outcomes: dict[int, Outcome] = {}
    unfinished = 0
    for result in executor.run(train_repetition, specs):
        unfinished += not result.finished
        if result.outcome is not None:
            outcomes[result.repetition] = result.outcome
    if unfinished:
        raise Interrupted(f"stopped with {unfinished} of {len(specs)} repetitions unfinished")
    return outcomes


@contextmanager
def watched(
    job: Job, repetitions: Sequence[int], sink: Sink | None, on_progress: ProgressHandler | None
) -> Iterator[Board]:
    """Yield the board that workers report to, and tell `on_progress` what they report.

    With a sink, SIGINT and SIGTERM make each repetition save a checkpoint, and `train` raises `Interrupted`.
    """
    board = Board.for_repetitions(list(repetitions))
    try:
        with _stop_on_signals(board if sink is not None else None), _watch(board, job, on_progress):
            yield board
    except WorkerDied:
        if not board.should_stop():
            raise
        raise Interrupted("stopped") from None  # a signal to the whole group ended a worker before it could save
    finally:
        board.close()


@contextmanager
def _stop_on_signals(board: Board | None) -> Iterator[None]:
    """Let SIGINT and SIGTERM ask the workers to save and stop; a second signal stops at once.

    Python delivers signals to the main thread only: elsewhere, or without a board, nothing changes.
    """
    if board is None or threading.current_thread() is not threading.main_thread():
        yield
        return

    def handle(number: int, frame: FrameType | None) -> None:
        if board.should_stop():
            raise KeyboardInterrupt
        board.stop()
        _log.warning("stopping: each repetition saves a checkpoint (press again to stop at once)")

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
    rows_each = job.plan.settings.epochs * job.data.n_rows

    def watch() -> None:
        finished = False
        while not finished:
            finished = over.wait(_POLL_SECONDS)  # and one last report
            running = list(board.progress().values())
            losses = [progress.loss for progress in running if 0 < progress.done < rows_each]
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
