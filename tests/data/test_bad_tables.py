"""Bad tables: each is stopped at, skipped or refused, and told by check_file, with the line or the row."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from xmach.data import Columns, Dataset, FileReport, ReadOptions, check_file, read_dataset
from xmach.errors import DataFileError, ParameterError
from xmach.features import HashedText
from xmach.types import SparseRows

TEXT = HashedText(n_features=64)
TEXTS = Columns(text=("text",), label_separator=";")
NUMBERS = Columns()


@dataclass(frozen=True)
class Case:
    """A file with one fault; `left`: the rows that skipping leaves, None where nothing skips the fault."""

    name: str
    content: str | bytes | dict[str, Any] | pa.Table
    message: str
    line: int | None = None
    left: int | None = None
    columns: Columns = field(default=TEXTS)


CSV = [
    Case("few.csv", "text,labels\na,x\nb\nc,y\n", "1 cells, but there are 2 columns", 3, 2),
    Case("many.csv", "text,labels\na,x\nb,y,z\nc,y\n", "3 cells, but there are 2 columns", 3, 2),
    Case("ragged_below_newlines.csv", 'text,labels\n"a\n\nb",x\n"c\r\nd",y,z\ne,x\n', "3 cells", 5, 2),
    Case("ragged.tsv", "text\tlabels\na\tx\nb\n", "1 cells", 3, 1),
    Case("no_labels.csv", "text,tags\na,x\n", "no column 'labels' or 'label'; the columns are 'text', 'tags'", 1),
    Case("no_text.csv", "title,labels\na,x\n", "no column 'text'; the columns are 'title', 'labels'", 1),
    Case(
        "no_weight.csv",
        "text,label\na,x\n",
        r"no column 'w' \(the weight; use --weight none",
        1,
        None,
        Columns(("text",), weight="w"),
    ),
    Case("twice.csv", "text,labels,text\na,x,b\n", "column 'text' occurs twice", 1),
    Case("no_name.csv", ",x,labels\n0,1,x\n", "column 1 has no name", 1, None, NUMBERS),
    Case("utf8.csv", b"text,labels\na,x\nb\xff,y\n", "byte 0xff is not UTF-8", 3, 1),
    Case("utf8_unused.csv", b"text,labels,z\na,x,1\nb,y,\xff\n", "byte 0xff is not UTF-8", 3, 1),
    Case("utf8_header.csv", b"te\xffxt,labels\na,x\n", "byte 0xff is not UTF-8", 1),
    Case("nul.csv", b"text,labels\na,x\nb\0,y\n", "NUL byte", 3, 1),
    Case(
        "word.csv", "x,y,labels\n1,2,a\n3,four,b\n", "'four' is not a number; name a column of text as", 3, 1, NUMBERS
    ),
    Case("hole.csv", "x,y,labels\n1,2,a\n3,,b\n", "column 'y': an empty cell; fill it", 3, 1, NUMBERS),
    Case("nan.csv", "x,y,labels\n1,2,a\n3,nan,b\n", "column 'y': 'nan' is not finite", 3, 1, NUMBERS),
    Case("inf.csv", "x,y,labels\n1,2,a\n3,1e39,b\n", "column 'y': '1e39' is not finite in float32", 3, 1, NUMBERS),
    Case("weight.csv", "x,w,labels\n1,2,a\n3,-1,b\n", "weight -1 is below 0", 3, 1, Columns(weight="w")),
    Case(
        "weight_word.csv", "x,w,labels\n1,2,a\n3,?,b\n", "column 'w': '\\?' is not a number", 3, 1, Columns(weight="w")
    ),
    Case("empty_label.csv", "text,labels\na,x;;y\nb,y\n", "'x;;y' has an empty label", 2, 1),
    Case("last_separator.csv", "text,labels\na,x;\nb,y\n", "'x;' has an empty label", 2, 1),
    Case("quote_open.csv", 'text,labels\na,x\n"b,y\nc,z\n', "never closed: file cut off", 3),
    Case("quote_header.csv", '"text,labels\na,x\n', "quote in the first row is never closed", 1),
    Case("quote_inside.csv", 'text,labels\n5" pipe,x\nb,y\n', "a quote inside the unquoted cell '5'", 2, 1),
    Case("quote_after.csv", 'text,labels\n"a"b,x\nb,y\n', "text after the closing quote", 2, 1),
    Case("return.csv", "text,labels\na,x\nb\rc,y\n", "carriage return inside the row", 3, 1),
    Case("return.tsv", "text\tlabels\na\tx\nb\rc\ty\n", "carriage return inside the row", 3, 1),
    Case("blank.csv", "text,labels\na,x\n\nb,y\n\n\n", "a blank line inside the data", 3, 2),
    Case("empty.csv", "", "empty file; expected a table", 1),
    Case("header_only.csv", "text,labels\n", "a header and no rows", 1),
    Case("gzip_cut.csv.gz", gzip.compress(b"text,labels\na,x\n" * 1000)[:-20], "gzip stream is damaged"),
]
JSON = [
    Case("array.jsonl", '[{"text": "a"}]\n', "one JSON list of all rows is not supported: JSON lines are", 1),
    Case("array_lines.jsonl", '\n[\n{"text": "a", "labels": "x"},\n{"text": "b", "labels": "x"}\n]\n',
         "one JSON list of all rows is not supported", 2),
    Case("pretty.jsonl", '{\n "text": "a",\n "labels": [\n  {"text": "b"}\n ]\n}\n', "spans lines is not", 1),
    Case("no_object.jsonl", '{"text": "a", "labels": "x"}\n7\n', "expected an object", 2, 1),
    Case("cut.jsonl", '{"text": "a", "labels": "x"}\n{"text": "b", "la', r"line cut off\?", 2, 1),
    Case("no_json.jsonl", '{"text": "a", "labels": "x"}\ntext\n', "not JSON: Expecting value", 2, 1),
    Case("two.jsonl", '{"text": "a", "labels": "x"}\n{"text": "b"}{"text": "c"}\n', "not JSON: Extra data", 2, 1),
    Case("across.jsonl", '{"text": "a", "labels": "x"}\n{"text":\n"b"}\n', "not JSON: Expecting value", 2, 1),
    Case("twice.jsonl", '{"text": "a", "labels": "x"}\n{"text": "b", "text": "c"}\n',
         "key 'text' occurs twice", 2, 1),
    Case("twice_first.jsonl", '{"text": "b", "text": "c"}\n', "column 'text' occurs twice", 1),
    Case("missing.jsonl", '{"text": "a"}\n', "no column 'labels' or 'label'; the columns are 'text'", 1),
    Case("null.jsonl", '{"text": "a", "labels": "x"}\n{"text": null}\n', "column 'text' is null", 2, 1),
    Case("absent.jsonl", '{"text": "a", "labels": "x"}\n{"labels": "y"}\n', "column 'text' is null", 2, 1),
    Case("mixed_labels.jsonl", '{"text": "a", "labels": "x"}\n{"text": "b", "labels": ["y"]}\n',
         "a list of texts, but the first labels are a text", 2, 1),
    Case("mixed_numbers.jsonl", '{"text": "a", "labels": 1}\n{"text": "b", "labels": "2"}\n',
         "a text, but the first labels are a whole number", 2, 1),
    Case("mixed_list.jsonl", '{"text": "a", "labels": ["x"]}\n{"text": "b", "labels": ["y", 1]}\n',
         "texts and numbers in it", 2, 1),
    Case("nested.jsonl", '{"text": "a", "labels": ["x"]}\n{"text": "b", "labels": [["y"]]}\n',
         "column 'labels': a list with a list in it; labels are", 2, 1),
    Case("null_label.jsonl", '{"text": "a", "labels": ["x"]}\n{"text": "b", "labels": [null]}\n',
         "null inside a list of labels", 2, 1),
    Case("float.jsonl", '{"text": "a", "labels": 1}\n{"text": "b", "labels": 1.5}\n',
         "column 'labels': a number with decimals", 2, 1),
    Case("bool.jsonl", '{"text": "a", "labels": "x"}\n{"text": "b", "labels": true}\n',
         "column 'labels': true or false; labels are", 2, 1),
    Case("object.jsonl", '{"text": "a", "labels": "x"}\n{"text": "b", "labels": {}}\n',
         "column 'labels': an object; labels are", 2, 1),
    Case("number_text.jsonl", '{"text": "a", "labels": "x"}\n{"text": 5, "labels": "x"}\n',
         "column 'text': expected a text, got a whole number", 2, 1),
    Case("word.jsonl", '{"x": 1, "labels": "x"}\n{"x": "1", "labels": "x"}\n',
         "column 'x': expected a number, got a text", 2, 1, NUMBERS),
    Case("nan.jsonl", '{"x": 1, "labels": "x"}\n{"x": NaN, "labels": "x"}\n',
         "column 'x': nan is not finite", 2, 1, NUMBERS),
    Case("inf.jsonl", '{"x": 1, "labels": "x"}\n{"x": 1e400, "labels": "x"}\n',
         "column 'x': inf is not finite", 2, 1, NUMBERS),
    Case("hole.jsonl", '{"x": 1, "labels": "x"}\n{"labels": "x"}\n', "column 'x' is null", 2, 1, NUMBERS),
    Case("utf8.jsonl", b'{"text": "a", "labels": "x"}\n{"text": "\xff"}\n', "byte 0xff is not UTF-8", 2, 1),
    Case("surrogate.jsonl", '{"text": "a", "labels": "x"}\n{"text": "\\ud800"}\n', "half of a surrogate pair", 2, 1),
    Case("nul.jsonl", b'{"text": "a", "labels": "x"}\n{"text": "\0"}\n', "Invalid control character", 2, 1),
    Case("deep.jsonl", '{"text": "a", "labels": "x"}\n' + "[" * 100_000 + "\n", "JSON that cannot be read", 2, 1),
    Case("blank.jsonl", '{"text": "a", "labels": "x"}\n\n{"text": "b"}\n', "a blank line inside the data", 2, 2),
    Case("empty.jsonl", "", "empty file", 1),
    Case("no_objects.jsonl", "\n1\n", "a blank line inside the data", 1),
]  # fmt: skip
GOOD = pa.table({"text": ["a", "b"], "labels": [["x"], ["y"]]})
PARQUET = [
    Case("no_labels.parquet", pa.table({"text": ["a"]}), "no column 'labels' or 'label'; the columns are 'text'"),
    Case("null.parquet", {"text": ["a", None], "labels": ["x", "y"]},
         r"row 1 \(counted from 0\): column 'text' is null", None, 1),
    Case("null_label.parquet", {"text": ["a", "b"], "labels": [["x"], ["y", None]]},
         "row 1 .*null inside a list", None, 1),
    Case("empty_label.parquet", {"text": ["a", "b"], "labels": [["x"], [""]]}, "row 1 .*has an empty label", None, 1),
    Case("nested.parquet", {"text": ["a"], "labels": [[["x"]]]}, "column 'labels' holds list<.*expected labels"),
    Case("float.parquet", {"text": ["a"], "labels": [1.5]}, "column 'labels' holds double, expected labels"),
    Case("bool.parquet", {"text": ["a"], "labels": [True]}, "column 'labels' holds bool, expected labels"),
    Case("number.parquet", {"text": [1], "labels": ["x"]}, "column 'text' holds int64, expected text"),
    Case("text.parquet", {"x": ["a"], "labels": ["x"]}, "if it is text, name it as text", columns=NUMBERS),
    Case("nan.parquet", {"x": [1.0, float("nan")], "labels": [1, 2]},
         "row 1 .*column 'x': nan is not finite", None, 1, NUMBERS),
    Case("hole.parquet", {"x": [None, 1], "labels": [1, 2]}, "row 0 .*column 'x' is null", None, 1, NUMBERS),
    Case("utf8.parquet", pa.table({"text": pa.array([b"a", b"\xff"]).view(pa.string()), "labels": ["x", "y"]}),
         "row 1 .*column 'text' is not UTF-8", None, 1),
    Case("utf8_label.parquet", pa.table({"text": ["a", "b"], "labels": pa.array([b"a", b"\xff"]).view(pa.string())}),
         "row 1 .*column 'labels' is not UTF-8", None, 1),
    Case("words.parquet", "text,labels\na,x\n", "not a Parquet file: it begins with b'text'"),
    Case("empty.parquet", "", "empty file; expected Parquet"),
    Case("gzip.parquet", gzip.compress(b"PAR1"), "parquet is already compressed: unzip the file"),
    Case("gzip.txt", gzip.compress(b"PAR1"), "parquet is already compressed: unzip the file"),
    Case("gzip_npz.txt", gzip.compress(b"PK\x03\x04"), "npz is already compressed: unzip the file first"),
    Case("mark.parquet", b"PAR1", "cut off"),
    Case("zeros.parquet", b"PAR1" + bytes(100) + b"PAR1", "damaged"),
]  # fmt: skip


def put(folder: Path, case: Case) -> Path:
    path = folder / case.name
    if isinstance(case.content, dict | pa.Table):
        pq.write_table(case.content if isinstance(case.content, pa.Table) else pa.table(case.content), path)
    else:
        path.write_bytes(case.content if isinstance(case.content, bytes) else case.content.encode())
    return path


def read(path: Path, case: Case, **options: Any) -> Dataset:
    return read_dataset(path, columns=case.columns, text=TEXT if case.columns.text else None, **options)


def check(path: Path, columns: Columns) -> FileReport:
    return check_file(path, options=ReadOptions(columns=columns))


@pytest.fixture(params=CSV + JSON + PARQUET, ids=lambda case: case.name)
def case(request: pytest.FixtureRequest) -> Case:
    assert isinstance(request.param, Case)
    return request.param


def test_reading_stops_and_says_where(tmp_path: Path, case: Case) -> None:
    with pytest.raises(DataFileError, match=case.message) as caught:
        read(put(tmp_path, case), case)
    assert caught.value.line == case.line


def test_skipping_drops_rows_and_nothing_else(tmp_path: Path, case: Case) -> None:
    path = put(tmp_path, case)
    if case.left is None:
        with pytest.raises(DataFileError, match=re.escape(str(path))):
            read(path, case, on_error="skip")
        return
    data = read(path, case, on_error="skip")
    assert (data.n_rows, sum(data.skipped.values())) == (case.left, 2 if case.name == "across.jsonl" else 1)


def test_checking_tells_the_same(tmp_path: Path, case: Case) -> None:
    path = put(tmp_path, case)
    report = check(path, case.columns)
    first = report.faults[0]
    assert first.line == case.line
    with pytest.raises(DataFileError, match=case.message):
        raise DataFileError(path, first.line, first.message)
    assert report.rows == (case.left or 0) or case.left is None
    assert json.loads(json.dumps(report.to_dict()))["ok"] is False


@pytest.mark.parametrize("name", ["array.jsonl", "array_lines.jsonl", "pretty.jsonl"])
def test_json_that_is_no_lines_is_one_fault(tmp_path: Path, name: str) -> None:
    case = next(case for case in JSON if case.name == name)
    report = check(put(tmp_path, case), case.columns)
    assert (report.faults_by_reason, report.rows, report.bad_rows) == ({"no JSON lines": 1}, 0, 0)


def test_labels_of_dropped_rows_are_none(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("x,labels\n1,kept\n?,dropped\n")
    data = read_dataset(path, on_error="skip")
    assert (data.label_names, data.skipped) == (("kept",), {"bad value": 1})


def test_faults_come_in_the_order_of_lines(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text('x,labels,w\n1\n2,a,-1\n"3\n\n",a,?\n\n4,b,c,d\n?,b,1\n5,b,0\n')
    report = check_file(path, options=ReadOptions(columns=Columns(weight="w")))
    assert [fault.line for fault in report.faults] == [2, 3, 4, 7, 8, 9]
    assert (report.rows, report.bad_rows) == (1, 6)


@pytest.mark.parametrize("share", [0.0, 0.3, 0.7, 0.95])
def test_a_parquet_file_cut_off(tmp_path: Path, share: float) -> None:
    path = tmp_path / "rows.parquet"
    pq.write_table(GOOD, path)
    whole = path.read_bytes()
    path.write_bytes(whole[: int(len(whole) * share)])
    with pytest.raises(DataFileError, match=r"empty file|cut off"):
        read_dataset(path, columns=TEXTS, text=TEXT, on_error="skip")
    assert [fault.reason for fault in check_file(path, "parquet").faults] == ["unreadable file"]


def test_a_flipped_byte_in_a_parquet_page_is_told(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    table = pa.table({"x": list(range(10_000)), "labels": ["a"] * 10_000})
    pq.write_table(table, path, write_page_checksum=True, use_dictionary=False, compression="none")
    content = bytearray(path.read_bytes())
    content[20_000] ^= 1
    path.write_bytes(content)
    with pytest.raises(DataFileError, match="damaged"):
        read_dataset(path, on_error="skip")


Writer = Callable[[Path, list[str]], None]


def _csv(path: Path, texts: list[str]) -> None:
    path.write_text("text,labels\n" + "".join(f'"{text}",x\n' for text in texts))


def _jsonl(path: Path, texts: list[str]) -> None:
    path.write_text("".join(json.dumps({"text": text, "labels": "x"}) + "\n" for text in texts))


def _parquet(path: Path, texts: list[str]) -> None:
    pq.write_table(pa.table({"text": texts, "labels": ["x"] * len(texts)}), path)


class Lengths:
    """Makes of a text its length."""

    n_features = 1

    def to_dict(self) -> dict[str, Any]:
        return {}

    def transform(self, texts: Sequence[str]) -> SparseRows:
        n = len(texts)
        return SparseRows(np.arange(n + 1), np.zeros(n, np.int32), np.array([*map(len, texts)], np.float32), 1)


@pytest.mark.parametrize(("name", "write"), [("a.csv", _csv), ("a.jsonl", _jsonl), ("a.parquet", _parquet)])
def test_texts_of_any_size(tmp_path: Path, name: str, write: Writer) -> None:
    texts = ["", "red shoe", "word " * 2_000_000, "blue\nshoe", " "]
    write(tmp_path / name, texts)
    data = read_dataset(tmp_path / name, columns=TEXTS, text=Lengths())
    assert data.features.values.tolist() == [len(text) for text in texts]
    report = check(tmp_path / name, TEXTS)
    assert (report.ok, report.rows, report.rows_without_features) == (True, 5, 2)


def test_what_contradicts_itself_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="name one kind"):
        Columns(text=("a",), features=("b",))
    with pytest.raises(ParameterError, match="'a' has two roles"):
        Columns(text=("a",), labels="a")
    with pytest.raises(ParameterError, match="must not be empty"):
        Columns(label_separator="")
    with pytest.raises(ParameterError, match="text columns need a vectorizer"):
        read_dataset(tmp_path / "any.csv", columns=TEXTS)
    with pytest.raises(ParameterError, match="n_features is 5 but the text vectorizer has 64"):
        read_dataset(put(tmp_path, CSV[0]), columns=TEXTS, text=TEXT, n_features=5)
