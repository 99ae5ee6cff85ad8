"""Training as a whole: same bytes whatever runs it, resumed wherever it was stopped."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.conftest import made_up

from xmach.config import MachConfig
from xmach.data import Dataset
from xmach.errors import Interrupted, NotEnoughMemory
from xmach.executors import Board, Executor, LocalExecutor, PoolExecutor
from xmach.features import fit_scaler
from xmach.planning import Plan
from xmach.store import ModelStore
from xmach.training import memory as memory_module
from xmach.training.job import Job, plan_training
from xmach.training.run import train
from xmach.types import Progress


class StopAfter:
    """A monitor that says stop at the n-th question."""

    def __init__(self, questions: int) -> None:
        self.left = questions

    def report(self, repetition: int, progress: Progress, part: int = 0) -> None:
        assert 0 < progress.done <= progress.total
        assert np.isfinite(progress.loss)

    def should_stop(self) -> bool:
        self.left -= 1
        return self.left < 0


NEVER = StopAfter(10**9)


def job_of(data: Dataset, validation: Dataset | None = None, **settings: object) -> Job:
    values = {"hidden": (16,), "epochs": 2, "batch_size": 32, "dropout": 0.1} | settings
    config = MachConfig(n_buckets=8, n_repetitions=3, seed=1, **values)  # type: ignore[arg-type]
    return plan_training(data, config, fit_scaler(data.features), validation=validation)


def begun(folder: Path, job: Job) -> ModelStore:
    store = ModelStore(folder)
    store.begin(job.plan, job.data.label_counts(), job.data.label_names, job.scaler)
    return store


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("validation", [None, made_up(60, seed=3)], ids=["without validation", "with validation"])
def test_same_bytes_from_every_executor_and_after_stops(
    tmp_path: Path, small_data: Dataset, validation: Dataset | None
) -> None:
    saved = small_data.save(tmp_path / "data")
    kept = None if validation is None else validation.save(tmp_path / "validation")
    job = job_of(saved, kept)

    def trained(name: str, executor: Executor, stops: list[int]) -> dict[str, bytes]:
        store = begun(tmp_path / name, job)
        for questions in stops:
            with pytest.raises(Interrupted, match="unfinished"):
                train(job, range(3), executor, StopAfter(questions), store)
        train(job, range(3), executor, NEVER, store)
        store.finish("log", None, {})
        return contents(store.folder)

    expected = trained("local", LocalExecutor(), [])
    assert "repetition-002.safetensors" in expected
    assert not any(name.startswith("progress") for name in expected)
    assert trained("stopped", LocalExecutor(), [5, 0, 30, 61]) == expected
    assert trained("pool", PoolExecutor(2), []) == expected
    assert trained("pool stopped", PoolExecutor(2), [40]) == expected


def test_models_come_back_where_there_is_no_sink(small_data: Dataset) -> None:
    outcomes = train(job_of(small_data), [0, 2], LocalExecutor(), NEVER)
    assert sorted(outcomes) == [0, 2]
    assert outcomes[0].model.n_buckets == 8
    assert [entry["epoch"] for entry in outcomes[0].history] == [1, 2]
    assert outcomes[0].history[1]["loss"] < outcomes[0].history[0]["loss"]
    first, other = (outcomes[r].model.arrays()["weights.0"] for r in (0, 2))
    assert not np.array_equal(first, other)


def test_a_stop_before_the_first_step_leaves_nothing_half_done(tmp_path: Path, small_data: Dataset) -> None:
    job = job_of(small_data)
    store = begun(tmp_path / "m", job)
    board = Board.for_repetitions([0, 1, 2])
    board.stop()
    with pytest.raises(Interrupted, match="3 of 3"):
        train(job, range(3), LocalExecutor(), board, store)
    board.close()
    assert store.present() == []


def test_row_weights_count(small_data: Dataset) -> None:
    """Rows of weight zero might as well be other rows."""
    half = small_data.n_rows // 2
    weights = np.ones(small_data.n_rows, np.float32)
    weights[half:] = 0.0
    scrambled = small_data.labels.take(np.concatenate([np.arange(half), np.arange(half)[::-1] + half]))
    jobs = [job_of(Dataset(small_data.features, labels, weights=weights)) for labels in (small_data.labels, scrambled)]
    first, second = (train(job, [0], LocalExecutor(), NEVER)[0].model.arrays() for job in jobs)
    assert all(np.array_equal(first[name], second[name]) for name in first)


def test_memory_is_checked_before_training(small_data: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory_module, "available_bytes", lambda: 10 * 2**10)
    with pytest.raises(NotEnoughMemory, match="train with a smaller hidden layer, fewer buckets or fewer features"):
        train(job_of(small_data), [0], LocalExecutor(), NEVER)
    with pytest.raises(NotEnoughMemory, match="train fewer at a time"):
        train(job_of(small_data), [0, 1], PoolExecutor(2), NEVER)


class TestPlan:
    def test_round_trip(self, small_data: Dataset) -> None:
        plan = job_of(small_data).plan
        assert Plan.from_dict(plan.to_dict()) == plan

    def test_tells_what_differs(self, small_data: Dataset) -> None:
        plan, other = (job_of(small_data, epochs=epochs).plan for epochs in (2, 3))
        assert plan.differences(plan) == []
        assert plan.differences(other) == ["epochs: 2 here, 3 there"]

    def test_knows_other_data(self, small_data: Dataset) -> None:
        other = made_up(seed=9)
        assert any(part.startswith("data:") for part in job_of(small_data).plan.differences(job_of(other).plan))

    def test_tells_multiclass_from_multilabel(self) -> None:
        assert job_of(made_up()).plan.multilabel
        assert not job_of(made_up(labels_each=1)).plan.multilabel
