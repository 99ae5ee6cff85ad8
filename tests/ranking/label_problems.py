"""Random ranker problems for tests."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp

from xmach.data.arrays import as_sparse_rows
from xmach.ranking.label_rows import LabelRows
from xmach.types import IntArray, SparseRows


def unit_rows(n_rows: int, n_features: int, density: float = 0.3, seed: int = 0) -> SparseRows:
    """Rows of unit length; the middle row has no features."""
    draw = np.random.default_rng(seed)
    rows = draw.normal(size=(n_rows, n_features)) * (draw.random((n_rows, n_features)) < density)
    rows[n_rows // 2] = 0.0
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    return as_sparse_rows((rows / np.where(norms > 0, norms, 1.0)).astype(np.float32))


def label_rows(lists: Sequence[Sequence[int]], first: int = 0, weights: Sequence[float] | None = None) -> LabelRows:
    """The rows of labels, each with weight 1 unless weights are given."""
    starts = np.cumsum([0, *map(len, lists)])
    rows = np.array([row for each in lists for row in each], np.int32)
    given = np.ones(len(rows), np.float32) if weights is None else np.array(weights, np.float32)
    return LabelRows(first, starts.astype(np.int64), rows, given)


def random_lists(n_labels: int, n_rows: int, share: float, seed: int, first: int = 0) -> LabelRows:
    """Random rows with random weights, some of them 0."""
    draw = np.random.default_rng(seed)
    matrix = sp.csr_matrix(draw.random((n_labels, n_rows)) < draw.uniform(0.5, 1.5, (n_labels, 1)) * share)
    weights = draw.choice(np.float32([0.0, 0.5, 1.0, 1.0, 2.0]), matrix.nnz)
    return LabelRows(first, matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32), weights)


def part_of(lists: LabelRows, start: int, stop: int) -> LabelRows:
    """The rows of the labels at the places start..stop-1."""
    span = slice(lists.starts[start], lists.starts[stop])
    starts = lists.starts[start : stop + 1] - lists.starts[start]
    return LabelRows(lists.first + start, starts, lists.rows[span], lists.weights[span])


def random_pairs(n_rows: int, n_labels: int, seed: int) -> tuple[IntArray, IntArray]:
    """Random candidates, in no order; every third row has none."""
    draw = np.random.default_rng(seed)
    counts = np.where(np.arange(n_rows) % 3 == 1, 0, draw.integers(1, 2 * n_labels + 1, n_rows))
    return np.append(0, np.cumsum(counts)).astype(np.int64), draw.integers(n_labels, size=counts.sum())
