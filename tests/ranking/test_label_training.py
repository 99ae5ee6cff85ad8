"""Training the ranker: against scikit-learn, and what labels and rows out of the ordinary give."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.svm import LinearSVC
from tests.ranking.label_problems import label_rows, part_of, random_lists, unit_rows

from xmach.data.arrays import as_sparse_rows
from xmach.errors import Diverged, InputError, ParameterError
from xmach.models.bucket_weights import BucketWeights
from xmach.ranking.label_rows import LabelRows
from xmach.ranking.label_training import RankerSettings, train_labels
from xmach.types import SparseRows

TIGHT = RankerSettings(passes=5000, epsilon=1e-6, prune_below=0.0)


def dense(rows: SparseRows) -> Any:
    out = np.zeros(rows.shape)
    for i in range(rows.n_rows):
        columns, values = rows.row(i)
        out[i, columns] = values
    return out


def weights_of(part: BucketWeights, i: int, n_features: int) -> Any:
    """The dense weights of the label at place i."""
    weights, span = np.zeros(n_features), slice(*part.starts[i : i + 2])
    weights[part.features[span]] = part.values[span]
    return weights


def objective(x: Any, y: Any, costs: Any, weights: Any, bias: float) -> float:
    """|w|^2 / 2 + sum of C_i max(0, 1 - y_i f_i)^2, the bias regularised as a weight."""
    losses = np.maximum(0.0, 1.0 - y * (x @ weights + bias)) ** 2
    return float(0.5 * (weights @ weights + bias**2) + costs @ losses)


def problem_of(positives: LabelRows, negatives: LabelRows, i: int) -> tuple[Any, Any, Any]:
    """The rows, the signs and the weights of the label at place i."""
    spans = [slice(*lists.starts[i : i + 2]) for lists in (positives, negatives)]
    mine, others = positives.rows[spans[0]], negatives.rows[spans[1]]
    wrong = ~np.isin(others, mine)
    weights = np.concatenate([positives.weights[spans[0]], negatives.weights[spans[1]][wrong]])
    return np.concatenate([mine, others[wrong]]), np.repeat([1.0, -1.0], [len(mine), wrong.sum()]), weights


@pytest.mark.parametrize("cost", [0.1, 1.0, 10.0])
@pytest.mark.parametrize("seed", range(3))
def test_the_objective_of_liblinear(cost: float, seed: int) -> None:
    rows = unit_rows(60, 20, seed=seed)
    positives, negatives = random_lists(4, 60, 0.2, 10 + seed), random_lists(4, 60, 0.4, 20 + seed)
    tight = RankerSettings(cost, TIGHT.passes, TIGHT.epsilon, 0.0)
    exact = train_labels(rows, positives, negatives, tight, seed)
    usual = train_labels(rows, positives, negatives, RankerSettings(cost, prune_below=0.0), seed)
    for i in range(4):
        which, y, weights = problem_of(positives, negatives, i)
        assert len(set(y[weights > 0])) == 2
        x, costs = dense(rows)[which], cost * weights
        svm = LinearSVC(loss="squared_hinge", dual=True, C=cost, intercept_scaling=1, tol=1e-8, max_iter=1_000_000)
        svm.fit(x[weights > 0], y[weights > 0], weights[weights > 0])
        best = objective(x, y, costs, svm.coef_[0], float(svm.intercept_[0]))
        assert objective(x, y, costs, weights_of(exact, i, 20), float(exact.biases[i])) == pytest.approx(best, 1e-3)
        found = objective(x, y, costs, weights_of(usual, i, 20), float(usual.biases[i]))
        assert best * 0.999 < found < best * 1.5


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 2**32 - 1), st.integers(1, 12), st.sets(st.integers(1, 11)))
def test_labels_do_not_depend_on_the_division_into_shards(seed: int, n_labels: int, cuts: set[int]) -> None:
    rows = unit_rows(30, 10, seed=seed)
    positives, negatives = random_lists(n_labels, 30, 0.2, seed), random_lists(n_labels, 30, 0.4, seed + 1)
    whole = train_labels(rows, positives, negatives, RankerSettings(), 5)
    bounds = [0, *sorted(cut for cut in cuts if cut < n_labels), n_labels]
    parts = [
        train_labels(rows, part_of(positives, a, b), part_of(negatives, a, b), RankerSettings(), 5)
        for a, b in pairwise(bounds)
    ]
    assert [part.first for part in parts] == bounds[:-1]
    for name in ("features", "values", "biases"):
        assert np.concatenate([getattr(part, name) for part in parts]).tobytes() == getattr(whole, name).tobytes()
    assert np.concatenate([np.diff(part.starts) for part in parts]).tolist() == np.diff(whole.starts).tolist()


def test_more_weights_than_there_was_space_for(monkeypatch: pytest.MonkeyPatch) -> None:
    rows, lists = unit_rows(40, 30), (random_lists(20, 40, 0.2, 1), random_lists(20, 40, 0.4, 2))
    whole = train_labels(rows, *lists, RankerSettings(), 0)
    monkeypatch.setattr("xmach.ranking.label_training._FIRST_CAPACITY", 1)
    again = train_labels(rows, *lists, RankerSettings(), 0)
    for array, same in zip(whole[1:], again[1:], strict=True):
        assert array.tobytes() == same.tobytes()


def test_mapped_arrays_are_as_good(tmp_path: Path) -> None:
    rows, lists = unit_rows(40, 30), (random_lists(20, 40, 0.2, 1), random_lists(20, 40, 0.4, 2))

    def mapped(array: Any) -> Any:
        np.save(tmp_path / "array.npy", array)
        (tmp_path / "array.npy").rename(tmp_path / f"{len(list(tmp_path.iterdir()))}.npy")
        return np.load(max(tmp_path.iterdir(), key=lambda path: int(path.stem)), mmap_mode="r")

    read = SparseRows(mapped(rows.indptr), mapped(rows.indices), mapped(rows.values), rows.n_columns)
    found = train_labels(read, *(LabelRows(0, *map(mapped, each[1:])) for each in lists), RankerSettings(), 0)
    for array, same in zip(train_labels(rows, *lists, RankerSettings(), 0)[1:], found[1:], strict=True):
        assert array.tobytes() == same.tobytes()


def test_rows_without_weights_weigh_one() -> None:
    rows, lists = unit_rows(40, 30), [random_lists(20, 40, share, seed) for share, seed in ((0.2, 1), (0.4, 2))]
    ones = [each._replace(weights=np.ones(len(each.rows), np.float32)) for each in lists]
    bare = [each._replace(weights=np.zeros(0, np.float32)) for each in lists]
    expected = train_labels(rows, *ones, RankerSettings(), 0)
    for positives in (ones[0], bare[0]):
        found = train_labels(rows, positives, bare[1], RankerSettings(), 0)
        for array, same in zip(expected[1:], found[1:], strict=True):
            assert array.tobytes() == same.tobytes()


def test_another_seed_gives_another_order_of_rows() -> None:
    rows, lists = unit_rows(40, 30), (random_lists(5, 40, 0.2, 1), random_lists(5, 40, 0.4, 2))
    one, other = (train_labels(rows, *lists, RankerSettings(passes=1), seed) for seed in (0, 2**64 - 1))
    assert one.biases.tobytes() != other.biases.tobytes()


# --- labels out of the ordinary


def test_a_label_without_rows() -> None:
    rows = unit_rows(10, 5)
    part = train_labels(rows, label_rows([[], [1], []]), label_rows([[], [2], [3, 4]]), RankerSettings(), 0)
    assert part.biases[[0, 2]].tolist() == [-1.0, -1.0]
    assert np.diff(part.starts)[[0, 2]].tolist() == [0, 0]
    none = train_labels(rows, label_rows([]), label_rows([]), RankerSettings(), 0)
    assert none.starts.tolist() == [0]
    assert len(none.biases) == 0


def test_a_label_of_one_row_and_a_label_without_negatives() -> None:
    """One row x with cost C: w = a x and b = a with a = 1 / (|x|^2 + 1 + 1 / (2 C))."""
    rows = unit_rows(10, 5)
    part = train_labels(rows, label_rows([[3]]), label_rows([[]]), RankerSettings(cost=2.0), 0)
    x = dense(rows)[3]
    a = 1 / (x @ x + 1 + 0.25)
    assert part.biases[0] == pytest.approx(a, 1e-6)
    np.testing.assert_allclose(weights_of(part, 0, 5), np.where(np.abs(a * x) >= 0.1, a * x, 0), rtol=1e-5)
    both = train_labels(rows, label_rows([[3]]), label_rows([[4, 6]]), TIGHT, 0)
    margins = dense(rows) @ weights_of(both, 0, 5) + both.biases[0]
    assert margins[3] > 0 > max(margins[4], margins[6])


def test_a_label_on_every_row() -> None:
    rows = unit_rows(10, 5)
    part = train_labels(rows, label_rows([range(10)]), label_rows([[]]), RankerSettings(), 0)
    assert (dense(rows) @ weights_of(part, 0, 5) + part.biases[0] > 0.7).all()
    ignored = train_labels(rows, label_rows([range(10)]), label_rows([range(10)]), RankerSettings(), 0)
    assert ignored.biases.tobytes() == part.biases.tobytes()
    assert ignored.values.tobytes() == part.values.tobytes()


def test_rows_without_features() -> None:
    """The bias alone: two of three empty rows have the label."""
    empty = as_sparse_rows(np.zeros((3, 4), np.float32))
    part = train_labels(empty, label_rows([[0, 2]]), label_rows([[1]]), TIGHT, 0)
    assert part.biases[0] == pytest.approx((2 - 1) / (3 + 0.5), 1e-4)
    assert part.starts.tolist() == [0, 0]


def test_a_duplicate_row_is_a_row_of_twice_the_weight() -> None:
    once = dense(unit_rows(6, 5))
    twice = as_sparse_rows(np.vstack([once, once[3:4]]).astype(np.float32))
    doubled = train_labels(twice, label_rows([[3, 6]]), label_rows([[0, 1, 2]]), TIGHT, 0)
    heavy = train_labels(twice, label_rows([[3]], weights=[2.0]), label_rows([[0, 1, 2]]), TIGHT, 0)
    np.testing.assert_allclose(weights_of(doubled, 0, 5), weights_of(heavy, 0, 5), atol=1e-4)


def test_rows_without_weight_are_left_out() -> None:
    rows = unit_rows(10, 5)
    given = train_labels(
        rows, label_rows([[1, 2, 3]], weights=[1, 0, 1]), label_rows([[4, 6]], weights=[0, 1]), TIGHT, 0
    )
    less = train_labels(rows, label_rows([[1, 3]]), label_rows([[6]]), TIGHT, 0)
    assert given.values.tobytes() == less.values.tobytes()
    nothing = train_labels(rows, label_rows([[1, 2]], weights=[0, 0]), label_rows([[4]]), TIGHT, 0)
    assert nothing.biases.tolist() == [-1.0]


def test_pruned_weights_are_the_others_and_the_bias_stays() -> None:
    rows, lists = unit_rows(40, 30), (random_lists(5, 40, 0.2, 1), random_lists(5, 40, 0.4, 2))
    all_weights = train_labels(rows, *lists, RankerSettings(prune_below=0.0), 0)
    part = train_labels(rows, *lists, RankerSettings(prune_below=0.2), 0)
    assert part.biases.tobytes() == all_weights.biases.tobytes()
    assert part.values.tobytes() == all_weights.values[np.abs(all_weights.values) >= np.float32(0.2)].tobytes()
    assert (all_weights.values != 0).all()
    bare = train_labels(rows, *lists, RankerSettings(prune_below=1e9), 0)
    assert len(bare.values) == 0


# --- what is rejected


def test_row_lists_that_are_wrong() -> None:
    rows, good = unit_rows(10, 5), label_rows([[1, 3], [2]])
    for wrong, message in (
        (good._replace(first=1), "positive rows are of 2 labels from 1 on, the negative ones of 2 labels from 0 on"),
        (label_rows([[1]]), "positive rows are of 1 labels"),
        (label_rows([[1, 10], [2]]), "positive rows are not all among the 10 rows"),
        (label_rows([[-1, 1], [2]]), "positive rows are not all among the 10 rows"),
        (label_rows([[3, 1], [2]]), "positive rows of a label are not in rising order"),
        (good._replace(weights=good.weights[1:]), "3 positive rows, but 2 weights"),
        (good._replace(starts=np.array([0, 2, 4])), "positive rows do not rise from 0 to 3"),
        (good._replace(starts=np.array([0, 4, 3])), "positive rows do not rise"),
        (good._replace(starts=np.array([1, 2, 3])), "positive rows do not rise"),
    ):
        with pytest.raises(InputError, match=message):
            train_labels(rows, wrong, label_rows([[4], [5]]), RankerSettings(), 0)
    with pytest.raises(InputError, match="negative rows of a label are not in rising order"):
        train_labels(rows, good, label_rows([[], [6, 5]]), RankerSettings(), 0)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_values_that_are_not_finite(value: float) -> None:
    values = dense(unit_rows(6, 5)).astype(np.float32)
    values[2, 1] = value
    rows = as_sparse_rows(np.zeros((6, 5), np.float32))
    rows = SparseRows(np.arange(0, 31, 5), np.tile(np.arange(5, dtype=np.int32), 6), values.ravel(), 5)
    with pytest.raises(Diverged, match="the ranker's weights of label 8 are not finite; scale the features"):
        train_labels(rows, label_rows([[1], [2]], 7), label_rows([[3], [4]], 7), RankerSettings(), 0)


@pytest.mark.parametrize("wrong", [{"cost": 0.0}, {"passes": 0}, {"epsilon": -1.0}, {"prune_below": float("nan")}])
def test_settings_outside_their_range(wrong: dict[str, Any]) -> None:
    with pytest.raises(ParameterError, match=next(iter(wrong))):
        RankerSettings(**wrong)
