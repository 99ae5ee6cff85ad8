"""The texts that a vocabulary is learned from."""

from __future__ import annotations

from pathlib import Path

import pytest

from xmach.data import Columns, ReadOptions
from xmach.data.read.reading import read_texts
from xmach.errors import DataFileError

COLUMNS = Columns(text=("query",), labels="product", weight="sessions")


def texts(file: Path, on_error: str = "stop") -> list[str]:
    return [text for block in read_texts(file, "csv", ReadOptions(on_error, columns=COLUMNS)) for text in block]


def test_rows_of_weight_0_are_left_out(tmp_path: Path) -> None:
    file = tmp_path / "log.csv"
    file.write_text("query,product,sessions\nred shoe,1,1\nzebra hat,2,0\nblue shoe,1,2\n")
    assert texts(file) == ["red shoe", "blue shoe"]


def test_so_are_bad_rows_when_they_are_skipped(tmp_path: Path) -> None:
    file = tmp_path / "log.csv"
    file.write_text("query,product,sessions\nred shoe,1,1\nzebra hat,2,many\nblue shoe,1,2\n")
    assert texts(file, "skip") == ["red shoe", "blue shoe"]
    with pytest.raises(DataFileError, match="many"):
        texts(file)
