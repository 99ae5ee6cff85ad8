"""The command as users run it: a process, its output, its exit code."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from tests.command_server import CommandServer
from tests.conftest import Run, checked, made_up

from xmach import __version__
from xmach.data import write_xmc

SMALL = ["--buckets", 8, "--repetitions", 3, "--hidden", 16, "--epochs", 8, "--learning-rate", 0.01]


@pytest.fixture(scope="module")
def trained(command_server: CommandServer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("trained")
    write_xmc(made_up(), folder / "small.txt")
    run = checked(command_server.run, folder / "cache")
    run("train", folder / "small.txt", "--model", folder / "model", *SMALL, "--executor", "local")
    return folder / "model"


@pytest.fixture
def model(trained: Path, tmp_path: Path) -> Path:
    """A copy that a test may change."""
    return Path(shutil.copytree(trained, tmp_path / "model"))


def test_version_and_help(xmach: Run, xmach_process: Run) -> None:
    assert xmach_process("--version").stdout.strip() == f"xmach {__version__}"
    listed = xmach_process("--help").stdout
    for command in ("train", "predict", "evaluate", "inspect", "check", "demo", "synth"):
        assert command in listed
        assert "Usage" in xmach(command, "--help").stdout


def test_train_evaluate_predict_inspect(xmach: Run, xmach_process: Run, small_file: Path, tmp_path: Path) -> None:
    """The whole round, each command once in a fresh interpreter as a shell runs it."""
    trained = xmach_process("train", small_file, "--model", tmp_path / "m", *SMALL, "--json", "--executor", "local")
    facts = json.loads(trained.stdout)
    assert facts["complete"]
    assert (facts["repetitions"], facts["trained"], facts["estimator"]) == (3, 3, "log")
    assert "300 rows, 40 features, 30 labels" in trained.stderr

    evaluated = json.loads(xmach_process("evaluate", tmp_path / "m", small_file, "--k", "1,5", "--json").stdout)
    assert evaluated["rows"] == 300
    assert 0.2 < evaluated["metrics"]["precision@1"] <= 1
    assert "precision" in xmach("evaluate", tmp_path / "m", small_file).stdout
    kept = json.loads((tmp_path / "m" / "metrics.json").read_text())["evaluations"]
    assert kept[0]["metrics"] == evaluated["metrics"]

    answers = xmach_process("predict", tmp_path / "m", small_file, "--k", 3).stdout
    lines = [json.loads(line) for line in answers.splitlines()]
    assert [line["row"] for line in lines] == list(range(300))
    assert all(len(line["labels"]) == len(line["scores"]) == 3 for line in lines)
    xmach("predict", tmp_path / "m", small_file, "--k", 3, "--out", tmp_path / "answers.jsonl")
    assert [json.loads(line) for line in (tmp_path / "answers.jsonl").read_text().splitlines()] == lines
    xmach("predict", tmp_path / "m", small_file, "--k", 3, "--out", tmp_path / "answers.parquet")
    parquet = pq.read_table(tmp_path / "answers.parquet")
    assert parquet["labels"].to_pylist() == [line["labels"] for line in lines]

    inspected = json.loads(xmach_process("inspect", tmp_path / "m", "--json").stdout)
    assert inspected["present"] == [0, 1, 2]
    assert (inspected["labels"], inspected["buckets"]) == (30, 8)
    assert "repetitions   3 of 3 there" in xmach("inspect", tmp_path / "m").stdout


def test_answering_imports_nothing_that_it_does_not_use(small_file: Path, model: Path, tmp_path: Path) -> None:
    """Each of these takes 10 to 1,500 ms, at the start of every command."""
    command = [sys.executable, "-X", "importtime", "-m", "xmach", "predict", model, small_file, "--no-verify"]
    result = subprocess.run([*command, "--cache", tmp_path / "cache"], capture_output=True, text=True, check=True)
    imported = {line.split("|")[-1].strip() for line in result.stderr.splitlines() if line.startswith("import time:")}
    assert "numpy" in imported
    assert not imported & {"pandas", "rich.progress", "sklearn", "torch", "matplotlib", "pyarrow.parquet"}


def test_the_same_command_again_does_nothing(xmach: Run, small_file: Path, model: Path) -> None:
    before = {path: path.read_bytes() for path in model.rglob("*") if path.is_file()}
    again = json.loads(xmach("train", small_file, "--model", model, *SMALL, "--json").stdout)
    assert again["trained"] == 0
    assert {path: path.read_bytes() for path in model.rglob("*") if path.is_file()} == before


def test_parts_trained_apart_are_joined_by_copying(xmach: Run, small_file: Path, model: Path, tmp_path: Path) -> None:
    for part, only in (("a", "0-1"), ("b", "2")):
        result = xmach("train", small_file, "--model", tmp_path / part, *SMALL, "--only", only, "--executor", "local")
        assert "of 3 repetitions are there" in result.stderr
    assert "missing" in xmach("predict", tmp_path / "a", small_file, code=3).stderr
    assert xmach("predict", tmp_path / "a", small_file, "--allow-partial").stdout
    shutil.copy(tmp_path / "b" / "repetition-002.safetensors", tmp_path / "a")
    assert "no manifest" in xmach("evaluate", tmp_path / "a", small_file, code=3).stderr
    joined = json.loads(xmach("train", small_file, "--model", tmp_path / "a", *SMALL, "--json").stdout)
    assert joined["complete"]
    assert joined["trained"] == 0
    names = sorted(path.name for path in model.iterdir())
    assert sorted(path.name for path in (tmp_path / "a").iterdir()) == names
    assert (tmp_path / "a" / "manifest.json").read_bytes() == (model / "manifest.json").read_bytes()


def test_buckets_of_labels_that_are_alike(xmach: Run, small_file: Path, tmp_path: Path) -> None:
    options = [*SMALL, "--bucketing", "mixed", "--executor", "local"]
    for part, only in (("a", "0-1"), ("b", "2")):
        xmach("train", small_file, "--model", tmp_path / part, *options, "--only", only)
    shutil.copy(tmp_path / "b" / "repetition-002.safetensors", tmp_path / "a")
    facts = json.loads(xmach("train", small_file, "--model", tmp_path / "a", *options, "--json").stdout)
    assert (facts["complete"], facts["trained"]) == (True, 0)  # both machines made the same tables
    assert "clusters of like labels in 1 repetitions" in xmach("inspect", tmp_path / "a").stdout
    assert json.loads(xmach("inspect", tmp_path / "a", "--json").stdout)["bucketing"] == "mixed"
    assert json.loads(xmach("predict", tmp_path / "a", small_file, "--k", 1).stdout.splitlines()[0])["labels"]
    refused = xmach("train", small_file, "--model", tmp_path / "a", *SMALL, "--bucketing", "random", code=3).stderr
    assert "--bucketing: random here, mixed there" in refused


def test_validation_chooses_the_estimator(xmach: Run, small_file: Path, tmp_path: Path) -> None:
    options = [*SMALL, "--validation", small_file, "--executor", "local", "--json"]
    facts = json.loads(xmach("train", small_file, "--model", tmp_path / "m", *options).stdout)
    precisions = {name.split()[-1]: value for name, value in facts["metrics"].items()}
    assert precisions[facts["estimator"]] == max(precisions.values())


def test_svmlight_names_come_back(xmach: Run, tmp_path: Path) -> None:
    file = tmp_path / "classes.svm"
    file.write_text("".join(f"{10 * (i % 3) - 10} {i % 3 + 1}:1 {i % 5 + 4}:0.5\n" for i in range(60)))
    options = ["--buckets", 2, "--repetitions", 4, "--hidden", "none", "--executor", "local"]
    xmach("train", file, "--model", tmp_path / "m", *options)
    answers = [json.loads(line) for line in xmach("predict", tmp_path / "m", file, "--k", 1).stdout.splitlines()]
    assert [line["labels"][0] for line in answers[:3]] == ["-10", "0", "10"]
    assert json.loads(xmach("evaluate", tmp_path / "m", file, "--json").stdout)["metrics"]["precision@1"] == 1.0


def test_check_says_what_is_there_and_what_is_wrong(xmach: Run, small_file: Path, tmp_path: Path) -> None:
    assert "300" in xmach("check", small_file).stdout
    assert json.loads(xmach("check", small_file, "--json").stdout)["rows"] == 300
    bad = tmp_path / "bad.txt"
    bad.write_text("3 4 5\n0 1:1\n9 1:1\n1 x\n")
    result = xmach("check", bad, code=2)
    assert f"{bad}:3: " in result.stdout
    assert f"{bad}:4: " in result.stdout


def test_bad_rows_can_be_skipped(xmach: Run, tmp_path: Path) -> None:
    file = tmp_path / "rows.txt"
    file.write_text("41 6 5\n" + "0 1:1\n1 2:1\n2 3:1\n3 4:1\n" * 10 + "9 1:1\n")
    options = ["--model", tmp_path / "m", "--buckets", 3, "--repetitions", 1, "--hidden", "none", "--executor", "local"]
    assert xmach("train", file, *options, code=2).stderr.startswith(f"{file}:42: ")
    assert "skipped 1 row" in xmach("train", file, *options, "--on-error", "skip").stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["train", "FILE"], "Missing option '--model'"),
        (["train", "FILE", "--model", "M", "--buckets", "1"], "--buckets must be a whole number from 2"),
        (
            ["train", "FILE", "--model", "M", "--repetitions", "0"],
            "--repetitions must be a whole number from 1 to 100000",
        ),
        (["train", "FILE", "--model", "M", "--hidden", "0"], "every width in --hidden must be"),
        (["train", "FILE", "--model", "M", "--hidden", "a,b"], "such as 500,500, or none; got 'a,b'"),
        (["train", "FILE", "--model", "M", "--epochs", "0"], "epochs must be a whole number of at least 1"),
        (["train", "FILE", "--model", "M", "--learning-rate", "nan"], "--learning-rate must be a number in (0"),
        (["train", "FILE", "--model", "M", "--only", "3-x"], "--only takes repetitions"),
        (["train", "FILE", "--model", "M", "--only", "16"], "in --only must be a whole number from 0 to 15, got 16"),
        (["train", "FILE", "--model", "M", "--loss", "hinge"], "'hinge' is not one of"),
        (["train", "NOTHING", "--model", "M"], "NOTHING"),
        (["train", "FILE", "--model", "M", "--format", "arff"], "'arff' is not one of"),
        (["train", "FILE", "--model", "M", "--only", "0-9999999999"], "--only takes repetitions from 0 to"),
        (["train", "FILE", "--model", "M", "--seed", "-1"], "--seed must be a whole number from 0"),
        (["nonsense"], "No such command 'nonsense'"),
    ],
)
def test_bad_usage_is_one_line_and_exit_2(
    xmach: Run, small_file: Path, tmp_path: Path, arguments: list[str], message: str
) -> None:
    places = {"FILE": str(small_file), "M": str(tmp_path / "m"), "NOTHING": str(tmp_path / "NOTHING")}
    result = xmach(*(places.get(argument, argument) for argument in arguments), code=2)
    assert message in result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert result.stdout == ""


def test_model_troubles_exit_3(xmach: Run, small_file: Path, model: Path, tmp_path: Path) -> None:
    assert "no such folder" in xmach("evaluate", tmp_path / "nothing", small_file, code=3).stderr
    other = xmach("train", small_file, "--model", model, *SMALL, "--seed", 7, code=3).stderr
    assert "--seed: 7 here, 0 there" in other
    content = bytearray((model / "repetition-001.safetensors").read_bytes())
    content[-1] ^= 1
    (model / "repetition-001.safetensors").write_bytes(content)
    assert "repetition-001" in xmach("predict", model, small_file, code=3).stderr
    assert xmach("predict", model, small_file, "--no-verify").stdout


def test_a_finished_model_takes_another_estimator(xmach: Run, small_file: Path, model: Path) -> None:
    facts = json.loads(xmach("train", small_file, "--model", model, *SMALL, "--estimator", "mean", "--json").stdout)
    assert (facts["trained"], facts["estimator"]) == (0, "mean")
    assert json.loads(xmach("evaluate", model, small_file, "--json").stdout)["estimator"] == "mean"


def test_a_lost_repetition_of_a_finished_model(xmach: Run, small_file: Path, model: Path) -> None:
    (model / "repetition-001.safetensors").unlink()
    assert "1 of 3 repetitions are missing (1)" in xmach("predict", model, small_file, code=3).stderr
    assert "2 of 3 repetitions answer" in xmach("predict", model, small_file, "--allow-partial").stderr


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("0 5 3\n", "no rows to train on"),
        ("2 5 3\n 1:1\n 2:1\n", "no labels in any row"),
        ("1 0 3\n1\n", "no features to train on"),
    ],
)
def test_files_that_teach_nothing_are_refused(xmach: Run, tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "file.txt").write_text(content)
    assert message in xmach("train", tmp_path / "file.txt", "--model", tmp_path / "m", code=2).stderr
    assert not (tmp_path / "m").exists()


def test_any_k_can_be_evaluated(xmach: Run, small_file: Path, model: Path) -> None:
    metrics = json.loads(xmach("evaluate", model, small_file, "--k", "30,100000000", "--json").stdout)["metrics"]
    assert metrics["recall@30"] == metrics["recall@100000000"] == 1.0
    assert metrics["ndcg@30"] == pytest.approx(metrics["ndcg@100000000"])
    assert metrics["precision@30"] == pytest.approx(2 / 30)


def test_an_evaluation_that_cannot_be_kept_is_printed_all_the_same(xmach: Run, small_file: Path, model: Path) -> None:
    (model / "metrics.json").write_text("{")
    result = xmach("evaluate", model, small_file, "--json")
    assert json.loads(result.stdout)["rows"] == 300
    assert "warning: the evaluation is not kept" in result.stderr


def test_labels_that_the_model_does_not_know_are_counted_and_said(xmach: Run, tmp_path: Path) -> None:
    train, test = tmp_path / "train.svm", tmp_path / "test.svm"
    train.write_text("".join(f"{i % 3} {i % 3 + 1}:1\n" for i in range(60)))
    test.write_text("0 1:1\n7 2:1\n")
    options = ["--buckets", 2, "--repetitions", 4, "--hidden", "none", "--executor", "local"]
    xmach("train", train, "--model", tmp_path / "m", *options)
    result = xmach("evaluate", tmp_path / "m", test, "--k", "1", "--json")
    assert json.loads(result.stdout)["metrics"]["precision@1"] == 0.5
    assert "1 of 2 labels" in result.stderr
    wide = tmp_path / "wide.svm"
    wide.write_text("0 1:1 9:1\n")
    assert ":1: " in xmach("evaluate", tmp_path / "m", wide, code=2).stderr
    xmach("train", train, "--model", tmp_path / "w", *options, "--features", 10)
    xmach("evaluate", tmp_path / "w", wide)


def test_no_row_gives_an_empty_answer(xmach: Run, model: Path, tmp_path: Path) -> None:
    (tmp_path / "none.txt").write_text("0 40 30\n")
    xmach("predict", model, tmp_path / "none.txt", "--out", tmp_path / "none.parquet")
    assert pq.read_table(tmp_path / "none.parquet").num_rows == 0
    assert xmach("predict", model, tmp_path / "none.txt").stdout == ""


def test_synth_writes_a_shop_that_trains(xmach: Run, tmp_path: Path) -> None:
    options = ["--queries", 400, "--products", 1000, "--test-queries", 50]
    result = xmach("synth", "shop", *options, "--out", tmp_path / "shop")
    assert "purchases per query" in result.stdout
    rows = [json.loads(line) for line in (tmp_path / "shop" / "train.jsonl").read_text().splitlines()]
    assert len(rows) == 400
    assert set(rows[0]) == {"query", "products", "purchases", "sessions"}
    assert len((tmp_path / "shop" / "products.tsv").read_text().splitlines()) == 1000
    again = xmach("synth", "shop", *options, "--out", tmp_path / "again")
    assert again.stdout == result.stdout
    assert (tmp_path / "again" / "test.jsonl").read_bytes() == (tmp_path / "shop" / "test.jsonl").read_bytes()
    file = tmp_path / "shop" / "train.xmc.txt"
    xmach(
        "train", file, "--model", tmp_path / "m", "--buckets", 20, "--repetitions", 1, "--hidden", "none", "--epochs", 1
    )
    assert xmach("evaluate", tmp_path / "m", tmp_path / "shop" / "test.xmc.txt").stdout.startswith("50 rows")


@pytest.mark.parametrize("out", ["--out /dev/stdout | cat > piped", "--out >(cat > piped) && wait $!", "> piped"])
def test_answers_go_through_pipes_of_the_shell(model: Path, small_file: Path, tmp_path: Path, out: str) -> None:
    command = f"set -o pipefail; {sys.executable} -m xmach predict {model} {small_file} --k 3 {out}"
    ended = subprocess.run(["bash", "-c", command], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    answers = [json.loads(line) for line in (tmp_path / "piped").read_text().splitlines()]
    assert [answer["row"] for answer in answers] == list(range(made_up().n_rows))
