"""Units that are silent for a whole batch are left out of a layer's products, and nothing else changes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from xmach.learners import LabelledRows, NetworkSettings
from xmach.learners.buffers import Buffers
from xmach.learners.layers import ActiveUnits
from xmach.learners.network import NetworkTrainer
from xmach.types import FloatArray

N, H, OUT = 40, 12, 7


def activations(silent: list[int]) -> FloatArray:
    draw = np.random.default_rng(0)
    hidden = np.maximum(draw.normal(size=(N, H)), 0).astype(np.float32)
    hidden[:, silent] = 0.0
    return hidden


@pytest.mark.parametrize("silent", [[0, 3, 4, 5, 11], list(range(H)), [], [2]])
def test_products_are_those_of_all_units(silent: list[int]) -> None:
    draw = np.random.default_rng(1)
    hidden, weights, delta = activations(silent), draw.normal(size=(H, OUT)).astype(np.float32), None
    active = ActiveUnits.select(hidden, weights, Buffers(), 2)
    # one silent unit of twelve in 40 rows is not worth a copy of the others' weights
    assert len(active.units) == (H if len(silent) < 5 else H - len(silent))
    np.testing.assert_allclose(active.inputs @ active.weights, hidden @ weights, rtol=1e-5, atol=1e-6)
    delta = draw.normal(size=(N, OUT)).astype(np.float32)
    gradient, places = active.weight_gradient(delta, Buffers())
    np.testing.assert_allclose(gradient[places], hidden.T @ delta, rtol=1e-5, atol=1e-5)
    lower = active.input_gradient(delta, Buffers(), 2)
    let_through = (hidden > 0).any(axis=0) | (len(active.units) == H)
    np.testing.assert_allclose(lower, (delta @ weights.T) * let_through, rtol=1e-5, atol=1e-5)


def test_a_unit_that_is_no_number_is_not_silent() -> None:
    hidden = activations(list(range(6)))
    hidden[3, 2] = np.nan
    active = ActiveUnits.select(hidden, np.ones((H, OUT), np.float32), Buffers(), 2)
    assert active.units.tolist() == [2, *range(6, H)]
    assert np.isnan(active.inputs @ active.weights).any()  # so that divergence is seen


@pytest.mark.parametrize("loss", ["softmax", "bce"])
def test_a_step_is_the_same_with_all_units(
    make_labelled: Callable[..., LabelledRows], monkeypatch: pytest.MonkeyPatch, loss: str
) -> None:
    """With weight decay and moments in flight: silent units' weights still move."""
    rows = make_labelled(N, 8, 30, OUT)
    trainers = []
    for worth in (10**9, 0):  # never, always
        monkeypatch.setattr("xmach.learners.layers._MIN_ROWS_SAVED", worth)
        settings = NetworkSettings(hidden=(9, H), loss=loss, weight_decay=0.1)
        trainer = NetworkTrainer(8, OUT, settings, seed=3, repetition=1)
        for step in range(4):
            if step == 2:
                trainer.layers[1].bias[:5] = -50.0  # silent from here on, with moments of before
            trainer.step(rows.batch(np.arange(N)), 1e-2, (0, step))
        trainers.append(trainer)
    every, some = trainers
    assert len(some._forward(rows.batch(np.arange(N)).rows, (0, 9))[1][1].units) <= H - 5
    for name, array in every.state().items():
        np.testing.assert_allclose(some.state()[name], array, rtol=1e-4, atol=1e-6, err_msg=name)
