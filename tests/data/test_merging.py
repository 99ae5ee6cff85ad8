"""Rows of equal features become one: against a dictionary, in memory and in a cache, sparse and dense."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from xmach.data import Columns, Dataset
from xmach.data import merging as merging_module
from xmach.data.merging import equal_rows, merge_rows
from xmach.types import Rows, SparseRows

Features = tuple[tuple[int, float], ...]
Merged = dict[Features, tuple[float, dict[int, float]]]  # weight and labels, by features, in order of first sight


def sparse_rows(rows: list[dict[int, float]], n_columns: int) -> SparseRows:
    indptr = np.cumsum([0, *map(len, rows)]).astype(np.int64)
    flat = [pair for row in rows for pair in sorted(row.items())]
    indices = np.array([column for column, _ in flat], np.int32)
    return SparseRows(indptr, indices, np.array([value for _, value in flat], np.float32), n_columns)


def a_log(n_rows: int = 500, weights: bool = True, dense: bool = False) -> Dataset:
    """Few different rows, some without features or with a stored zero; labels with counts, sometimes none."""
    draw = np.random.default_rng(4)
    features, labels = [], []
    for _ in range(n_rows):
        columns, ids = (draw.choice(size, draw.integers(0, 3), replace=False).tolist() for size in (4, 9))
        features.append({column: float(draw.integers(0, 3)) for column in columns})
        labels.append({label: float(draw.integers(1, 4)) for label in ids})
    rows: Rows = sparse_rows(features, 4)
    if dense:
        rows = np.zeros((n_rows, 4), np.float32)
        for i, row in enumerate(features):
            rows[i, list(row)] = list(row.values())
    sessions = draw.integers(0, 9, n_rows).astype(np.float32) if weights else None
    names = [f"product {i}" for i in range(9)]
    numbers = np.arange(n_rows) * 2
    return Dataset(rows, sparse_rows(labels, 9), names, sessions, skipped={"bad": 3}, row_numbers=numbers)


def by_dictionary(data: Dataset) -> Merged:
    merged: Merged = {}
    for i in range(data.n_rows):
        if isinstance(data.features, SparseRows):
            pairs = zip(*(part.tolist() for part in data.features.row(i)), strict=True)
        else:
            pairs = enumerate(data.features[i].tolist())  # type: ignore[assignment]
        key = tuple((column, value) for column, value in pairs if value)
        weight, labels = merged.setdefault(key, (0.0, {}))
        own = 1.0 if data.weights is None else float(data.weights[i])
        for label, value in zip(*(part.tolist() for part in data.labels.row(i)), strict=True):
            labels[label] = labels.get(label, 0.0) + own * value
        merged[key] = weight + own, labels
    return {
        key: (weight, {label: value for label, value in sorted(labels.items()) if value})
        for key, (weight, labels) in merged.items()
    }


@pytest.mark.parametrize("weights", [True, False])
@pytest.mark.parametrize("dense", [True, False])
@pytest.mark.parametrize("rows_at_a_time", [1 << 16, 7, 1])
def test_merged_rows_are_those_of_a_dictionary(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, weights: bool, dense: bool, rows_at_a_time: int
) -> None:
    monkeypatch.setattr(merging_module, "_ROWS", rows_at_a_time)
    data = a_log(weights=weights, dense=dense)
    merged, expected = merge_rows(data), by_dictionary(data)
    assert 5 < merged.n_rows < 100
    assert list(by_dictionary(merge_rows(merged))) == list(expected)  # once is enough
    assert merged.weights is not None
    for i, (key, (weight, labels)) in enumerate(expected.items()):
        if isinstance(merged.features, SparseRows):
            columns, values = merged.features.row(i)
        else:
            columns, values = np.arange(4, dtype=np.int32), merged.features[i]
        assert tuple((int(c), float(v)) for c, v in zip(columns, values, strict=True) if v) == key
        assert merged.weights[i] == weight
        assert dict(zip(*(part.tolist() for part in merged.labels.row(i)), strict=True)) == labels
        assert merged.labels.row(i)[0].tolist() == list(labels)  # ascending
    assert (merged.n_features, merged.n_labels) == (4, 9)
    assert list(merged.label_names or []) == list(data.label_names or [])
    assert (dict(merged.skipped), merged.row_numbers) == ({"bad": 3}, None)
    cached = merge_rows(data, tmp_path)
    assert (cached.fingerprint, cached.folder is not None) == (merged.fingerprint, True)


def test_the_cache_is_used_again_and_knows_other_columns(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    data = a_log()
    first = merge_rows(data, tmp_path)
    monkeypatch.setattr(merging_module, "equal_rows", None)
    assert merge_rows(a_log(), tmp_path).folder == first.folder
    monkeypatch.undo()
    named = Dataset(data.features, data.labels, data.label_names, data.weights, columns=Columns(text=("query",)))
    assert merge_rows(named, tmp_path).columns == Columns(text=("query",))
    assert len(list(tmp_path.iterdir())) == 2


def test_a_search_log_gives_queries_by_sessions() -> None:
    """One line for each (query, product, sessions)."""
    features = sparse_rows([{0: 1.0}, {1: 1.0}, {0: 1.0}, {0: 1.0}], 2)
    products = sparse_rows([{5: 1.0}, {5: 1.0}, {2: 1.0}, {5: 1.0}], 6)
    merged = merge_rows(Dataset(features, products, weights=np.array([90, 1, 10, 20], np.float32)))
    assert merged.weights is not None
    assert merged.weights.tolist() == [120.0, 1.0]
    assert [part.tolist() for part in merged.labels.row(0)] == [[2, 5], [10.0, 110.0]]
    assert [part.tolist() for part in merged.labels.row(1)] == [[5], [1.0]]


def test_rows_that_all_differ_stay_as_they_are_and_get_no_weights() -> None:
    data = Dataset(sparse_rows([{0: 1.0}, {1: 1.0}, {}], 2), sparse_rows([{0: 2.0}, {}, {1: 1.0}], 3))
    merged = merge_rows(data)
    assert merged.weights is None
    assert merged.fingerprint == data.fingerprint
    nothing = merge_rows(data.slice(0, 0))
    assert (nothing.n_rows, nothing.n_features, nothing.n_labels) == (0, 2, 3)


def test_groups_come_by_their_first_rows() -> None:
    groups = equal_rows(sparse_rows([{1: 1.0}, {0: 1.0}, {1: 1.0}, {0: 2.0}, {0: 1.0}, {1: 1.0}], 2))
    assert groups.rows.tolist() == [0, 2, 5, 1, 4, 3]
    assert groups.indptr.tolist() == [0, 3, 5, 6]
    assert groups.first.tolist() == [0, 1, 3]


def test_a_label_without_a_value_is_none() -> None:
    """Nor is one whose value is too small for a float32."""
    labels = sparse_rows([{1: 0.0, 2: 1e-30}, {1: 0.0, 3: 2.0}], 9)
    data = Dataset(sparse_rows([{0: 1.0}, {0: 1.0}], 4), labels, None, np.array([1e-30, 1.0], np.float32))
    merged = merge_rows(data)
    assert merged.labels.indices.tolist() == [3]
    assert merged.labels.values.tolist() == [2.0]
