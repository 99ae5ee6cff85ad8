"""Tables read for a model: rows to be answered, of which labels are not looked at, and labels that the model knows."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from xmach.data import Columns, Dataset, read_dataset, write_parquet
from xmach.errors import DataFileError, InputError, ParameterError
from xmach.features import HashedText

WriteFile = Callable[..., Path]
TEXT = HashedText(n_features=64)
TEXTS = Columns(text=("text",), label_separator=";")


def test_rows_to_be_answered_need_no_labels(write: WriteFile) -> None:
    columns = Columns(labels="y", features=("b", "a"), weight="w")
    data = read_dataset(write("a,b,c\n1,2,?\n", "t.csv"), columns=columns, with_labels=False, n_labels=5)
    assert (data.features.tolist(), data.n_labels, data.labels.nnz, data.weights) == ([[2, 1]], 5, 0, None)
    with pytest.raises(DataFileError, match=r"t.csv:1: there is no column 'b'; the columns are 'a'"):
        read_dataset(write("a\n1\n", "t.csv"), columns=columns, with_labels=False)
    with pytest.raises(DataFileError, match=r"2 columns of numbers .* but 3 features are expected"):
        read_dataset(write("a,b\n1,2\n", "t.csv"), with_labels=False, n_features=3)


@pytest.mark.parametrize("name", ["t.csv", "t.jsonl", "t.parquet"])
def test_rows_to_be_answered_may_have_features_called_like_labels(tmp_path: Path, name: str) -> None:
    rows = [{"label": 0.5, "x": 2.0, "class": "a", "w": "?"}]
    path = tmp_path / name
    if name == "t.parquet":
        pq.write_table(pa.Table.from_pylist(rows), path)
    else:
        path.write_text("label,x,class,w\n0.5,2,a,?\n" if name == "t.csv" else json.dumps(rows[0]) + "\n")
    columns = Columns(labels="class", features=("label", "x"), weight="w")
    for asked in (columns, Columns(features=("label", "x"))):
        data = read_dataset(path, columns=asked, with_labels=False, n_features=2, n_labels=3)
        assert (data.features.tolist(), data.labels.nnz, data.weights) == ([[0.5, 2]], 0, None)
        assert data.columns == Columns(features=("label", "x"))


def test_what_is_left_for_features_of_rows_to_be_answered(write: WriteFile) -> None:
    path = write("a,label\n1,2\n", "t.csv")
    assert read_dataset(path, with_labels=False).features.tolist() == [[1]]
    assert read_dataset(path, with_labels=False, n_features=1).features.tolist() == [[1]]
    assert read_dataset(path, with_labels=False, n_features=2).features.tolist() == [[1, 2]]
    named = read_dataset(path, columns=Columns(labels="a"), with_labels=False)
    assert named.features.tolist() == [[2]]


def test_faults_in_labels_that_nobody_needs_are_none(tmp_path: Path, write: WriteFile) -> None:
    path = write('{"text": "a", "labels": "x"}\n{"text": "b", "labels": {}}\n', "t.jsonl")
    data = read_dataset(path, columns=TEXTS, text=TEXT, with_labels=False)
    assert (data.n_rows, data.labels.nnz) == (2, 0)
    pq.write_table(pa.table({"text": ["a"], "labels": [1.5]}), tmp_path / "t.parquet")
    assert read_dataset(tmp_path / "t.parquet", columns=TEXTS, text=TEXT, with_labels=False).n_rows == 1


def test_our_own_parquet_is_read_without_its_labels(tmp_path: Path, write: WriteFile) -> None:
    rows = read_dataset(write("x,labels,w\n1,a,2\n3,b,1\n", "t.csv"), columns=Columns(weight="w"))
    write_parquet(rows, tmp_path / "t.parquet")
    for columns in (Columns(), Columns(labels="labels", weight="weight")):
        data = read_dataset(tmp_path / "t.parquet", columns=columns, with_labels=False)
        assert (data.features.tolist(), data.labels.nnz, data.weights) == ([[1], [3]], 0, None)
        assert data.label_names == ("a", "b")
    write_parquet(Dataset(rows.features, rows.labels), tmp_path / "bare.parquet")
    assert read_dataset(tmp_path / "bare.parquet", columns=Columns(weight="weight")).weights is None


@pytest.mark.parametrize(("name", "content"), [("t.csv", "x,label\n1,7\n2,5\n"), ("t.svm", "7 1:1\n5 1:2\n")])
def test_a_name_of_two_labels_is_refused_where_it_is_used(write: WriteFile, name: str, content: str) -> None:
    path = write(content, name)
    with pytest.raises(InputError, match="label '7' of the file could be 1 or 3: two labels have that name"):
        read_dataset(path, label_names=["5", "7", "6", "7"])
    data = read_dataset(path, label_names=["5", "6", "6", "7"])  # a name that the file does not use
    assert data.labels.indices.tolist() == [3, 0]


def test_columns_are_for_tables(tmp_path: Path) -> None:
    (tmp_path / "rows.txt").write_text("1 2 2\n0 0:1\n")
    with pytest.raises(ParameterError, match=r"columns are for tables \(csv, tsv, jsonl, parquet\); .* is xmc"):
        read_dataset(tmp_path / "rows.txt", columns=Columns(weight="w"))
