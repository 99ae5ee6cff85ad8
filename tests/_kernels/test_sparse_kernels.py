"""The sparse first layer's kernels against their slow twins."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.reference.sparse import sparse_adam_slow, sparse_forward_slow

from xmach._kernels.train.dense import AdamRates
from xmach._kernels.train.sparse import (
    BLOCK,
    count_features,
    list_features,
    sparse_adam,
    sparse_forward,
    transpose_batch,
)
from xmach.learners.buffers import BatchTransposer
from xmach.types import FloatArray, Int32Array, IntArray, SparseRows

RATE, BETA1, BETA2, EPSILON, DECAY = (np.float32(number) for number in (0.01, 0.9, 0.999, 1e-8, 0.98))
Csr = tuple[IntArray, Int32Array, FloatArray]


def random_rows(draw: np.random.Generator, n_rows: int, n_features: int, longest: int) -> Csr:
    lengths = draw.integers(0, min(longest, n_features) + 1, n_rows)
    lengths[draw.random(n_rows) < 0.3] = 0
    columns = [np.sort(draw.choice(n_features, length, replace=False)) for length in lengths]
    indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    indices = np.concatenate([*columns, []]).astype(np.int32)
    return indptr, indices, draw.normal(size=len(indices)).astype(np.float32)


def transposed(batch: Csr, n_features: int, spare: int = 0) -> tuple[Int32Array, Int32Array, Int32Array, FloatArray]:
    nnz = len(batch[1]) + spare
    counts, features, starts, rows = (np.zeros(size, np.int32) for size in (n_features, nnz + 1, nnz + 1, nnz))
    values, blocks = np.zeros(nnz, np.float32), np.zeros(-(-n_features // BLOCK), np.bool_)
    count_features(*batch[:2], counts, blocks)
    assert counts.tolist() == np.bincount(batch[1], minlength=n_features).tolist()
    touched = list_features(counts, blocks, features)
    assert features[:touched].tolist() == np.unique(batch[1]).tolist()
    assert not blocks.any()
    transpose_batch(*batch, counts, features[:touched], starts, rows, values)
    assert not counts.any()  # all zero before and after
    return features[:touched], starts, rows, values


shapes = st.tuples(st.integers(0, 2**32 - 1), st.integers(0, 12), st.integers(1, 3 * BLOCK), st.integers(1, 70))


@settings(deadline=None, max_examples=60)  # the first call compiles
@given(shapes)
def test_forward_is_its_twin(shape: tuple[int, int, int, int]) -> None:
    seed, n_rows, n_features, width = shape
    draw = np.random.default_rng(seed)
    batch = random_rows(draw, n_rows, n_features, 10)
    weights = draw.normal(size=(n_features, width)).astype(np.float32)
    bias = draw.normal(size=width).astype(np.float32)
    fast, slow = (np.full((n_rows, width), np.nan, np.float32) for _ in range(2))
    sparse_forward(*batch, weights, bias, fast)
    sparse_forward_slow(*batch, weights, bias, slow)
    np.testing.assert_allclose(fast, slow, rtol=1e-5, atol=1e-5)


def test_forward_of_an_empty_row_is_the_bias() -> None:
    bias = np.array([1.5, -2.0], np.float32)
    out = np.empty((2, 2), np.float32)
    indptr, indices, values = np.array([0, 0, 1]), np.array([1], np.int32), np.array([2.0], np.float32)
    sparse_forward(indptr, indices, values, np.array([[9, 9], [1, 3]], np.float32), bias, out)
    assert out.tolist() == [[1.5, -2.0], [3.5, 4.0]]


@settings(deadline=None, max_examples=60)
@given(shapes)
def test_transpose_lists_every_entry_under_its_feature(shape: tuple[int, int, int, int]) -> None:
    seed, n_rows, n_features, spare = shape
    batch = random_rows(np.random.default_rng(seed), n_rows, n_features, 10)
    features, starts, rows, values = transposed(batch, n_features, spare)
    indptr, indices, given_values = batch
    touched = len(features)
    assert sorted(features.tolist()) == sorted(set(indices.tolist()))
    found = {
        (int(rows[j]), int(features[t]), float(values[j]))
        for t in range(touched)
        for j in range(starts[t], starts[t + 1])
    }
    row_of = np.repeat(np.arange(n_rows), np.diff(indptr))
    assert found == set(zip(row_of.tolist(), indices.tolist(), given_values.tolist(), strict=True))
    assert starts[touched] == len(indices)


@settings(deadline=None, max_examples=60)
@given(shapes, st.booleans())
def test_adam_on_touched_rows_is_its_twin(shape: tuple[int, int, int, int], column_twice: bool) -> None:
    seed, n_rows, n_features, width = shape
    draw = np.random.default_rng(seed)
    batch = random_rows(draw, n_rows, n_features, 10)
    if column_twice and len(batch[1]):  # two entries of one feature in different rows
        batch[1][np.arange(len(batch[1])) % 2 == 0] = batch[1][0]
        last = batch[0][1:] - 1
        keep = np.unique(last[last >= 0])  # one entry a row, so that no row has a feature twice
        batch = (np.arange(len(keep) + 1), batch[1][keep], batch[2][keep])
        n_rows = len(keep)
    delta = draw.normal(size=(n_rows, width)).astype(np.float32)
    fast = [draw.normal(size=(n_features, width)).astype(np.float32) for _ in range(2)]
    fast.append(np.abs(draw.normal(size=(n_features, width))).astype(np.float32))
    before, slow = [array.copy() for array in fast], [array.copy() for array in fast]
    sparse_adam(*transposed(batch, n_features), delta, *fast, AdamRates(RATE, BETA1, BETA2, EPSILON, DECAY))
    sparse_adam_slow(batch, delta, *slow, *(float(number) for number in (RATE, BETA1, BETA2, EPSILON, DECAY)))
    untouched = np.setdiff1d(np.arange(n_features), batch[1])
    for mine, twin, old in zip(fast, slow, before, strict=True):
        np.testing.assert_allclose(mine, twin, rtol=2e-4, atol=1e-5)
        assert mine[untouched].tobytes() == old[untouched].tobytes()  # lazy: not even rounded


@pytest.mark.parametrize("width", [1, 16, 33, 70])
def test_two_steps_through_the_same_room(width: int) -> None:
    draw = np.random.default_rng(width)
    first_batch, second_batch = random_rows(draw, 20, 30, 12), random_rows(draw, 7, 30, 4)
    fast = [draw.normal(size=(30, width)).astype(np.float32), *(np.zeros((30, width), np.float32) for _ in range(2))]
    slow = [array.copy() for array in fast]
    transposer = BatchTransposer(30)
    for batch in (first_batch, second_batch):
        delta = draw.normal(size=(len(batch[0]) - 1, width)).astype(np.float32)
        lists = transposer.transpose(SparseRows(*batch, 30))
        sparse_adam(*lists, delta, *fast, AdamRates(RATE, BETA1, BETA2, EPSILON, DECAY))
        sparse_adam_slow(batch, delta, *slow, *(float(number) for number in (RATE, BETA1, BETA2, EPSILON, DECAY)))
    for mine, twin in zip(fast, slow, strict=True):
        np.testing.assert_allclose(mine, twin, rtol=2e-4, atol=1e-5)
