"""Tables: CSV, TSV, JSON lines and Parquet that say the same read the same."""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from xmach.data import Columns, Dataset, ReadOptions, check_file, guess_format, read_dataset
from xmach.data.read.sparse.exact import BlankLines
from xmach.data.read.tables import csv_reader as table_csv
from xmach.data.read.tables import json_reader as table_json
from xmach.data.read.tables import reader as table_reader
from xmach.data.read.tables.csv_records import CSV, exact_records, quick_records
from xmach.errors import DataFileError, ParameterError
from xmach.features import HashedText
from xmach.types import SparseRows

WriteFile = Callable[..., Path]
TEXT = HashedText(n_features=64)
TEXTS = Columns(text=("text",), label_separator=";")


def labels_of(data: Dataset) -> list[list[str]]:
    """The labels of each row by name."""
    names = data.label_names if data.label_names is not None else [str(i) for i in range(data.n_labels)]
    return [[names[i] for i in data.labels.row(row)[0]] for row in range(data.n_rows)]


def write_table(path: Path, rows: list[dict[str, Any]]) -> Path:
    """Rows with `labels` that are lists, in the format that the name says."""
    kind = path.name.removesuffix(".gz").rpartition(".")[2]
    if kind == "parquet":
        pq.write_table(pa.Table.from_pylist(rows), path)
        return path
    flat = [row | {"labels": ";".join(row["labels"])} for row in rows]
    text = io.StringIO()
    if kind == "jsonl":
        text.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    elif kind == "csv":
        writer = csv.DictWriter(text, list(rows[0]), lineterminator="\r\n")
        writer.writeheader()
        writer.writerows(flat)
    else:
        text.writelines("\t".join(map(str, line)) + "\n" for line in [rows[0], *(row.values() for row in flat)])
    content = text.getvalue().encode()
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else b"\xef\xbb\xbf" + content)
    return path


NAMES = ["a.csv", "a.csv.gz", "a.tsv", "a.tsv.gz", "a.jsonl", "a.jsonl.gz", "a.parquet"]
ROWS = [
    {"text": "red shoe", "labels": ["b", "a"], "n": 1, "w": 0.5},
    {"text": 'the "new" é', "labels": [], "n": 2.5, "w": 1},
    {"text": "", "labels": ["10", "007"], "n": -3, "w": 0},
]


@pytest.mark.parametrize("name", NAMES)
def test_every_format_reads_the_same_texts(tmp_path: Path, name: str) -> None:
    columns = Columns(text=("text",), label_separator=";", weight="w")
    data = read_dataset(write_table(tmp_path / name, ROWS), columns=columns, text=TEXT)
    expected = TEXT.transform([str(row["text"]) for row in ROWS])
    np.testing.assert_array_equal(data.features.indices, expected.indices)
    assert data.label_names == ("007", "10", "a", "b")
    assert labels_of(data) == [["a", "b"], [], ["007", "10"]]
    np.testing.assert_array_equal(data.weights, np.float32([0.5, 1, 0]))
    assert data.columns == Columns(("text",), "labels", (), "w", ";")
    report = check_file(tmp_path / name, options=ReadOptions(columns=columns))
    assert (report.ok, report.rows, report.labels, report.rows_without_labels, report.rows_without_features) == (
        True, 3, 4, 1, 1,
    )  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_every_format_reads_the_same_numbers(tmp_path: Path, name: str) -> None:
    rows = [{key: value for key, value in row.items() if key != "text"} for row in ROWS]
    path = write_table(tmp_path / name, rows)
    data = read_dataset(path, columns=Columns(label_separator=";"), cache=tmp_path / "cache")
    np.testing.assert_array_equal(data.features, np.float32([[1, 0.5], [2.5, 1], [-3, 0]]))
    assert data.columns is not None
    assert data.columns.features == ("n", "w")
    chosen = read_dataset(path, columns=Columns(features=("w", "n"), label_separator=";"))
    np.testing.assert_array_equal(chosen.features, data.features[:, ::-1])
    assert Dataset.open(data.folder).columns == data.columns


def test_several_text_columns_are_joined(write: WriteFile) -> None:
    data = read_dataset(write("a,b,label\nred,shoe,x\n", "t.csv"), columns=Columns(text=("b", "a")), text=TEXT)
    expected = TEXT.transform(["shoe red"])
    np.testing.assert_array_equal(data.features.indices, expected.indices)


def test_labels_are_text_in_csv_and_stay_as_they_are(write: WriteFile) -> None:
    data = read_dataset(write("x,label\n1,007\n2, 7 \n3,NA\n4,\n5,true\n", "t.csv"))
    assert labels_of(data) == [["007"], ["7"], ["NA"], [], ["true"]]


def test_a_separator_may_be_long_and_a_label_given_twice_counts_once(write: WriteFile) -> None:
    data = read_dataset(write("x,labels\n1,b || a||b\n", "t.csv"), columns=Columns(label_separator="||"))
    assert labels_of(data) == [["a", "b"]]
    np.testing.assert_array_equal(data.labels.values, [1, 1])


@pytest.mark.parametrize(
    ("lists", "expected"),
    [
        ([[10, 9], [-1], []], [["9", "10"], ["-1"], []]),
        ([10, 9, -1], [["10"], ["9"], ["-1"]]),
        ([["10", "9"], None, ["x;y"]], [["10", "9"], [], ["x;y"]]),  # lists are not split
        ([None, "b;a", ""], [[], ["a", "b"], []]),
    ],
)
@pytest.mark.parametrize("name", ["t.jsonl", "t.parquet"])
def test_labels_that_are_lists_or_numbers(tmp_path: Path, name: str, lists: list[Any], expected: list[Any]) -> None:
    rows = [{"x": 1.0, "labels": labels} for labels in lists]
    path = tmp_path / name
    if name == "t.parquet":
        pq.write_table(pa.table({"x": [1.0] * len(lists), "labels": lists}), path)
    else:
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert labels_of(read_dataset(path, columns=Columns(label_separator=";"))) == expected


def test_parquet_types_of_others(tmp_path: Path) -> None:
    table = pa.table(
        {
            "text": pa.array(["a", "b"]).dictionary_encode(),
            "labels": pa.array([["x"], ["y", "x"]], pa.large_list(pa.large_string())),
            "w": pa.array([1, 2], pa.uint8()),
        }
    )
    pq.write_table(table, tmp_path / "t.parquet")
    data = read_dataset(tmp_path / "t.parquet", columns=Columns(text=("text",), weight="w"), text=TEXT)
    assert labels_of(data) == [["x"], ["x", "y"]]
    np.testing.assert_array_equal(data.weights, [1, 2])


def test_new_labels_come_after_the_models(write: WriteFile) -> None:
    path = write("x,label\n1,10\n2,9\n3,1\n4,-2\n", "t.csv")
    assert read_dataset(path).label_names == ("-2", "1", "9", "10")
    named = read_dataset(path, label_names=["9", "z"])
    assert (named.label_names, labels_of(named)) == (("9", "z", "-2", "1", "10"), [["10"], ["9"], ["1"], ["-2"]])
    assert read_dataset(path, n_labels=2).label_names == ("0", "1", "-2", "9", "10")
    known = read_dataset(write("x,label\n1,1\n2,0\n", "t.csv"), n_labels=3)
    assert (known.label_names, known.labels.indices.tolist(), known.n_labels) == (None, [1, 0], 3)
    assert read_dataset(write("x,label\n1,01\n", "t.csv"), n_labels=3).label_names == ("0", "1", "2", "01")


def test_labels_that_are_not_all_numbers_sort_as_text(write: WriteFile) -> None:
    data = read_dataset(write(f"x,label\n1,10\n2,9\n3,09\n4,{'1' * 5000}\n", "t.csv"), n_labels=0)
    assert data.label_names == ("09", "10", "1" * 5000, "9")


@pytest.mark.parametrize("name", ["t.jsonl", "t.parquet"])
def test_true_and_false_are_numbers(tmp_path: Path, name: str) -> None:
    def written(*cells: bool | None) -> Path:
        return write_table(tmp_path / name, [{"x": x, "y": 0.5, "labels": ["a"]} for x in cells])

    assert read_dataset(written(True, False)).features.tolist() == [[1, 0.5], [0, 0.5]]
    weighted = read_dataset(written(True, False), columns=Columns(features=("y",), weight="x"))
    assert weighted.weights.tolist() == [1, 0]
    with pytest.raises(DataFileError, match="column 'x' is null"):
        read_dataset(written(True, None))


def test_texts_are_made_into_features_some_at_a_time(write: WriteFile, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []

    class Watched(HashedText):
        def transform(self, texts: Sequence[str]) -> SparseRows:
            sizes.append(len(texts))
            return super().transform(texts)

    monkeypatch.setattr(table_reader, "_TEXTS", 3)
    rows = ["bad", *[f"word{i} shoe{i % 3},a" for i in range(5)], "bad", "", "x,b", ",c", "bad", "z,", "bad"]
    path = write("text,labels\n" + "\n".join(rows) + "\n", "t.csv")
    faults = [fault.line for fault in check_file(path, options=ReadOptions(columns=TEXTS, text=TEXT)).faults]
    data = read_dataset(path, columns=TEXTS, text=Watched(n_features=64), on_error="skip")
    expected = TEXT.transform([row.partition(",")[0] for row in rows if "," in row])
    assert (sizes, faults, data.row_numbers.tolist()) == ([3, 3, 2], [2, 8, 9, 12, 14], [1, 2, 3, 4, 5, 8, 9, 11])
    for part in ("indptr", "indices", "values"):
        np.testing.assert_array_equal(getattr(data.features, part), getattr(expected, part))


def test_tables_without_a_header(write: WriteFile) -> None:
    columns = Columns(labels="0", header=False)
    data = read_dataset(write("x,1,2\ny,3,4\n", "t.csv"), columns=columns)
    assert (data.features.tolist(), labels_of(data)) == ([[1, 2], [3, 4]], [["x"], ["y"]])
    with pytest.raises(DataFileError, match=r"t.csv:1: there is no column 'labels'.* '0', '1'.*name the column"):
        read_dataset(write("x,1\n", "t.csv"), columns=Columns(header=False))


def test_a_table_of_one_column_has_no_blank_lines(write: WriteFile) -> None:
    data = read_dataset(write("text\na\n\nb\n", "t.csv"), columns=TEXTS, text=TEXT, with_labels=False)
    assert np.diff(data.features.indptr).astype(bool).tolist() == [True, False, True]


@pytest.mark.parametrize("name", ["tate/test.tsv.gz", "home_depot/test.tsv.gz"])
def test_real_tsv_files(shared_data: Path, name: str) -> None:
    columns = Columns(text=("1",), labels="0", label_separator=",", header=False)
    data = read_dataset(shared_data / name, columns=columns, text=TEXT)
    with gzip.open(shared_data / name, "rt", encoding="utf-8", newline="\n") as file:
        lines = [line.rstrip("\n").split("\t") for line in file]
    assert labels_of(data) == [sorted(set(line[0].split(",")), key=int) for line in lines]
    np.testing.assert_array_equal(data.features.indices, TEXT.transform([line[1] for line in lines]).indices)


def test_formats_are_told_by_content_name_and_first_line(write: WriteFile) -> None:
    pq.write_table(pa.table({"x": [1]}), write("", "rows.csv"))
    assert guess_format(write("", "rows.csv").parent / "rows.csv") == "csv"
    path = write("", "rows.txt")
    pq.write_table(pa.table({"x": [1]}), path)
    assert guess_format(path) == "parquet"
    for name, kind in [("a.tsv", "tsv"), ("a.ndjson", "jsonl"), ("a.json.gz", "jsonl"), ("a.b.csv", "csv")]:
        assert guess_format(write("1 2 3\n", name)) == kind
    assert guess_format(write('{"a": 1}\n')) == "jsonl"
    assert guess_format(write("1 2 3\n")) == "xmc"
    with pytest.raises(ParameterError, match=r"auto, xmc, svmlight, .*csv, tsv, jsonl, parquet"):
        read_dataset(write("1 2 3\n"), "tables")


def test_progress_is_told(tmp_path: Path) -> None:
    rows = [{"x": i, "labels": ["a"]} for i in range(1000)]
    for name in ("a.csv", "a.jsonl", "a.parquet"):
        told: list[tuple[int, int]] = []
        path = write_table(tmp_path / name, rows)
        read_dataset(path, on_progress=lambda done, total, told=told: told.append((done, total)))
        assert told[-1] == (path.stat().st_size,) * 2


CELLS = st.text(st.sampled_from('ab,";\t\n\r é'), max_size=6)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(CELLS, st.sampled_from(["", "x", "y;x"])), min_size=1, max_size=8), st.integers(1, 9))
def test_csv_of_any_cells_in_chunks_of_any_size(tmp_path: Path, rows: list[tuple[str, str]], size: int) -> None:
    path = tmp_path / "t.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\r\n").writerows([("text", "labels"), *rows])
    expected = TEXT.transform([text for text, _ in rows])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(table_csv, "CHUNK_BYTES", size)
        data = read_dataset(path, columns=TEXTS, text=TEXT)
        patch.setattr(table_csv, "quick_records", lambda *_: None)
        slow = read_dataset(path, columns=TEXTS, text=TEXT)
    assert slow.fingerprint == data.fingerprint
    np.testing.assert_array_equal(data.features.indptr, expected.indptr)
    np.testing.assert_array_equal(data.features.indices, expected.indices)
    assert labels_of(data) == [sorted(filter(None, labels.split(";"))) for _, labels in rows]


@settings(max_examples=300, deadline=None)
@given(st.text(st.sampled_from('a,"\n\r'), max_size=30))
def test_quick_records_are_the_exact_ones(text: str) -> None:
    data = text.encode() + b"\n"
    quick = quick_records(data, 1, CSV, 2)
    exact = exact_records(data, 1, CSV, 2, BlankLines(), at_end=False)
    if quick is None or any("cells" in fault.message for fault in exact.faults):
        return
    assert not exact.faults
    assert (quick.data, quick.end, quick.lines.tolist()) == (exact.data, exact.end, exact.lines.tolist())


def test_json_lines_read_the_same_by_both_parsers(tmp_path: Path) -> None:
    numbers = np.random.default_rng(0).normal(size=200) * 1e-3
    rows = [{"z": {"q": [i]}, "x": float(x), "labels": [str(i % 7), "é"]} for i, x in enumerate(numbers)]
    path = write_table(tmp_path / "t.jsonl", rows)
    columns = Columns(features=("x",))
    quick = read_dataset(path, columns=columns)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(table_json, "CHUNK_BYTES", 100)
        patch.setattr(table_json.JsonLinesReader, "_quick", lambda *_: None)
        assert read_dataset(path, columns=columns).fingerprint == quick.fingerprint
    np.testing.assert_array_equal(quick.features[:, 0], numbers.astype(np.float32))


def test_json_lines_learn_their_labels_late(write: WriteFile) -> None:
    lines = ['{"x": 1, "labels": []}', '{"x": 2, "labels": null}', '{"x": 3, "labels": [5]}', ' {"labels":[7],"x":4} ']
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(table_json, "CHUNK_BYTES", 5)
        data = read_dataset(write("\r\n".join(lines) + "\n\n", "t.jsonl"))
    assert (labels_of(data), data.features[:, 0].tolist()) == ([[], [], ["5"], ["7"]], [1, 2, 3, 4])
