"""The option that skips small output gradients: right on average, the same bytes after any stop, and it learns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from xmach.learners import LabelledRows, NetworkLearner, NetworkSettings
from xmach.learners.network import NetworkTrainer

MakeRows = Callable[..., LabelledRows]
SMALL: dict[str, Any] = {"hidden": (7,), "epochs": 3, "batch_size": 32, "learning_rate": 5e-3}
N, D, LABELS, BUCKETS = 40, 8, 30, 90


def after_one_step(rows: LabelledRows, hidden: tuple[int, ...], skip_below: float, position: int) -> list[Any]:
    """The first moments, a tenth of the gradients, of every weight and bias."""
    trainer = NetworkTrainer(D, BUCKETS, NetworkSettings(hidden=hidden, skip_below=skip_below), seed=0, repetition=0)
    trainer.step(rows.batch(np.arange(N)), 1e-3, (0, position))
    state = trainer.state()
    return [state[f"layer.{i}.moment.{j}"] for i in range(len(hidden) + 1) for j in (0, 2)]


@pytest.mark.parametrize("hidden", [(7,), (6, 5)])
def test_gradients_are_right_on_average(make_labelled: MakeRows, hidden: tuple[int, ...]) -> None:
    rows = make_labelled(N, D, LABELS, BUCKETS)
    exact = after_one_step(rows, hidden, 0.0, 0)
    draws = [after_one_step(rows, hidden, 0.2, position) for position in range(300)]
    for i, wanted in enumerate(exact):
        each = np.stack([draw[i] for draw in draws])
        assert each.std(axis=0).max() > 0  # something is skipped
        error = each.std(axis=0) / np.sqrt(len(draws))
        np.testing.assert_array_less(np.abs(each.mean(axis=0) - wanted), 6 * error + 1e-6)


def test_a_tiny_threshold_skips_nothing(make_labelled: MakeRows) -> None:
    rows = make_labelled(N, D, LABELS, BUCKETS)
    for exact, skipping in zip(after_one_step(rows, (7,), 0.0, 0), after_one_step(rows, (7,), 1e-4, 0), strict=True):
        np.testing.assert_allclose(skipping, exact, rtol=1e-3, atol=1e-8)


def test_stopped_anywhere_it_ends_in_the_same_bytes(make_labelled: MakeRows, make_desk: Any, make_monitor: Any) -> None:
    learner = NetworkLearner(NetworkSettings(**SMALL, skip_below=0.05, dropout=0.2, weight_decay=0.01))
    rows, validation = make_labelled(103, D, LABELS, BUCKETS), make_labelled(20, D, LABELS, BUCKETS)
    undisturbed = learner.train(make_desk(rows, validation).task())
    assert undisturbed is not None
    desk = make_desk(rows, validation)
    for stop_at in (3, 40, 1):
        assert learner.train(desk.task(make_monitor(stop_at))) is None
    resumed = learner.train(desk.task())
    assert resumed is not None
    assert resumed.history == undisturbed.history
    for name, array in undisturbed.model.arrays().items():
        assert array.flags.c_contiguous  # as it lies in the file
        assert resumed.model.arrays()[name].tobytes() == array.tobytes()


def test_it_learns(make_separable: MakeRows, make_desk: Any) -> None:
    rows = make_separable()
    settings = NetworkSettings(hidden=(16,), epochs=20, batch_size=16, learning_rate=0.05, skip_below=0.2)
    outcome = NetworkLearner(settings).train(make_desk(rows).task())
    assert outcome is not None
    batch = rows.batch(np.arange(rows.n_rows))
    assert (outcome.model.probabilities(batch.rows).argmax(axis=1) == batch.targets.buckets).mean() > 0.99
