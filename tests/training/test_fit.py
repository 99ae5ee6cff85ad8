"""`fit`: in memory and into a folder, stopped and resumed from Python, in parts, with progress."""

from __future__ import annotations

import logging
import os
import re
import signal
import threading
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from tests.conftest import made_up

from xmach import load
from xmach.data import Dataset, LabelTexts
from xmach.errors import InputError, Interrupted, NotStorable, ParameterError, PlanMismatch
from xmach.executors import LocalExecutor, PoolExecutor
from xmach.features import fit_scaler
from xmach.planning import Plan
from xmach.training import MachConfig, StageProgress, fit
from xmach.training import run as run_module
from xmach.training.job import plan_training
from xmach.types import SparseRows

DATA, VALIDATION = made_up(3000, 200, 60), made_up(60, 200, 60, seed=3)
CONFIG = MachConfig(n_buckets=20, n_repetitions=3, hidden=(100,), epochs=12, dropout=0.1, seed=1)
SHORT = replace(CONFIG, epochs=1)


def texts_of(ids: list[int], n_features: int = 200) -> LabelTexts:
    """Texts of one word each."""
    n = len(ids)
    columns, counts = np.array(ids, np.int32) % n_features, np.ones(n, np.float32)
    return LabelTexts(np.array(ids), SparseRows(np.arange(n + 1), columns, counts, n_features))


@pytest.fixture(autouse=True)
def reports_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_module, "_POLL_SECONDS", 0.005)


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    folder = tmp_path_factory.mktemp("undisturbed") / "model"
    assert fit(DATA, CONFIG, folder, validation=VALIDATION, workers=1).complete
    return contents(folder)


class Stopped(Exception):
    pass


def once_under_way(act: Callable[[], None]) -> Callable[[StageProgress], None]:
    """A progress handler that acts when some rows are trained."""
    acted = threading.Event()

    def handle(progress: StageProgress) -> None:
        if progress.stage == "training" and progress.done > 0 and not acted.is_set():
            acted.set()
            act()

    return handle


def interrupt() -> None:
    os.kill(os.getpid(), signal.SIGINT)


def give_up() -> None:
    raise Stopped


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize(("act", "error"), [(interrupt, Interrupted), (give_up, Stopped)], ids=["Ctrl-C", "handler"])
def test_stopped_and_resumed_without_a_shell(
    tmp_path: Path, undisturbed: dict[str, bytes], workers: int, act: Callable[[], None], error: type[Exception]
) -> None:
    model, handler = tmp_path / "model", signal.getsignal(signal.SIGINT)
    with pytest.raises(error, match="run the same command again to resume" if error is Interrupted else None):
        fit(DATA, CONFIG, model, validation=VALIDATION, workers=workers, on_progress=once_under_way(act))
    assert signal.getsignal(signal.SIGINT) is handler
    assert list((model / "progress").iterdir())  # a checkpoint
    assert not (model / "manifest.json").exists()
    resumed = fit(DATA, CONFIG, model, validation=VALIDATION, workers=workers)
    assert resumed.complete
    assert contents(model) == undisturbed


def test_a_finished_model_stays_as_it_is(tmp_path: Path) -> None:
    model = tmp_path / "model"
    first = fit(DATA, SHORT, model)
    before = {path: path.stat().st_mtime_ns for path in model.rglob("*")}
    second = fit(DATA, SHORT, model)
    assert (first.trained, second.trained) == (3, 0)
    assert {path: path.stat().st_mtime_ns for path in model.rglob("*")} == before
    assert second.history == first.history
    assert second.metrics == first.metrics
    third = fit(DATA, replace(SHORT, estimator="min"), model)  # read in another way, not trained again
    assert third.trained == 0
    assert third.predictor is not None
    assert third.predictor.estimator == load(model).estimator == "min"


def test_parts_are_joined_by_copying_files(tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    part = fit(DATA, SHORT, here, only=[0])
    assert (part.complete, part.predictor, list(part.history)) == (False, None, [0])
    fit(DATA, SHORT, there, only=[1, 2])
    for file in there.glob("repetition-*.safetensors"):
        (here / file.name).write_bytes(file.read_bytes())
    joined = fit(DATA, SHORT, here)
    assert (joined.complete, joined.trained) == (True, 0)
    fit(DATA, SHORT, tmp_path / "alone")
    assert contents(here) == contents(tmp_path / "alone")


@pytest.mark.parametrize("bucketing", ["random", "mixed"])
def test_in_memory_is_the_same_model_as_in_a_folder(tmp_path: Path, bucketing: str) -> None:
    config = replace(SHORT, bucketing=bucketing)
    memory, stored = fit(DATA, config, validation=VALIDATION), fit(DATA, config, tmp_path / "m", validation=VALIDATION)
    assert memory.predictor is not None
    best, same = memory.predictor.top_k(DATA.features, 5), load(tmp_path / "m").top_k(DATA.features, 5)
    np.testing.assert_array_equal(best.ids, same.ids)
    np.testing.assert_array_equal(best.scores, same.scores)
    assert memory.history == stored.history
    assert memory.metrics == stored.metrics


def test_progress_of_every_stage_is_reported(tmp_path: Path) -> None:
    seen: list[StageProgress] = []
    fit(DATA, replace(CONFIG, bucketing="mixed", epochs=30), tmp_path / "model", on_progress=seen.append)
    assert {progress.stage for progress in seen} == {"clustering labels", "training"}
    training = [progress for progress in seen if progress.stage == "training"]
    assert {progress.total for progress in training} == {3 * 30 * DATA.n_rows}
    assert [progress.done for progress in training] == sorted(progress.done for progress in training)
    assert any(progress.loss is not None and progress.loss > 0 for progress in training)


def test_a_thread_that_gets_no_signals_can_train(tmp_path: Path) -> None:
    with ThreadPoolExecutor(1) as threads:
        assert threads.submit(fit, DATA, SHORT, tmp_path / "model", workers=1).result().complete


def test_another_configuration_or_other_rows_are_refused(tmp_path: Path) -> None:
    model = tmp_path / "model"
    fit(DATA, SHORT, model, only=[0])
    with pytest.raises(PlanMismatch, match="epochs"):
        fit(DATA, CONFIG, model)
    with pytest.raises(PlanMismatch, match="data"):
        fit(made_up(3000, 200, 60, seed=9), SHORT, model)


@pytest.mark.filterwarnings("ignore:only linear buckets have a ranker by themselves")
def test_other_texts_of_labels_are_refused(tmp_path: Path) -> None:
    model, texts = tmp_path / "model", texts_of([3, 5])
    fit(DATA, SHORT, model, only=[0], label_text=texts)
    fit(DATA, SHORT, model, only=[1], label_text=texts_of([3, 5]))
    with pytest.raises(PlanMismatch, match=r"another plan \(label_text: no texts here, [0-9a-f]{64} there\)"):
        fit(DATA, SHORT, model)
    with pytest.raises(PlanMismatch, match=f"label_text: .* here, {texts.fingerprint} there"):
        fit(DATA, SHORT, model, label_text=texts_of([3, 6]))
    fit(DATA, SHORT, tmp_path / "plain", only=[0])
    with pytest.raises(PlanMismatch, match=r"label_text: .* here, no texts there"):
        fit(DATA, SHORT, tmp_path / "plain", label_text=texts)


def test_a_job_has_the_texts_of_labels() -> None:
    texts, scaler = texts_of([3, 5]), fit_scaler(DATA.features)
    job = plan_training(DATA, SHORT, scaler, label_text=texts)
    assert job.label_text is texts
    assert Plan.from_dict(job.plan.to_dict()).label_text == texts.fingerprint
    assert plan_training(DATA, SHORT, scaler, label_text=texts, fingerprints=False).plan.label_text == ""
    assert "label_text" not in plan_training(DATA, SHORT, scaler).plan.to_dict()


def test_a_budget_that_cannot_be_kept_is_refused_before_a_folder_is_made(tmp_path: Path) -> None:
    for budget in (2**20, 330 * 2**20):
        with pytest.raises(ParameterError, match="memory"):
            fit(DATA, replace(CONFIG, hidden=(100_000,)), tmp_path / "model", memory=budget)
    assert not (tmp_path / "model").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"only": "0-2"}, "only must be a list of repetitions"),
        ({"only": 1}, "only must be a list of repetitions"),
        ({"only": []}, "only is empty"),
        ({"only": [0, 3]}, "every repetition in only must be a whole number from 0 to 2, got 3"),
        ({"only": [-1]}, "every repetition in only must be a whole number from 0 to 2, got -1"),
        ({"only": [0.5]}, "every repetition in only must be a whole number"),
        ({"workers": 0}, "workers must be a whole number of at least 1, got 0"),
        ({"workers": "2"}, "workers must be a whole number"),
        ({"memory": "1GB"}, "memory must be a whole number"),
        ({"validation": 3}, "validation must be a Dataset, got int"),
        ({"label_text": {"a": "b"}}, "label_text must be a LabelTexts, got dict; see add_label_texts"),
        (
            {"label_text": texts_of([0], 7)},
            "label_text has rows of 7 features, but the data have 200; use the vectoriz",
        ),
        ({"label_text": texts_of([3, 60])}, "a text of label 60, but the data have 60 labels; use the dataset that"),
        ({"executor": None}, "executor must be one of auto, local, pool, or an executor; got None"),
        ({"executor": PoolExecutor(64), "memory": 400 * 2**20}, "but the executor runs 64"),
        ({"executor": "cloud"}, "executor must be one of auto, local, pool, got 'cloud'"),
    ],
)
def test_bad_arguments_are_named(tmp_path: Path, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        fit(DATA, SHORT, tmp_path / "model", **options)
    assert not (tmp_path / "model").exists()


def test_repetitions_in_any_order_and_twice_are_trained_once(tmp_path: Path) -> None:
    fitted = fit(DATA, SHORT, tmp_path / "model", only=[2, 0, 2], executor=LocalExecutor())
    assert (fitted.trained, list(fitted.history)) == (2, [0, 2])


def test_warnings_come_once_and_point_at_the_caller() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fit(DATA, replace(SHORT, n_buckets=70, n_repetitions=1, bucketing="mixed"))
    messages = [str(warning.message) for warning in caught]
    assert messages == [
        "n_buckets=70 is more than the 60 labels: hashing saves nothing here",
        "with one repetition, bucketing='mixed' is random buckets",
    ]
    assert {warning.filename for warning in caught} == {__file__}


def test_what_is_trained_is_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="xmach"):
        fit(DATA, SHORT, tmp_path / "model")
    assert (
        "3,000 rows, 200 features, 60 labels; network learner, 20 random buckets; 3 of 3 repetitions to train"
        in caplog.messages
    )


@pytest.mark.parametrize("settings", [{}, {"cost": 1.0, "passes": 2}], ids=["chosen", "given"])
def test_the_expected_size_of_linear_buckets_is_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, settings: dict[str, float]
) -> None:
    config = MachConfig(n_buckets=20, n_repetitions=3, learner="linear", **settings)
    with caplog.at_level(logging.INFO, logger="xmach"):
        fit(DATA, config, tmp_path / "model")
    told = next(message for message in caplog.messages if "repetitions to train" in message)
    assert re.search(r"3 of 3 repetitions to train; about [0-9.]+ KiB in all$", told)


def test_reprs_are_short() -> None:
    fitted = fit(DATA, SHORT)
    assert repr(fitted).startswith("<Fitted: 3 of 3 repetitions, 3 of them trained now, metrics={")
    assert repr(SHORT) == ("MachConfig(n_buckets=20, n_repetitions=3, seed=1, hidden=(100,), epochs=1, dropout=0.1)")
    for thing in (fitted, fitted.plan, fitted.plan.settings, fitted.predictor):
        assert len(repr(thing)) < 300


def test_names_come_back_in_memory_and_from_a_folder(tmp_path: Path) -> None:
    X, y = np.eye(6, dtype=np.float32), np.array(["b", "a", "b", "c", "a", "c"])
    data, config = Dataset.from_arrays(X, y), MachConfig(n_buckets=2, n_repetitions=4, hidden=(), epochs=1)
    memory, stored = fit(data, config), fit(data, config, tmp_path / "model")
    assert memory.predictor is not None
    assert stored.predictor is not None
    assert memory.predictor.top_k(X, 2).labels.tolist() == stored.predictor.top_k(X, 2).labels.tolist()
    assert set(memory.predictor.top_k(X, 3).labels[0]) == {"a", "b", "c"}


def test_validation_labels_are_matched_by_name() -> None:
    """Whatever ids the names have in the validation rows; labels that training lacks are dropped."""
    draw = np.random.default_rng(0)
    y = draw.integers(0, 9, 900)
    X = np.eye(9, dtype=np.float32)[y] + draw.normal(0, 0.1, (900, 9)).astype(np.float32)
    names = np.array([f"n{i}" for i in range(1, 10)])
    config = MachConfig(n_buckets=6, n_repetitions=4, hidden=(16,), epochs=5, learning_rate=0.02)
    data = Dataset.from_arrays(X[:600], names[y[:600]])
    same = fit(data, config, validation=Dataset.from_arrays(X[600:], names[y[600:]]))
    assert max(same.metrics.values()) > 0.9
    other = np.append(names[y[600:]], "n0")  # a new label, first in the order of names: all ids are one higher
    shifted = Dataset.from_arrays(np.concatenate([X[600:], X[:1]]), other)
    assert max(fit(data, config, validation=shifted).metrics.values()) > 0.9
    few = y[600:] < 7  # the last labels do not occur
    assert fit(data, config, validation=Dataset.from_arrays(X[600:][few], names[y[600:][few]])).complete
    with pytest.raises(InputError, match="no label of the validation rows occurs among the training labels"):
        fit(data, config, validation=Dataset.from_arrays(X[600:], ["x"] * 300))


def test_a_part_in_memory_is_not_complete() -> None:
    part = fit(DATA, SHORT, only=[1])
    assert not part.complete
    assert part.predictor is not None
    assert len(part.predictor.models) == 1


def test_a_model_that_cannot_be_stored_is_refused_before_it_is_trained(tmp_path: Path) -> None:
    config = MachConfig(n_buckets=8, n_repetitions=2, learner=LogisticRegression())
    with pytest.raises(NotStorable, match="train without a folder"):
        fit(DATA, config, tmp_path / "model")
    assert not (tmp_path / "model").exists()


def test_the_last_report_is_the_end() -> None:
    seen: list[StageProgress] = []
    fit(DATA, SHORT, on_progress=seen.append, workers=1)
    assert seen[-1].done == seen[-1].total == 3 * DATA.n_rows


def test_datasets_from_arrays() -> None:
    X = np.eye(6, dtype=np.float64)
    data = Dataset.from_arrays(X, ["b", "a", "b", "c", "a", "c"])
    assert list(data.label_names or ()) == ["a", "b", "c"]
    assert data.labels.indices.tolist() == [1, 0, 1, 2, 0, 2]
    assert Dataset.from_arrays(X, [0, 1, 2, 0, 1, 2]).label_names is None
    assert list(Dataset.from_arrays(X, [0.0, 2.0] * 3).label_names or ()) == ["0.0", "2.0"]
    assert list(Dataset.from_arrays(X, [False, True] * 3).label_names or ()) == ["False", "True"]
    table = Dataset.from_arrays(pd.DataFrame(X, columns=list("uvwxyz")), [0, 1] * 3)
    assert table.columns is not None
    assert table.columns.features == tuple("uvwxyz")
    assert not Dataset.from_arrays(X, [["a", "b"], ["a"], [], ["b"], ["a"], ["b"]]).is_multiclass
    fitted = fit(data, MachConfig(n_buckets=2, n_repetitions=4, hidden=(), epochs=1))
    assert fitted.predictor is not None
