"""The cost and the passes of linear buckets: chosen on held-out rows, and what happens if nothing can be compared."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import average_precision_score
from tests.checks.tasks import labelled, rows_of, separable

from xmach.learners import LabelledRows, LinearSettings, choose_settings
from xmach.learners import linear_choice as choice
from xmach.learners.linear_choice import COSTS, PASSES, USUAL_COST, average_precision

AUTO = LinearSettings(store_bits=8)


def chosen(rows: LabelledRows, validation: LabelledRows | None = None, **explicit: object) -> tuple[float, int]:
    settings = choose_settings(replace(AUTO, **explicit), rows, validation, 0).settings  # type: ignore[arg-type]
    return settings.cost, settings.passes


def test_explicit_values_stay_untouched(monkeypatch: pytest.MonkeyPatch) -> None:
    assert chosen(separable(), cost=0.07)[0] == 0.07
    assert chosen(separable(), passes=2)[1] == 2
    monkeypatch.setattr(choice._Probe, "draw", None)  # it is not even called
    both = replace(AUTO, cost=0.07, passes=2)
    assert choose_settings(both, separable(), None, 0).settings is both


def test_everything_else_stays_untouched() -> None:
    given = LinearSettings(linear_loss="logistic", prune_below=0.3, store_bits=32)
    settings = choose_settings(given, separable(), None, 0).settings
    assert replace(settings, cost="auto", passes="auto") == given
    assert settings.cost in COSTS["logistic"]
    assert settings.passes in PASSES


def test_same_seed_same_choice() -> None:
    assert chosen(labelled(200, 30, 40, 20)) == chosen(labelled(200, 30, 40, 20))


def test_validation_rows_decide(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rows that are scored are the validation rows, and training keeps all of its own."""
    seen: list[tuple[int, int]] = []
    original = choice._Probe.__init__

    def spy(self: choice._Probe, trained, rows, held_out, truth, seed) -> None:  # type: ignore[no-untyped-def]
        seen.append((rows.n_rows, held_out.n_rows))
        original(self, trained, rows, held_out, truth, seed)

    monkeypatch.setattr(choice._Probe, "__init__", spy)
    chosen(separable(100), separable(37, seed=1))
    chosen(separable(100))
    assert seen == [(100, 37), (80, 20)]


def test_the_sample_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[int, int]] = []
    original = choice._Probe.trials

    def spy(self: choice._Probe, *arguments):  # type: ignore[no-untyped-def]
        seen.append((self._rows.n_rows, self._held_out.n_rows))
        return original(self, *arguments)

    monkeypatch.setattr(choice._Probe, "trials", spy)
    monkeypatch.setattr(choice, "MOST_PROBED_ROWS", 50)
    monkeypatch.setattr(choice, "MOST_HELD_OUT", 7)
    for validation in (None, separable(90, seed=1)):
        chosen(separable(300), validation)
    assert set(seen) == {(50, 7)}


EYE = np.eye(3, dtype=np.float32)


@pytest.mark.parametrize(
    ("features", "labels"),
    [
        (EYE[:1], [[0]]),
        (EYE, [[0], [1], [2]]),
        (np.repeat(EYE, 20, axis=0), [[]] * 60),
        (np.zeros((60, 3), np.float32), [[0]] * 30 + [[]] * 30),
    ],
    ids=["one row", "three rows", "no labels", "no values"],
)
def test_rows_that_decide_nothing_do_no_harm(features: np.ndarray, labels: list[list[int]]) -> None:
    cost, passes = chosen(rows_of(features, labels, 5, 4))
    assert cost in COSTS["squared_hinge"]
    assert passes in PASSES


FALLBACK = USUAL_COST["squared_hinge"], PASSES[-1]


def test_the_fallback() -> None:
    few = rows_of(EYE, [[0], [1], [2]], 5, 4)
    assert chosen(few) == FALLBACK
    assert chosen(few, cost=0.5) == (0.5, FALLBACK[1])
    assert chosen(few, passes=2) == (FALLBACK[0], 2)
    unlabelled = rows_of(np.repeat(EYE, 20, axis=0), [[]] * 60, 5, 4)
    assert chosen(unlabelled) == FALLBACK
    assert chosen(separable(), unlabelled_like(separable())) == FALLBACK


def unlabelled_like(rows: LabelledRows) -> LabelledRows:
    """Ten rows of the same width without any label."""
    return rows_of(np.ones((10, rows.features.shape[1]), np.float32), [[]] * 10, 12, 6)


def test_one_label_on_every_row() -> None:
    """Every bucket is ranked perfectly whatever the cost: the usual cost, and the fewest passes."""
    rows = rows_of(np.repeat(EYE, 20, axis=0), [[1]] * 60, 5, 4)
    assert chosen(rows) == (1.0, PASSES[0])


@pytest.mark.parametrize("weights", [[0.0, 1.0, 2.0] * 20, [0.0] * 59 + [60.0]])
def test_weighted_rows(weights: list[float]) -> None:
    rows = rows_of(np.repeat(EYE, 20, axis=0), [[0]] * 20 + [[1]] * 20 + [[2]] * 20, 5, 4, weights)
    cost, passes = chosen(rows)
    assert cost in COSTS["squared_hinge"]
    assert passes in PASSES


@pytest.mark.parametrize(("n_buckets", "groups"), [(2, 1), (64, 1), (65, 2), (1000, 2)])
def test_at_most_128_buckets_are_tried(n_buckets: int, groups: int) -> None:
    probe = choice._Probe.draw(separable(n_buckets=n_buckets), None, 0)
    assert probe is not None
    assert len(probe._truth) == groups


def test_dense_rows_and_sparse_validation_rows() -> None:
    dense, sparse = separable(sparse=False), separable(60, seed=1)
    assert chosen(dense, sparse) == chosen(separable(), sparse)


class TestAveragePrecision:
    @pytest.mark.parametrize("share", [0.01, 0.3, 1.0])
    def test_agrees_with_scikit_learn(self, share: float) -> None:
        draw = np.random.default_rng(0)
        scores = draw.permutation(1000).astype(np.float32)  # no ties
        truth = draw.random(1000) < share
        assert average_precision(scores, truth) == pytest.approx(average_precision_score(truth, scores))

    def test_ends(self) -> None:
        scores, truth = np.array([3, 2, 1], np.float32), np.array([True, False, False])
        assert average_precision(scores, truth) == 1.0
        assert average_precision(-scores, truth) == pytest.approx(1 / 3)
        assert average_precision(scores, np.zeros(3, np.bool_)) == 0.0


def test_many_rows_get_all_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Their later passes take little time."""
    assert chosen(separable())[1] == PASSES[0]
    monkeypatch.setattr(choice, "MANY_ROWS", 300)
    assert chosen(separable())[1] == PASSES[-1]
    assert chosen(separable(), passes=2)[1] == 2
