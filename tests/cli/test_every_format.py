"""One command for each format, on the same real rows: the same numbers in, the same model out."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path

import pytest
import scipy.sparse as sp
from tests.conftest import Run

from xmach.data import Dataset, read_dataset, write_parquet, write_xmc
from xmach.store import ModelStore
from xmach.types import SparseRows

SMALL = ("--buckets", 20, "--repetitions", 1, "--hidden", "none", "--epochs", 1, "--executor", "local")
FEATURES, LABELS = 1836, 159  # of bibtex


@pytest.fixture(scope="module")
def rows(shared_data: Path) -> Dataset:
    data = read_dataset(shared_data / "bibtex" / "test.txt.gz")
    assert (data.n_features, data.n_labels) == (FEATURES, LABELS)
    return data.slice(0, 400)


def pairs(rows: SparseRows) -> list[str]:
    return [" ".join(f"{column}:1" for column in rows.row(i)[0]) for i in range(rows.n_rows)]


def labels(data: Dataset) -> list[list[int]]:
    return [data.labels.row(i)[0].tolist() for i in range(data.n_rows)]


def texts(data: Dataset) -> list[str]:
    return [" ".join(f"word{column}" for column in data.features.row(i)[0]) for i in range(data.n_rows)]


def split(data: Dataset, folder: Path) -> Path:
    for name, part in (("trn_X_Xf.txt", data.features), ("trn_X_Y.txt", data.labels)):
        (folder / name).write_text("\n".join([f"{part.n_rows} {part.n_columns}", *pairs(part), ""]))
    return folder / "trn_X_Xf.txt"


def npz(data: Dataset, folder: Path) -> Path:
    for name, part in (("X.trn.npz", data.features), ("Y.trn.npz", data.labels)):
        sp.save_npz(folder / name, sp.csr_matrix((part.values, part.indices, part.indptr), shape=part.shape))
    return folder / "X.trn.npz"


def lines(name: str, between: str) -> Callable[[Dataset, Path], Path]:
    def write(data: Dataset, folder: Path) -> Path:
        each = zip(labels(data), pairs(data.features), strict=True)
        (folder / name).write_text("".join(f"{','.join(map(str, ids))}{between}{row}\n" for ids, row in each))
        return folder / name

    return write


def table(name: str, delimiter: str) -> Callable[[Dataset, Path], Path]:
    def write(data: Dataset, folder: Path) -> Path:
        with (folder / name).open("w", newline="") as file:
            writer = csv.writer(file, delimiter=delimiter, lineterminator="\n")
            writer.writerow(["text", "tags"])
            writer.writerows(
                [text, "|".join(map(str, ids))] for text, ids in zip(texts(data), labels(data), strict=True)
            )
        return folder / name

    return write


def jsonl(data: Dataset, folder: Path) -> Path:
    each = zip(texts(data), labels(data), strict=True)
    path = folder / "rows.jsonl"
    path.write_text("".join(json.dumps({"text": text, "tags": ids}) + "\n" for text, ids in each))
    return path


def saved(name: str, write: Callable[[Dataset, Path], None]) -> Callable[[Dataset, Path], Path]:
    def into(data: Dataset, folder: Path) -> Path:
        write(data, folder / name)
        return folder / name

    return into


NUMBERS: dict[str, Callable[[Dataset, Path], Path]] = {
    "xmc": saved("rows.txt", write_xmc),
    "split": split,
    "npz": npz,
    "svmlight": lines("rows.svm", " "),
    "vw": lines("rows.vw", " | "),
    "parquet": saved("rows.parquet", write_parquet),
}
TEXTS: dict[str, Callable[[Dataset, Path], Path]] = {
    "csv": table("rows.csv", ","),
    "tsv": table("rows.tsv", "\t"),
    "jsonl": jsonl,
}
SEPARATED = ("--text", "text", "--labels", "tags", "--label-separator", "|")


def loss(xmach: Run, file: Path, folder: Path, *options: object) -> float:
    xmach("train", file, "--model", folder / "model", *SMALL, *options)
    return ModelStore(folder / "model").history(0)[-1]["loss"]


@pytest.fixture(scope="module")
def expected() -> dict[str, float]:
    """The loss of the first format of each kind, which all others must have."""
    return {}


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers(xmach: Run, rows: Dataset, tmp_path: Path, expected: dict[str, float], name: str) -> None:
    # svmlight and vw do not tell the width, and know only labels that occur
    options = ("--features", FEATURES) if name in ("svmlight", "vw") else ()
    found = loss(xmach, NUMBERS[name](rows, tmp_path), tmp_path, *options)
    plan = ModelStore(tmp_path / "model").plan()
    assert plan.n_features == FEATURES
    kind = "ids" if plan.hashes.n_labels == LABELS else "labels that occur"
    assert expected.setdefault(kind, found) == found


@pytest.mark.parametrize("name", TEXTS)
def test_texts(xmach: Run, rows: Dataset, tmp_path: Path, expected: dict[str, float], name: str) -> None:
    found = loss(xmach, TEXTS[name](rows, tmp_path), tmp_path, *SEPARATED, "--features", 5000)
    assert expected.setdefault("text", found) == found
