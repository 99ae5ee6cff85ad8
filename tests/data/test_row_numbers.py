"""Which rows of a file are left where bad ones are skipped: every format tells the same."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp

from xmach.data import Columns, Dataset, read_dataset
from xmach.data.read.tables import csv_reader, json_reader, parquet_reader
from xmach.types import BoolArray

N = 2000  # rows, some 30 kB: the fast and the slow parser take turns


def _lines(good: BoolArray, row: str, bad: str, *, header: str = "", blank: bool = True) -> str:
    """A line a row, with its number as a value; every third of the bad ones is blank."""
    wrong = np.cumsum(~good)
    each = [row.format(i=i) if good[i] else ("" if blank and wrong[i] % 3 == 0 else bad) for i in range(len(good))]
    return header + "\n".join(each) + "\n"


def _text(name: str, **form: str) -> Callable[[Path, BoolArray], Path]:
    def write(folder: Path, good: BoolArray) -> Path:
        path = folder / name
        path.write_text(_lines(good, **form))  # type: ignore[arg-type]
        return path

    return write


def _split(folder: Path, good: BoolArray) -> Path:
    """A bad row is bad in one file, in the other, or in both."""
    path, kind = folder / "trn_X_Xf.txt", np.where(good, -1, np.arange(N) % 3)
    for file, mine, width in ((path, (0, 2), 3), (folder / "trn_X_Y.txt", (1, 2), 5)):
        text = _lines(~np.isin(kind, mine), "0:{i}", "0:x", header=f"{N} {width}\n", blank=False)
        file.write_text(text)
    return path


def _npz(folder: Path, good: BoolArray) -> Path:
    values = np.where(good, np.arange(N), np.nan)[:, None]
    sp.save_npz(folder / "X.trn.npz", sp.csr_array(values))
    sp.save_npz(folder / "Y.trn.npz", sp.csr_array(np.ones((N, 1))))
    return folder / "X.trn.npz"


def _parquet(folder: Path, good: BoolArray) -> Path:
    values = pa.array(np.arange(N, dtype=np.float32), mask=~good)
    pq.write_table(pa.table({"x": values, "labels": ["a"] * N}), folder / "rows.parquet")
    return folder / "rows.parquet"


WRITERS = {
    "xmc": _text("rows.txt", row="1 0:{i}", bad="1 0:x", header=f"{N} 3 5\n"),
    "svmlight": _text("rows.svm", row="1 0:{i}", bad="1 0:x", header="# of no row\n"),
    "vw": _text("rows.vw", row="1 | 0:{i}", bad="1 | 0:x"),
    "csv": _text("rows.csv", row='{i},"a\nb"', bad="?,a", header="x,labels\n"),
    "tsv": _text("rows.tsv", row="{i}\ta", bad="1", header="x\tlabels\n"),
    "jsonl": _text("rows.jsonl", row='{{"x": {i}, "labels": "a"}}', bad="?"),
    "split": _split,
    "npz": _npz,
    "parquet": _parquet,
}


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csv_reader, "CHUNK_BYTES", 500)
    monkeypatch.setattr(json_reader, "CHUNK_BYTES", 500)
    monkeypatch.setattr(parquet_reader, "_BLOCK_BYTES", 1 << 11)


def values_of(data: Dataset) -> list[float]:
    """The value of each row, which is its number."""
    if isinstance(data.features, np.ndarray):
        return [float(value) for value in data.features[:, 0]]
    return [sum(data.features.row(row)[1].tolist()) for row in range(data.n_rows)]


@pytest.mark.parametrize("name", WRITERS)
def test_rows_keep_their_numbers(tmp_path: Path, name: str) -> None:
    good = np.random.default_rng(0).random(N) < np.where(np.arange(N) < N // 2, 0.995, 0.6)
    good[:40] = False  # also before the first row is there
    good[-1] = True  # blank lines at the end are not rows
    path = WRITERS[name](tmp_path, good)
    data = read_dataset(path, name, on_error="skip", cache=tmp_path / "cache")
    assert data.row_numbers is not None
    np.testing.assert_array_equal(data.row_numbers, np.flatnonzero(good))
    assert values_of(data) == data.row_numbers.tolist()
    assert isinstance(data.row_numbers.base, np.memmap)
    in_memory = read_dataset(path, name, on_error="skip")
    np.testing.assert_array_equal(in_memory.row_numbers, data.row_numbers)
    assert in_memory.fingerprint == data.fingerprint


@pytest.mark.parametrize("name", WRITERS)
def test_where_nothing_was_skipped_there_are_no_numbers(tmp_path: Path, name: str) -> None:
    data = read_dataset(WRITERS[name](tmp_path, np.ones(N, np.bool_)), name, on_error="skip", cache=tmp_path / "cache")
    assert (data.row_numbers, data.n_rows) == (None, N)
    assert data.folder is not None
    assert not (data.folder / "rows.npy").exists()


def test_several_blank_lines_are_several_rows(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("x,labels\n0,a\n\n\n3,b\n4,a\n\n6,a\n\n\n")
    data = read_dataset(path, on_error="skip")
    assert data.row_numbers is not None
    assert (data.row_numbers.tolist(), values_of(data)) == ([0, 3, 4, 6], [0, 3, 4, 6])


def test_numbers_go_with_their_rows(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text("?\n" + "".join(json.dumps({"x": i, "labels": "a"}) + "\n" for i in (1, 2, 3)))
    data = read_dataset(path, on_error="skip", columns=Columns())
    for part, expected in (
        (data.slice(1, 3), [2, 3]),
        (data.take(np.array([2, 0, 0])), [3, 1, 1]),
        (data.save(tmp_path / "saved").slice(0, 2), [1, 2]),
        (pickle.loads(pickle.dumps(data)), [1, 2, 3]),
        (pickle.loads(pickle.dumps(Dataset.open(tmp_path / "saved"))), [1, 2, 3]),
    ):
        assert part.row_numbers is not None
        assert (part.row_numbers.tolist(), values_of(part)) == (expected, expected)
