"""The commands on models with a ranker."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from tests.command_server import CommandServer
from tests.conftest import Run, checked, made_up

from xmach.cli.progress import training_output
from xmach.data import write_xmc
from xmach.store import load
from xmach.training import StageProgress

OPTIONS = [
    "--learner", "linear", "--linear-loss", "squared_hinge", "--buckets", 20, "--repetitions", 3, "--cost", 1,
    "--passes", 3, "--executor", "local",
]  # fmt: skip


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("ranked") / "rows.txt"
    write_xmc(made_up(600, 80, 60), path)
    return path


@pytest.fixture(scope="module")
def trained(command_server: CommandServer, rows: Path) -> Path:
    run = checked(command_server.run, rows.parent / "cache")
    run("train", rows, "--model", rows.parent / "model", *OPTIONS)
    assert load(rows.parent / "model").ranking is not None
    return rows.parent / "model"


def test_evaluate_judges_the_ranker_unless_an_estimator_is_given(xmach: Run, trained: Path, rows: Path) -> None:
    predictor, data = load(trained), made_up(600, 80, 60)
    for option, name, stage in (("auto", "rank", "rank"), ("log", "log", "mach")):
        facts = json.loads(xmach("evaluate", trained, rows, "--estimator", option, "--json").stdout)
        best = predictor.top_k(data.features, 1, stage=stage).ids[:, 0]
        assert facts["estimator"] == name
        right = [best[i] in data.labels.row(i)[0] for i in range(600)]
        assert facts["metrics"]["precision@1"] == pytest.approx(sum(right) / 600)
    assert xmach("evaluate", trained, rows).stdout.startswith("600 rows, with the ranker, 3 repetitions\n")


def test_a_budget_is_a_size(xmach: Run, rows: Path, tmp_path: Path) -> None:
    xmach("train", rows, "--model", tmp_path / "model", *OPTIONS, "--ranker", "profile", "--ranker-bytes", "20kB")
    assert json.loads((tmp_path / "model" / "plan.json").read_text())["ranker_bytes"] == 20_000
    failed = xmach("train", rows, "--model", tmp_path / "other", *OPTIONS, "--ranker-bytes", "20 cows", code=2)
    assert failed.stderr == "--ranker-bytes takes a size such as 4GB, 4GiB, 512MB or a number of bytes, got '20 cows'\n"
    failed = xmach("train", rows, "--model", tmp_path / "other", *OPTIONS, "--ranker-bytes", 1, code=2)
    assert re.fullmatch(r"--ranker-bytes 1 is too little for 60 labels and 80 features: .*\n", failed.stderr)


def test_an_array_job_divides_the_ranker(xmach: Run, trained: Path, rows: Path, tmp_path: Path) -> None:
    command = ("train", rows, "--model", tmp_path / "model", *OPTIONS)
    for _ in range(2):
        for share, only in (("1/2", "0-1"), ("2/2", "2")):
            said = xmach(*command, "--only", only, "--only-ranker", share).stderr
    assert "ranker 2/2: all shortlists and classifiers are made; run once without --only-ranker, which joins" in said
    assert "3 of 3 repetitions are there, the ranker is not finished" in said
    xmach(*command)
    for path in (*trained.glob("*.safetensors"), trained / "manifest.json"):
        assert (tmp_path / "model" / path.name).read_bytes() == path.read_bytes(), path.name


@pytest.mark.parametrize("share", ["0/3", "4/3", "a/b", "1", "1/", "-1/3", "1/2/3"])
def test_a_bad_share_is_rejected(xmach: Run, rows: Path, tmp_path: Path, share: str) -> None:
    failed = xmach("train", rows, "--model", tmp_path / "model", *OPTIONS, f"--only-ranker={share}", code=2)
    assert failed.stderr.startswith("--only-ranker takes a share such as 1/4, and for four shares up to 4/4; got ")


def test_a_share_without_repetitions(xmach: Run, rows: Path, tmp_path: Path) -> None:
    failed = xmach("train", rows, "--model", tmp_path / "model", *OPTIONS, "--only-ranker", "1/3", code=3)
    assert "--only-ranker needs all repetitions, but there is none" in failed.stderr


def test_a_finished_model_is_not_trained_with_another_ranker(xmach: Run, trained: Path, rows: Path) -> None:
    for option, value, seen in (
        ("--ranker", "none", "--ranker: none"),
        ("--ranker-bytes", "1MB", "--ranker-bytes: 1000000"),
    ):
        failed = xmach("train", rows, "--model", trained, *OPTIONS, option, value, code=3)
        assert f"holds a model of another plan ({seen} here, " in failed.stderr


def test_train_says_what_the_ranker_weighs(xmach: Run, rows: Path, tmp_path: Path) -> None:
    said = xmach("train", rows, "--model", tmp_path / "model", *OPTIONS).stderr
    assert "trial: a model of 540 rows is trained, which chooses the ranker's settings on the other 60 rows" in said
    assert re.search(r"^ranker: (parts by weight: mach|no part helped the sketch)", said, re.MULTILINE)
    assert "<" not in said
    assert ": complete, 3 repetitions, with a ranker, " in said


def test_train_and_inspect_tell_the_weights_as_json(xmach: Run, trained: Path, rows: Path) -> None:
    told = json.loads(xmach("train", rows, "--model", trained, *OPTIONS, "--json").stdout)["ranker"]
    assert told == json.loads(xmach("inspect", trained, "--json").stdout)["ranking"]["fusion"]["weights"]
    line = next(line for line in xmach("inspect", trained).stdout.splitlines() if line.startswith("ranker"))
    assert ("cost" in line) == ("ranker" in told)
    assert f"weights mach {told['mach']:.3g}" in line


def test_a_stage_that_comes_again_is_timed_anew(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The classifiers of labels are trained at three costs."""
    clock = [0.0]
    monkeypatch.setattr("xmach.cli.progress.time.monotonic", lambda: clock[0])
    with training_output() as show:
        for clock[0], done in ((0.0, 10), (20.0, 90), (60.0, 10), (80.0, 50)):
            show(StageProgress("classifiers of labels", done, 100, "labels"))
    shown = capsys.readouterr().err.splitlines()
    assert shown == [
        "classifiers of labels: 90%, 4 labels/s, 2 s left",
        "classifiers of labels: 50%, 2 labels/s, 25 s left",
    ]
