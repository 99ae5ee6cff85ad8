"""Label profiles: building them against the slow twin, joining them, and damaged arrays."""

from __future__ import annotations

import pickle
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.ranking.label_data import random_labels, random_rows
from tests.reference.profiles import cosines_slow, profile_slow, rows_of_label_slow
from tests.reference.weight_lists import largest_slow, quantise_slow

from xmach.data.arrays import as_sparse_rows
from xmach.errors import InputError, ParameterError
from xmach.models.bucket_weights import BucketWeights
from xmach.ranking.label_rows import LabelRows, rows_of_labels
from xmach.ranking.profiles import Profiles, profile_part
from xmach.types import FloatArray, SparseRows


def profile_of(part: BucketWeights, label: int) -> dict[int, float]:
    which = slice(part.starts[label - part.first], part.starts[label - part.first + 1])
    return dict(zip(part.features[which].tolist(), part.values[which].tolist(), strict=True))


def uneven(rows: SparseRows, draw: np.random.Generator) -> SparseRows:
    """The rows with values that hardly ever tie."""
    values = rows.values * draw.uniform(0.1, 1.0, rows.nnz).astype(np.float32)
    return SparseRows(rows.indptr, rows.indices, values, rows.n_columns)


@settings(deadline=None, max_examples=100)
@given(
    seed=st.integers(0, 2**32 - 1),
    n_rows=st.integers(0, 12),
    n_features=st.sampled_from([1, 7, 64, 65, 200, 5000]),
    most=st.sampled_from([1, 3, 8, 10_000]),
    energy=st.sampled_from([0.5, 0.9, 1.0]),
)
def test_profiles_are_their_twin(seed: int, n_rows: int, n_features: int, most: int, energy: float) -> None:
    draw = np.random.default_rng(seed)
    rows, labels = random_rows(draw, n_rows, n_features, min(0.4, 60 / n_features)), random_labels(draw, n_rows, 5)
    row_weights = draw.choice([0.0, 1.0, 2.5], n_rows).astype(np.float32)
    part = profile_part(rows, rows_of_labels(labels, 0, 5, row_weights), most, energy)
    part.check(n_features)
    assert (part.first, part.stop, part.biases.any()) == (0, 5, False)
    for label in range(5):
        expected = profile_slow(rows, rows_of_label_slow(labels, label, row_weights), most, energy)
        assert profile_of(part, label) == {f: float(v) for f, v in expected.items()}
        assert list(profile_of(part, label)) == list(expected)


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 2**32 - 1), st.integers(1, 12), st.sets(st.integers(1, 11)), st.booleans())
def test_any_division_of_the_labels_gives_the_same_bytes(
    seed: int, n_labels: int, cuts: set[int], limited: bool
) -> None:
    draw = np.random.default_rng(seed)
    rows, labels = uneven(random_rows(draw, 15, 70), draw), random_labels(draw, 15, n_labels)
    bounds = [0, *sorted(cut for cut in cuts if cut < n_labels), n_labels]
    parts = [profile_part(rows, rows_of_labels(labels, a, b), 9, 0.97) for a, b in pairwise(bounds)]
    whole = profile_part(rows, rows_of_labels(labels, 0, n_labels), 9, 0.97)
    most_bytes = 4 * 71 + 4 * n_labels + 8 * n_labels if limited else None
    one = Profiles.join([whole], 70, n_labels, most_bytes).arrays()
    other = Profiles.join(parts[::-1], 70, n_labels, most_bytes).arrays()
    for name in one:
        assert one[name].dtype == other[name].dtype
        assert one[name].tobytes() == other[name].tobytes()


def test_counts_and_row_weights_count() -> None:
    rows = as_sparse_rows(np.eye(3, dtype=np.float32))
    labels = as_sparse_rows(np.array([[3.0], [1.0], [2.0]], np.float32))
    row_weights = np.array([1.0, 4.0, 0.0], np.float32)
    part = profile_part(rows, rows_of_labels(labels, 0, 1, row_weights), 10, 1.0)
    assert profile_of(part, 0) == {0: pytest.approx(0.6), 1: pytest.approx(0.8)}


def test_labels_without_a_direction_have_no_entries() -> None:
    rows = as_sparse_rows(np.array([[1, -2], [-1, 2], [0, 0], [3, 4]], np.float32))
    labels = as_sparse_rows(np.array([[1, 0, 0, 0], [1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0, 1]], np.float32))
    part = profile_part(rows, rows_of_labels(labels, 0, 4), 10, 1.0)
    assert np.diff(part.starts).tolist() == [0, 0, 0, 2]  # rows that cancel, an empty row, no row, a row
    assert profile_of(part, 3) == {0: pytest.approx(0.6), 1: pytest.approx(0.8)}


def test_ties_keep_the_smaller_features() -> None:
    rows, labels = as_sparse_rows(np.ones((1, 9), np.float32)), as_sparse_rows(np.ones((1, 1), np.float32))
    part = profile_part(rows, rows_of_labels(labels, 0, 1), 4, 1.0)
    assert part.features.tolist() == [0, 1, 2, 3]


def test_the_largest_entries_are_kept_until_they_have_the_energy() -> None:
    row = np.array([[1, 3, 0, -5, 2]], np.float32)  # squares 1, 9, 0, 25, 4 of 39
    rows, positives = as_sparse_rows(row), rows_of_labels(as_sparse_rows(np.ones((1, 1), np.float32)), 0, 1)
    for energy, features in ((0.5, [3]), (0.7, [1, 3]), (0.88, [1, 3, 4]), (0.99, [0, 1, 3, 4]), (1.0, [0, 1, 3, 4])):
        part = profile_part(rows, positives, 10, energy)
        assert part.features.tolist() == features
        np.testing.assert_allclose(part.values, row[0, features] / np.sqrt(39), rtol=1e-6)


def test_huge_and_tiny_numbers() -> None:
    labels = as_sparse_rows(np.ones((2, 1), np.float32))
    for size in (3e38, 1e-38, 1e-45):
        rows = as_sparse_rows(np.array([[size, 0], [0, size]], np.float32))
        part = profile_part(rows, rows_of_labels(labels, 0, 1), 4, 1.0)
        np.testing.assert_allclose(part.values, np.sqrt(0.5), rtol=1e-6)


def test_one_feature_and_one_label() -> None:
    one = as_sparse_rows(np.ones((1, 1), np.float32))
    profiles = Profiles.join([profile_part(one, rows_of_labels(one, 0, 1))], 1, 1)
    assert (profiles.n_features, profiles.n_labels, profiles.n_weights) == (1, 1, 1)
    found = profiles.search(one, np.array([0, 1]), np.array([0]), 3)
    assert found.ids.tolist() == [[0, -1, -1]]
    assert found.cosines[0, 0] == found.own[0] == pytest.approx(1.0)


def example(n_labels: int = 40) -> tuple[SparseRows, BucketWeights]:
    draw = np.random.default_rng(7)
    rows, labels = uneven(random_rows(draw, 60, 90, 0.2), draw), random_labels(draw, 60, n_labels, 0.1)
    return rows, profile_part(rows, rows_of_labels(labels, 0, n_labels), 1000, 1.0)


def test_a_byte_budget_keeps_one_share_of_every_profile() -> None:
    _, part = example()
    full = Profiles.join([part], 90, 40)
    assert Profiles.join([part], 90, 40, full.n_bytes).n_weights == full.n_weights
    fixed, sizes = 4 * (91 + 40), []
    for level in range(257):
        kept = [largest_slow(quantise_slow(values)[0], level / 256) for values in values_of(part)]
        sizes.append(fixed + 2 * sum(np.count_nonzero(codes) for codes in kept))
    for budget in np.linspace(sizes[0], full.n_bytes, 12).astype(int):
        small = Profiles.join([part], 90, 40, int(budget))
        assert small.n_bytes == max(size for size in sizes if size <= budget)
    with pytest.raises(InputError, match=f"the largest weights of every label take {sizes[0] - fixed} bytes, but"):
        Profiles.join([part], 90, 40, sizes[0] - 1)
    message = "profiles of 40 labels over 90 features take 524 bytes without any entry, but there is room for 523"
    with pytest.raises(InputError, match=message):
        Profiles.join([part], 90, 40, 523)
    with pytest.raises(ParameterError, match="most_bytes must be a whole number of at least 0, got -1"):
        Profiles.join([part], 90, 40, -1)


def values_of(part: BucketWeights) -> list[FloatArray]:
    """The values of each profile."""
    return np.split(part.values, part.starts[1:-1])


def test_stored_profiles_have_unit_length() -> None:
    _, part = example()
    for budget in (None, 1000):
        profiles = Profiles.join([part], 90, 40, budget)
        everything = as_sparse_rows(np.eye(90, dtype=np.float32))
        weights = cosines_slow(everything, profiles._lists).astype(np.float64)  # (d, K)
        lengths = np.linalg.norm(weights, axis=0)
        np.testing.assert_allclose(lengths, np.diff(part.starts) > 0, atol=1e-6)


def test_every_label_exactly_once() -> None:
    _, part = example()
    with pytest.raises(InputError, match="label 0 is in no part; join needs every label exactly once"):
        Profiles.join([part._replace(first=1)], 90, 41)
    with pytest.raises(InputError, match="the parts have 40 labels, the model has 41"):
        Profiles.join([part], 90, 41)


def test_parameters_out_of_range() -> None:
    one = as_sparse_rows(np.ones((1, 1), np.float32))
    positives = rows_of_labels(one, 0, 1)
    with pytest.raises(ParameterError, match="most must be a whole number of at least 1, got 0"):
        profile_part(one, positives, 0)
    for energy in (0.49, 1.01, float("nan")):
        with pytest.raises(ParameterError, match=f"energy must be a number from 0.5 to 1, got {energy}"):
            profile_part(one, positives, 5, energy)
    with pytest.raises(InputError, match="has rows outside 0 to 0"):
        profile_part(one, LabelRows(0, np.array([0, 1]), np.array([1], np.int32), np.ones(1, np.float32)))
    with pytest.raises(InputError, match="1 rows> has 2 weights"):
        profile_part(one, LabelRows(0, np.array([0, 1]), np.array([0], np.int32), np.ones(2, np.float32)))


def test_rows_without_weights_weigh_one() -> None:
    one = as_sparse_rows(np.array([[1.0, 0.5]], np.float32))
    bare = LabelRows(0, np.array([0, 1]), np.array([0], np.int32), np.zeros(0, np.float32))
    weighted = bare._replace(weights=np.ones(1, np.float32))
    assert profile_part(one, bare).values.tolist() == profile_part(one, weighted).values.tolist()


def test_pickle_repr_and_arrays() -> None:
    rows, part = example()
    profiles = Profiles.join([part], 90, 40)
    assert repr(profiles) == f"<Profiles of 40 labels over 90 features, {profiles.n_weights:,} weights>"
    assert list(profiles.arrays()) == ["starts", "gaps", "codes", "scales"]
    again = [pickle.loads(pickle.dumps(profiles)), Profiles.from_arrays(profiles.arrays())]
    nothing = np.zeros(rows.n_rows + 1, np.int64), np.zeros(0, np.int64)
    for other in again:
        for a, b in zip(profiles.search(rows, *nothing, 5), other.search(rows, *nothing, 5), strict=True):
            assert a.tobytes() == b.tobytes()


NAMES = ("starts", "gaps", "codes", "scales")
ROWS, PART = example()
ARRAYS = Profiles.join([PART], 90, 40).arrays()


@settings(deadline=None, max_examples=200)
@given(st.sampled_from(NAMES), st.lists(st.tuples(st.integers(0), st.integers(0, 255)), min_size=1))
def test_changed_bytes_give_an_error_or_an_answer(name: str, changes: list[tuple[int, int]]) -> None:
    damaged = bytearray(ARRAYS[name].tobytes())
    for place, byte in changes:
        damaged[place % len(damaged)] = byte
    try:
        profiles = Profiles.from_arrays(ARRAYS | {name: np.frombuffer(damaged, ARRAYS[name].dtype)})
    except InputError:
        return
    found = profiles.search(ROWS, np.zeros(61, np.int64), np.zeros(0, np.int64), 3)
    np.testing.assert_array_equal(found.cosines >= 0, True)


@pytest.mark.parametrize("name", NAMES)
def test_arrays_of_other_shapes_and_types_are_rejected(name: str) -> None:
    array = ARRAYS[name]
    for wrong in (array[:0], array[None], array.astype(np.float64)):
        with pytest.raises(InputError, match="the profile index"):
            Profiles.from_arrays(ARRAYS | {name: wrong})
    with pytest.raises(InputError, match=f"the profile index lacks the array '{name}'"):
        Profiles.from_arrays({other: ARRAYS[other] for other in NAMES if other != name})


def test_messages_say_what_is_damaged() -> None:
    for change, message in (
        ({"gaps": np.zeros_like(ARRAYS["gaps"])}, "the weights of feature [0-9]+ of the profile index are damaged"),
        ({"gaps": ARRAYS["gaps"][1:]}, "the profile index has [0-9,]+ gaps, but [0-9,]+ codes"),
        ({"scales": -ARRAYS["scales"]}, "'scales' of the profile index has numbers from -"),
        ({"scales": ARRAYS["scales"][:3]}, "the weights of feature [0-9]+ of the profile index are damaged"),
    ):
        with pytest.raises(InputError, match=message):
            Profiles.from_arrays(ARRAYS | change)


def test_dense_rows_with_negative_values() -> None:
    draw = np.random.default_rng(2)
    dense, labels = draw.normal(size=(30, 12)).astype(np.float32), random_labels(draw, 30, 6)
    rows = as_sparse_rows(dense)
    profiles = Profiles.join([profile_part(rows, rows_of_labels(labels, 0, 6), 1000, 1.0)], 12, 6)
    sums = np.zeros((6, 12))
    for i in range(30):
        for label, count in zip(*labels.row(i), strict=True):
            sums[label] += count * dense[i]
    lengths = np.linalg.norm(sums, axis=1, keepdims=True)
    units = np.divide(sums, lengths, out=np.zeros_like(sums), where=lengths > 0)
    expected = (dense / np.linalg.norm(dense, axis=1, keepdims=True)) @ units.T
    found = profiles.search(rows, np.arange(0, 181, 6), np.tile(np.arange(6), 30), 0)
    np.testing.assert_allclose(found.own.reshape(30, 6), expected, atol=0.015)
    np.testing.assert_array_equal(found.own.reshape(30, 6), cosines_slow(rows, profiles._lists))
