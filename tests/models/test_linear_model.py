"""The linear model: its forward pass against dense NumPy, and what `join` makes of parts."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.models.linear_models import parts_of, random_biases, random_rows, random_weights
from tests.reference.weight_lists import entries_slow, join_slow, quantise_slow

from xmach._kernels.train.weight_lists import WeightLists
from xmach.data.arrays import as_sparse_rows
from xmach.errors import InputError
from xmach.models import LinearModel
from xmach.models.joining import joined_arrays
from xmach.models.linear import SLOPE, BucketWeights
from xmach.types import DoubleArray, FloatArray, slice_rows


def stored_weights(model: LinearModel) -> FloatArray:
    """The dense (d, B) weights that a model stands for."""
    weights = np.zeros((model.n_features, model.n_buckets), np.float32)
    for feature, entries in enumerate(entries_slow(WeightLists(*model.arrays().values()))):
        for bucket, code in entries:
            weights[feature, bucket] += np.float32(code) * model.scales[bucket]
    return weights


def sigmoid(margins: DoubleArray) -> DoubleArray:
    return 1 / (1 + np.exp(-margins))


@pytest.mark.parametrize("bits", [8, 32])
@pytest.mark.parametrize("loss, normalised", [("squared_hinge", False), ("logistic", False), ("logistic", True)])
def test_forward_by_numpy(bits: int, loss: str, normalised: bool) -> None:
    weights, rows = random_weights(40, 25), random_rows(10, 40)
    model = LinearModel.join(parts_of(weights), 40, 25, loss, bits=bits, normalised=normalised)
    margins = rows.astype(np.float64) @ stored_weights(model) + random_biases(25)
    expected = sigmoid(margins * (SLOPE if loss == "squared_hinge" else 1))
    expected /= expected.sum(axis=1, keepdims=True) if normalised else 1
    for given_rows in (rows, as_sparse_rows(rows), as_sparse_rows(rows).slice(0, 10), np.asfortranarray(rows)):
        np.testing.assert_allclose(model.margins(given_rows), margins, rtol=1e-4, atol=1e-5)
        probabilities = model.probabilities(given_rows)
        assert probabilities.dtype == np.float32
        np.testing.assert_allclose(probabilities, expected, rtol=1e-4, atol=1e-6)


def test_8_bits_are_within_half_a_step_and_32_bits_exact() -> None:
    weights = random_weights(40, 25)
    small = LinearModel.join(parts_of(weights), 40, 25, "logistic")
    step = np.abs(weights).max(axis=0) / 127
    np.testing.assert_allclose(small.scales, step, rtol=1e-6)
    assert (np.abs(stored_weights(small) - weights) <= step / 2 * (1 + 1e-4)).all()
    assert small.n_weights == sum(np.count_nonzero(quantise_slow(column)[0]) for column in weights.T)
    exact = LinearModel.join(parts_of(weights), 40, 25, "logistic", bits=32)
    assert (exact.codes.dtype, exact.scales.tolist()) == (np.float32, [1.0] * 25)
    np.testing.assert_array_equal(stored_weights(exact), weights)
    assert exact.n_weights == np.count_nonzero(weights)


def test_a_weight_whose_code_is_0_is_dropped() -> None:
    weights = np.array([[1.0, 0.0], [0.003, 0.5], [0.004, 0.0]], np.float32)  # half a step is 0.0039
    model = LinearModel.join(parts_of(weights), 3, 2, "logistic")
    assert model.n_weights == len(model.codes) == 3
    assert model.codes.tolist() == [127, 127, 1]


@settings(deadline=None, max_examples=50)
@given(st.integers(0, 2**32 - 1), st.integers(2, 30), st.sets(st.integers(1, 29)), st.sampled_from([8, 32]))
def test_the_model_does_not_depend_on_the_split(seed: int, n_buckets: int, cuts: set[int], bits: int) -> None:
    weights = random_weights(9, n_buckets, seed=seed)
    whole = LinearModel.join(parts_of(weights), 9, n_buckets, "logistic", bits=bits)
    parts = parts_of(weights, sorted(cut for cut in cuts if cut < n_buckets))
    shuffled = [parts[i] for i in np.random.default_rng(seed).permutation(len(parts))]
    split = LinearModel.join(shuffled, 9, n_buckets, "logistic", bits=bits)
    for name, array in whole.arrays().items():
        assert array.dtype == split.arrays()[name].dtype
        assert array.tobytes() == split.arrays()[name].tobytes()


@pytest.mark.parametrize("gap_type", [np.uint8, np.uint16])
@pytest.mark.parametrize("bits", [8, 32])
def test_fillers_reach_buckets_far_apart(gap_type: type[Any], bits: int) -> None:
    n_buckets, at = 70_000, [0, 254, 255, 509, 510, 765, 1276, 65_534, 65_535, 69_999]
    weights = np.zeros((6, n_buckets), np.float32)
    weights[1, at] = np.arange(1, 11)
    weights[2, at[::3]] = -weights[1, at[::3]]  # one size of weight a bucket: in 8 bits, too, it is exact
    weights[3, -1] = 10.0
    weights[4, 0] = 1.0
    [part] = parts_of(weights)
    arrays = joined_arrays([part], 6, n_buckets, bits, gap_type)
    twin = join_slow(part, 6, np.iinfo(gap_type).max, bits)
    for name, expected in zip(("starts", "gaps", "codes"), twin, strict=True):
        assert arrays[name].tolist() == expected.tolist()
    model = LinearModel.from_arrays(arrays, "logistic", False)
    assert model.gaps.dtype == gap_type
    assert model.n_weights == np.count_nonzero(weights) < len(model.codes)
    np.testing.assert_allclose(stored_weights(model), weights, rtol=1e-6)
    rows = np.eye(6, dtype=np.float32)
    np.testing.assert_allclose(model.margins(rows), weights + random_biases(n_buckets), rtol=1e-5, atol=1e-6)


def test_the_smaller_type_of_gap_is_chosen() -> None:
    near, far = np.ones((3, 300), np.float32), np.zeros((3, 20_000), np.float32)
    far[:, ::5000] = 1.0
    assert LinearModel.join(parts_of(near), 3, 300, "logistic").gaps.dtype == np.uint8
    assert LinearModel.join(parts_of(far), 3, 20_000, "logistic").gaps.dtype == np.uint16
    for weights in (near, far, random_weights(5, 3000, 0.003), random_weights(5, 3000, 0.006)):
        parts, shape = parts_of(weights), weights.shape
        sizes = [_size(joined_arrays(parts, *shape, 8, gap)) for gap in (np.uint8, np.uint16)]
        assert _size(joined_arrays(parts, *shape, 8)) == min(sizes)


def _size(arrays: dict[str, Any]) -> int:
    return sum(array.nbytes for array in arrays.values())


@pytest.mark.parametrize("shape", [(5, 2), (1, 2), (1, 7), (30, 1)])
@pytest.mark.parametrize("density", [0.0, 1.0])
def test_small_and_empty_models(shape: tuple[int, int], density: float) -> None:
    weights, rows = random_weights(*shape, density), random_rows(4, shape[0])
    model = LinearModel.join(parts_of(weights), *shape, "squared_hinge", bits=32)
    assert (model.n_features, model.n_buckets, model.kind) == (*shape, "linear")
    assert model.starts.dtype == np.uint32
    for given_rows in (rows, as_sparse_rows(rows)):
        np.testing.assert_allclose(model.margins(given_rows), rows @ weights + model.biases, rtol=1e-5, atol=1e-6)
        assert model.probabilities(slice_rows(given_rows, 0, 0)).shape == (0, shape[1])
    if density == 0.0:
        assert model.n_weights == len(model.gaps) == 0


@pytest.mark.parametrize("normalised", [False, True])
def test_a_row_gets_the_same_bits_in_every_batch(normalised: bool) -> None:
    model = LinearModel.join(parts_of(random_weights(50, 301)), 50, 301, "logistic", normalised=normalised)
    dense = random_rows(67, 50)
    together = model.probabilities(dense)
    for rows in (dense, as_sparse_rows(dense)):
        for size in (1, 2, 33, 67):
            batches = [model.probabilities(slice_rows(rows, i, min(i + size, 67))) for i in range(0, 67, size)]
            assert np.concatenate(batches).tobytes() == together.tobytes()


def test_far_margins_overflow_nothing() -> None:
    weights = np.array([[3e29, -3e29, 0.0]], np.float32)
    for bits in (8, 32):
        for loss, normalised in (("squared_hinge", False), ("logistic", True)):
            model = LinearModel.join(parts_of(weights), 1, 3, loss, bits=bits, normalised=normalised)
            assert np.isfinite(model.probabilities(np.array([[3e38], [1e9], [-1e9]], np.float32))).all()


def test_a_wrong_width_is_rejected() -> None:
    model = LinearModel.join(parts_of(random_weights(12, 9)), 12, 9, "logistic")
    for rows in (np.ones((2, 11), np.float32), as_sparse_rows(np.ones((2, 11), np.float32))):
        with pytest.raises(InputError, match="the model was trained on 12 features, the rows have 11"):
            model.probabilities(rows)


def test_pickle_repr_and_parts_as_arrays() -> None:
    model = LinearModel.join(parts_of(random_weights(12, 9)), 12, 9, "logistic")
    assert repr(model) == f"<LinearModel 12 x 9, {model.n_weights} weights of 8 bits, loss='logistic'>"
    back, rows = pickle.loads(pickle.dumps(model)), random_rows(5, 12)
    assert back.probabilities(rows).tobytes() == model.probabilities(rows).tobytes()
    part = parts_of(random_weights(12, 9), [4])[1]
    again = BucketWeights.from_arrays(4, part.arrays())
    assert repr(again).startswith("<BucketWeights of buckets 4 to 8, ")
    assert all(a is b for a, b in zip(again[1:], part[1:], strict=True))
