"""The choice of cost and passes also tells how many weights will be kept."""

from __future__ import annotations

import numpy as np
import pytest

from xmach.buckets import UniversalHashes
from xmach.config import LinearSettings, MachConfig
from xmach.data import Dataset
from xmach.features import fit_scaler
from xmach.learners import LabelledRows, choose_settings
from xmach.learners import linear_choice as choice
from xmach.learners.linear_choice import grown, scaled_weights
from xmach.training import fit
from xmach.types import SparseRows


def topics(n_rows: int = 2500, n_labels: int = 400, n_features: int = 1500, seed: int = 0) -> Dataset:
    """Rows of two labels, some frequent and many rare, with six features of each."""
    draw = np.random.default_rng(seed)
    words = draw.integers(0, n_features, (n_labels, 20))
    chances = 1.0 / np.arange(1, n_labels + 1)
    labels = np.array([draw.choice(n_labels, 2, replace=False, p=chances / chances.sum()) for _ in range(n_rows)])
    rows = [np.unique(np.concatenate([draw.choice(words[label], 6) for label in pair])) for pair in labels]
    starts = np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int64)
    features = SparseRows(
        starts, np.concatenate(rows).astype(np.int32), np.ones(int(starts[-1]), np.float32), n_features
    )
    targets = np.sort(labels, axis=1).ravel().astype(np.int32)
    ones = np.ones(2 * n_rows, np.float32)
    return Dataset(features, SparseRows(np.arange(0, 2 * n_rows + 1, 2), targets, ones, n_labels))


@pytest.mark.parametrize("n_buckets", [40, 150, 300])  # less than one group, less than three, and more than are probed
def test_the_estimate_is_within_a_fifth_of_what_comes_out(n_buckets: int) -> None:
    data = topics()
    scaler = fit_scaler(data.features, "auto")
    hashes = UniversalHashes.draw(data.n_labels, n_buckets, 1, 0)
    rows = LabelledRows(data.features, data.labels, None, scaler, hashes, 0)
    settings, expected = choose_settings(LinearSettings(), rows, None, 0)
    config = MachConfig(
        learner="linear", n_buckets=n_buckets, n_repetitions=1, cost=settings.cost, passes=settings.passes
    )
    fitted = fit(data, config, workers=1)
    assert fitted.predictor is not None
    (model,) = fitted.predictor.models
    assert expected is not None
    assert 1 / 1.2 < expected / model.n_weights < 1.2


def test_the_estimate_from_a_sixth_of_the_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Weights grow more slowly than the rows; half of the sample tells how."""
    data = topics(n_rows=6000)
    hashes = UniversalHashes.draw(data.n_labels, 150, 1, 0)
    rows = LabelledRows(data.features, data.labels, None, fit_scaler(data.features, "auto"), hashes, 0)
    given = LinearSettings(cost=1.0)
    monkeypatch.setattr(choice, "MOST_PROBED_ROWS", 1000)
    settings, expected = choose_settings(given, rows, None, 0)
    monkeypatch.setattr(choice, "_MANY_MORE_ROWS", np.inf)
    by_occurrences = choose_settings(given, rows, None, 0).expected_weights
    config = MachConfig(learner="linear", n_buckets=150, n_repetitions=1, cost=1.0, passes=settings.passes)
    predictor = fit(data, config, workers=1).predictor
    assert predictor is not None
    (model,) = predictor.models
    assert expected is not None
    assert by_occurrences is not None
    assert expected <= by_occurrences
    assert 1 / 1.2 < expected / model.n_weights < 1.2


def test_weights_grow_as_they_did_within_the_sample() -> None:
    assert grown(1000, 40, 80, 4.0) == 4000
    assert grown(1000, 80, 80, 4.0) == 1000
    assert grown(1000, 20, 80, 4.0) == 4000  # no faster than the rows
    assert grown(1000, 80, 20, 4.0) == 1000  # no fewer
    assert grown(100, 0, 80, 4.0) == grown(100, 0, 0, 4.0) == 400


def test_settings_that_are_given_are_not_probed() -> None:
    data = topics(n_rows=50)
    hashes = UniversalHashes.draw(data.n_labels, 40, 1, 0)
    rows = LabelledRows(data.features, data.labels, None, fit_scaler(data.features, "none"), hashes, 0)
    given = LinearSettings(cost=1.0, passes=3)
    assert choose_settings(given, rows, None, 0) == (given, None)


def test_weights_are_scaled_by_label_occurrences() -> None:
    kept, probed = np.array([20, 40, 80]), np.array([10, 20, 40])  # twice as many weights as labels
    assert scaled_weights(kept, probed, np.array([10, 20, 40, 0, 100]), 1000) == 2 * 170
    assert scaled_weights(kept, probed, np.array([10, 20, 40, 0, 100]), 90) == 2 * 70 + 90  # no more than features
    assert scaled_weights(np.array([10, 20]), np.array([100, 400]), np.array([100, 1600]), 1000) == 10 + 40
    assert scaled_weights(np.array([7, 7]), np.array([5, 5]), np.array([5, 5, 10]), 1000) == 7 + 7 + 14
    assert scaled_weights(np.array([0, 0]), np.array([5, 5]), np.array([5, 5]), 1000) == 0
