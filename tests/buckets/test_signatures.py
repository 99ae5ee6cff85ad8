"""Labels that cannot be told apart, against brute force over all pairs; and tables that are refused."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from xmach.buckets import UniversalHashes, as_signatures, count_indistinguishable_pairs, indistinguishable_groups
from xmach.errors import InputError

tables = st.sampled_from([np.uint8, np.uint16, np.uint32, np.int64]).flatmap(
    lambda dtype: hnp.arrays(dtype, st.tuples(st.integers(1, 30), st.integers(1, 4)), elements=st.integers(0, 3))
)


@settings(deadline=None, max_examples=200)
@given(tables)
def test_groups_by_brute_force(table: np.ndarray[Any, Any]) -> None:
    pairs = {(i, j) for i, j in combinations(range(len(table)), 2) if table[i].tolist() == table[j].tolist()}
    groups = indistinguishable_groups(table)
    assert {pair for group in groups for pair in combinations(group.tolist(), 2)} == pairs  # ids rise in a group
    assert all(len(group) >= 2 and group.dtype == np.int64 for group in groups)
    members = [label for group in groups for label in group.tolist()]
    assert len(members) == len(set(members))
    assert count_indistinguishable_pairs(table) == len(pairs)


def test_groups_of_a_table_that_is_not_contiguous() -> None:
    table = np.zeros((6, 4), np.uint16)
    table[:, ::2] = [[1, 2], [3, 4], [1, 2], [5, 6], [3, 4], [1, 2]]
    table[:, 1::2] = np.arange(12).reshape(6, 2)
    assert sorted(group.tolist() for group in indistinguishable_groups(table[:, ::2])) == [[0, 2, 5], [1, 4]]
    assert count_indistinguishable_pairs(table[:, ::2]) == 4
    assert indistinguishable_groups(table) == []


def test_signatures_of_hashes_and_of_tables() -> None:
    hashes = UniversalHashes.draw(40, 6, 3)
    np.testing.assert_array_equal(as_signatures(hashes), hashes.signatures())
    table = np.asfortranarray(hashes.signatures().astype(np.int64))
    taken = as_signatures(table)
    assert taken.flags.c_contiguous
    np.testing.assert_array_equal(taken, table)
    assert as_signatures([[0, 1], [1, 1]]).tolist() == [[0, 1], [1, 1]]


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (np.zeros(5, np.uint8), r"got shape \(5,\), uint8"),
        (np.zeros((0, 3), np.uint8), r"got shape \(0, 3\), uint8"),
        (np.zeros((3, 0), np.uint8), r"got shape \(3, 0\), uint8"),
        (np.zeros((3, 2)), r"array of whole numbers, got shape \(3, 2\), float64"),
        (np.zeros((3, 2), bool), r"array of whole numbers, got shape \(3, 2\), bool"),
        (np.array([[0, 1], [-1, 1]]), "bucket numbers of at least 0, got -1"),
    ],
)
def test_tables_that_are_refused(table: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        as_signatures(table)
