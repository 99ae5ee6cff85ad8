"""Training that survives: SIGKILL at random moments, Ctrl-C, SIGTERM; the end is the same bytes."""

from __future__ import annotations

import hashlib
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.conftest import Run, made_up

from xmach.data import write_xmc
from xmach.files import is_temporary

SETTINGS = ["--buckets", "50", "--repetitions", "4"]


LOCAL, POOL = ("--executor", "local"), ("--executor", "pool", "--workers", "2")
NETWORK = ("--hidden", "200", "--dropout", "0.2")
LINEAR = ("--learner", "linear", "--buckets", "1000", "--cost", "1")  # four parts a repetition


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "rows.txt"
    write_xmc(made_up(4000, 400, 200), path)
    return path


def start(file: Path, model: Path, *options: str, group: bool = False) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "xmach", "train", str(file), "--model", str(model), *SETTINGS, *options]
    environment = os.environ | {"XMACH_CACHE": str(file.parent / "cache")}
    if (file.parent / "system").is_dir():
        environment["TMPDIR"] = str(file.parent / "system")
    return subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True, start_new_session=group)


def finish(process: subprocess.Popen[str]) -> tuple[int, str]:
    _, errors = process.communicate(timeout=300)
    return process.returncode, errors


def digest(model: Path) -> str:
    total = hashlib.sha256()
    for path in sorted(path for path in model.rglob("*") if path.is_file()):
        total.update(f"{path.relative_to(model)}\n".encode() + path.read_bytes())
    return total.hexdigest()


def wait_for_progress(model: Path, process: subprocess.Popen[str]) -> None:
    """Until the first checkpoint is there: then training is under way."""
    while process.poll() is None and not list((model / "progress").glob("*.safetensors")):
        time.sleep(0.02)


def killed(file: Path, model: Path, times: int, options: tuple[str, ...], seed: int) -> int:
    """Start training and kill it, again and again; how many kills hit a training that was not finished."""
    moments, hits = random.Random(seed), 0
    for _ in range(times):
        process = start(file, model, *options)
        if moments.random() < 0.7:  # most kills in the middle of training, some while it starts
            wait_for_progress(model, process)
        time.sleep(moments.uniform(0.0, 1.2))
        hits += process.poll() is None and not (model / "manifest.json").exists()
        process.kill()
        finish(process)
    return hits


@pytest.mark.parametrize(
    ("times", "options"),
    [
        pytest.param(3, (*LOCAL, *NETWORK, "--epochs", "20"), id="local"),
        pytest.param(3, (*POOL, *NETWORK, "--epochs", "20"), id="pool"),
        pytest.param(2, (*POOL, *LINEAR, "--passes", "40"), id="linear, pool"),
        pytest.param(10, (*LOCAL, *NETWORK, "--epochs", "100"), id="local, ten times", marks=pytest.mark.slow),
        pytest.param(10, (*POOL, *NETWORK, "--epochs", "150"), id="pool, ten times", marks=pytest.mark.slow),
        pytest.param(10, (*LOCAL, *LINEAR, "--passes", "500"), id="linear, local, ten times", marks=pytest.mark.slow),
        pytest.param(10, (*POOL, *LINEAR, "--passes", "700"), id="linear, pool, ten times", marks=pytest.mark.slow),
    ],
)
def test_killed_and_resumed_is_the_same_bytes(
    xmach: Run, file: Path, tmp_path: Path, times: int, options: tuple[str, ...]
) -> None:
    xmach("train", file, "--model", tmp_path / "undisturbed", *SETTINGS, *options)
    # on a busy machine a run may end before its kill comes
    assert killed(file, tmp_path / "killed", times, options, seed=times) >= 0.6 * times
    xmach("train", file, "--model", tmp_path / "killed", *SETTINGS, *options)
    assert digest(tmp_path / "killed") == digest(tmp_path / "undisturbed")


@pytest.mark.parametrize(
    "options", [(*LOCAL, *NETWORK, "--epochs", "20"), (*POOL, *NETWORK, "--epochs", "20")], ids=["local", "pool"]
)
def test_the_run_after_a_kill_leaves_nothing_over(file: Path, tmp_path: Path, options: tuple[str, ...]) -> None:
    """No board in the system's temporary folder, nothing half written in the model or the cache."""
    model, system = tmp_path / "model", tmp_path / "system"
    system.mkdir()
    process = start(file, model, *options)
    wait_for_progress(model, process)
    process.kill()
    finish(process)
    assert [path.name.split(".")[0] for path in system.iterdir()] == ["xmach-board"]
    assert finish(start(file, model, *options))[0] == 0
    assert list(system.iterdir()) == []
    assert not [path for path in tmp_path.rglob("*") if is_temporary(path)]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize(
    "options", [(*LOCAL, *NETWORK, "--epochs", "12"), (*POOL, *NETWORK, "--epochs", "12")], ids=["local", "pool"]
)
def test_a_polite_signal_saves_and_says_how_to_resume(
    xmach: Run, file: Path, tmp_path: Path, number: signal.Signals, options: tuple[str, ...]
) -> None:
    model = tmp_path / "model"
    process = start(file, model, *options)
    wait_for_progress(model, process)
    process.send_signal(number)
    code, errors = finish(process)
    assert code == 1
    assert "stopping: each repetition saves a checkpoint" in errors
    assert "run the same command again to resume" in errors
    assert "Traceback" not in errors
    xmach("train", file, "--model", model, *SETTINGS, *options)
    assert not (model / "progress").exists()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_to_the_whole_group_while_workers_start(file: Path, tmp_path: Path, number: signal.Signals) -> None:
    """As a terminal's Ctrl-C or a scheduler sends it; the moment sweeps over the start of the workers."""
    for delay in (0.0, 0.7, 1.5):
        model = tmp_path / f"model {delay}"
        process = start(file, model, *POOL, *NETWORK, "--epochs", "12", group=True)
        while process.poll() is None and not (model / "plan.json").exists():
            time.sleep(0.02)
        time.sleep(delay)
        os.killpg(process.pid, number)
        code, errors = finish(process)
        assert code in (0, 1)
        assert "Traceback" not in errors
        assert code == 0 or "stopped" in errors
