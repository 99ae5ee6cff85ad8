"""The forms of true labels, and the refusal of what cannot be scored."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse

from xmach.errors import InputError
from xmach.metrics.hits import find_hits
from xmach.types import SparseRows, TopK

RANKED = np.array([[1, 0, 2], [2, 1, 0], [0, -1, 3]])
PLACES = [[True, False, True], [False, False, False], [False, False, True]]  # of labels {1, 2}, {}, {3}


def csr(data: list[float], indices: list[int], indptr: list[int]) -> sparse.csr_matrix:
    return sparse.csr_matrix((data, indices, indptr), shape=(3, 4))


FORMS: dict[str, Any] = {
    "lists": [[2, 1], [], [3]],
    "sets": [{1, 2}, set(), {3}],
    "arrays": [np.array([1, 2]), np.array([], int), np.array([3])],
    "object array": np.array([[1, 2], [], [3]], dtype=object),
    "a label twice": [[1, 2, 1], [], [3]],
    "sparse rows": SparseRows(
        np.array([0, 2, 2, 3]), np.array([1, 2, 3], np.int32), np.ones(3, np.float32), n_columns=4
    ),
    "csr": csr([1, 1, 1], [1, 2, 3], [0, 2, 2, 3]),
    "csr, unsorted": csr([1, 1, 1], [2, 1, 3], [0, 2, 2, 3]),
    "csr, stored zeros": csr([1, 1, 0, 0, 1], [1, 2, 3, 0, 3], [0, 3, 4, 5]),
    "csr, a label twice": csr([1, 1, 1, 1], [1, 2, 1, 3], [0, 3, 3, 4]),
    "csc of truth values": csr([1, 1, 1], [1, 2, 3], [0, 2, 2, 3]).tocsc().astype(bool),
    "coo array": sparse.coo_array(csr([1, 1, 1], [1, 2, 3], [0, 2, 2, 3])),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_labels_gives_the_same_hits(form: str) -> None:
    hits = find_hits(FORMS[form], RANKED, 3)
    assert hits.places.tolist() == PLACES
    assert hits.n_true.tolist() == [2, 0, 1]


def test_labels_are_left_as_they_were() -> None:
    matrix = csr([1, 1, 1, 1], [2, 1, 1, 3], [0, 3, 3, 4])
    find_hits(matrix, RANKED, 3)
    assert matrix.indices.tolist() == [2, 1, 1, 3]
    assert matrix.data.tolist() == [1, 1, 1, 1]


@pytest.mark.parametrize("true", [np.array([1, 0, 3]), [1, 0, 3], np.array([1, 0, 3], np.uint8)])
def test_a_class_a_row(true: Any) -> None:
    hits = find_hits(true, RANKED, 3)
    assert hits.places.tolist() == [[True, False, False], [False, False, True], [False, False, True]]
    assert hits.n_true.tolist() == [1, 1, 1]


def test_only_the_first_places_are_looked_at() -> None:
    assert find_hits(FORMS["lists"], RANKED, 2).places.shape == (3, 2)


def test_no_rows_and_no_labels() -> None:
    assert find_hits([], np.empty((0, 3), int), 3).places.shape == (0, 3)
    assert find_hits([[], []], [[0], [5]], 1).places.tolist() == [[False], [False]]


def test_fifty_million_labels_and_many_rows_do_not_overflow() -> None:
    last = 50_000_000 - 1
    true = sparse.csr_array((np.ones(1), ([999_999], [last])), shape=(1_000_000, last + 1))
    ranked = np.full((1_000_000, 1), last)
    assert np.flatnonzero(find_hits(true, ranked, 1).places).tolist() == [999_999]


@pytest.mark.parametrize(
    ("ranked", "message"),
    [
        ([1, 2, 3], r"shape \(rows, places\), got \(3,\)"),
        ([[1], [2]], "ranked ids have 2 rows, true labels have 3"),
        ([[1], [2], [3]], "k = 2 needs 2 ranked places, got 1"),
        ([[1, 2], [2], [3, 0]], "ranked ids must be one rectangular array"),
        ([[1, 2], [2, 1], [3, -2]], "at least 0, or -1 for no answer, got -2"),
        ([[1, 2], [3, 3], [3, 0]], "row 1 has 3 more than once"),
        ([[1.0, 2.0]] * 3, "ranked ids must be whole numbers, got float64"),
        ([[True, False]] * 3, "ranked ids must be whole numbers, got bool"),
        ([["a", "b"]] * 3, "map label names to ids first"),
        (TopK(np.eye(3), np.eye(3, dtype=np.float32), np.eye(3, dtype=int)), r"got a TopK: pass its \.ids"),
    ],
)
def test_rankings_that_are_refused(ranked: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        find_hits([[1], [], [2]], ranked, 2)


@pytest.mark.parametrize(
    ("true", "message"),
    [
        ([[1], [-1], [2]], "at least 0, got -1 in row 1"),
        ([1, 2.5, 3], "true label ids must be whole numbers, got float64"),
        ([["red"], [], ["blue"]], "map label names to ids first"),
        ([1, [2], 3], "true label ids must be one rectangular array"),
        ([[[1, 2]], [], []], "one class or one flat list of label ids per row"),
        (sparse.csr_array([[1, 0], [0, -2], [0, 1]]), "must be at least 0, got -2 in row 1"),
        (np.eye(3, dtype=int), r"one class per row, shape \(n,\), got \(3, 3\)"),
        ([2**62, 0, 0], "too large for 3 rows: number them from 0"),
        (
            SparseRows(np.array([0, 1, 1, 1]), np.array([4], np.int32), np.ones(1, np.float32), 4),
            "from 0 to 3, got 4 in row 0",
        ),
    ],
)
def test_labels_that_are_refused(true: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        find_hits(true, RANKED, 3)


def test_an_id_beyond_the_columns_of_the_labels_is_refused() -> None:
    with pytest.raises(InputError, match="go up to 3, true labels have only 3 columns"):
        find_hits(sparse.csr_array((3, 3)), RANKED, 3)
