"""Texts of labels: which labels they belong to, new labels, the order of rows, and files with faults."""

from __future__ import annotations

import gzip
import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from xmach.data import Columns, Dataset, LabelTexts, add_label_texts, label_texts, read_dataset, read_label_texts
from xmach.errors import DataFileError, DataFileMissing, InputError, ParameterError
from xmach.features import HashedText
from xmach.types import SparseRows

TEXT = HashedText(n_features=256)
WriteFile = Callable[..., Path]
TITLES = {"shoe": "red running shoe", "pan": "cast iron pan", "ä;b": "grüner Tee 茶", "7": "seven"}
ROWS = Dataset(
    TEXT.transform(["red", "iron", "tea"]),
    SparseRows(np.arange(4), np.array([1, 0, 1], np.int32), np.ones(3, np.float32), 3),
    ("pan", "shoe", "spoon"),
)


def named(data: Dataset, texts: LabelTexts) -> dict[str, tuple[list[int], list[float]]]:
    """The rows by the names of their labels."""
    names = list(data.label_names or ())
    found = [texts.rows.row(i) for i in range(len(texts.ids))]
    return {names[label]: (c.tolist(), v.tolist()) for label, (c, v) in zip(texts.ids.tolist(), found, strict=True)}


def expected(titles: dict[str, str]) -> dict[str, tuple[list[int], list[float]]]:
    rows = TEXT.transform(list(titles.values()))
    return {name: (rows.row(i)[0].tolist(), rows.row(i)[1].tolist()) for i, name in enumerate(titles)}


def csv(titles: dict[str, str]) -> str:
    return "label,text\n" + "".join(f"{label},{text}\n" for label, text in titles.items())


def put(folder: Path, form: str) -> tuple[Path, Columns]:
    """The titles as a file of a format, under columns of any name."""
    path, columns = folder / f"titles.{form}", Columns(text=("title",), labels="product")
    frame = pd.DataFrame({"title": list(TITLES.values()), "product": list(TITLES), "price": 1.0})
    if form == "parquet":
        frame.to_parquet(path)
    elif form == "jsonl":
        frame.to_json(path, orient="records", lines=True, force_ascii=False)
    elif form == "tsv":
        path.write_text("".join(f"{label}\t{text}\n" for label, text in TITLES.items()), encoding="utf-8")
        columns = Columns(text=("1",), labels="0", header=False)
    else:
        path.write_bytes(gzip.compress(frame.to_csv(index=False).encode()))
    return path, columns


@pytest.mark.parametrize("form", ["csv.gz", "tsv", "jsonl", "parquet"])
@pytest.mark.parametrize("cached", [True, False])
def test_every_format_gives_the_same_texts(tmp_path: Path, form: str, cached: bool) -> None:
    path, columns = put(tmp_path, form)
    cache = tmp_path / "cache" if cached else None
    data, texts = add_label_texts(ROWS, read_label_texts(path, TEXT, columns=columns, cache=cache), cache)
    assert named(data, texts) == expected(TITLES)
    assert data.label_names == ("pan", "shoe", "spoon", "7", "ä;b")  # new ones sorted, after the others
    assert texts.ids.tolist() == [0, 1, 3, 4]
    assert repr(texts) == "<LabelTexts of 4 labels, 256 features>"
    np.testing.assert_array_equal(data.labels.indices, ROWS.labels.indices)
    np.testing.assert_array_equal(data.label_counts().dense(), [1, 2, 0, 0, 0])


def test_mapped_and_in_memory_texts_have_the_same_fingerprint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(label_texts, "_ROWS", 3)  # several blocks
    path, columns = put(tmp_path, "tsv")
    cache = tmp_path / "cache"
    mapped, plain = (
        add_label_texts(ROWS, read_label_texts(path, TEXT, columns=columns, cache=where), where)[1]
        for where in (cache, None)
    )
    assert isinstance(mapped.rows.indices.base, np.memmap)
    assert mapped.fingerprint == plain.fingerprint
    kept = sorted(cache.iterdir())
    again = add_label_texts(ROWS, read_label_texts(path, TEXT, columns=columns, cache=cache), cache)[1]
    assert again.fingerprint == mapped.fingerprint
    assert sorted(cache.iterdir()) == kept
    ids, rows = mapped.ids, mapped.rows
    assert LabelTexts(ids + 1, rows).fingerprint != mapped.fingerprint
    assert LabelTexts(ids[:3], rows.slice(0, 3)).fingerprint != mapped.fingerprint


def test_without_a_new_label_the_dataset_stays_as_it_is(write: WriteFile) -> None:
    data, texts = add_label_texts(ROWS, read_label_texts(write("label,text\nshoe,boot\n", "t.csv"), TEXT))
    assert data is ROWS
    assert texts.ids.tolist() == [1]


def test_texts_without_a_word_are_none(write: WriteFile) -> None:
    """A new label with such a text does not join: nothing could find it."""
    titles = {"shoe": "", "pan": "iron pan", "cup": " \t ", "fork": "?!", "lid": "a lid"}
    data, texts = add_label_texts(ROWS, read_label_texts(write(csv(titles), "t.csv"), TEXT))
    assert data.label_names == ("pan", "shoe", "spoon", "lid")
    assert named(data, texts) == expected({"pan": "iron pan", "lid": "a lid"})


def test_new_labels_that_are_numbers_come_by_value(write: WriteFile) -> None:
    titles = {name: f"title {name}" for name in ("10", "9", "shoe", "-3", "007")}
    data, _ = add_label_texts(ROWS, read_label_texts(write(csv(titles), "t.csv"), TEXT))
    assert data.label_names == ("pan", "shoe", "spoon", "-3", "007", "10", "9")  # a file with a word is sorted as text
    del titles["shoe"], titles["007"]
    data, _ = add_label_texts(ROWS, read_label_texts(write(csv(titles), "t.csv"), TEXT))
    assert data.label_names == ("pan", "shoe", "spoon", "-3", "9", "10")


def test_numbered_labels(write: WriteFile) -> None:
    rows = Dataset(ROWS.features, ROWS.labels)
    data, texts = add_label_texts(rows, read_label_texts(write("label,text\n2,c\n0,a\n", "t.csv"), TEXT))
    assert (data is rows, texts.ids.tolist()) == (True, [0, 2])
    for other in ("3", "02", "-1", "x", "9" * 5000):
        texts_of = read_label_texts(write(f"label,text\n1,a\n{other},b\n", "t.csv"), TEXT)
        with pytest.raises(InputError, match=r"a text of '.*', but labels are the numbers 0 to 2: leave it out"):
            add_label_texts(rows, texts_of)
    with pytest.raises(InputError, match="labels are numbered 0 to 2"):
        rows.with_more_labels(["x"])


def test_a_text_of_megabytes(write: WriteFile) -> None:
    titles = {"shoe": "word " * 2_000_000, "lid": "a lid"}
    data, texts = add_label_texts(ROWS, read_label_texts(write(csv(titles), "t.csv"), TEXT))
    assert named(data, texts) == expected(titles)


def test_jsonl_labels_may_be_numbers_and_lists_of_one(write: WriteFile) -> None:
    lines = '{"label": [7], "text": "seven"}\n{"label": ["8"], "text": "eight"}\n'
    with pytest.raises(DataFileError, match=":2:"):  # one kind of label per file, as in rows
        read_label_texts(write(lines, "t.jsonl"), TEXT)
    data, _ = add_label_texts(ROWS, read_label_texts(write(lines.replace('"8"', "8"), "t.jsonl"), TEXT))
    assert data.label_names == ("pan", "shoe", "spoon", "7", "8")


@pytest.mark.parametrize(
    ("name", "content", "line", "message"),
    [
        ("t.csv", 'label,text\nx,a\ny,"b\nb"\nx,c\n', 5, "the label 'x' has a text already, in line 2; leave one of"),
        ("t.csv", "label,text\nx,a\nx ,c\nx,c\n", 3, "the label 'x' has a text already, in line 2"),
        ("t.csv", "label,text\nx,a\n,b\n", 3, "no label in column 'label'; a text has one label"),
        ("t.jsonl", '{"label": ["x"], "text": "a"}\n{"label": ["y", "z"], "text": "b"}\n', 2, "2 labels in column"),
        ("t.jsonl", '{"label": "x", "text": null}\n', 1, "column 'text' is null; an empty text is written as ''"),
        ("t.jsonl", '{"label": "x", "text": "a"}\n{"label": "y"}\n', 2, "column 'text' is null"),
        ("t.jsonl", '{"label": "x", "text": "a"}\n{"label": "y", "text": 7}\n', 2, "expected a text, got a whole"),
        ("t.csv", "product,text\nx,a\n", 1, "no column 'label' .*'product', 'text'; name .* --label-text-columns"),
        ("t.csv", "label,title\nx,a\n", 1, "no column 'text'; .*or 0,1 if there is no header"),
        ("t.csv", "label,text\n", 1, "a header and no rows"),
        ("t.csv", "", 1, "empty file"),
        ("t.csv", 'label,text\nx,""\ny, \n', None, "none of its 2 texts has a word: is 'text' the column"),
        ("t.csv", b"label,text\nx,\xff\n", 2, "not UTF-8"),
        ("t.txt", "shoe\tred shoe\n", None, "cannot tell the format: let the name end with .csv, .tsv, .jsonl or"),
    ],
)  # fmt: skip
def test_faults_say_where(write: WriteFile, name: str, content: str | bytes, line: int | None, message: str) -> None:
    path = write(content, name)
    with pytest.raises(DataFileError, match=message) as caught:
        read_label_texts(path, TEXT)
    assert (caught.value.file, caught.value.line) == (str(path), line)


def test_faults_in_parquet_name_the_row(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pd.DataFrame({"label": ["x", "y", "x"], "text": ["a", "b", "c"]}).to_parquet(path)
    with pytest.raises(DataFileError, match=r"row 2 \(counted from 0\): the label 'x' .* in row 0 \(counted from 0\);"):
        read_label_texts(path, TEXT)


def test_skipping_drops_rows_that_cannot_be_read_and_no_others(write: WriteFile) -> None:
    lines = [json.dumps({"label": label, "text": text}) for label, text in TITLES.items()]
    path = write("\n".join([*lines[:2], '{"label": "y", "text": 7}', *lines[2:]]) + "\n", "t.jsonl")
    texts = read_label_texts(path, TEXT, on_error="skip")
    assert (texts.n_rows, sum(texts.skipped.values())) == (4, 1)
    path = write("\n".join([lines[0], '{"label": "y", "text": 7}', *lines]) + "\n", "t.jsonl")
    with pytest.raises(DataFileError, match="the label 'shoe' has a text already, in line 1") as caught:
        read_label_texts(path, TEXT, on_error="skip")
    assert caught.value.line == 3


def test_what_is_no_table(write: WriteFile, tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match=r"texts of labels are a table \(csv, tsv, jsonl, parquet\); .* is xmc"):
        read_label_texts(write("1 2 3\n0 1:1\n"), TEXT)
    with pytest.raises(DataFileMissing, match="there is no such file"):
        read_label_texts(tmp_path / "no.csv", TEXT)


def test_a_mapped_dataset_is_extended_where_it_lies(tmp_path: Path, write: WriteFile) -> None:
    path = write("text,labels\nred,shoe\niron,pan\n", "rows.csv")
    columns = Columns(text=("text",))
    rows = read_dataset(path, columns=columns, text=TEXT, cache=tmp_path / "cache")
    titles = write(csv(TITLES), "t.csv")
    data, _ = add_label_texts(rows, read_label_texts(titles, TEXT, cache=tmp_path / "cache"), tmp_path / "cache")
    assert (data.n_labels, data.folder, data.features) == (4, rows.folder, rows.features)
    assert list(data.label_names or ()) == ["pan", "shoe", "7", "ä;b"]
    assert data.label_names is not None
    assert data.label_names[np.array([3, 0])].tolist() == ["ä;b", "pan"]  # type: ignore[call-overload]
    again = pickle.loads(pickle.dumps(data))
    assert (again.n_labels, list(again.label_names), again.fingerprint) == (4, list(data.label_names), data.fingerprint)
    assert data.fingerprint != rows.fingerprint
    saved = data.save(tmp_path / "saved")
    assert (saved.fingerprint, saved.n_labels, saved.label_names) == (data.fingerprint, 4, data.label_names)
    in_memory = Dataset.open(saved.folder or "", in_memory=True)
    assert in_memory.with_more_labels(["z"]).fingerprint == data.with_more_labels(["z"]).fingerprint
    assert pickle.loads(pickle.dumps(in_memory.with_more_labels(["z"]))).label_names == ("pan", "shoe", "7", "ä;b", "z")
    assert (
        read_dataset(path, columns=columns, text=TEXT, cache=tmp_path / "cache").n_labels == 2
    )  # the cache is as it was


def test_label_texts_are_ordered_and_checked() -> None:
    rows = TEXT.transform(["c c", "", "a"])
    texts = LabelTexts.of(np.array([5, 1, 2]), rows)
    assert texts.ids.tolist() == [2, 5]
    assert [texts.rows.row(i)[1].max() for i in range(2)] == [1, 2]
    whole = rows.take(np.array([0, 2]))
    assert LabelTexts.of(np.array([3, 4]), whole).rows is whole
    bad: list[Any] = [([1, 1, 2], "ascending order"), ([2, 1, 3], "use LabelTexts.of"), ([-1, 1, 3], "ascending")]
    for ids, message in [*bad, ([1, 2], "there are 2 labels but 3 rows of texts")]:
        with pytest.raises(InputError, match=message):
            LabelTexts(np.array(ids), rows)
