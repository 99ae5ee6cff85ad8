"""Settings: what is refused, by name and range."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from xmach.errors import ParameterError
from xmach.learners import NetworkSettings


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"hidden": (0,)}, "every width in hidden must be a whole number of at least 1, got 0"),
        ({"hidden": (5, -1)}, "every width in hidden must be a whole number of at least 1, got -1"),
        ({"hidden": (2.5,)}, r"every width in hidden must be a whole number of at least 1, got 2\.5"),
        ({"hidden": 500}, r"hidden must be a tuple of layer widths such as \(500,\) or \(\), got 500"),
        ({"hidden": "500"}, r"hidden must be a tuple of layer widths such as \(500,\) or \(\), got '500', or 'auto'"),
        ({"loss": "hinge"}, r"loss must be one of auto, softmax, bce, got 'hinge'"),
        ({"epochs": 0}, "epochs must be a whole number of at least 1, got 0"),
        ({"epochs": 1.5}, r"epochs must be a whole number of at least 1, got 1\.5"),
        ({"epochs": True}, "epochs must be a whole number of at least 1, got True"),
        ({"batch_size": 0}, "batch_size must be a whole number of at least 1, got 0"),
        ({"patience": 0}, "patience must be a whole number of at least 1, got 0"),
        ({"learning_rate": 0.0}, r"learning_rate must be a number in \(0\.0, inf\), got 0\.0"),
        ({"learning_rate": -1e-3}, r"learning_rate must be a number in \(0\.0, inf\), got -0\.001"),
        ({"learning_rate": float("nan")}, r"learning_rate must be a number in \(0\.0, inf\), got nan"),
        ({"learning_rate": float("inf")}, r"learning_rate must be a number in \(0\.0, inf\), got inf"),
        ({"learning_rate": "0.1"}, r"learning_rate must be a number in \(0\.0, inf\), got '0\.1'"),
        ({"weight_decay": -0.1}, r"weight_decay must be a number in \[0\.0, inf\), got -0\.1"),
        ({"dropout": 1.0}, r"dropout must be a number in \[0\.0, 1\.0\), got 1\.0"),
        ({"dropout": -0.1}, r"dropout must be a number in \[0\.0, 1\.0\), got -0\.1"),
        ({"skip_below": 1.0}, r"skip_below must be a number in \[0\.0, 1\.0\), got 1\.0"),
        ({"skip_below": 0.1, "loss": "bce"}, "skip_below needs softmax and a hidden layer"),
        ({"skip_below": 0.1, "hidden": ()}, "skip_below needs softmax and a hidden layer"),
    ],
)
def test_refused(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        NetworkSettings(**wrong)


@pytest.mark.parametrize("hidden", [(), (7,), (6, 5)])
def test_settings_travel_as_json(hidden: tuple[int, ...]) -> None:
    settings = NetworkSettings(hidden=hidden, loss="bce", epochs=3, dropout=0.5, weight_decay=1e-4, patience=4)
    assert NetworkSettings.from_dict(json.loads(json.dumps(settings.to_dict()))) == settings


def test_numpy_numbers_are_numbers() -> None:
    assert NetworkSettings(epochs=np.int64(3), learning_rate=np.float32(0.5), hidden=(np.int32(4),)).epochs == 3


def test_plans_from_before_the_skipping_option() -> None:
    assert "skip_below" not in NetworkSettings().to_dict()  # the bytes of a plan without it stay as they were
    assert NetworkSettings.from_dict(NetworkSettings().to_dict()) == NetworkSettings(skip_below=0.0)
    with_it = NetworkSettings(skip_below=0.01)
    assert NetworkSettings.from_dict(json.loads(json.dumps(with_it.to_dict()))) == with_it
