"""Gathering and scaling of sparse rows, against their slow twins."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.reference.rows import tfidf_rows_slow, unit_rows_slow

from xmach._kernels.train.rows import gather_rows, tfidf_rows, unit_rows
from xmach.types import SparseRows

seeds = st.integers(0, 2**32 - 1)


def random_rows(draw: np.random.Generator, n: int) -> SparseRows:
    lengths = draw.integers(0, 6, n)
    indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    values = draw.choice([0.0, 0.3, 1.0, 2.0, 2.5, 255.0, 256.0, 1e6], indptr[-1]).astype(np.float32)
    return SparseRows(indptr, draw.integers(0, 20, indptr[-1]).astype(np.int32), values, 20)


@settings(deadline=None, max_examples=60)
@given(seeds, st.integers(1, 9), st.integers(0, 12))
def test_gathered_rows_are_those_of_take(seed: int, n: int, wanted: int) -> None:
    draw = np.random.default_rng(seed)
    rows, which = random_rows(draw, n), draw.integers(0, n, wanted)
    twin = rows.take(which)
    indices, values = np.empty(twin.nnz, np.int32), np.empty(twin.nnz, np.float32)
    gather_rows(rows.indptr, rows.indices, rows.values, which, twin.indptr, indices, values)
    assert indices.tolist() == twin.indices.tolist()
    assert values.tolist() == twin.values.tolist()


@settings(deadline=None, max_examples=60)
@given(seeds, st.integers(0, 9))
def test_scaled_rows_are_their_twins(seed: int, n: int) -> None:
    draw = np.random.default_rng(seed)
    rows, idf = random_rows(draw, n), draw.uniform(1, 9, 20).astype(np.float32)
    out = np.empty(rows.nnz, np.float32)
    tfidf_rows(rows.indices, rows.values, idf, out)
    np.testing.assert_allclose(out, tfidf_rows_slow(rows.indices, rows.values, idf), rtol=1e-6)
    unit_rows(rows.indptr, rows.values, out)
    np.testing.assert_allclose(out, unit_rows_slow(rows.indptr, rows.values), rtol=1e-6)
