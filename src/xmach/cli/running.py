"""A training run at the terminal: progress, Ctrl-C, and the manifest at the end."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

from xmach.buckets import RANDOM, clustered_repetitions
from xmach.cli.arguments import repetitions
from xmach.cli.network import Recipe
from xmach.cli.progress import Meter, Watch, say
from xmach.cli.reading import How
from xmach.data import Dataset
from xmach.errors import Interrupted, ParameterError, WorkerDied
from xmach.evaluation import settle
from xmach.executors import Board, Executor, LocalExecutor, PoolExecutor
from xmach.features import fit_scaler
from xmach.parameters import whole
from xmach.planning import DataSize, Shape, clustering_bytes, human_bytes, parse_bytes, training_bytes, usable_cores
from xmach.store import ModelStore, load
from xmach.training import Job, plan_training, train, workers_within
from xmach.types import TextRows


@dataclass(frozen=True)
class Run:
    """A `train` command: what is to be trained, which part of it, and with how many processes and bytes."""

    recipe: Recipe
    only: Sequence[int]
    seed: int
    executor: str
    workers: int
    memory: int | None

    @classmethod
    def checked(
        cls, recipe: Recipe, only: str | None, seed: int, executor: str, workers: int, memory: str | None
    ) -> Run:
        """A run from what the command was given."""
        return cls(
            recipe=recipe,
            only=repetitions(only, recipe.repetitions),
            seed=whole("--seed", seed, 0, 2**63 - 1),
            executor=executor,
            workers=whole("--workers", workers, 0),
            memory=None if memory is None else parse_bytes(memory, "--memory"),
        )

    def check_reading(self, how: How) -> None:
        """Refuse a budget that is spent before the first row is trained on."""
        rows = DataSize(source="text" if how.columns.text else "numbers")
        least = training_bytes(Shape(1, 1, (), 2, 1), rows, 1)
        if self.memory is not None and self.memory < least:
            raise ParameterError(f"--memory: reading and training take at least {human_bytes(least)}, of any model")

    def train(self, model: Path, data: Dataset, validation: Dataset | None, text: TextRows | None) -> dict[str, Any]:
        """Train what is missing in the folder; what the model is then, as plain values."""
        recipe = self.recipe
        recipe.say_preset(data)
        if recipe.buckets > data.n_labels:
            say(f"warning: {recipe.buckets} buckets are more than the {data.n_labels} labels: hashing saves nothing")
        if recipe.bucketing != RANDOM and not clustered_repetitions(recipe.bucketing, recipe.repetitions):
            say(f"warning: with one repetition, --bucketing {recipe.bucketing} is random buckets")
        self._check_buckets(data)
        store = ModelStore(model)
        scaler = fit_scaler(data.features, recipe.scaling)
        with _bucket_meter(recipe.bucketing, data.n_labels) as tell:
            job = plan_training(
                data, recipe.settings, recipe.buckets, recipe.repetitions, self.seed, scaler, validation,
                features=None if text is None else text.to_dict(), bucketing=recipe.bucketing, tell=tell,
                begun=store.begun_plan(),
            )  # fmt: skip
        workers = self._workers(job, len(self.only))  # refused before a folder is made
        store.begin(job.plan, data.label_counts(), data.label_names, job.scaler, text)
        store.check_present()
        missing = [r for r in self.only if not store.has(r)]
        say(
            f"{data.n_rows:,} rows, {data.n_features:,} features, {data.n_labels:,} labels; {recipe.buckets:,} "
            f"buckets; {len(missing)} of {recipe.repetitions} repetitions to train"
        )
        if missing:
            executor = choose_executor(self.executor, workers, len(missing))
            train_repetitions(job, missing, executor, store)
        return finish(store, job, recipe.estimator) | {"trained": len(missing)}

    def _check_buckets(self, data: Dataset) -> None:
        """Refuse a budget that making tables of buckets would exceed."""
        needed = 0 if self.recipe.bucketing == RANDOM else clustering_bytes(data.n_labels, data.n_features)
        if self.memory is not None and self.memory < needed:
            raise ParameterError(f"--memory: making buckets of labels that are alike takes {human_bytes(needed)}")

    def _workers(self, job: Job, tasks: int) -> int:
        """The processes asked for, or as many of them as the memory allows."""
        wanted = min(self.workers or usable_cores(), tasks)
        return wanted if self.memory is None else workers_within(job, self.memory, wanted)


@contextmanager
def _bucket_meter(bucketing: str, n_labels: int) -> Iterator[Callable[[int, int], None] | None]:
    """Shows how many tables of buckets are made; nothing where none are."""
    if bucketing == RANDOM:
        yield None
        return
    with Meter("making buckets", "labels") as meter:
        yield lambda done, total: meter.update(done * n_labels, total * n_labels)


def choose_executor(name: str, workers: int, tasks: int) -> Executor:
    """The executor of that name; `auto`: a pool where more than one repetition can run at a time."""
    workers = workers or usable_cores()
    if name == "pool" or (name == "auto" and min(workers, tasks) > 1):
        return PoolExecutor(workers)
    return LocalExecutor()


def train_repetitions(job: Job, repetitions: Sequence[int], executor: Executor, store: ModelStore) -> None:
    """Train these repetitions into the store, with progress on stderr; Ctrl-C saves where each one is."""
    board = Board.for_repetitions(list(repetitions))
    rows_each = job.plan.settings.epochs * job.data.n_rows
    with Meter("training", "rows") as meter:

        def look() -> None:
            running = list(board.progress().values())
            losses = [progress.loss for progress in running if 0 < progress.done < rows_each]
            note = f", loss {sum(losses) / len(losses):.4f}" if losses else ""
            meter.update(sum(progress.done for progress in running), rows_each * len(running), note)

        try:
            with stop_on_signals(board), Watch(look):
                train(job, repetitions, executor, board, store)
        except (Interrupted, WorkerDied) as error:
            if isinstance(error, WorkerDied) and not board.should_stop():
                raise
            unfinished = sum(not store.has(r) for r in repetitions)
            raise Interrupted(
                f"stopped with {unfinished} of {len(repetitions)} repetitions unfinished; {store.folder} keeps what "
                "was done: run the same command again to go on"
            ) from None
        finally:
            board.close()


@contextmanager
def stop_on_signals(board: Board) -> Iterator[None]:
    """SIGINT and SIGTERM ask the workers to save and stop; a second one stops at once."""

    def handle(number: int, frame: FrameType | None) -> None:
        if board.should_stop():
            raise KeyboardInterrupt
        board.stop()
        say("stopping: each repetition saves where it is (once more: stop at once)")

    previous = {number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


def finish(store: ModelStore, job: Job, estimator: str) -> dict[str, Any]:
    """Write the manifest once every repetition is there; what the model is, as plain values."""
    present, total = len(store.present()), job.plan.hashes.n_repetitions
    facts: dict[str, Any] = {"model": str(store.folder), "repetitions": total, "present": present, "complete": False}
    if present < total:
        return facts
    manifest = store.manifest()
    if manifest is None or estimator not in ("auto", manifest["estimator"]):
        settled, metrics = settle(load(store.folder, allow_partial=True), job.validation, estimator)
        store.finish(settled.estimator, settled.threshold, metrics)
        manifest = store.manifest()
        assert manifest is not None
    return facts | {"complete": True, "estimator": manifest["estimator"], "metrics": manifest["metrics"]}


def outcome(facts: dict[str, Any]) -> str:
    """How far a model is, in words."""
    if facts["complete"]:
        return f"complete, {facts['repetitions']} repetitions, estimator {facts['estimator']}"
    return f"{facts['present']} of {facts['repetitions']} repetitions are there"


def elapsed(begun: float) -> float:
    """Seconds since a `time.monotonic()`, rounded."""
    return round(time.monotonic() - begun, 1)
