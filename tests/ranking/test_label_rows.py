"""The rows of each label, against the slow twin."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.ranking.label_data import random_labels
from tests.reference.profiles import rows_of_label_slow

from xmach.errors import InputError
from xmach.ranking.label_rows import rows_of_labels, rows_of_parts
from xmach.types import SparseRows


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 2**32 - 1), st.integers(0, 12), st.integers(1, 9), st.booleans())
def test_ranges_are_their_twin(seed: int, n_rows: int, n_labels: int, weighted: bool) -> None:
    draw = np.random.default_rng(seed)
    labels = random_labels(draw, n_rows, n_labels)
    row_weights = draw.choice([0.0, 1.0, 2.5], n_rows).astype(np.float32) if weighted else None
    first, stop = sorted(draw.integers(0, n_labels + 1, 2).tolist())
    found = rows_of_labels(labels, first, stop, row_weights)
    assert (found.first, found.stop, len(found.starts)) == (first, stop, stop - first + 1)
    assert (found.rows.dtype, found.weights.dtype, found.starts[0]) == (np.int32, np.float32, 0)
    for place, label in enumerate(range(first, stop)):
        which = slice(found.starts[place], found.starts[place + 1])
        expected = rows_of_label_slow(labels, label, row_weights)
        assert found.rows[which].tolist() == list(expected)
        assert found.weights[which].tolist() == list(expected.values())


def test_a_slice_of_label_rows() -> None:
    labels = random_labels(np.random.default_rng(3), 20, 6)
    part = labels.slice(5, 11)
    copied = SparseRows(part.indptr.copy(), part.indices.copy(), part.values.copy(), 6)
    for one, other in zip(rows_of_labels(part, 0, 6), rows_of_labels(copied, 0, 6), strict=True):
        assert np.asarray(one).tobytes() == np.asarray(other).tobytes()


def test_labels_without_values_count_once() -> None:
    labels = random_labels(np.random.default_rng(3), 20, 6)
    ones = replace(labels, values=np.ones(labels.nnz, np.float32))
    weights = np.linspace(0.5, 2.0, 20, dtype=np.float32)
    found = rows_of_labels(replace(labels, values=np.zeros(0, np.float32)), 1, 5, weights)
    for one, other in zip(found, rows_of_labels(ones, 1, 5, weights), strict=True):
        assert np.asarray(one).tobytes() == np.asarray(other).tobytes()


def test_without_values_and_row_weights_there_are_no_weights() -> None:
    labels = random_labels(np.random.default_rng(3), 20, 6)
    found = rows_of_labels(replace(labels, values=np.zeros(0, np.float32)), 1, 5)
    weighted = rows_of_labels(labels, 1, 5)
    assert (found.weighted, weighted.weighted, len(found.weights)) == (False, True, 0)
    assert found.starts.tolist() == weighted.starts.tolist()
    assert found.rows.tolist() == weighted.rows.tolist()


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 2**32 - 1), st.integers(1, 9), st.integers(1, 5), st.booleans(), st.sets(st.integers(1, 11)))
def test_parts_are_as_good_as_all_rows(seed: int, n_labels: int, step: int, weighted: bool, cuts: set[int]) -> None:
    draw = np.random.default_rng(seed)
    labels = random_labels(draw, 12, n_labels)
    row_weights = draw.random(12).astype(np.float32) if weighted else None
    bounds = [0, *sorted(cuts), 12]
    parts = []
    for start, stop in pairwise(bounds):
        part = labels.slice(start, stop)
        indptr, within = part.indptr - part.indptr[0], slice(part.indptr[0], part.indptr[-1])
        parts.append(SparseRows(indptr, part.indices[within], part.values[within], n_labels))
    found, whole = rows_of_parts(parts, step, row_weights), rows_of_labels(labels, 0, n_labels, row_weights)
    assert found.starts.tolist() == whole.starts.tolist()
    assert found.rows.tolist() == (step * whole.rows).tolist()
    assert found.weights.tolist() == whole.weights.tolist()


def test_parts_that_do_not_fit_are_rejected() -> None:
    labels = random_labels(np.random.default_rng(0), 5, 4, density=1.0)
    for place, change in ((0, 1), (2, -9), (5, 1), (5, -1)):
        starts = labels.indptr.copy()
        starts[place] += change
        with pytest.raises(InputError, match="the starts of label rows do not rise from 0 to"):
            rows_of_parts([labels, replace(labels, indptr=starts)])
    with pytest.raises(InputError, match="label rows have 10 rows but there are 9 weights"):
        rows_of_parts([labels, labels], 1, np.ones(9, np.float32))


def test_what_does_not_fit_is_rejected() -> None:
    labels = random_labels(np.random.default_rng(0), 5, 4, density=1.0)
    for first, stop in ((0, 5), (-1, 2), (3, 2)):
        with pytest.raises(InputError, match="are not within the 4 labels"):
            rows_of_labels(labels, first, stop)
    with pytest.raises(InputError, match="labels have 5 rows but there are 4 weights"):
        rows_of_labels(labels, 0, 4, np.ones(4, np.float32))
    with pytest.raises(InputError, match="labels 0 to 3 have rows whose weight is not finite"):
        rows_of_labels(labels, 0, 4, np.full(5, 3e38, np.float32))
    assert repr(rows_of_labels(labels, 1, 3)).startswith("<LabelRows of labels 1 to 2, ")
