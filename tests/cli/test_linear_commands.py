"""The commands on models of linear buckets."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from tests.command_server import CommandServer
from tests.conftest import Run, checked, made_up

from xmach.cli.progress import training_output
from xmach.data import write_xmc
from xmach.training import MachConfig, fit

OPTIONS = [
    "--learner", "linear", "--linear-loss", "squared_hinge", "--buckets", 8, "--repetitions", 3, "--cost", "auto",
    "--passes", 4,
]  # fmt: skip
OPTIONS += ["--prune-below", 0.2, "--store-bits", 8, "--executor", "local"]
PRODUCTS = ["red running shoe", "iron frying pan", "green tea bags", "wool winter sock", "garden hose reel"]


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("linear") / "rows.txt"
    write_xmc(made_up(), path)
    return path


@pytest.fixture(scope="module")
def trained(command_server: CommandServer, rows: Path) -> Path:
    run = checked(command_server.run, rows.parent / "cache")
    facts = json.loads(run("train", rows, "--model", rows.parent / "model", *OPTIONS, "--json").stdout)
    assert (facts["complete"], facts["trained"]) == (True, 3)
    return rows.parent / "model"


@pytest.fixture(scope="module")
def texts(command_server: CommandServer, rows: Path) -> Path:
    file = rows.parent / "shop.tsv"
    lines = [f"{product} {i}\t{product}" for product in PRODUCTS for i in range(8)]
    file.write_text("\n".join(["title\tproduct", *lines]) + "\n")
    options = ["--text", "title", "--labels", "product", "--learner", "linear", "--buckets", 3, "--repetitions", 6]
    run = checked(command_server.run, rows.parent / "cache")
    run("train", file, "--model", rows.parent / "shop", *options, "--executor", "local")
    return rows.parent / "shop"


@pytest.fixture
def model(trained: Path, tmp_path: Path) -> Path:
    """A copy that a test may change."""
    return Path(shutil.copytree(trained, tmp_path / "model"))


def test_what_was_given_is_in_the_plan(trained: Path) -> None:
    plan = json.loads((trained / "plan.json").read_text())
    linear = plan["linear"]
    assert linear.pop("cost") in (0.1, 0.3, 1.0, 3.0)
    assert linear == {"linear_loss": "squared_hinge", "passes": 4, "prune_below": 0.2, "store_bits": 8}
    assert (plan["learner"], "network" in plan) == ("linear", False)


def test_inspect(xmach: Run, trained: Path) -> None:
    shown = xmach("inspect", trained).stdout
    assert "linear        40-8, squared_hinge, cost " in shown
    assert ", 4 passes, " in shown
    assert " weights of 8 bits a repetition" in shown
    facts = json.loads(xmach("inspect", trained, "--json").stdout)
    assert (facts["learner"], facts["linear"]["passes"]) == ("linear", 4)
    assert set(facts["weights"]) == {"0", "1", "2"}
    assert facts["parameters"] == sum(facts["weights"].values()) + 3 * 8
    assert "network" not in facts


def test_inspect_before_the_first_repetition(xmach: Run, model: Path) -> None:
    (model / "manifest.json").unlink()
    for file in model.glob("repetition-*"):
        file.unlink()
    shown = xmach("inspect", model).stdout
    assert "0 weights of 8 bits a repetition" in shown
    assert "0 of 3 there, no manifest yet" in shown
    assert json.loads(xmach("inspect", model, "--json").stdout)["weights"] == {}


def test_predict_and_evaluate(xmach: Run, trained: Path, model: Path, rows: Path) -> None:
    lines = [json.loads(line) for line in xmach("predict", trained, rows, "--k", 3).stdout.splitlines()]
    assert [len(line["labels"]) for line in lines] == [3] * 300
    metrics = json.loads(xmach("evaluate", model, rows, "--json").stdout)["metrics"]
    assert metrics["precision@1"] > 0.5


def test_an_index_changes_no_answer(xmach: Run, model: Path, rows: Path) -> None:
    before = xmach("predict", model, rows, "--k", 5).stdout
    xmach("index", model)
    assert xmach("predict", model, rows, "--k", 5).stdout == before


def test_ask_and_explain(xmach: Run, texts: Path) -> None:
    assert xmach("ask", texts, "green tea", "--k", 1).stdout.split(maxsplit=2)[2].strip() == "green tea bags"
    why = json.loads(xmach("ask", texts, "some green tea", "--explain", "green tea bags", "--json").stdout)
    effects = {word["word"]: word["effect"] for word in why["words"]}
    assert min(effects["green"], effects["tea"]) > effects["some"]
    assert "green tea bags" in xmach("ask", texts, "green tea", "--explain", "green tea bags").stdout


def test_the_same_command_again_does_nothing(xmach: Run, rows: Path, model: Path) -> None:
    before = {path: path.read_bytes() for path in model.rglob("*") if path.is_file()}
    assert json.loads(xmach("train", rows, "--model", model, *OPTIONS, "--json").stdout)["trained"] == 0
    assert {path: path.read_bytes() for path in model.rglob("*") if path.is_file()} == before


def test_another_cost_is_named(xmach: Run, rows: Path, model: Path) -> None:
    refused = xmach("train", rows, "--model", model, *OPTIONS, "--cost", 7, code=3).stderr
    assert "holds a model of another plan (--cost: 7.0 here, " in refused
    assert "passes" not in refused
    refused = xmach("train", rows, "--model", model, "--learner", "network", "--buckets", 8, code=3).stderr
    assert "--learner: network here, linear there" in refused


def test_parts_trained_apart_are_joined_by_copying(xmach: Run, rows: Path, trained: Path, tmp_path: Path) -> None:
    for part, only in (("a", "0-1"), ("b", "2")):
        xmach("train", rows, "--model", tmp_path / part, *OPTIONS, "--only", only)
    shutil.copy(tmp_path / "b" / "repetition-002.safetensors", tmp_path / "a")
    assert json.loads(xmach("train", rows, "--model", tmp_path / "a", *OPTIONS, "--json").stdout)["trained"] == 0
    assert (tmp_path / "a" / "manifest.json").read_bytes() == (trained / "manifest.json").read_bytes()


@pytest.mark.parametrize(
    ("flag", "value", "message"),
    [
        ("--cost", "0", r"--cost must be a number in (0"),
        ("--cost", "large", "--cost must be a number"),
        ("--cost", "nan", "--cost must be a number"),
        ("--passes", "0", "--passes must be a whole number of at least 1, got 0, or 'auto'"),
        ("--passes", "2.5", "--passes must be a whole number"),
        ("--prune-below", "-1", "--prune-below must be a number in [0"),
        ("--store-bits", "16", "--store-bits must be one of 8, 32, got 16, or 'auto'"),
        ("--linear-loss", "hinge", "--linear-loss"),
        ("--learner", "forest", "--learner"),
    ],
)
def test_bad_values_name_the_flag(xmach: Run, rows: Path, tmp_path: Path, flag: str, value: str, message: str) -> None:
    result = xmach("train", rows, "--model", tmp_path / "m", *OPTIONS, flag, value, code=2)
    assert message in " ".join(result.stderr.replace("│", " ").split())
    assert not (tmp_path / "m").exists()


def test_a_damaged_part_is_said_and_trained_again(xmach: Run, rows: Path, trained: Path, model: Path) -> None:
    (model / "manifest.json").unlink()
    (model / "repetition-002.safetensors").unlink()
    (model / "progress").mkdir()
    (model / "progress" / "repetition-002-part-0000.safetensors").write_bytes(b"half a par")
    said = xmach("train", rows, "--model", model, *OPTIONS).stderr
    assert "repetition-002-part-0000.safetensors is damaged: this part is trained again" in said
    assert (model / "manifest.json").read_bytes() == (trained / "manifest.json").read_bytes()
    assert not (model / "progress").exists()


def test_progress_is_shown_while_it_trains(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("xmach.cli.progress._LINE_SECONDS", 0.0)
    monkeypatch.setattr("xmach.training.run._POLL_SECONDS", 0.005)
    config = MachConfig(learner="linear", n_buckets=300, n_repetitions=2, cost=1.0, passes=200)
    with training_output() as on_progress:
        fit(made_up(300, 40, 400), config, tmp_path / "model", executor="local", on_progress=on_progress)
    shown = re.findall(r"^training: (\d+)%, [\d,]+ rows/s", capsys.readouterr().err, re.MULTILINE)
    assert len(shown) > 2
    assert [int(share) for share in shown] == sorted(int(share) for share in shown)
    assert shown[-1] == "100"
