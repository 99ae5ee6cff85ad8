"""Training of linear buckets: the same bytes whatever runs it, resumed part by part wherever it was stopped."""

from __future__ import annotations

import json
import os
import shutil
import signal
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.conftest import made_up

from xmach import load
from xmach.data import Dataset
from xmach.errors import Interrupted, ModelCorrupt, ModelIncomplete, PlanMismatch
from xmach.executors import LocalExecutor
from xmach.features import fit_scaler
from xmach.learners import LinearLearner
from xmach.learners import linear as linear_module
from xmach.store import ModelStore
from xmach.training import MachConfig, StageProgress, fit
from xmach.training import job as job_module
from xmach.training import run as run_module
from xmach.training.job import plan_training
from xmach.training.run import train, watched

DATA = made_up(300, 80, 700)
CONFIG = MachConfig(  # parts of 256 buckets
    learner="linear",
    n_buckets=600,
    n_repetitions=3,
    bucketing="random",
    linear_loss="squared_hinge",
    cost=1.0,
    passes=3,
    ranker="none",
    seed=1,
)
PARTS = 3
LOCAL = {"executor": "local"}


class Stopped(Exception):
    pass


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def parts_in(folder: Path) -> list[str]:
    return sorted(path.name for path in (folder / "progress").glob("*"))


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    folder = tmp_path_factory.mktemp("undisturbed") / "model"
    assert fit(DATA, CONFIG, folder, **LOCAL).complete
    return contents(folder)


@pytest.fixture
def trained(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """(repetition, first bucket) of the parts that are trained from now on, in this process."""
    calls: list[tuple[int, int]] = []
    original = LinearLearner.train_part

    def counting(self: LinearLearner, task: Any, buckets: range) -> Any:
        calls.append((task.repetition, buckets.start))
        return original(self, task, buckets)

    monkeypatch.setattr(LinearLearner, "train_part", counting)
    return calls


@pytest.fixture
def begun(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with four parts: the run broke off in the second repetition."""
    original, calls = LinearLearner.train_part, []

    def breaking(self: LinearLearner, task: Any, buckets: range) -> Any:
        if len(calls) == 4:
            raise Stopped
        calls.append(buckets)
        return original(self, task, buckets)

    with monkeypatch.context() as patch:
        patch.setattr(LinearLearner, "train_part", breaking)
        with pytest.raises(Stopped):
            fit(DATA, CONFIG, tmp_path / "begun", **LOCAL)
    return tmp_path / "begun"


# --- the same bytes


def test_the_folder_is_format_5(undisturbed: dict[str, bytes]) -> None:
    assert sorted(undisturbed) == [
        "features/idf.safetensors", "label_counts.safetensors", "manifest.json", "plan.json",
        "repetition-000.safetensors", "repetition-001.safetensors", "repetition-002.safetensors",
    ]  # fmt: skip
    manifest = json.loads(undisturbed["manifest.json"])
    assert manifest["format"] == json.loads(undisturbed["plan.json"])["format"] == 5
    assert set(manifest["files"]) == set(undisturbed) - {"manifest.json"}


def test_same_bytes_from_a_pool(tmp_path: Path, undisturbed: dict[str, bytes]) -> None:
    fit(DATA, CONFIG, tmp_path / "model", executor="pool", workers=2)
    assert contents(tmp_path / "model") == undisturbed


@pytest.mark.parametrize("executor", ["local", pytest.param("pool", marks=pytest.mark.slow)])
def test_same_weights_in_memory(tmp_path: Path, undisturbed: dict[str, bytes], executor: str) -> None:
    """A run in memory does not hash its rows, so its plan and the digests of it differ."""
    memory = fit(DATA, CONFIG, executor=executor, workers=2)
    stored = fit(DATA, CONFIG, tmp_path / "model", **LOCAL)
    assert contents(tmp_path / "model") == undisturbed
    assert memory.predictor is not None
    assert stored.predictor is not None
    for one, other in zip(memory.predictor.models, stored.predictor.models, strict=True):
        assert repr(one) == repr(other)
        assert all(array.tobytes() == other.arrays()[name].tobytes() for name, array in one.arrays().items())
    assert memory.history == stored.history


def test_same_bytes_from_two_folders_that_are_joined(tmp_path: Path, undisturbed: dict[str, bytes]) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    assert not fit(DATA, CONFIG, here, only=[1], **LOCAL).complete
    fit(DATA, CONFIG, there, only=[0, 2], **LOCAL)
    for file in there.glob("repetition-*.safetensors"):
        shutil.copy(file, here)
    joined = fit(DATA, CONFIG, here, **LOCAL)
    assert (joined.complete, joined.trained) == (True, 0)
    assert contents(here) == undisturbed


@pytest.mark.parametrize("part", [64, 128, 640])
def test_same_bytes_however_buckets_are_divided(
    tmp_path: Path, undisturbed: dict[str, bytes], part: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(linear_module, "PART", part)
    fit(DATA, CONFIG, tmp_path / "model", **LOCAL)
    assert contents(tmp_path / "model") == undisturbed


@pytest.mark.parametrize("saved", [True, False])
def test_same_bytes_of_rows_in_files(tmp_path: Path, undisturbed: dict[str, bytes], saved: bool) -> None:
    data = DATA.save(tmp_path / "data") if saved else Dataset(DATA.features, DATA.labels)
    fit(data, CONFIG, tmp_path / "model", **LOCAL)
    assert contents(tmp_path / "model") == undisturbed


# --- stopped and resumed


def once_under_way(act: Callable[[], None]) -> Callable[[StageProgress], None]:
    acted = threading.Event()

    def handle(progress: StageProgress) -> None:
        if 0 < progress.done < progress.total and not acted.is_set():
            acted.set()
            act()

    return handle


def terminate() -> None:
    os.kill(os.getpid(), signal.SIGTERM)


def give_up() -> None:
    raise Stopped


@pytest.mark.parametrize(
    ("act", "error", "executor"),
    [
        pytest.param(terminate, Interrupted, "local", id="SIGTERM"),
        pytest.param(give_up, Stopped, "local", id="handler"),
        pytest.param(terminate, Interrupted, "pool", id="SIGTERM, pool"),
        pytest.param(give_up, Stopped, "pool", id="handler, pool", marks=pytest.mark.slow),
    ],
)
def test_stopped_and_resumed(
    tmp_path: Path, act: Callable[[], None], error: type[Exception], executor: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_module, "_POLL_SECONDS", 0.002)
    config, model = replace(CONFIG, passes=100), tmp_path / "model"
    with pytest.raises(error, match="run the same command again to resume" if error is Interrupted else None):
        fit(DATA, config, model, executor=executor, workers=2, on_progress=once_under_way(act))
    assert not (model / "manifest.json").exists()
    assert fit(DATA, config, model, **LOCAL).complete
    fit(DATA, config, tmp_path / "undisturbed", **LOCAL)
    assert contents(model) == contents(tmp_path / "undisturbed")


class StopAfter:
    """A monitor that says stop at the n-th question."""

    def __init__(self, questions: int) -> None:
        self.left = questions

    def report(self, repetition: int, progress: Any, part: int = 0) -> None: ...

    def should_stop(self) -> bool:
        self.left -= 1
        return self.left < 0


def test_stopped_at_every_kind_of_moment(tmp_path: Path, undisturbed: dict[str, bytes]) -> None:
    """Before the first pass, within a group, within a part, between parts, between repetitions."""
    job = plan_training(DATA, CONFIG, fit_scaler(DATA.features))
    store = ModelStore(tmp_path / "model")
    store.begin(job.plan, DATA.label_counts(), None, job.scaler)
    for questions in (0, 2, 5, 13, 14, 28, 40):
        with pytest.raises(Interrupted, match=r"stopped with [123] of 3 repetitions unfinished"):
            train(job, range(3), LocalExecutor(), StopAfter(questions), store)
    train(job, range(3), LocalExecutor(), StopAfter(10**9), store)
    store.finish("log", None, {})
    assert contents(tmp_path / "model") == undisturbed


def test_finished_parts_are_not_trained_again(
    begun: Path, undisturbed: dict[str, bytes], trained: list[tuple[int, int]]
) -> None:
    assert parts_in(begun) == ["repetition-001-part-0000.safetensors"]
    assert fit(DATA, CONFIG, begun, **LOCAL).trained == 2
    assert trained == [(1, 256), (1, 512), (2, 0), (2, 256), (2, 512)]
    assert contents(begun) == undisturbed
    assert not (begun / "progress").exists()


def test_finished_parts_count_as_progress(begun: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[StageProgress] = []
    monkeypatch.setattr(run_module, "_POLL_SECONDS", 0.002)
    fit(DATA, CONFIG, begun, **LOCAL, on_progress=seen.append)
    assert {progress.total for progress in seen} == {2 * 10 * 3 * 300}  # repetitions, groups, passes, rows
    assert seen[-1].done == seen[-1].total
    assert all(progress.loss is None for progress in seen)


@pytest.mark.parametrize("damage", ["flipped", "cut off", "empty", "not a file of ours"])
def test_a_damaged_part_is_trained_again_with_a_warning(
    begun: Path, undisturbed: dict[str, bytes], trained: list[tuple[int, int]], damage: str
) -> None:
    part = begun / "progress" / "repetition-001-part-0000.safetensors"
    content = part.read_bytes()
    flipped = content[:-3] + bytes([content[-3] ^ 1]) + content[-2:]
    part.write_bytes({"flipped": flipped, "cut off": content[:200], "empty": b""}.get(damage, b"years of work"))
    with pytest.warns(UserWarning, match=r"repetition-001-part-0000.safetensors is damaged: this part is trained agai"):
        fit(DATA, CONFIG, begun, **LOCAL)
    assert trained[:2] == [(1, 0), (1, 256)]
    assert contents(begun) == undisturbed


def test_parts_that_another_version_divided_otherwise_are_trained_again(
    begun: Path, undisturbed: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(linear_module, "PART", 128)
    with pytest.warns(UserWarning, match="this part is trained again"):
        fit(DATA, CONFIG, begun, **LOCAL)
    assert contents(begun) == undisturbed


def test_a_part_of_another_plan_is_rejected(begun: Path, tmp_path: Path) -> None:
    with pytest.raises(PlanMismatch, match="seed: 2 here, 1 there"):
        fit(DATA, replace(CONFIG, seed=2), begun, **LOCAL)
    other = tmp_path / "other"
    fit(DATA, replace(CONFIG, seed=2), other, only=[2], **LOCAL)
    shutil.copytree(begun / "progress", other / "progress", dirs_exist_ok=True)
    with pytest.raises(ModelCorrupt, match=r"part-0000.safetensors: this file belongs to another model \(its plan"):
        fit(DATA, replace(CONFIG, seed=2), other, **LOCAL)


@pytest.mark.parametrize(
    ("name", "what"), [("repetition-001-part-0001", "part"), ("repetition-002-part-0000", "repetition")]
)
def test_a_part_under_another_number_is_rejected(begun: Path, name: str, what: str) -> None:
    progress = begun / "progress"
    shutil.copy(progress / "repetition-001-part-0000.safetensors", progress / f"{name}.safetensors")
    with pytest.raises(ModelCorrupt, match=rf"{name}.safetensors: .* \(its {what} differs\)"):
        fit(DATA, CONFIG, begun, **LOCAL)


class TestJoining:
    """Two runs in one folder may finish the parts of a repetition at the same time."""

    def join_with(self, store: ModelStore) -> None:
        job = plan_training(DATA, CONFIG, fit_scaler(DATA.features))
        with watched(job, [1], None, None) as board:
            train(job, [1], LocalExecutor(), board, store)

    def test_a_repetition_that_another_run_joins_is_done(self, begun: Path, undisturbed: dict[str, bytes]) -> None:
        class Overtaken(ModelStore):
            def load_part(self, repetition: int, part: int) -> Any:
                if part < 2 or len(parts_in(begun)) < PARTS:
                    return super().load_part(repetition, part)
                self.path(1).write_bytes(undisturbed["repetition-001.safetensors"])
                return None

        self.join_with(Overtaken(begun))
        assert fit(DATA, CONFIG, begun, **LOCAL).complete
        assert contents(begun) == undisturbed

    def test_a_part_that_vanishes_is_said(self, begun: Path) -> None:
        class Forgetful(ModelStore):
            def load_part(self, repetition: int, part: int) -> Any:
                return super().load_part(repetition, part) if part < 2 else None

        with pytest.raises(ModelIncomplete, match="part 2 of repetition 1 is gone; run the same command again"):
            self.join_with(Forgetful(begun))


# --- settings that are chosen


AUTO = replace(CONFIG, cost="auto", passes="auto")


def test_a_resumed_run_takes_the_settings_of_its_plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = fit(DATA, AUTO, tmp_path / "model", only=[0], **LOCAL).plan.linear
    assert first is not None

    def refuse(*_: object) -> None:
        raise AssertionError("settings are chosen once")

    monkeypatch.setattr(job_module, "choose_settings", refuse)
    resumed = fit(DATA, AUTO, tmp_path / "model", **LOCAL)
    assert resumed.complete
    assert resumed.plan.linear == first
    explicit = replace(AUTO, cost=first.cost, passes=first.passes)
    assert fit(DATA, explicit, tmp_path / "model", **LOCAL).trained == 0
    assert load(tmp_path / "model").n_labels == 700


@pytest.mark.parametrize(("changed", "named"), [({"cost": 7.0}, "cost: 7.0 here"), ({"passes": 99}, "passes: 99 here")])
def test_other_settings_are_named(tmp_path: Path, changed: dict[str, Any], named: str) -> None:
    fit(DATA, AUTO, tmp_path / "model", only=[0], **LOCAL)
    with pytest.raises(PlanMismatch, match=rf"another plan \({named}, [0-9.]+ there\)"):
        fit(DATA, replace(AUTO, **changed), tmp_path / "model", **LOCAL)


def test_the_same_settings_are_chosen_in_memory_and_in_a_folder(tmp_path: Path) -> None:
    """They are chosen before the first repetition, so the executor does not matter."""
    memory, stored = (fit(DATA, AUTO, folder, only=[2], **LOCAL).plan for folder in (None, tmp_path / "model"))
    assert memory.linear == stored.linear


def test_clustered_buckets(tmp_path: Path) -> None:
    config = replace(CONFIG, bucketing="mixed", n_buckets=70)
    fit(DATA, config, tmp_path / "model", **LOCAL)
    fit(DATA, config, tmp_path / "again", only=[1], **LOCAL)
    fit(DATA, config, tmp_path / "again", **LOCAL)
    assert contents(tmp_path / "model") == contents(tmp_path / "again")
    assert json.loads((tmp_path / "model" / "plan.json").read_text())["format"] == 5
    best = load(tmp_path / "model").top_k(DATA.features, 5)
    assert np.isfinite(best.scores).all()


def test_both_losses_take_turns(tmp_path: Path) -> None:
    """Two of four repetitions are trained as with the logistic loss alone, the others as with the squared hinge."""
    five = replace(CONFIG, n_buckets=70, n_repetitions=5)
    both = fit(DATA, replace(five, linear_loss="both"), tmp_path / "both", **LOCAL).predictor
    alone = [
        fit(DATA, replace(five, linear_loss=loss, cost=cost), **LOCAL).predictor
        for loss, cost in (("squared_hinge", 1.0), ("logistic", 15.0))
    ]
    assert both is not None
    assert [model.loss for model in both.models] == ["squared_hinge"] * 2 + ["logistic"] * 2 + ["squared_hinge"]
    for r, model in enumerate(both.models):
        same = alone[r % 4 // 2]
        assert same is not None
        assert all(array.tobytes() == same.models[r].arrays()[name].tobytes() for name, array in model.arrays().items())
    assert json.loads((tmp_path / "both" / "manifest.json").read_text())["format"] == 6
