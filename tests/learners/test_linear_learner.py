"""The linear learner: rows as descent takes them, and parts that can be cut anywhere."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_digits
from tests.checks.learners import hit_rate, model_of
from tests.checks.tasks import Desk, StopAt, labelled, separable

from xmach import MACHClassifier
from xmach.block_sizes import LANES
from xmach.data.arrays import as_sparse_rows
from xmach.features import Scaler
from xmach.learners import LabelledRows, LinearLearner, LinearSettings, prepare_rows
from xmach.learners import linear as linear_module
from xmach.learners.linear import Descent
from xmach.types import BucketModel

SETTINGS = LinearSettings(cost=1.0, passes=5)
ROWS = np.array([[0, 0, 3, 4], [0, 0, 0, 0], [0, 0, 6, 8], [12, 0, 0, 5]], np.float32)  # norms 5, 0, 10, 13


def same_arrays(one: BucketModel, other: BucketModel) -> bool:
    return all(array.tobytes() == other.arrays()[name].tobytes() for name, array in one.arrays().items())


@pytest.mark.parametrize("sparse", [True, False])
def test_columns_are_the_features_that_occur_by_frequency(sparse: bool) -> None:
    rows, features, scale = prepare_rows(as_sparse_rows(ROWS) if sparse else ROWS, Scaler("none", 4))
    assert features.tolist() == [3, 2, 0]
    assert rows.n_columns == 3
    restored = np.zeros_like(ROWS)
    for i in range(4):
        columns, values = rows.row(i)
        restored[i, features[columns]] = values * np.float32(scale)
    np.testing.assert_array_equal(restored, ROWS)


@pytest.mark.parametrize(("factor", "scale"), [(1.0, 8.0), (1 / 8, 1.0), (1e30, 2.0**103), (1e-15, 2.0**-47)])
def test_the_median_norm_of_rows_becomes_about_1(factor: float, scale: float) -> None:
    """Of the rows that are not empty it is 10 times the factor."""
    prepared = prepare_rows((ROWS * factor).astype(np.float32), Scaler("none", 4))
    assert prepared.scale == scale


@pytest.mark.parametrize("kind", ["l2", "tfidf"])
def test_rows_of_norm_1_stay_as_they_are(kind: str) -> None:
    scaler = Scaler(kind, 4, np.ones(4, np.float32) if kind == "tfidf" else None)  # type: ignore[arg-type]
    assert prepare_rows(as_sparse_rows(ROWS), scaler).scale == 1.0


def test_rows_without_values_have_scale_1() -> None:
    rows, features, scale = prepare_rows(np.zeros((3, 4), np.float32), Scaler("none", 4))
    assert (rows.n_rows, rows.n_columns, len(features), scale) == (3, 0, 0, 1.0)


@pytest.mark.parametrize("factor", [2.0**10, 2.0**-10, 2.0**90])
def test_the_unit_of_features_does_not_matter(factor: float) -> None:
    """In other units the weights are smaller, but not the margins."""
    X, y = load_digits(n_class=4, return_X_y=True)
    settings = {"learner": "linear", "n_buckets": 3, "n_repetitions": 2, "bucketing": "random"}
    plain, other = (MACHClassifier(**settings).fit(X * unit, y) for unit in (1.0, factor))
    assert plain.score(X, y) > 0.95
    np.testing.assert_array_equal(plain.bucket_probabilities(X), other.bucket_probabilities(X * factor))


@pytest.mark.parametrize("loss", ["squared_hinge", "logistic"])
@pytest.mark.parametrize("part", [64, 128, 1024])
def test_same_bits_however_buckets_are_divided(loss: str, part: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = labelled(60, 30, 500, 300)
    learner = LinearLearner(LinearSettings(linear_loss=loss, cost=1.0, passes=3))
    expected = model_of(learner, rows)
    monkeypatch.setattr(linear_module, "PART", part)
    assert len(learner.parts(300)) == -(-300 // part)
    assert same_arrays(model_of(learner, rows), expected)


@pytest.fixture
def many(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few rows count as many, too."""
    monkeypatch.setattr(linear_module, "MANY_ROWS", 100)


@pytest.mark.usefixtures("many")
def test_same_bits_however_many_rows_are_divided(monkeypatch: pytest.MonkeyPatch) -> None:
    rows, learner = labelled(300, 30, 500, 300), LinearLearner(SETTINGS)
    expected = model_of(learner, rows)
    monkeypatch.setattr(linear_module, "PART", 64)
    assert same_arrays(model_of(learner, rows), expected)
    monkeypatch.setattr(linear_module, "MANY_ROWS", 301)
    assert not same_arrays(model_of(learner, rows), expected)


def visited(rows: LabelledRows, passes: int) -> list[tuple[list[int], list[int]]]:
    """The rows that each pass over the first 64 buckets visited, and those that it moved."""
    descent = Descent(prepare_rows(rows.features, rows.scaler).rows, rows, replace(SETTINGS, passes=passes), seed=0)
    seen, sweep = [], descent._pass

    def watched(*arguments: Any) -> int:
        moves = sweep(*arguments)
        order, moved = arguments[6], arguments[-1]
        seen.append((sorted(order.tolist()), sorted(i for i in order.tolist() if moved[i])))
        return moves

    descent._pass = watched
    for _ in descent.run(0):
        pass
    return seen


@pytest.mark.usefixtures("many")
def test_early_passes_visit_own_rows_and_late_ones_those_that_moved() -> None:
    rows = labelled(400, 10, 500, 300)
    assert rows.weights is not None
    rows.weights[::5] = 0.0
    used = [i for i in range(400) if i % 5]
    own = {i for i in used if any(bucket < LANES for bucket in rows.hashes.buckets(rows.labels.row(i)[0], 0))}
    seen = visited(rows, passes=7)
    early = set(seen[0][0])
    assert own < early < set(used)
    assert 0.02 < len(early - own) / len(set(used) - own) < 0.25  # a tenth was asked for
    assert [set(order) for order, _ in seen[1:3]] == [early, early]
    assert seen[3][0] == used
    for (_, moved), (order, _) in pairwise(seen[3:]):
        assert order == moved
    assert len(seen[-1][0]) < len(used)


@pytest.mark.usefixtures("many")
def test_few_passes_visit_all_rows() -> None:
    seen = visited(labelled(400, 10, 500, 300), passes=3)
    assert [order for order, _ in seen] == [list(range(400))] * 3


@pytest.mark.parametrize("n_rows", [99, 100])
@pytest.mark.usefixtures("many")
def test_many_rows_start_with_fewer(n_rows: int) -> None:
    seen = visited(labelled(n_rows, 10, 500, 300), passes=4)
    assert (len(seen[0][0]) == n_rows) == (n_rows < 100)


@pytest.mark.usefixtures("many")
def test_many_rows_are_learned_as_well() -> None:
    assert hit_rate(model_of(LinearLearner(SETTINGS), separable()), separable(seed=1)) > 0.95


def test_parts_are_joined_in_any_order() -> None:
    rows, learner = labelled(60, 30, 500, 600), LinearLearner(SETTINGS)
    parts = [learner.train_part(Desk(rows).task(), buckets) for buckets in learner.parts(600)]
    assert [part.first for part in parts if part is not None] == [0, 256, 512]
    joined = learner.join([part for part in parts[::-1] if part is not None], 30, 600, 0).model
    assert same_arrays(joined, model_of(learner, rows))


def test_every_part_tells_how_far_it_is_and_can_be_stopped() -> None:
    rows, learner, monitor = labelled(60, 30, 500, 300), LinearLearner(SETTINGS), StopAt()
    learner.train_part(Desk(rows).task(monitor), learner.parts(300)[0])
    assert [progress.done for _, progress in monitor.reports] == [60 * step for step in range(1, 4 * 5 + 1)]
    assert {progress.total for _, progress in monitor.reports} == {60 * 4 * 5}
    for questions in (1, 7, 20):
        assert learner.train_part(Desk(rows).task(StopAt(questions)), learner.parts(300)[0]) is None


@pytest.mark.parametrize("n_buckets", [2, 63, 64, 65])
def test_any_number_of_buckets(n_buckets: int) -> None:
    rows = separable(n_buckets=n_buckets)
    model = model_of(LinearLearner(SETTINGS), rows)
    assert model.n_buckets == n_buckets
    assert hit_rate(model, separable(n_buckets=n_buckets, seed=1)) > 0.95


def test_larger_thresholds_keep_fewer_weights() -> None:
    kept = []
    for threshold in (0.0, 0.5, 1.0, 1e9):
        model = model_of(LinearLearner(LinearSettings(cost=1.0, passes=5, prune_below=threshold)), separable())
        kept.append(np.count_nonzero(model.arrays()["codes"]))
    assert kept == sorted(set(kept), reverse=True)
    assert kept[-1] == 0


def test_one_huge_row_does_not_spoil_the_others() -> None:
    """The median norm is 1, so such a row stays huge; descent cannot move its dual variable."""
    rows = separable(sparse=False)
    assert isinstance(rows.features, np.ndarray)
    rows.features[7] = 1e30
    with np.errstate(over="ignore"):  # as `train_repetition` does
        model = model_of(LinearLearner(SETTINGS), rows)
    assert hit_rate(model, separable(seed=1)) > 0.95
