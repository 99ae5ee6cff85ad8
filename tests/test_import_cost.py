"""Answering imports no training code: what is in `sys.modules` after a load, a prediction, and `xmach predict`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from xmach import MACHClassifier

ROOMS = ("xmach.training", "xmach.learners", "xmach.executors")
TEXTS = ["red lamp", "blue lamp", "red chair", "blue chair"]

LOADING = """
from xmach import load
predictor = load({folder!r})
predictor.top_k(["red lamp"], 2, candidates=["lamp", "chair"])
predictor.predict(["red lamp"])
predictor.predict_proba(["red lamp"])
predictor.explain("red lamp", "lamp")
"""
PREDICTING = """
from xmach.cli import main
sys.argv = ["xmach", "predict", {folder!r}, {file!r}, "--text", "text", "--cache", {cache!r}, "--out", {out!r}]
try:
    main()
except SystemExit as end:
    assert not end.code, end.code
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("imports") / "model"
    settings = {"n_buckets": 2, "n_repetitions": 2, "hidden": (), "epochs": 1}
    MACHClassifier(features="text", **settings).fit(TEXTS, ["lamp", "lamp", "chair", "chair"]).save(path)
    return path


def imported(script: str) -> list[str]:
    """The modules of training rooms that a new process has imported after the script."""
    report = "\nprint('MODULES', json.dumps([name for name in sys.modules if name.startswith('xmach.')]))"
    command = [sys.executable, "-c", f"import json, sys\n{script}{report}"]
    ended = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    modules: list[str] = json.loads(ended.stdout.rpartition("MODULES ")[2])
    assert "xmach.predictor" in modules
    return [name for name in modules if name.startswith(ROOMS)]


def test_a_loaded_model_answers_without_training_code(folder: Path) -> None:
    assert imported(LOADING.format(folder=str(folder))) == []


def test_predict_does_not_import_training_code(folder: Path, tmp_path: Path) -> None:
    file = tmp_path / "asked.csv"
    file.write_text("text\n" + "".join(f"{text}\n" for text in TEXTS), encoding="utf-8")
    places = {"cache": str(tmp_path / "cache"), "out": str(tmp_path / "answers.jsonl")}
    assert imported(PREDICTING.format(folder=str(folder), file=str(file), **places)) == []
    assert len((tmp_path / "answers.jsonl").read_text(encoding="utf-8").splitlines()) == len(TEXTS)


def test_the_predictor_itself_imports_no_training_code() -> None:
    assert imported("import xmach.predictor") == []
