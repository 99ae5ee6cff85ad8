"""Answers to a file: what was written reads back, whatever labels are called."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from xmach.data.write import predictions as module
from xmach.data.write.predictions import open_answers
from xmach.errors import ParameterError
from xmach.types import TopK

IDS = np.array([[0, 1], [2, 0], [1, -1]])
SCORES = np.float32([[0.7, 0.1], [1e-30, 1e-7], [1 / 3, -np.inf]])


@pytest.fixture(autouse=True, params=["few rows", "many rows"])
def amount(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Few rows are written without Arrow's functions, many with them; whatever is true of one is true of the other."""
    if request.param == "many rows":
        monkeypatch.setattr(module, "_FEW_ROWS", 0)


def read_back(path: Path) -> list[dict[str, Any]]:
    """The rows of a file of answers."""
    if path.suffix == ".parquet":
        rows: list[dict[str, Any]] = pq.read_table(path).to_pylist()
        return rows
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def written(path: Path, labels: Any) -> tuple[list[Any], list[Any]]:
    """Labels and scores as they are read back, written in two batches."""
    with open_answers(path) as answers:
        for start, stop in ((0, 1), (1, 3)):
            answers.write(range(start, stop), TopK(labels[start:stop], SCORES[start:stop], IDS[start:stop]))
    rows = read_back(path)
    assert [row["row"] for row in rows] == [0, 1, 2]
    return [row["labels"] for row in rows], [np.float32(row["scores"]).tolist() for row in rows]


@pytest.mark.parametrize("name", ["a.jsonl", "a.parquet"])
@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (np.array([5, 6, 7]), [5, 6, 7]),
        (np.array([0.5, 1.0, -2.0]), [0.5, 1.0, -2.0]),
        (np.array(['a"b', "é", "c\n"]), ['a"b', "é", "c\n"]),
        (np.array(["x", "longer", "y"], object), ["x", "longer", "y"]),
        (np.array([1, 2, "x"], object), ["1", "2", "x"]),  # the first batch alone would be numbers
        (np.array([True, False, True]), [True, False, True]),
    ],
)
def test_labels_read_back(tmp_path: Path, name: str, names: Any, expected: list[Any]) -> None:
    labels, scores = written(tmp_path / name, names[IDS])
    assert labels == [[expected[0], expected[1]], [expected[2], expected[0]], [expected[1]]]
    assert scores == [SCORES[0].tolist(), SCORES[1].tolist(), SCORES[2, :1].tolist()]


@pytest.mark.parametrize(
    "names",
    [np.arange(3), np.array(['a"b', "\x00é", "\x7f\x1f\\"]), np.array([1e-7, 1e22, 3.0])],
    ids=["ids", "texts", "floats"],
)
def test_few_rows_and_many_are_the_same_bytes(tmp_path: Path, names: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    scores = np.float32([[1e-7, -1e22], [123456.78, np.nan], [-0.0, np.inf]])
    for few in (0, 1000):
        monkeypatch.setattr(module, "_FEW_ROWS", few)
        with open_answers(tmp_path / f"{few}.jsonl") as answers:
            answers.write(np.array([3, 5, 2**40]), TopK(names[IDS], scores, IDS))
    assert (tmp_path / "0.jsonl").read_bytes() == (tmp_path / "1000.jsonl").read_bytes()


def test_a_score_that_json_has_no_number_for_is_null(tmp_path: Path) -> None:
    with open_answers(tmp_path / "a.jsonl") as answers:
        answers.write(range(1), TopK(IDS[:1], np.float32([[1, -np.inf]]), IDS[:1]))
    assert json.loads((tmp_path / "a.jsonl").read_text()) == {"row": 0, "labels": [0, 1], "scores": [1, None]}


@pytest.mark.parametrize("name", ["a.jsonl", "a.parquet"])
def test_rows_keep_the_numbers_that_they_have(tmp_path: Path, name: str) -> None:
    with open_answers(tmp_path / name) as answers:
        answers.write(np.array([1, 4, 7]), TopK(IDS, SCORES, IDS))
    assert [row["row"] for row in read_back(tmp_path / name)] == [1, 4, 7]


def test_a_place_where_no_file_can_be_is_told_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    deep = tmp_path / "none" / "a.jsonl"
    with (
        pytest.raises(ParameterError, match=rf"written to {deep}: there is no folder {deep.parent}$"),
        open_answers(deep),
    ):
        pass
    with pytest.raises(ParameterError, match=rf"written to {tmp_path}: this is a folder"), open_answers(tmp_path):
        pass
    monkeypatch.setattr(os, "access", lambda path, mode: False)  # who tests as root may write everywhere
    path = tmp_path / "a.parquet"
    with pytest.raises(ParameterError, match=rf"written to {path}: no permission"), open_answers(path):
        pass
    assert list(tmp_path.iterdir()) == []


def test_a_pipe_takes_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also in a folder where no file may be made, such as /dev."""
    pipe, lines = tmp_path / "pipe", list[str]()
    os.mkfifo(pipe)
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    reader = threading.Thread(target=lambda: lines.extend(pipe.read_text().splitlines()))
    reader.start()
    with open_answers(pipe) as answers:
        answers.write(range(3), TopK(IDS, SCORES, IDS))
    reader.join()
    assert [json.loads(line)["row"] for line in lines] == [0, 1, 2]


@pytest.mark.parametrize("name", ["a.jsonl", "a.parquet"])
def test_a_file_is_whole_or_as_it_was(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    with pytest.raises(IndexError, match="boolean index"), open_answers(path) as answers:
        answers.write(range(3), TopK(IDS, SCORES.reshape(2, 3), IDS))
    assert list(tmp_path.iterdir()) == []
    with open_answers(path):
        pass
    assert list(tmp_path.iterdir()) == [path]
    if name == "a.parquet":
        assert pq.read_schema(path).field("labels").type == pa.list_(pa.string())


@pytest.mark.parametrize(
    "names",
    [
        np.array([-(2**63), 2**63 - 1, 0]),
        np.array([0, 2**64 - 1, 2**63], np.uint64),
        np.array(["\x00\x1f\x7f", "\U0001f600\u00e9", '\\"/\b\f']),
        np.array([1e-300, 0.1, -1.5e300]),
    ],
    ids=["int64", "uint64", "texts", "floats"],
)
def test_labels_at_the_edges_read_back(tmp_path: Path, names: Any) -> None:
    labels, _ = written(tmp_path / "a.jsonl", names[IDS])
    assert labels == [names[IDS][0].tolist(), names[IDS][1].tolist(), names[IDS][2, :1].tolist()]


def test_a_label_that_json_has_no_number_for_is_null(tmp_path: Path) -> None:
    labels, _ = written(tmp_path / "a.jsonl", np.array([np.nan, np.inf, 1.0])[IDS])
    assert labels == [[None, None], [1.0, None], [None]]
