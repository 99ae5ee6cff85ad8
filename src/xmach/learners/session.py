"""One training run of a network: epochs, shuffling, learning rate decay, validation and checkpoints."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Generator, Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from itertools import islice
from typing import TypeVar

import numpy as np

from xmach.block_sizes import VALIDATION_ROWS
from xmach.config import NETWORK, NetworkSettings
from xmach.errors import Diverged
from xmach.learners.network import NetworkTrainer, batch_loss, stream
from xmach.learners.task import Batch, LabelledRows, Outcome, Task
from xmach.models import NetworkModel
from xmach.types import AnyArray, FloatArray, IntArray, Progress, row_batches

T = TypeVar("T")
U = TypeVar("U")

_REPORT_SECONDS = 0.2


@dataclass(frozen=True)
class NetworkLearner:
    """Trains bucket models with a network; the default."""

    settings: NetworkSettings

    @property
    def kind(self) -> str:
        """Its name in plan.json."""
        return NETWORK

    def train(self, task: Task) -> Outcome | None:
        """Train to the end, or until the monitor asks to stop; saves a checkpoint after each epoch."""
        session = _Session(self.settings, task)
        session.resume()
        while not session.finished():
            if not session.run_epoch():
                task.save_progress(session.state())
                return None
            session.close_epoch()
            if not session.finished():
                task.save_progress(session.state())
        model = session.trainer.model()
        if session.best:
            model = NetworkModel.from_arrays(session.best, model.loss)
        return Outcome(model, [_entry(i, *losses) for i, losses in enumerate(session.history)])


class _Session:
    """One repetition in training. `state` determines everything that follows, so it can stop at any step."""

    def __init__(self, settings: NetworkSettings, task: Task) -> None:
        self.settings, self.task = settings, task
        self.trainer = NetworkTrainer(task.n_features, task.n_buckets, settings, task.seed, task.repetition)
        self.batch_size = effective_batch_size(settings.batch_size, task.rows.n_rows)
        self.steps_per_epoch = math.ceil(task.rows.n_rows / self.batch_size)
        self.epoch, self.step, self.loss = 0, 0, 0.0  # loss: summed over the epoch so far
        self.history: list[tuple[float, float]] = []  # (training loss, validation loss or NaN) of each epoch
        self.best: dict[str, FloatArray] = {}  # the arrays of the best epoch, if there are validation rows
        self._reported = 0.0

    def resume(self) -> None:
        """Resume from the checkpoint, if there is one; its pages are mapped only during this call."""
        saved = self.task.load_progress()
        if saved is not None:
            self._restore(saved)

    def finished(self) -> bool:
        """Whether the epochs are over, or validation has not improved for `patience` epochs."""
        if len(self.history) == self.settings.epochs:
            return True
        if self.task.validation is None or not self.history:
            return False
        best = int(np.argmin([validation for _, validation in self.history]))
        return len(self.history) - 1 - best >= self.settings.patience

    def run_epoch(self) -> bool:
        """Run the rest of the epoch; False if the monitor asked to stop before its end."""
        n_rows = self.task.rows.n_rows
        total_steps = self.settings.epochs * self.steps_per_epoch
        order = stream(self.task.seed, self.task.repetition, "shuffle", self.epoch).permutation(n_rows)
        to_come = islice(row_batches(n_rows, self.batch_size), self.step, None)
        parts = (order[start:stop] for start, stop in to_come)

        def prepare(which: IntArray) -> Batch:
            with np.errstate(over="ignore", invalid="ignore"):  # as in `train_repetition`, in this thread, too
                return self.trainer.prepare(self.task.rows.batch(which))

        with closing(made_ahead(prepare, parts)) as batches:
            for batch in batches:
                if self.task.monitor.should_stop():
                    return False
                done = (self.epoch * self.steps_per_epoch + self.step) / total_steps
                rate = self.settings.learning_rate * (1.0 - done)  # linear decay to zero over all epochs
                self.loss += self.trainer.step(batch, rate, (self.epoch, self.step))
                self.step += 1
                self._report(min(self.step * self.batch_size, n_rows))
        return True

    def close_epoch(self) -> None:
        """Check that the weights are finite, validate, and begin the next epoch."""
        # an overflow anywhere in the network reaches the gradient of the output bias
        if not np.isfinite(self.trainer.layers[-1].bias).all():
            raise Diverged(
                f"repetition {self.task.repetition} diverged in epoch {self.epoch + 1}: weights are no longer finite; "
                f"lower learning_rate (now {self.settings.learning_rate:g}), or scale the features (scaling='l2')"
            )
        validation = math.nan
        if self.task.validation is not None:
            model = self.trainer.model()
            validation = _mean_loss(model, self.task.validation)
            if not self.history or validation < min(v for _, v in self.history):
                self._keep(model)
        self.history.append((self.loss / self.task.rows.n_rows, validation))
        self.epoch, self.step, self.loss = self.epoch + 1, 0, 0.0

    def _keep(self, model: NetworkModel) -> None:
        """Copy the arrays of the best epoch so far over those of the previous one, so there is only one copy."""
        for name, array in model.arrays().items():
            if name in self.best:
                self.best[name][...] = array
            else:
                self.best[name] = array.copy()

    def _report(self, rows_done: int) -> None:
        now = time.monotonic()
        if now - self._reported >= _REPORT_SECONDS or self.step == self.steps_per_epoch:
            self._reported = now
            n_rows = self.task.rows.n_rows
            done, total = self.epoch * n_rows + rows_done, self.settings.epochs * n_rows
            self.task.monitor.report(self.task.repetition, Progress(done, total, self.loss / rows_done))

    def state(self) -> dict[str, AnyArray]:
        """Return everything that the rest of the run depends on."""
        state = self.trainer.state()
        state["position"] = np.array([self.epoch, self.step], np.int64)
        state["loss"] = np.array([self.loss], np.float64)
        state["history"] = np.array(self.history, np.float64).reshape(-1, 2)
        return state | {f"best.{name}": array for name, array in self.best.items()}

    def _restore(self, state: Mapping[str, AnyArray]) -> None:
        self.trainer.restore(state)
        self.epoch, self.step = (int(number) for number in state["position"])
        self.loss = float(state["loss"][0])
        self.history = [(float(loss), float(validation)) for loss, validation in state["history"]]
        prefix = "best."
        self.best = {name[len(prefix) :]: np.array(state[name]) for name in state if name.startswith(prefix)}


def effective_batch_size(batch_size: int, n_rows: int) -> int:
    """Return `batch_size`, or less if an epoch would have fewer than `MIN_STEPS` steps."""
    return max(1, min(batch_size, math.ceil(n_rows / MIN_STEPS)))


MIN_STEPS = 100  # per epoch; chosen on the three datasets of docs/accuracy.md, where 50 to 150 gave similar results


def _mean_loss(model: NetworkModel, rows: LabelledRows) -> float:
    """Return the mean loss on rows that are not trained on."""
    total = 0.0
    for start, stop in row_batches(rows.n_rows, VALIDATION_ROWS):
        which: IntArray = np.arange(start, stop)
        total += batch_loss(model, rows.batch(which))
    return total / rows.n_rows


def _entry(epoch: int, loss: float, validation: float) -> dict[str, float]:
    entry = {"epoch": epoch + 1, "loss": loss}
    return entry if math.isnan(validation) else entry | {"validation_loss": validation}


def made_ahead(make: Callable[[T], U], items: Iterable[T]) -> Generator[U, None, None]:
    """Yield make(item) for each item; a second thread makes the next one meanwhile. Close it to stop early.

    Kernels and most of NumPy release the GIL, so with a spare core making batches takes no time. If no thread can be
    started (the interpreter is exiting, or the process has reached its limit), items are made when they are needed.
    The caller's `np.errstate` does not apply in the other thread.
    """
    with ThreadPoolExecutor(1, "next batch") as thread:
        made: Future[U] | None = None
        coming: Future[U] | None
        for item in items:
            try:
                coming = thread.submit(make, item)
            except RuntimeError:  # no thread can be started
                coming = None
            if made is not None:
                yield made.result()
            made = coming
            if made is None:
                yield make(item)
        if made is not None:
            yield made.result()
