"""`xmach inspect` tells how large an unfinished model of linear buckets will be."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import typer
from typer.testing import CliRunner

from xmach.cli.inspect import inspect
from xmach.config import MachConfig
from xmach.data import Dataset
from xmach.training import fit

app = typer.Typer()
app.command()(inspect)


def run(*arguments: str) -> str:
    result = CliRunner().invoke(app, list(arguments), catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def test_the_expected_size_of_an_unfinished_model(tmp_path: Path) -> None:
    draw = np.random.default_rng(0)
    data = Dataset.from_arrays(draw.random((200, 30), np.float32), draw.integers(0, 20, 200))
    config = MachConfig(learner="linear", n_buckets=10, n_repetitions=3, cost=1.0, passes=3)
    folder = tmp_path / "model"
    fit(data, config, folder, only=[0], workers=1)
    expected = json.loads(run(str(folder), "--json"))["expected_bytes"]
    assert "when complete" in run(str(folder))
    fit(data, config, folder, workers=1)
    facts = json.loads(run(str(folder), "--json"))
    assert "expected_bytes" not in facts
    assert "when complete" not in run(str(folder))
    stored = sum(path.stat().st_size for path in folder.rglob("repetition-*"))
    assert 1 / 1.2 < expected / stored < 1.2
