"""Linear buckets trained together by softmax: the network's answers from pruned weights."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.checks.learners import hit_rate, model_of
from tests.checks.tasks import separable
from tests.conftest import made_up

from xmach import MACHClassifier, load
from xmach.config import NetworkSettings
from xmach.errors import ParameterError
from xmach.features import Scaler
from xmach.learners import LinearSettings, NetworkLearner, Outcome, SoftmaxLearner, Task, prepare_rows
from xmach.learners.softmax import RATE, centred_parts
from xmach.models import LinearModel, NetworkModel
from xmach.training import MachConfig, fit
from xmach.training import job as job_module
from xmach.types import AnyArray

EXACT = LinearSettings(linear_loss="softmax", passes=4, prune_below=0.0, store_bits=32)
DATA = made_up(300, 80, 700)
CONFIG = MachConfig(
    learner="linear", linear_loss="softmax", n_buckets=70, n_repetitions=2, passes=3, ranker="none", seed=1
)


def random_network(n_features: int, n_buckets: int) -> NetworkModel:
    draw = np.random.default_rng(n_buckets)
    weights = draw.normal(size=(n_features, n_buckets)).astype(np.float32)
    return NetworkModel((weights,), (draw.normal(size=n_buckets).astype(np.float32),), "softmax")


def sparse(network: NetworkModel, features: np.ndarray, n_features: int, threshold: float = 0.0) -> LinearModel:
    parts = centred_parts(network.weights[0], network.biases[0], features, threshold)
    return LinearModel.join(parts, n_features, network.n_buckets, "softmax", bits=32, normalised=True)


@pytest.mark.parametrize("n_buckets", [2, 63, 64, 65, 130])
def test_subtracting_medians_changes_no_probability(n_buckets: int) -> None:
    network, rows = random_network(7, n_buckets), np.random.default_rng(0).normal(size=(20, 7)).astype(np.float32)
    model = sparse(network, np.arange(7, dtype=np.int32), 7)
    np.testing.assert_allclose(model.probabilities(rows), network.probabilities(rows), rtol=2e-4, atol=1e-7)
    np.testing.assert_allclose(model.probabilities(rows).sum(axis=1), 1.0, rtol=1e-5)


def test_weights_that_are_equal_in_most_buckets_are_not_stored() -> None:
    weights = np.full((3, 100), -5.0, np.float32)
    weights[1, 7] = 2.0
    network = NetworkModel((weights,), (np.zeros(100, np.float32),), "softmax")
    model = sparse(network, np.array([4, 0, 2], np.int32), 6, threshold=0.1)
    assert model.n_weights == 1
    expected = np.zeros((1, 100), np.float32)
    expected[0, 7] = 7.0
    np.testing.assert_array_equal(model.margins(np.eye(6, dtype=np.float32)[:1]), expected)


def test_it_learns_what_a_network_without_hidden_layers_learns() -> None:
    """The same steps from the same seed, on rows as linear learners prepare them."""
    rows = separable(60)
    prepared = prepare_rows(rows.features, rows.scaler)
    settings = NetworkSettings(hidden=(), loss="softmax", epochs=4, learning_rate=RATE)
    labelled = type(rows)(
        prepared.rows, rows.labels, rows.weights, Scaler("none", prepared.rows.n_columns), rows.hashes, 0
    )
    network = model_of(NetworkLearner(settings), labelled)
    model = model_of(SoftmaxLearner(EXACT), rows)
    asked = np.eye(rows.features.shape[1], dtype=np.float32)
    np.testing.assert_allclose(
        model.probabilities(asked), network.probabilities(asked[:, prepared.features]), rtol=1e-3, atol=1e-6
    )


def test_pruned_weights_in_8_bits_still_find_the_bucket() -> None:
    rows = separable(120)
    passes = LinearSettings(linear_loss="softmax", passes=30, store_bits=8)
    assert hit_rate(model_of(SoftmaxLearner(passes), rows), separable(120, seed=1)) > 0.95


@pytest.mark.parametrize("executor", ["local", "pool"])
def test_a_model_in_a_folder(tmp_path: Path, executor: str) -> None:
    """Format 6; the same bytes in one process and in two, and in memory the same weights."""
    fitted = fit(DATA, CONFIG, tmp_path / "model", executor=executor, workers=2)
    memory = fit(DATA, CONFIG, executor="local")
    assert fitted.predictor is not None
    assert memory.predictor is not None
    for one, other in zip(fitted.predictor.models, memory.predictor.models, strict=True):
        assert all(array.tobytes() == other.arrays()[name].tobytes() for name, array in one.arrays().items())
    assert fitted.plan.linear == LinearSettings(linear_loss="softmax", passes=3, store_bits=8)
    assert '"format": 6' in (tmp_path / "model" / "plan.json").read_text()
    assert load(tmp_path / "model").n_labels == 700
    assert not list((tmp_path / "model").glob("progress/*"))


def test_a_stopped_run_resumes_to_the_same_bytes(tmp_path: Path) -> None:
    """Stopped after the first of three passes, by an error in the process."""
    fit(DATA, CONFIG, tmp_path / "undisturbed", executor="local")

    class Stopped(Exception):
        pass

    class StopAfterOnePass(SoftmaxLearner):
        def train(self, task: Task) -> Outcome | None:
            saved = task.save_progress

            def save(state: Mapping[str, AnyArray]) -> None:
                saved(state)
                raise Stopped

            return super().train(replace(task, save_progress=save))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(job_module, "SoftmaxLearner", StopAfterOnePass)
        with pytest.raises(Stopped):
            fit(DATA, CONFIG, tmp_path / "stopped", executor="local")
    assert list((tmp_path / "stopped" / "progress").glob("*"))
    fit(DATA, CONFIG, tmp_path / "stopped", executor="local")
    names = sorted(path.name for path in (tmp_path / "undisturbed").glob("*.*"))
    assert names
    for name in names:
        assert (tmp_path / "stopped" / name).read_bytes() == (tmp_path / "undisturbed" / name).read_bytes(), name


def test_the_unbiased_estimate_exists() -> None:
    X, y = np.repeat(np.eye(40, dtype=np.float32), 3, axis=0), np.repeat(np.arange(40), 3)
    model = MACHClassifier(learner="linear", linear_loss="softmax", n_buckets=10, n_repetitions=4, bucketing="random")
    model.set_params(passes=50, estimator="mean").fit(X, y)
    best = model.top_k(X, 1, probabilities=True)
    assert (best.ids[:, 0] == y).mean() > 0.9
    assert best.scores.min() > 0.0


def test_there_is_no_cost() -> None:
    with pytest.raises(ParameterError, match="linear_loss='softmax' has no cost; leave cost out"):
        MachConfig(linear_loss="softmax", cost=1.0)
