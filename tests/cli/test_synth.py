"""`xmach synth shop`: files that every command reads, the same for any number of workers, whole or not there."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from tests.conftest import Run

from xmach.cli.shop_files import SUFFIXES
from xmach.cli.synth import shop
from xmach.data import Columns, read_dataset
from xmach.errors import ParameterError
from xmach.features import HashedText
from xmach.synthetic import Query, Shop

SIZES = ["--queries", 400, "--products", 1000, "--test-queries", 50]
EVERY = ",".join(SUFFIXES)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("synth") / "shop"
    command = [sys.executable, "-m", "xmach", "synth", "shop", *map(str, SIZES), "--out", path, "--format", EVERY]
    subprocess.run(command, check=True, capture_output=True)
    return path


@pytest.fixture(scope="module")
def later() -> list[Query]:
    return next(Shop(1000).queries(50, "test"))


def test_all_files_are_there_and_listed(folder: Path) -> None:
    summary = json.loads((folder / "shop.json").read_text())
    expected = [f"{period}{suffix}" for period in ("train", "test") for suffix in SUFFIXES.values()]
    assert summary["files"] == [*expected, "products.tsv"]
    assert {path.name for path in folder.iterdir()} == {*summary["files"], "shop.json"}
    assert summary["statistics"]["train"]["queries"] == 400
    titles = [line.split("\t") for line in (folder / "products.tsv").read_text().splitlines()]
    assert titles == [[str(i), title] for i, title in enumerate(Shop(1000).titles())]


def test_json_lines_have_all_of_a_query(folder: Path, later: list[Query]) -> None:
    rows = [json.loads(line) for line in (folder / "test.jsonl").read_text().splitlines()]
    assert [Query(*(tuple(v) if isinstance(v, list) else v for v in row.values())) for row in rows] == later
    assert list(rows[0]) == ["query", "products", "purchases", "sessions", "seen"]
    assert np.mean([len(row["seen"]) for row in rows]) > 4  # fewer than in a large shop
    first = json.loads((folder / "train.jsonl").read_text().splitlines()[0])
    assert list(first) == ["query", "products", "purchases", "sessions"]


def test_tables_have_the_same(folder: Path, later: list[Query]) -> None:
    with (folder / "test.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    for row, query in zip(rows, later, strict=True):
        assert row["query"] == query.text
        assert int(row["sessions"]) == query.sessions
        for name, values in (("products", query.products), ("purchases", query.purchases), ("seen", query.seen)):
            assert row[name] == "|".join(map(str, values))
    assert (folder / "test.tsv").read_text() == (folder / "test.csv").read_text().replace(",", "\t")
    table = pq.read_table(folder / "test.parquet").to_pylist()
    assert table == [json.loads(line) for line in (folder / "test.jsonl").read_text().splitlines()]


@pytest.mark.parametrize("format", ["jsonl", "csv", "tsv", "parquet"])
def test_tables_read_as_datasets(folder: Path, format: str, later: list[Query]) -> None:
    separator = "|" if format in ("csv", "tsv") else None
    columns = Columns(text=("query",), labels="products", weight="sessions", label_separator=separator)
    data = read_dataset(folder / f"test{SUFFIXES[format]}", columns=columns, text=HashedText())
    assert data.label_names is not None
    assert data.weights is not None
    assert data.weights.tolist() == [query.sessions for query in later]
    for i, query in enumerate(later):
        assert {int(data.label_names[label]) for label in data.labels.row(i)[0]} == set(query.products)


def test_sparse_rows_keep_purchases_and_sessions(folder: Path, later: list[Query]) -> None:
    data, plain = (read_dataset(folder / f"test{SUFFIXES[each]}") for each in ("sparse", "xmc"))
    assert data.weights is not None
    assert plain.weights is None
    assert data.weights.tolist() == [query.sessions for query in later]
    for i, query in enumerate(later):
        labels, purchases = data.labels.row(i)
        assert dict(zip(labels.tolist(), purchases.tolist(), strict=True)) == dict(
            zip(query.products, query.purchases, strict=True)
        )
    assert data.n_labels == plain.n_labels == 1000
    np.testing.assert_array_equal(data.labels.indices, plain.labels.indices)
    np.testing.assert_array_equal(data.features.indices, plain.features.indices)  # type: ignore[union-attr]


def test_any_number_of_workers_writes_the_same_bytes(xmach: Run, tmp_path: Path) -> None:
    options = ["--queries", 66_000, "--products", 3000, "--test-queries", 100, "--format", "jsonl,parquet"]
    printed = [
        xmach("synth", "shop", *options, "--out", tmp_path / str(n), "--workers", n, "--json").stdout for n in (1, 2)
    ]
    assert printed[0] == printed[1]
    assert json.loads(printed[0])["train"]["queries"] == 66_000
    for path in (tmp_path / "1").iterdir():
        assert path.read_bytes() == (tmp_path / "2" / path.name).read_bytes(), path.name


def test_what_is_there_is_not_replaced_unless_told(tmp_path: Path) -> None:
    def make(seed: int, overwrite: bool = False) -> bytes:
        sizes = {"queries": 50, "products": 100, "test_queries": 5}
        shop(tmp_path, **sizes, seed=seed, format="csv", titles=False, overwrite=overwrite)  # type: ignore[arg-type]
        return (tmp_path / "train.csv").read_bytes()

    before = make(seed=0)
    with pytest.raises(ParameterError, match=r"train\.csv is there already; name another folder, or say --overwrite"):
        make(seed=1)
    assert (tmp_path / "train.csv").read_bytes() == before
    assert make(seed=1, overwrite=True) != before
    assert not (tmp_path / "products.tsv").exists()


def test_statistics_alone(xmach: Run, tmp_path: Path) -> None:
    result = xmach("synth", "shop", *SIZES, "--statistics")
    assert "14.69" in result.stdout
    assert "texts known" in result.stdout
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "give either --out, a folder for the files, or --statistics"),
        ({"statistics": True, "out": Path("x")}, "give either --out"),
        ({"out": Path("x"), "format": "csv,xlsx"}, "--format: 'xlsx' is none of jsonl, csv, tsv, parquet, xmc, sparse"),
        ({"out": Path(__file__)}, "is a file; name a folder"),
    ],
)
def test_mistakes_are_told(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        shop(**options)


@pytest.mark.parametrize("workers", [1, 2])
def test_stopped_half_way_it_leaves_no_file(tmp_path: Path, workers: int) -> None:
    command = [sys.executable, "-m", "xmach", "synth", "shop", "--queries", "5000000", "--workers", str(workers)]
    process = subprocess.Popen(
        [*command, "--out", str(tmp_path), "--format", "jsonl"],
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    while process.poll() is None and not any(path.stat().st_size > 1000 for path in tmp_path.glob(".train*.part/new")):
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does
    _, errors = process.communicate(timeout=60)
    assert (process.returncode, errors.splitlines()[-1]) == (1, "stopped")
    assert "Traceback" not in errors
    assert list(tmp_path.iterdir()) == []
