"""The stored ranker: its margins against dense NumPy, and what `join` makes of parts."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.models.linear_models import parts_of, random_weights
from tests.ranking.label_problems import random_pairs, unit_rows
from tests.reference.weight_lists import entries_slow

from xmach._kernels.train.weight_lists import WeightLists
from xmach.errors import InputError, NotEnoughMemory
from xmach.ranking.label_joining import least_bytes
from xmach.ranking.label_weights import LabelWeights
from xmach.types import FloatArray


def stored_weights(ranker: LabelWeights) -> FloatArray:
    """The dense (d, K) weights that a ranker stands for."""
    weights = np.zeros((ranker.n_features, ranker.n_labels), np.float32)
    for label, entries in enumerate(entries_slow(WeightLists(*list(ranker.arrays().values())[1:]))):
        for feature, code in entries:
            weights[feature, label] += np.float32(code) * ranker.scales[label]
    return weights


@pytest.mark.parametrize("bits", [8, 32])
def test_margins_by_numpy(bits: int) -> None:
    weights, rows, (indptr, ids) = random_weights(40, 25), unit_rows(10, 40), random_pairs(10, 25, 1)
    ranker = LabelWeights.join(parts_of(weights), 40, 25, bits=bits)
    every = np.zeros((10, 25))
    for i in range(10):
        columns, values = rows.row(i)
        every[i] = values @ stored_weights(ranker)[columns].astype(np.float64) + ranker.biases
    expected = np.concatenate([every[i, ids[indptr[i] : indptr[i + 1]]] for i in range(10)])
    margins = ranker.margins(rows, indptr, ids)
    assert margins.dtype == np.float32
    np.testing.assert_allclose(margins, expected, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(stored_weights(ranker), weights, atol=0.0 if bits == 32 else np.abs(weights).max() / 200)
    assert ranker.n_bytes == sum(array.nbytes for array in ranker.arrays().values())


def test_a_row_gets_the_same_bits_in_every_batch() -> None:
    ranker = LabelWeights.join(parts_of(random_weights(300, 40)), 300, 40)
    rows, (indptr, ids) = unit_rows(50, 300), random_pairs(50, 40, 2)
    together = ranker.margins(rows, indptr, ids, threads=1)
    for threads in (None, 2, 7, 100):
        assert ranker.margins(rows, indptr, ids, threads).tobytes() == together.tobytes()
    for size in (1, 2, 33):
        batches = []
        for start in range(0, 50, size):
            stop = min(start + size, 50)
            part = slice(indptr[start], indptr[stop])
            batches.append(ranker.margins(rows.slice(start, stop), indptr[start : stop + 1] - indptr[start], ids[part]))
        assert np.concatenate(batches).tobytes() == together.tobytes()


def test_no_rows_and_no_candidates() -> None:
    ranker, rows = LabelWeights.join(parts_of(random_weights(9, 4)), 9, 4), unit_rows(3, 9)
    none = np.zeros(0, np.int64)
    assert ranker.margins(rows.slice(0, 0), np.zeros(1, np.int64), none).shape == (0,)
    assert ranker.margins(rows, np.zeros(4, np.int64), none).shape == (0,)
    same = ranker.margins(rows, np.array([0, 0, 2, 2]), np.array([3, 3], np.int32))
    assert same.tolist() == [ranker.biases[3]] * 2  # the middle row has no features


@settings(deadline=None, max_examples=50)
@given(
    st.integers(0, 2**32 - 1), st.integers(2, 30), st.sets(st.integers(1, 29)), st.sampled_from([8, 32]), st.booleans()
)
def test_the_ranker_does_not_depend_on_the_split(
    seed: int, n_labels: int, cuts: set[int], bits: int, limited: bool
) -> None:
    weights = random_weights(40, n_labels, seed=seed)
    whole = LabelWeights.join(parts_of(weights), 40, n_labels, bits=bits)
    most_bytes = max(whole.n_bytes * 2 // 3 + 5 * n_labels, least_bytes(n_labels)) if limited else None
    whole = LabelWeights.join(parts_of(weights), 40, n_labels, bits=bits, most_bytes=most_bytes)
    parts = parts_of(weights, sorted(cut for cut in cuts if cut < n_labels))
    shuffled = [parts[i] for i in np.random.default_rng(seed).permutation(len(parts))]
    split = LabelWeights.join(shuffled, 40, n_labels, bits=bits, most_bytes=most_bytes)
    for name, array in whole.arrays().items():
        assert array.dtype == split.arrays()[name].dtype
        assert array.tobytes() == split.arrays()[name].tobytes()


@pytest.mark.parametrize("bits", [8, 32])
@pytest.mark.parametrize("n_features", [200, 100_000])
def test_a_limit_drops_the_smallest_weights_of_all_labels(bits: int, n_features: int) -> None:
    weights = random_weights(n_features, 30, 300 / n_features)
    parts = parts_of(weights)
    whole = LabelWeights.join(parts, n_features, 30, bits=bits)
    for share in (0.9, 0.5, 0.2):
        most = int(share * whole.n_bytes)
        small = LabelWeights.join(parts, n_features, 30, bits=bits, most_bytes=most)
        assert 0.97 * most < small.n_bytes <= most
        kept = stored_weights(small) != 0
        left_out = (stored_weights(whole) != 0) & ~kept
        assert np.abs(weights[kept]).min() >= np.abs(weights[left_out]).max()
        assert small.biases.tobytes() == whole.biases.tobytes()
        np.testing.assert_array_equal(stored_weights(small)[kept], stored_weights(whole)[kept])
    same = LabelWeights.join(parts, n_features, 30, bits=bits, most_bytes=whole.n_bytes)
    assert same.codes.tobytes() == whole.codes.tobytes()


def test_limits_that_leave_nothing() -> None:
    parts = parts_of(random_weights(50, 9))
    bare = 8 + 10 * 4 + 2 * 9 * 4
    assert LabelWeights.join(parts, 50, 9, most_bytes=bare).n_weights == 0
    with pytest.raises(NotEnoughMemory, match=f"9 labels takes {bare} bytes without any weight, {bare - 1} are"):
        LabelWeights.join(parts, 50, 9, most_bytes=bare - 1)
    equal = parts_of(np.ones((50, 9), np.float32))
    assert LabelWeights.join(equal, 50, 9, most_bytes=bare + 100).n_weights == 0


def test_the_smaller_type_of_gap_is_chosen() -> None:
    near, far = np.ones((300, 3), np.float32), np.zeros((20_000, 3), np.float32)
    far[::5000] = 1.0
    assert LabelWeights.join(parts_of(near), 300, 3).gaps.dtype == np.uint8
    assert LabelWeights.join(parts_of(far), 20_000, 3).gaps.dtype == np.uint16


def test_pickle_repr_and_arrays() -> None:
    ranker = LabelWeights.join(parts_of(random_weights(12, 9)), 12, 9)
    assert repr(ranker) == f"<LabelWeights 9 labels x 12 features, {ranker.n_weights} weights of 8 bits>"
    rows, pairs = unit_rows(5, 12), random_pairs(5, 9, 3)
    for back in (pickle.loads(pickle.dumps(ranker)), LabelWeights.from_arrays(ranker.arrays())):
        assert back.margins(rows, *pairs).tobytes() == ranker.margins(rows, *pairs).tobytes()


def test_candidates_that_are_wrong() -> None:
    ranker, rows = LabelWeights.join(parts_of(random_weights(12, 9)), 12, 9), unit_rows(2, 12)
    for indptr, ids, message in (
        ([0, 1], [0], "candidates of 2 rows need 3 offsets, got shape \\(2,\\)"),
        ([0, 1, 3], [0, 1], "do not rise from 0 to 2"),
        ([0, 2, 1], [0], "do not rise from 0 to 1"),
        ([1, 1, 1], [0], "do not rise"),
        ([0, 1, 2], [0, 9], "ids from 0 to 8, got 0 to 9"),
        ([0, 1, 2], [-1, 3], "ids from 0 to 8, got -1 to 3"),
    ):
        with pytest.raises(InputError, match=message):
            ranker.margins(rows, np.array(indptr), np.array(ids))
    with pytest.raises(InputError, match="the ranker was trained on 12 features, the rows have 11"):
        ranker.margins(unit_rows(2, 11), np.array([0, 0, 0]), np.zeros(0, np.int64))


@pytest.mark.parametrize("bits", [8, 32])
def test_64_bit_starts_answer_as_32_bit_ones(bits: int) -> None:
    ranker = LabelWeights.join(parts_of(random_weights(12, 9)), 12, 9, bits=bits)
    arrays: dict[str, Any] = ranker.arrays()
    wide = LabelWeights.from_arrays(arrays | {"starts": arrays["starts"].astype(np.int64)})
    rows, pairs = unit_rows(5, 12), random_pairs(5, 9, 3)
    assert wide.margins(rows, *pairs).tobytes() == ranker.margins(rows, *pairs).tobytes()
