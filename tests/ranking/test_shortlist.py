"""Shortlists: joined from several sources, compared with labels, and ranked."""

from __future__ import annotations

import numpy as np

from xmach.ranking import Shortlist
from xmach.types import SparseRows

FIRST = np.array([[7, 2, -1], [0, 1, 2], [-1, -1, -1]])
SECOND = np.array([[2, 9], [-1, -1], [-1, -1]])
LABELS = SparseRows(np.array([0, 2, 2, 3]), np.array([2, 5, 1], np.int32), np.ones(3, np.float32), 10)


def rows_of(shortlist: Shortlist) -> list[list[int]]:
    return [part.tolist() for part in np.split(shortlist.ids, shortlist.indptr[1:-1])]


def test_sources_are_joined_without_repeats_in_the_order_of_ids() -> None:
    assert rows_of(Shortlist.of([FIRST, SECOND])) == [[2, 7, 9], [0, 1, 2], []]
    assert rows_of(Shortlist.of([FIRST])) == [[2, 7], [0, 1, 2], []]


def test_own_labels_are_left_out() -> None:
    shortlist = Shortlist.of([FIRST, SECOND])
    assert shortlist.are_labels(LABELS).tolist() == [True, False, False, False, False, False]
    assert rows_of(shortlist.without(LABELS)) == [[7, 9], [0, 1, 2], []]


def test_the_best_come_first_and_ties_go_to_the_smaller_id() -> None:
    shortlist = Shortlist.of([FIRST, SECOND])
    scores, ids = shortlist.best(np.array([0.5, 0.9, 0.5, 0.1, 0.1, 0.3], np.float32), 4)
    assert ids.tolist() == [[7, 2, 9, -1], [2, 0, 1, -1], [-1] * 4]
    assert scores[0].tolist() == [np.float32(0.9), 0.5, 0.5, -np.inf]
    assert shortlist.best(np.zeros(6, np.float32), 1)[1].tolist() == [[2], [0], [-1]]


def test_rows_without_any_candidate() -> None:
    shortlist = Shortlist.of([FIRST[2:]])
    scores, ids = shortlist.best(np.empty(0, np.float32), 2)
    assert ids.tolist() == [[-1, -1]]
    assert np.isneginf(scores).all()
