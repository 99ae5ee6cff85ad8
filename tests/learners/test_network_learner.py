"""Whole runs of the learner: it learns, stops early, gives the same bytes, and goes on where it was stopped."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np
import pytest

from xmach import MACHClassifier
from xmach.errors import Diverged
from xmach.learners import LabelledRows, NetworkLearner, NetworkSettings, Outcome
from xmach.learners.network import NetworkTrainer, stream
from xmach.learners.session import MIN_STEPS, _mean_loss, effective_batch_size

MakeRows = Callable[..., LabelledRows]
SMALL: dict[str, Any] = {"hidden": (7,), "epochs": 3, "batch_size": 32, "learning_rate": 5e-3}


def finished(outcome: Outcome | None) -> Outcome:
    assert outcome is not None
    return outcome


def bytes_of(outcome: Outcome | None) -> dict[str, bytes]:
    return {name: array.tobytes() for name, array in finished(outcome).model.arrays().items()}


@pytest.mark.parametrize("loss", ["softmax", "bce"])
@pytest.mark.parametrize("hidden", [(), (16,), (16, 8)])
def test_losses_fall_at_any_depth(make_separable: MakeRows, make_desk: Any, loss: Any, hidden: tuple[int, ...]) -> None:
    rows = make_separable()
    settings = NetworkSettings(hidden=hidden, loss=loss, epochs=20, batch_size=16, learning_rate=0.05)
    outcome = finished(NetworkLearner(settings).train(make_desk(rows).task()))
    losses = [entry["loss"] for entry in outcome.history]
    assert [entry["epoch"] for entry in outcome.history] == list(range(1, 21))
    assert losses[-1] < 0.1 < losses[0]
    batch = rows.batch(np.arange(rows.n_rows))
    probabilities = outcome.model.probabilities(batch.rows)
    assert (probabilities.argmax(axis=1) == batch.targets.buckets).mean() > 0.99


def test_every_row_is_learnt_from_once_an_epoch(
    make_labelled: MakeRows, make_desk: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[list[int]] = []
    whole_batch = LabelledRows.batch
    monkeypatch.setattr(
        LabelledRows, "batch", lambda self, which: (seen.append(which.tolist()), whole_batch(self, which))[1]
    )
    NetworkLearner(NetworkSettings(**SMALL)).train(make_desk(make_labelled(103, 8, 30, 5)).task())
    steps = math.ceil(103 / effective_batch_size(32, 103))
    assert len(seen) == 3 * steps
    epochs = [list(chain.from_iterable(seen[i * steps : (i + 1) * steps])) for i in range(3)]
    assert all(sorted(epoch) == list(range(103)) for epoch in epochs)  # the incomplete last batch too
    assert epochs[0] != epochs[1] != list(range(103))  # shuffled anew


def test_the_rate_decays_to_nothing(make_labelled: MakeRows, make_desk: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    rates: list[float] = []
    whole_step = NetworkTrainer.step
    monkeypatch.setattr(
        NetworkTrainer, "step", lambda self, batch, rate, at: (rates.append(rate), whole_step(self, batch, rate, at))[1]
    )
    NetworkLearner(NetworkSettings(**SMALL)).train(make_desk(make_labelled(103, 8, 30, 5)).task())
    np.testing.assert_allclose(rates, 5e-3 * (1 - np.arange(len(rates)) / len(rates)), rtol=1e-12)


@pytest.mark.parametrize(
    ("batch_size", "n_rows", "expected"),
    [
        (256, 10**6, 256),
        (256, 25_600, 256),
        (256, 25_500, 255),
        (256, 5000, 50),
        (256, 1, 1),
        (256, 101, 2),
        (1, 10**6, 1),
    ],
)
def test_effective_batch_size(batch_size: int, n_rows: int, expected: int) -> None:
    assert effective_batch_size(batch_size, n_rows) == expected
    assert expected == batch_size or math.ceil(n_rows / expected) <= MIN_STEPS


def validation_with_wrong_labels(make_separable: MakeRows) -> LabelledRows:
    """Rows whose labels are another's: the better the training rows are known, the worse these."""
    rows = make_separable(n=60, seed=5)
    ids = (rows.labels.indices + 1) % 12
    return replace(rows, labels=replace(rows.labels, indices=ids.astype(np.int32)))


@pytest.mark.parametrize("patience", [1, 2, 3])
def test_early_stopping_keeps_the_best_epoch(make_separable: MakeRows, make_desk: Any, patience: int) -> None:
    settings = NetworkSettings(hidden=(16,), epochs=15, batch_size=16, learning_rate=0.05, patience=patience)
    validation = validation_with_wrong_labels(make_separable)
    outcome = finished(NetworkLearner(settings).train(make_desk(make_separable(), validation).task()))
    losses = [entry["validation_loss"] for entry in outcome.history]
    best = int(np.argmin(losses))
    assert len(losses) == best + 1 + patience < 15
    assert _mean_loss(outcome.model, validation) == pytest.approx(losses[best], rel=1e-6)  # type: ignore[arg-type]
    # the same run without validation, stopped by hand after the best epoch, has the same weights
    desk = make_desk(make_separable())
    NetworkLearner(settings).train(desk.task())
    after_best = desk.saved[best]
    for i in range(2):
        assert outcome.model.arrays()[f"weights.{i}"].tobytes() == after_best[f"layer.{i}.weights"].tobytes()


def test_validation_that_improves_runs_to_the_end(make_separable: MakeRows, make_desk: Any) -> None:
    settings = NetworkSettings(hidden=(16,), epochs=4, batch_size=16, learning_rate=0.02, patience=1)
    outcome = finished(NetworkLearner(settings).train(make_desk(make_separable(), make_separable(seed=1)).task()))
    losses = [entry["validation_loss"] for entry in outcome.history]
    assert len(losses) == 4
    assert losses == sorted(losses, reverse=True)


def test_validation_changes_no_weight_before_it_stops(make_separable: MakeRows, make_desk: Any) -> None:
    learner = NetworkLearner(NetworkSettings(hidden=(16,), epochs=3, batch_size=16))
    plain, judged = make_desk(make_separable()), make_desk(make_separable(), make_separable(seed=1))
    assert bytes_of(learner.train(plain.task())) == bytes_of(learner.train(judged.task()))


@pytest.mark.parametrize("dropout", [0.0, 0.3])
def test_the_same_seed_gives_the_same_bytes(make_labelled: MakeRows, make_desk: Any, dropout: float) -> None:
    learner, rows = NetworkLearner(NetworkSettings(**SMALL, dropout=dropout)), make_labelled(103, 8, 30, 5)
    first = bytes_of(learner.train(make_desk(rows).task()))
    assert bytes_of(learner.train(make_desk(rows).task())) == first
    assert bytes_of(learner.train(make_desk(rows, seed=1).task())) != first
    other = learner.train(make_desk(replace(rows, repetition=1), repetition=1).task())
    assert all(array != first[name] for name, array in bytes_of(other).items())


@pytest.mark.parametrize("sparse", [False, True])
def test_batches_made_ahead_are_those_of_a_plain_loop(make_labelled: MakeRows, make_desk: Any, sparse: bool) -> None:
    settings, rows = NetworkSettings(hidden=(20,), epochs=2, batch_size=32), make_labelled(103, 8, 30, 5, sparse=sparse)
    outcome = NetworkLearner(settings).train(make_desk(rows).task())
    trainer = NetworkTrainer(8, 5, settings, 0, 0)
    size = effective_batch_size(32, 103)
    steps = math.ceil(103 / size)
    for epoch in range(2):
        order = stream(0, 0, "shuffle", epoch).permutation(103)
        for step in range(steps):
            rate = settings.learning_rate * (1.0 - (epoch * steps + step) / (2 * steps))
            trainer.step(rows.batch(order[step * size : (step + 1) * size]), rate, (epoch, step))
    assert bytes_of(outcome) == {name: array.tobytes() for name, array in trainer.model().arrays().items()}


@pytest.mark.parametrize("hidden", [(), (7,), (6, 5)])
@pytest.mark.parametrize("dropout", [0.0, 0.4])
@pytest.mark.parametrize("with_validation", [False, True])
def test_a_run_that_was_stopped_anywhere_ends_in_the_same_bytes(
    make_labelled: MakeRows,
    make_desk: Any,
    make_monitor: Any,
    hidden: tuple[int, ...],
    dropout: float,
    with_validation: bool,
) -> None:
    settings = NetworkSettings(**SMALL | {"hidden": hidden}, dropout=dropout, loss="bce", weight_decay=0.01)
    learner, rows = NetworkLearner(settings), make_labelled(103, 8, 30, 5)
    validation = make_labelled(20, 8, 30, 5, seed=0) if with_validation else None
    undisturbed = finished(learner.train(make_desk(rows, validation).task()))
    steps = math.ceil(103 / effective_batch_size(32, 103))
    for stops in ([1], [2], [steps], [steps + 1], [2 * steps + 5], [3, 1, 7, steps, 2]):
        desk = make_desk(rows, validation)
        for stop_at in stops:
            assert learner.train(desk.task(make_monitor(stop_at))) is None
        resumed = finished(learner.train(desk.task()))
        assert bytes_of(resumed) == bytes_of(undisturbed)
        assert resumed.history == undisturbed.history


def test_a_stopped_run_remembers_its_best_epoch(make_separable: MakeRows, make_desk: Any, make_monitor: Any) -> None:
    settings = NetworkSettings(hidden=(16,), epochs=15, batch_size=16, learning_rate=0.05, dropout=0.1)
    learner, rows = NetworkLearner(settings), make_separable()
    validation = validation_with_wrong_labels(make_separable)
    undisturbed = finished(learner.train(make_desk(rows, validation).task()))
    assert len(undisturbed.history) < 15
    desk = make_desk(rows, validation)
    assert learner.train(desk.task(make_monitor(50 * (len(undisturbed.history) - 1) + 20))) is None  # beyond the best
    resumed = finished(learner.train(desk.task()))
    assert bytes_of(resumed) == bytes_of(undisturbed)
    assert resumed.history == undisturbed.history


def test_a_run_that_died_goes_on_from_its_last_epoch(make_labelled: MakeRows, make_desk: Any) -> None:
    learner, rows = NetworkLearner(NetworkSettings(**SMALL, dropout=0.2)), make_labelled(103, 8, 30, 5)
    desk = make_desk(rows)
    undisturbed = learner.train(desk.task())
    assert [state["position"].tolist() for state in desk.saved] == [[1, 0], [2, 0]]  # after each epoch but the last
    for checkpoint in desk.saved:
        assert bytes_of(learner.train(make_desk(rows, saved=[checkpoint]).task())) == bytes_of(undisturbed)


def test_stopping_at_once_keeps_the_start(make_labelled: MakeRows, make_desk: Any, make_monitor: Any) -> None:
    desk = make_desk(make_labelled(103, 8, 30, 5))
    assert NetworkLearner(NetworkSettings(**SMALL)).train(desk.task(make_monitor(1))) is None
    assert desk.saved[0]["steps_done"].tolist() == [0]
    assert desk.saved[0]["position"].tolist() == [0, 0]


def test_progress_is_reported(make_labelled: MakeRows, make_desk: Any, make_monitor: Any) -> None:
    monitor = make_monitor()
    outcome = finished(
        NetworkLearner(NetworkSettings(**SMALL)).train(
            make_desk(make_labelled(103, 8, 30, 5), repetition=0).task(monitor)
        )
    )
    done = [progress.done for _, progress in monitor.reports]
    assert done == sorted(done)
    assert done[-1] == 309
    assert {progress.total for _, progress in monitor.reports} == {309}
    assert monitor.reports[-1][1].loss == pytest.approx(outcome.history[-1]["loss"])


@pytest.mark.parametrize("loss", ["softmax", "bce"])
def test_rows_that_all_have_no_label(make_labelled: MakeRows, make_desk: Any, loss: Any) -> None:
    rows = make_labelled(10, 8, 30, 5)
    nothing = replace(
        rows.labels, indptr=np.zeros(11, np.int64), indices=rows.labels.indices[:0], values=rows.labels.values[:0]
    )
    learner = NetworkLearner(NetworkSettings(**SMALL, loss=loss))
    outcome = finished(learner.train(make_desk(replace(rows, labels=nothing)).task()))
    assert all(math.isfinite(entry["loss"]) for entry in outcome.history)
    assert all(np.isfinite(array).all() for array in outcome.model.arrays().values())


@pytest.mark.parametrize("loss", ["softmax", "bce"])
def test_divergence_is_an_error_not_a_model(loss: str) -> None:
    X = np.full((40, 3), 1e38, np.float32)
    clf = MACHClassifier(n_buckets=2, n_repetitions=1, hidden=(8, 8), loss=loss, epochs=3, learning_rate=1e10)
    with pytest.raises(Diverged, match="lower learning_rate"), np.errstate(all="ignore"):
        clf.fit(X, [0, 1, 2, 3] * 10)
