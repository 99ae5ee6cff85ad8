"""Texts of labels as profiles: which features a text has counts, and a long text loses little."""

from __future__ import annotations

import numpy as np
import pytest

from xmach.data.arrays import as_sparse_rows
from xmach.ranking.label_texts import text_profiles
from xmach.types import SparseRows


def unit_rows(n_rows: int, n_features: int, seed: int) -> SparseRows:
    rng = np.random.default_rng(seed)
    dense = rng.random((n_rows, n_features)) * (rng.random((n_rows, n_features)) < 0.3)
    dense[:, 0] += 0.1
    return as_sparse_rows((dense / np.linalg.norm(dense, axis=1, keepdims=True)).astype(np.float32))


def dense_of(rows: SparseRows) -> np.ndarray:
    table = np.zeros((rows.n_rows, rows.n_columns))
    table[np.repeat(np.arange(rows.n_rows), np.diff(rows.indptr)), rows.indices] = rows.values
    return table


def test_similarities_are_those_of_the_formula() -> None:
    texts, rows, ids = unit_rows(5, 40, 0), unit_rows(8, 40, 1), np.array([0, 2, 3, 6, 7])
    profiles = text_profiles(ids, texts, 9)
    everything = np.tile(np.arange(9), 8)
    found = profiles.search(rows, np.arange(9) * 9, everything, 0).own.reshape(8, 9)
    there = dense_of(texts) > 0
    lengths = there.sum(axis=1)
    expected = np.zeros((8, 9))
    expected[:, ids] = dense_of(rows) @ there.T / (lengths**0.2 * 64**0.3)
    assert found == pytest.approx(expected, abs=1e-5)
    assert profiles.present().tolist() == [i in ids for i in range(9)]


def test_a_long_text_keeps_its_rarest_features() -> None:
    values = np.arange(1, 1001, dtype=np.float32)
    text = SparseRows(np.array([0, 1000]), np.arange(1000, dtype=np.int32), values / np.linalg.norm(values), 1000)
    kept = np.flatnonzero(np.diff(text_profiles(np.array([0]), text, 1).arrays()["starts"]))
    assert kept.min() >= 488
    assert len(kept) == 512
