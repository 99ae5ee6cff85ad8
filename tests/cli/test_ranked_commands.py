"""The commands on models with a ranker."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.command_server import CommandServer
from tests.conftest import Run, checked, made_up

from xmach.data import write_xmc
from xmach.store import load

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
