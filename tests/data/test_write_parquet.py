"""write_parquet: what is read back is the same dataset."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.conftest import made_up

from xmach.data import Columns, Dataset, check_file, read_dataset, write_parquet
from xmach.data.read.tables import parquet_rows
from xmach.data.write import parquet as parquet_writer
from xmach.errors import DataFileError, InputError
from xmach.types import SparseRows

PLAIN = made_up(50)
DENSE = np.random.default_rng(0).normal(size=(50, 3)).astype(np.float32)
COUNTS = replace(PLAIN.labels, values=np.arange(PLAIN.labels.nnz, dtype=np.float32) + 0.5)
NAMES = ("", *[f"é {i}" for i in range(PLAIN.n_labels - 1, 0, -1)])  # neither sorted nor all of them words
WEIGHTS = np.linspace(0, 2, 50, dtype=np.float32)
NO_ROWS = SparseRows(np.zeros(1, np.int64), np.zeros(0, np.int32), np.zeros(0, np.float32), 7)

CASES = {
    "plain": PLAIN,
    "names": replace(PLAIN, label_names=NAMES),
    "weights": replace(PLAIN, weights=WEIGHTS),
    "counts": replace(PLAIN, labels=COUNTS, label_names=NAMES),
    "dense": Dataset(DENSE, PLAIN.labels),
    "dense, all": Dataset(DENSE, COUNTS, NAMES, WEIGHTS),
    "labels without rows": replace(PLAIN, labels=replace(PLAIN.labels, n_columns=1000)),
    "no rows": Dataset(NO_ROWS, NO_ROWS),
    "no dense rows": Dataset(np.zeros((0, 4), np.float32), NO_ROWS, tuple("abcdefg")),
    "no features": Dataset(np.zeros((50, 0), np.float32), PLAIN.labels),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("numbers", [100, 1 << 22])
def test_what_is_written_reads_back_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, numbers: int
) -> None:
    monkeypatch.setattr(parquet_writer, "_GROUP_NUMBERS", numbers)
    path, data = tmp_path / "rows.parquet", CASES[name]
    write_parquet(data, path)
    again = read_dataset(path, cache=tmp_path)
    assert again.fingerprint == data.fingerprint
    report = check_file(path)
    assert (report.ok, report.rows, report.labels) == (True, data.n_rows, data.n_labels)


def test_rows_are_written_in_groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet_writer, "_GROUP_NUMBERS", 1)
    write_parquet(PLAIN, tmp_path / "rows.parquet")
    assert pq.read_metadata(tmp_path / "rows.parquet").num_row_groups == PLAIN.n_rows


def test_others_can_read_it(tmp_path: Path) -> None:
    write_parquet(CASES["names"], tmp_path / "rows.parquet")
    table = pq.read_table(tmp_path / "rows.parquet")
    assert table.column_names == ["indices", "values", "labels"]
    assert table["labels"][0].as_py() == [NAMES[i] for i in PLAIN.labels.row(0)[0]]
    assert table["indices"][0].as_py() == PLAIN.features.row(0)[0].tolist()


def test_the_models_labels_come_first(tmp_path: Path) -> None:
    write_parquet(CASES["names"], tmp_path / "rows.parquet")
    data = read_dataset(tmp_path / "rows.parquet", label_names=["new", NAMES[3]])
    assert data.label_names is not None
    assert list(data.label_names) == ["new", NAMES[3], *sorted(set(NAMES) - {NAMES[3]})]
    with pytest.raises(DataFileError, match="has 40 features, but 5 are expected"):
        read_dataset(tmp_path / "rows.parquet", n_features=5)


def test_a_write_that_fails_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    write_parquet(PLAIN, path)
    with pytest.raises(InputError, match="same name"):
        write_parquet(replace(PLAIN, label_names=("a",) * PLAIN.n_labels), path)
    with pytest.raises(DataFileError, match="no such file"):
        write_parquet(PLAIN, tmp_path / "nowhere" / "rows.parquet")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parquet_writer, "_table", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError, match="division"):
            write_parquet(CASES["names"], path)
    assert read_dataset(path).fingerprint == PLAIN.fingerprint
    assert list(tmp_path.iterdir()) == [path]


def rewritten(path: Path, **columns: pa.Array) -> None:
    """A file of ours with columns that are not."""
    file = pq.ParquetFile(path)
    table, metadata = file.read(), file.metadata.metadata
    for name, column in columns.items():
        table = table.set_column(table.column_names.index(name), name, column)
    pq.write_table(table.replace_schema_metadata(metadata), path)


@pytest.mark.parametrize(
    ("column", "lists", "kind", "message"),
    [
        ("indices", [[1], [2, 1]], pa.int32(), "row 1 .*ascend"),
        ("indices", [[1], [1, 1]], pa.int32(), "row 1 .*ascend"),
        ("indices", [[1], [1, 9]], pa.int32(), "row 1 .*not in 0..8"),
        ("indices", [[1], [None, 1]], pa.int32(), "row 1 .*not in 0..8"),
        ("indices", [[1], [1]], pa.int32(), "row 1 .*numbers of indices and values differ"),
        ("values", [[1], [float("nan"), 1]], pa.float32(), "row 1 .*not finite"),
        ("label_values", [[1], [1, 1]], pa.float32(), "row 1 .*numbers of labels and values differ"),
        ("label_values", [[1], [None]], pa.float32(), "row 1 .*label value that is not finite"),
        ("labels", [[1], [None]], pa.int32(), "row 1 .*null inside a list"),
    ],
)
def test_rows_that_contradict_themselves(
    tmp_path: Path, column: str, lists: list[list[float]], kind: pa.DataType, message: str
) -> None:
    features = SparseRows(np.array([0, 1, 3]), np.int32([1, 2, 3]), np.float32([1, 2, 3]), 9)
    labels = SparseRows(np.array([0, 1, 2]), np.int32([0, 1]), np.float32([2, 3]), 2)
    path = tmp_path / "rows.parquet"
    write_parquet(Dataset(features, labels), path)
    rewritten(path, **{column: pa.array(lists, pa.list_(kind))})
    with pytest.raises(DataFileError, match=message):
        read_dataset(path)
    assert read_dataset(path, on_error="skip").n_rows == 1


def test_dense_rows_that_contradict_themselves(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    write_parquet(Dataset(np.ones((2, 2), np.float32), PLAIN.labels.slice(0, 2)), path)
    rewritten(path, features=pa.array([[1, 2], [1]], pa.list_(pa.float32())))
    with pytest.raises(DataFileError, match=r"row 1 .*expected 2 numbers"):
        read_dataset(path)


def test_files_that_only_look_like_ours(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    write_parquet(PLAIN, path)
    rewritten(path, values=pa.array([[1.0]] * 50))
    with pytest.raises(DataFileError, match="have a column 'values' of type"):
        read_dataset(path)
    for value, message in [(b"{}", "its xmach metadata are damaged"), (b'{"format": 2}', "written in format 2")]:
        pq.write_table(pq.read_table(path).replace_schema_metadata({parquet_rows._KEY: value}), path)
        with pytest.raises(DataFileError, match=message):
            read_dataset(path)


def test_columns_of_ours_can_be_read_as_a_table(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    write_parquet(CASES["weights"], path)
    data = read_dataset(path, columns=Columns(features=("weight",)))
    np.testing.assert_array_equal(data.features[:, 0], WEIGHTS)
