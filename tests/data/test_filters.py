"""filter_labels files: what evaluation leaves out."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from xmach.data.labels.filters import answers_to_ask, drop_answers, drop_labels, read_filter
from xmach.errors import DataFileError, InputError
from xmach.types import SparseRows

WriteFile = Callable[..., Path]


def sparse(rows: list[set[int]], n_columns: int) -> SparseRows:
    indptr = np.cumsum([0, *map(len, rows)], dtype=np.int64)
    indices = np.array([column for row in rows for column in sorted(row)], np.int32)
    return SparseRows(indptr, indices, np.arange(1, len(indices) + 1, dtype=np.float32), n_columns)


def rows_of(rows: SparseRows) -> list[set[int]]:
    return [set(rows.row(i)[0].tolist()) for i in range(rows.n_rows)]


def test_pairs_in_any_order(write: WriteFile) -> None:
    found = read_filter(write("2 1\r\n0\t4 \n 2 0\n2 1\n\n"), 4, 5)
    assert found.shape == (4, 5)
    assert rows_of(found) == [{4}, set(), {0, 1}, set()]
    assert found.indices.tolist() == [4, 0, 1]
    assert read_filter(write(""), 3, 5).nnz == 0


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("1", "'1' is not a pair"),
        ("1 2 3", "is not a pair"),
        ("1 x", "'1 x' is not a pair; expected a row and a label"),
        ("-1 2", "is not a pair"),
        ("1 2.0", "is not a pair"),
        ("1,2", "is not a pair"),
        ("4 1", "row 4: there are 4 rows, so the last is 3"),
        ("1 5", "label 5: there are 5 labels, so the last is 4"),
        ("1 99999999999999999999999", "there are 5 labels"),
    ],
)
def test_bad_pairs(write: WriteFile, line: str, message: str) -> None:
    with pytest.raises(DataFileError, match=rf":2: .*{message}"):
        read_filter(write(f"0 1\n{line}\n"), 4, 5)


rows_and_filter = st.integers(0, 4).flatmap(
    lambda n: st.tuples(
        st.lists(st.sets(st.integers(0, 6)), min_size=n, max_size=n),
        st.lists(st.permutations(range(7)), min_size=n, max_size=n),
    )
)


@given(case=rows_and_filter, m=st.integers(1, 7), k=st.integers(1, 9), cut=st.integers(0, 7))
def test_answers_keep_their_order(case: tuple[list[set[int]], list[list[int]]], m: int, k: int, cut: int) -> None:
    filtered, rankings = case
    ids = np.array([ranking[:m] for ranking in rankings], np.int64).reshape(len(rankings), m)
    ids[:, cut:] = -1  # a row may have fewer answers
    expected = []
    for row, dropped in zip(ids.tolist(), filtered, strict=True):
        kept = [label for label in row if label >= 0 and label not in dropped][:k]
        expected.append(kept + [-1] * (k - len(kept)))
    assert drop_answers(ids, sparse(filtered, 7), k).tolist() == expected


@given(case=rows_and_filter, others=st.sets(st.integers(0, 6)))
def test_true_labels(case: tuple[list[set[int]], list[list[int]]], others: set[int]) -> None:
    filtered = case[0]
    labels = sparse([others] * len(filtered), 9)
    kept = drop_labels(labels, sparse(filtered, 7))
    assert rows_of(kept) == [others - row for row in filtered]
    for i in range(kept.n_rows):
        values = dict(zip(*(part.tolist() for part in labels.row(i)), strict=True))
        assert [values[label] for label in kept.row(i)[0].tolist()] == kept.row(i)[1].tolist()


def test_as_many_answers_as_are_needed() -> None:
    filtered = sparse([{1}, {0, 2}, set()], 7)
    assert [answers_to_ask(filtered, k) for k in (1, 5, 6, 7, 9)] == [3, 7, 7, 7, 9]
    ids = np.argsort(np.random.default_rng(0).random((3, 7)), axis=1)[:, : answers_to_ask(filtered, 3)]
    assert (drop_answers(ids, filtered, 3) >= 0).all()


def test_rows_must_be_those_of_the_filter() -> None:
    filtered = sparse([{1}], 7)
    with pytest.raises(InputError, match="2 rows of answers but 1 rows in the filter"):
        drop_answers(np.zeros((2, 3), np.int64), filtered, 1)
    with pytest.raises(InputError, match="2 rows of labels but 1 rows in the filter"):
        drop_labels(sparse([set(), set()], 7), filtered)
