"""Tables and label files at the command line: what may be said of them, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.command_server import CommandServer
from tests.conftest import Run, checked

SMALL = ("--buckets", 3, "--repetitions", 2, "--hidden", 8, "--epochs", 3, "--executor", "local")
ROWS = [
    f"{['red shoe', 'iron pan', 'green tea', 'blue sock'][i % 4]} {i},{'abcd'[i % 4]}|z,{i % 3 + 1}\n"
    for i in range(40)
]
COLUMNS = ("--text", "query", "--labels", "bought", "--label-separator", "|")


def write_shop(folder: Path) -> Path:
    path = folder / "shop.csv"
    path.write_text("query,bought,sessions\n" + "".join(ROWS))
    return path


@pytest.fixture(scope="module")
def trained(command_server: CommandServer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("trained")
    options = [*COLUMNS, "--weight", "sessions", *SMALL, "--features", 500]
    checked(command_server.run, folder / "cache")("train", write_shop(folder), "--model", folder / "m", *options)
    return folder / "m"


@pytest.fixture
def model(trained: Path, tmp_path: Path) -> Path:
    write_shop(tmp_path)
    return trained


def test_a_model_remembers_its_columns_and_answers_rows_without_labels(xmach: Run, model: Path, tmp_path: Path) -> None:
    shop = tmp_path / "shop.csv"
    found = json.loads(xmach("evaluate", model, shop, "--json").stdout)
    assert found["weighted"]
    assert found["metrics"]["precision@1"] > 0.4
    assert not json.loads(xmach("evaluate", model, shop, "--weight", "none", "--json").stdout)["weighted"]
    asked = tmp_path / "asked.tsv"
    asked.write_text("note\tquery\nx\tred shoe\ny\tiron pan\n")
    answers = [json.loads(line) for line in xmach("predict", model, asked, "--k", 2).stdout.splitlines()]
    assert [answer["row"] for answer in answers] == [0, 1]
    assert all(set(answer["labels"]) <= {"a", "b", "c", "d", "z"} for answer in answers)
    asked.write_text("red shoe\niron pan\n")
    headerless = xmach("predict", model, asked, "--k", 2, "--no-header", "--text", "0").stdout
    assert [json.loads(line) for line in headerless.splitlines()] == answers


def test_a_model_of_a_headerless_file_reads_one_with_a_header(xmach: Run, tmp_path: Path) -> None:
    bare, named = tmp_path / "bare.csv", tmp_path / "named.csv"
    bare.write_text("".join(ROWS))
    named.write_text("query,bought\nred shoe,a\n")
    columns = ("--no-header", "--text", "0", "--labels", "1", "--label-separator", "|")
    xmach("train", bare, "--model", tmp_path / "m", *columns, *SMALL, "--features", 500)
    answers = xmach("predict", tmp_path / "m", named, "--header", "--text", "query", "--k", 1).stdout
    assert len(answers.splitlines()) == 1


def test_skipped_rows_keep_their_numbers(xmach: Run, tmp_path: Path) -> None:
    train, asked = tmp_path / "train.csv", tmp_path / "asked.csv"
    train.write_text("x,y,label\n" + "".join(f"{i % 2},{i % 3},{'uv'[i % 2]}\n" for i in range(30)))
    xmach("train", train, "--model", tmp_path / "m", *SMALL[2:], "--buckets", 2)
    asked.write_text("x,y\n1,2\nbad,4\n0,1\n")
    answers = xmach("predict", tmp_path / "m", asked, "--k", 1, "--on-error", "skip")
    assert [json.loads(line)["row"] for line in answers.stdout.splitlines()] == [0, 2]
    assert "skipped 1 row" in answers.stderr


def test_label_names_come_out(xmach: Run, small_file: Path, tmp_path: Path) -> None:
    (tmp_path / "names.txt").write_text("".join(f"label {i}\n" for i in range(30)))
    xmach("train", small_file, "--model", tmp_path / "m", "--label-names", tmp_path / "names.txt", *SMALL)
    best = json.loads(xmach("predict", tmp_path / "m", small_file, "--k", 1).stdout.splitlines()[0])["labels"][0]
    assert best.startswith("label ")
    assert json.loads(xmach("evaluate", tmp_path / "m", small_file, "--json").stdout)["rows"] == 300


def test_labels_that_the_repository_filters(xmach: Run, small_file: Path, tmp_path: Path) -> None:
    xmach("train", small_file, "--model", tmp_path / "m", *SMALL)
    pairs = tmp_path / "filter_labels_test.txt"
    lines = small_file.read_text().splitlines()[1:]
    pairs.write_text("".join(f"{i} {label}\n" for i, line in enumerate(lines) for label in line.split()[0].split(",")))
    result = xmach("evaluate", tmp_path / "m", small_file, "--filter-labels", pairs, "--json")
    assert json.loads(result.stdout)["metrics"]["recall@5"] == 0.0  # every true label is left out
    assert "300 rows have no label" in result.stderr
    pairs.write_text("0 1\nnonsense\n")
    assert f"{pairs}:2: " in xmach("evaluate", tmp_path / "m", small_file, "--filter-labels", pairs, code=2).stderr


def test_validation_labels_in_a_file_of_any_name(xmach: Run, tmp_path: Path) -> None:
    for name in ("rows.txt", "more.txt"):
        (tmp_path / name).write_text("20 4\n" + "".join(f"{i % 4}:1\n" for i in range(20)))
        (tmp_path / f"labels-of-{name}").write_text("20 3\n" + "".join(f"{i % 3}:1\n" for i in range(20)))
    files = ("--label-file", tmp_path / "labels-of-rows.txt", "--validation", tmp_path / "more.txt")
    train = ("train", tmp_path / "rows.txt", "--model", tmp_path / "m", *files, *SMALL[2:], "--buckets", 2)
    assert "pass it as label_file" in xmach(*train, code=2).stderr
    xmach(*train, "--validation-label-file", tmp_path / "labels-of-more.txt")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["train", "XMC", "--model", "M", "--weight", "sessions"], "is not a table but xmc: columns are for csv, tsv"),
        (["train", "XMC", "--model", "M", "--text", "query"], "is not a table but xmc"),
        (["train", "XMC", "--model", "M", "--no-header"], "is not a table but xmc"),
        (["train", "SHOP", "--model", "M", "--text", "quest", "--labels", "bought"], "'quest'"),
        (["train", "SHOP", "--model", "M", "--text", "query"], "label"),
        (["train", "SHOP", "--model", "M", "--labels", "bought", "--label-file", "XMC"], "label_file is for"),
        (["train", "SHOP", "--model", "M", "--labels", "bought", "--label-names", "XMC"], "--label-names is for xmc"),
        (["train", "SHOP", "--model", "M", "--text", "query,"], "--text takes names of columns"),
        (["train", "SHOP", "--model", "M", "--label-separator", ""], "--label-separator must not be empty"),
        (["train", "XMC", "--model", "M", "--memory", "10MB"], "--memory: reading and training take at least"),
        (["train", "XMC", "--model", "M", "--memory", "much"], "--memory takes a size such as 4GB"),
        (["train", "XMC", "--model", "M", "--preset", "mnist"], "'mnist' is not one of"),
        (["evaluate", "MODEL", "SHOP", "--filter-labels", "XMC"], "--filter-labels is for xmc, split, npz"),
        (["evaluate", "MODEL", "SHOP", "--text", "nothing"], "'nothing'"),
        (["predict", "MODEL", "SHOP", "--numbers", "sessions"], "trained on text; name its column with --text"),
        (["predict", "MODEL", "SHOP", "--out", "SHOP"], "is the file to be answered"),
        (["predict", "MODEL", "SHOP", "--out", "M/none/answers.jsonl"], "there is no folder"),
    ],
)
def test_refused(xmach: Run, model: Path, small_file: Path, tmp_path: Path, arguments: list[str], message: str) -> None:
    places = {"XMC": small_file, "SHOP": tmp_path / "shop.csv", "MODEL": model, "M": tmp_path / "new"}
    given = [places.get(argument, tmp_path / argument if "/" in argument else argument) for argument in arguments]
    before = (tmp_path / "shop.csv").read_bytes()
    assert message in xmach(*given, code=2).stderr
    assert not (tmp_path / "new").exists()  # nothing is left that would be in the way of the next try
    assert (tmp_path / "shop.csv").read_bytes() == before


def test_weights_that_are_all_zero(xmach: Run, tmp_path: Path) -> None:
    (tmp_path / "zero.csv").write_text("x,label,w\n1,a,0\n2,b,0\n")
    train = ("train", tmp_path / "zero.csv", "--model", tmp_path / "m", "--weight", "w", "--labels", "label")
    assert "weights of all rows are zero" in xmach(*train, code=2).stderr
