"""The search in label profiles, against the slow twin bit by bit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.models.linear_models import parts_of
from tests.ranking.label_data import random_labels, random_rows
from tests.reference.profiles import best_slow, cosines_slow, own_slow

from xmach.data.arrays import as_sparse_rows
from xmach.errors import InputError, ParameterError
from xmach.ranking.label_rows import rows_of_labels
from xmach.ranking.profiles import Profiles, profile_part
from xmach.types import IntArray, SparseRows

NO_IDS = np.zeros(0, np.int64)


def random_profiles(draw: np.random.Generator, n_features: int, n_labels: int) -> Profiles:
    """Profiles of random rows; some labels have the same one, so that cosines tie."""
    rows = random_rows(draw, 20, n_features)
    labels = random_labels(draw, 20, n_labels, 1 / max(n_labels // 10, 2))
    return Profiles.join([profile_part(rows, rows_of_labels(labels, 0, n_labels), 20, 0.95)], n_features, n_labels)


def random_candidates(draw: np.random.Generator, n_rows: int, n_labels: int) -> tuple[IntArray, IntArray]:
    indptr = np.concatenate([[0], np.cumsum(draw.integers(0, 6, n_rows))])
    return indptr, draw.integers(0, n_labels, indptr[-1])


@settings(deadline=None, max_examples=100)
@given(
    seed=st.integers(0, 2**32 - 1),
    n_rows=st.integers(0, 9),
    n_labels=st.sampled_from([1, 5, 16, 17, 127, 128, 129, 700]),
    m=st.sampled_from([0, 1, 4, 1000]),
    limited=st.booleans(),
)
def test_search_is_its_twin(seed: int, n_rows: int, n_labels: int, m: int, limited: bool) -> None:
    draw = np.random.default_rng(seed)
    profiles, rows = random_profiles(draw, 30, n_labels), random_rows(draw, n_rows, 30)
    indptr, ids = random_candidates(draw, n_rows, n_labels)
    allowed = draw.random(n_labels) < 0.5 if limited else None
    cosines = cosines_slow(rows, profiles._lists)
    expected_ids, expected = best_slow(cosines, m, allowed)
    for threads in (1, 3):
        found = profiles.search(rows, indptr, ids, m, allowed, threads=threads)
        assert found.own.tolist() == own_slow(cosines, indptr, ids)
        assert found.ids.tolist() == expected_ids.tolist()
        assert found.cosines.tolist() == expected.tolist()


def test_fillers_and_labels_far_apart() -> None:
    weights = np.zeros((3, 70_000), np.float32)
    weights[0, [0, 65_534, 69_999]], weights[1, [65_534, 65_536]] = 0.8, 0.5
    [part] = parts_of(weights)
    profiles = Profiles.join([part], 3, 70_000)
    rows = as_sparse_rows(np.array([[1, 0, 0], [3, 4, 0], [0, 0, 1]], np.float32))
    for _ in range(2):  # the second search finds the working memory of the first
        found = profiles.search(rows, np.array([0, 1, 2, 2]), np.array([5, 65_534]), 4)
        assert found.ids.tolist() == [[0, 69_999, 65_534, -1], [65_534, 65_536, 0, 69_999], [-1] * 4]
        np.testing.assert_allclose(found.own, [0.0, 0.933], rtol=1e-2)
        np.testing.assert_allclose(found.cosines[1], [0.933, 0.8, 0.6, 0.6], rtol=1e-2)
    assert found.cosines[2].tolist() == [0.0] * 4


def test_sums_that_cancel_and_terms_that_are_minus_zero() -> None:
    weights = np.zeros((6, 2), np.float32)
    weights[:, 0], weights[0, 1] = [1, -1, 1, -1, 1, -1], 1.0
    [part] = parts_of(weights)
    profiles = Profiles.join([part], 6, 2)
    rows = as_sparse_rows(np.array([[1] * 6, [1, 1, 1, 1, 1, 0], [-1, 0, 0, 0, 0, 0], [2, 0, 0, 0, 0, 0]], np.float32))
    indptr, ids = np.arange(0, 9, 2), np.array([0, 1] * 4)
    for _ in range(2):
        found = profiles.search(rows, indptr, ids, 2)
        assert found.ids.tolist() == [[1, -1], [1, 0], [-1, -1], [1, 0]]
        assert found.own.tolist() == own_slow(cosines_slow(rows, profiles._lists), indptr, ids)
        assert not np.signbit(found.own[0])


def test_fillers_of_a_negative_value() -> None:
    weights = np.zeros((1, 70_000), np.float32)
    weights[0, [0, 69_999]] = 1.0, -1.0
    profiles = Profiles.join(parts_of(weights), 1, 70_000)
    for value, best in ((-3.0, 69_999), (2.0, 0)):
        found = profiles.search(
            as_sparse_rows(np.array([[value]], np.float32)), np.array([0, 1]), np.array([65_534]), 2
        )
        assert found.ids.tolist() == [[best, -1]]
        assert found.own.tolist() == [0.0]
        assert not np.signbit(found.own[0])


def test_a_row_gets_the_same_bits_in_every_batch() -> None:
    draw = np.random.default_rng(5)
    profiles, rows = random_profiles(draw, 60, 400), random_rows(draw, 33, 60)
    indptr, ids = random_candidates(draw, 33, 400)
    together = profiles.search(rows, indptr, ids, 7)
    for size in (1, 10):
        parts = []
        for start in range(0, 33, size):
            stop = min(start + size, 33)
            own_ids = ids[indptr[start] : indptr[stop]]
            parts.append(profiles.search(rows.slice(start, stop), indptr[start : stop + 1] - indptr[start], own_ids, 7))
        for one, split in zip(together, zip(*parts, strict=True), strict=True):
            assert one.tobytes() == np.concatenate(split).tobytes()


def test_the_length_of_a_row_does_not_matter() -> None:
    draw = np.random.default_rng(6)
    profiles, rows = random_profiles(draw, 30, 50), random_rows(draw, 8, 30)
    expected = profiles.search(rows, np.zeros(9, np.int64), NO_IDS, 5)
    for size in (2.0**-140, 2.0**120):
        scaled = SparseRows(rows.indptr, rows.indices, (rows.values * np.float32(size)).astype(np.float32), 30)
        found = profiles.search(scaled, np.zeros(9, np.int64), NO_IDS, 5)
        assert found.ids.tolist() == expected.ids.tolist()
        np.testing.assert_allclose(found.cosines, expected.cosines, rtol=1e-5)


def test_what_does_not_fit_is_rejected() -> None:
    draw = np.random.default_rng(6)
    profiles, rows = random_profiles(draw, 30, 50), random_rows(draw, 2, 30)
    none = np.zeros(3, np.int64)
    with pytest.raises(InputError, match="the profiles have 30 features, the rows have 29"):
        profiles.search(random_rows(draw, 2, 29), none, NO_IDS, 5)
    for indptr, message in (
        ([0, 1], r"candidates of 2 rows need 3 offsets, got shape \(2,\)"),
        ([0, 2, 1], "the offsets of the candidates do not rise from 0 to 1"),
        ([1, 1, 1], "do not rise"),
        ([0, 0, 2], "do not rise"),
    ):
        with pytest.raises(InputError, match=message):
            profiles.search(rows, np.array(indptr), np.array([3]), 5)
    for label in (-1, 50):
        with pytest.raises(InputError, match="candidates must be label ids from 0 to 49"):
            profiles.search(rows, np.array([0, 1, 1]), np.array([label]), 5)
    with pytest.raises(InputError, match=r"allowed must have one entry for each of 50 labels, got \(49,\)"):
        profiles.search(rows, none, NO_IDS, 5, np.ones(49, np.bool_))
    with pytest.raises(ParameterError, match="m must be a whole number of at least 0, got -1"):
        profiles.search(rows, none, NO_IDS, -1)
