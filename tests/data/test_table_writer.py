"""Tables to text and Parquet: what is read back, by others and by us, is the same."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from xmach.data.write.tables import Column, Lists, Texts, parquet_table, table_header, table_lines
from xmach.errors import InputError

TEXTS = ["red shoe", "", 'a "quoted", text', "façade"]
LISTS = [[3], [], [1, 2**40], [7]]
NUMBERS = [5, 0, -1, 12]


def table(texts: list[str]) -> dict[str, Column]:
    encoded = [text.encode() for text in texts]
    data = np.frombuffer(b"".join(encoded), np.uint8)
    values = np.array([number for row in LISTS for number in row], np.int64)
    return {
        "text": Texts(data, _first(list(map(len, encoded)))),
        "some": Lists(_first([len(row) for row in LISTS]), values),
        "number": np.array(NUMBERS),
    }


def _first(sizes: list[int]) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


def test_json_lines() -> None:
    texts = [*TEXTS[:3], "tab\tand\nline"]
    lines = table_lines(table(texts), "jsonl").decode().splitlines()
    expected = [{"text": t, "some": s, "number": n} for t, s, n in zip(texts, LISTS, NUMBERS, strict=True)]
    assert [json.loads(line) for line in lines] == expected
    assert lines[0] == '{"text": "red shoe", "some": [3], "number": 5}'
    assert table_header(["text"], "jsonl") == b""


@pytest.mark.parametrize(("format", "separator"), [("csv", ","), ("tsv", "\t")])
def test_separated_values(format: str, separator: str) -> None:
    texts = TEXTS if format == "csv" else [text.replace('"', "") for text in TEXTS]
    text = (table_header(["text", "some", "number"], format) + table_lines(table(texts), format)).decode()
    rows = list(csv.reader(io.StringIO(text), delimiter=separator))
    assert rows[0] == ["text", "some", "number"]
    lists = ["|".join(map(str, row)) for row in LISTS]
    assert rows[1:] == [list(row) for row in zip(texts, lists, map(str, NUMBERS), strict=True)]


def test_tsv_refuses_what_it_has_no_place_for() -> None:
    with pytest.raises(InputError, match=r"text: 'a\\tb' contains a tab or a newline"):
        table_lines(table(["", "", "a\tb", ""]), "tsv")


def test_parquet_a_few_rows_at_a_time(tmp_path: Path) -> None:
    with parquet_table(tmp_path / "t.parquet", table(TEXTS)) as write:
        write(table(TEXTS))
        write(table(TEXTS[::-1]))
    rows = pq.read_table(tmp_path / "t.parquet").to_pydict()
    assert rows == {"text": TEXTS + TEXTS[::-1], "some": LISTS * 2, "number": NUMBERS * 2}


def test_no_rows() -> None:
    none: dict[str, Column] = {"text": Texts(np.empty(0, np.uint8), np.zeros(1, np.int64)), "n": np.empty(0, np.int64)}
    assert table_lines(none, "jsonl") == table_lines(none, "csv") == b""
