"""The network's forward pass against plain float64 NumPy."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp

from xmach.data.arrays import as_sparse_rows
from xmach.errors import InputError
from xmach.models import NetworkModel
from xmach.models.network import ROWS_ALIKE, sigmoid_in_place, softmax_in_place
from xmach.types import DoubleArray, FloatArray, Loss, slice_rows

DEPTHS: list[tuple[int, ...]] = [(), (7,), (6, 5)]


def random_model(hidden: tuple[int, ...], loss: Loss, n_features: int = 12, n_buckets: int = 9) -> NetworkModel:
    draw = np.random.default_rng(len(hidden))
    widths = (n_features, *hidden, n_buckets)
    weights = tuple(draw.normal(size=shape).astype(np.float32) for shape in pairwise(widths))
    return NetworkModel(weights, tuple(draw.normal(size=width).astype(np.float32) for width in widths[1:]), loss)


def random_rows(n: int = 10, n_features: int = 12) -> FloatArray:
    rows = sp.random_array((n, n_features), density=0.3, rng=np.random.default_rng(n)).toarray()
    rows[n // 2] = 0.0  # a row without features
    return rows.astype(np.float32)


def oracle(model: NetworkModel, rows: FloatArray) -> DoubleArray:
    layer = rows.astype(np.float64)
    for depth, (weights, bias) in enumerate(zip(model.weights, model.biases, strict=True)):
        layer = (np.maximum(layer, 0) if depth else layer) @ weights.astype(np.float64) + bias
    if model.loss == "bce":
        return 1 / (1 + np.exp(-layer))
    return np.exp(layer) / np.exp(layer).sum(axis=1, keepdims=True)


@pytest.mark.parametrize("hidden", DEPTHS)
@pytest.mark.parametrize("loss", ["softmax", "bce"])
def test_forward_by_numpy(hidden: tuple[int, ...], loss: Loss) -> None:
    model, rows = random_model(hidden, loss), random_rows()
    for given in (rows, as_sparse_rows(rows), as_sparse_rows(rows).slice(0, 10)):
        probabilities = model.probabilities(given)
        assert probabilities.dtype == np.float32
        np.testing.assert_allclose(probabilities, oracle(model, rows), rtol=1e-4, atol=1e-6)
    if loss == "softmax":
        np.testing.assert_allclose(model.probabilities(rows).sum(axis=1), 1.0, rtol=1e-6)


def test_a_part_of_the_rows_gives_their_part_of_the_answer() -> None:
    model, rows = random_model((7,), "softmax"), as_sparse_rows(random_rows())
    np.testing.assert_allclose(model.probabilities(rows.slice(3, 8)), model.probabilities(rows)[3:8], rtol=1e-6)
    picked = np.array([9, 0, 5, 0])
    np.testing.assert_allclose(model.probabilities(rows.take(picked)), model.probabilities(rows)[picked], rtol=1e-6)


def test_no_rows() -> None:
    for loss in ("softmax", "bce"):
        model = random_model((7,), loss)
        assert model.probabilities(np.empty((0, 12), np.float32)).shape == (0, 9)
        assert model.probabilities(as_sparse_rows(random_rows()).slice(0, 0)).shape == (0, 9)


def test_rows_are_left_as_they_were() -> None:
    model, rows = random_model((), "softmax"), random_rows()
    before = rows.copy()
    model.probabilities(rows)
    np.testing.assert_array_equal(rows, before)


def test_far_logits_overflow_nothing() -> None:
    far = np.array([[1e4, -1e4, 0.0, 3e38]], np.float32)
    assert softmax_in_place(far.copy()).tolist() == [[0.0, 0.0, 0.0, 1.0]]
    sigmoid = sigmoid_in_place(far.copy())
    assert sigmoid[0, 0] == sigmoid[0, 3] == 1.0
    assert 0 < sigmoid[0, 1] < 1e-30
    assert sigmoid[0, 2] == 0.5


@pytest.mark.parametrize("hidden", DEPTHS)
def test_arrays_there_and_back(hidden: tuple[int, ...]) -> None:
    model = random_model(hidden, "bce")
    arrays = model.arrays()
    assert sorted(arrays) == sorted([f"{kind}.{i}" for kind in ("weights", "biases") for i in range(len(hidden) + 1)])
    back = NetworkModel.from_arrays(arrays, "bce")
    assert (back.n_features, back.n_buckets, back.kind) == (12, 9, "network")
    np.testing.assert_array_equal(back.probabilities(random_rows()), model.probabilities(random_rows()))


def test_a_wrong_width_is_refused() -> None:
    model = random_model((7,), "softmax")
    for rows in (np.ones((2, 11), np.float32), as_sparse_rows(np.ones((2, 11), np.float32))):
        with pytest.raises(InputError, match="trained on 12 features, the rows have 11"):
            model.probabilities(rows)


@pytest.mark.parametrize("hidden", DEPTHS)
def test_few_rows_do_not_change_each_other_by_a_bit(hidden: tuple[int, ...]) -> None:
    model = random_model(hidden, "softmax", n_buckets=300)
    dense = random_rows(ROWS_ALIKE)
    for rows in (dense, as_sparse_rows(dense)):
        together = model.probabilities(rows)
        alone = [model.probabilities(slice_rows(rows, i, i + 1))[0] for i in range(ROWS_ALIKE)]
        assert np.array(alone).tobytes() == together.tobytes()
