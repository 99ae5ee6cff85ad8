"""`--candidates` and `--merge` at the command line, on a search log: a line for each query and product."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.conftest import Run

from xmach import load
from xmach.cli.candidates import read_candidates
from xmach.cli.reading import labels_to_leave_out
from xmach.data import Columns, Dataset, merge_rows, read_dataset
from xmach.errors import DataFileError, ParameterError
from xmach.evaluation import evaluate
from xmach.features import HashedText
from xmach.store import ModelStore

QUERIES = ["red shoe", "iron pan", "green tea", "blue sock", "big lamp"]
PRODUCTS = [["shoe", "sock"], ["pan"], ["tea", "pan", "cup"], ["sock"], ["lamp", "40"]]
LOG = [(query, product, 3 * i + j + 1) for i, query in enumerate(QUERIES) for j, product in enumerate(PRODUCTS[i])]
TABLE = ("--text", "query", "--labels", "product", "--weight", "sessions")
SMALL = ("--buckets", 4, "--repetitions", 3, "--hidden", 16, "--epochs", 30, "--features", 500, "--executor", "local")


def write_log(folder: Path) -> Path:
    path = folder / "log.csv"
    twice = [*LOG, *reversed(LOG)]
    path.write_text("query,product,sessions\n" + "".join(f"{q},{p},{s}\n" for q, p, s in twice))
    return path


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A model of merged rows, and what was said while it was made."""
    folder = tmp_path_factory.mktemp("merged")
    options = [*TABLE, *SMALL, "--merge", "--cache", folder / "cache"]
    command = [sys.executable, "-m", "xmach", "train", write_log(folder), "--model", folder / "m", *options]
    result = subprocess.run([str(part) for part in command], check=True, capture_output=True, text=True)
    return folder / "m", result.stderr


def test_a_log_is_trained_and_evaluated_query_by_query(xmach: Run, trained: tuple[Path, str], tmp_path: Path) -> None:
    model, said = trained
    assert "log.csv: 18 rows have 5 different features: one row each" in said
    assert "5 rows, 500 features, 7 labels" in said
    predictor, file = load(model), write_log(tmp_path)
    found = json.loads(xmach("evaluate", model, file, "--merge", "--k", "1,2", "--json").stdout)
    assert (found["rows"], found["weighted"]) == (5, True)
    columns = Columns(text=("query",), labels="product", weight="sessions")
    names = ModelStore(model).label_names()
    assert names is not None
    lines = read_dataset(file, columns=columns, text=HashedText(500), label_names=names.tolist())
    (expected,) = evaluate(predictor, merge_rows(lines), (1, 2))
    assert found["metrics"] == pytest.approx(expected.metrics)
    assert found["unweighted"] == pytest.approx(expected.unweighted)
    line_by_line = json.loads(xmach("evaluate", model, file, "--k", "1,2", "--json").stdout)
    assert line_by_line["rows"] == 18
    assert line_by_line["metrics"]["recall@2"] != found["metrics"]["recall@2"]


def test_answers_are_taken_from_the_candidates(xmach: Run, trained: tuple[Path, str], tmp_path: Path) -> None:
    model, _ = trained
    asked, chosen = tmp_path / "asked.csv", tmp_path / "chosen.txt"
    asked.write_text("query\n" + "".join(f"{query}\n" for query in QUERIES))
    chosen.write_text("pan\nsock\n40\npan\n")
    every = [json.loads(line) for line in xmach("predict", model, asked, "--k", 7).stdout.splitlines()]
    answers = xmach("predict", model, asked, "--k", 9, "--candidates", chosen).stdout.splitlines()
    for full, line in zip(every, map(json.loads, answers), strict=True):
        pairs = zip(full["labels"], full["scores"], strict=True)
        kept = [(label, score) for label, score in pairs if label in {"pan", "sock", "40"}]
        assert list(zip(line["labels"], line["scores"], strict=True)) == kept
        assert len(kept) == 3


def test_an_evaluation_says_what_is_missed(xmach: Run, trained: tuple[Path, str], tmp_path: Path) -> None:
    model, _ = trained
    file, chosen = write_log(tmp_path), tmp_path / "chosen.txt"
    chosen.write_text("pan\nsock\n")
    result = xmach("evaluate", model, file, "--merge", "--k", "9", "--candidates", chosen, "--json")
    found = json.loads(result.stdout)
    assert found["candidates"] == 2
    assert "5 of 9 labels in" in result.stderr
    assert "known but not candidates: they count as missed" in result.stderr
    recalls = [1 / 2, 1, 1 / 3, 1, 0]  # of the five queries
    assert found["unweighted"]["recall@9"] == pytest.approx(sum(recalls) / 5)


def test_names_or_ids_and_what_is_neither(
    trained: tuple[Path, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    predictor, chosen = load(trained[0]), tmp_path / "chosen.txt"
    ids = {name: int(i) for name, i in zip(["pan", "40"], predictor.ids_of(["pan", "40"]), strict=True)}
    for lines, expected in (("pan\n40\n", sorted(ids.values())), ("40\n", [ids["40"]]), ("3\n0\n3", [0, 3])):
        chosen.write_text(lines)
        assert read_candidates(chosen, predictor).tolist() == expected
    assert "no line is the name of a label: lines are read as ids" in capsys.readouterr().err
    for lines, message in (
        ("pan\nspoon\n", "chosen.txt:2: 'spoon' is not a label of this model"),
        ("40\n3\n", "chosen.txt:2: '3' is not a label of this model"),  # a name and an id: one kind at a time
        ("0\n7\n", "chosen.txt:2: '7' is not a label of this model: ids go from 0 to 6"),
        ("pan\n\n40\n", "chosen.txt:2: a line without a name"),
        ("", "chosen.txt:1: empty file"),
    ):
        chosen.write_text(lines)
        with pytest.raises(DataFileError, match=message):
            read_candidates(chosen, predictor)


def test_refusals(xmach: Run, trained: tuple[Path, str], small_data: Dataset, small_file: Path, tmp_path: Path) -> None:
    missing = xmach("predict", trained[0], write_log(tmp_path), "--candidates", tmp_path / "none.txt", code=2)
    assert "there is no such file" in missing.stderr
    pairs = tmp_path / "filter.txt"
    pairs.write_text("0 1\n")
    with pytest.raises(ParameterError, match="--filter-labels counts all rows of the file: leave out --merge"):
        labels_to_leave_out(pairs, small_file, "auto", small_data, merged=True)
    assert labels_to_leave_out(pairs, small_file, "auto", small_data, merged=False).nnz == 1
