"""What many tests share: where real data are, small made-up data, and the command as a process."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from tests.command_server import CommandServer

from xmach.data import Dataset, write_xmc
from xmach.types import SparseRows

ROOT = Path(__file__).resolve().parent.parent


SHARED_DATA = Path(os.environ.get("XMACH_DATA", ROOT.parent / "shared" / "data"))


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real data sets, or a skip with the reason."""
    if not SHARED_DATA.is_dir():
        pytest.skip("the real data sets are not here; set XMACH_DATA")
    return SHARED_DATA


def made_up(
    n_rows: int = 300, n_features: int = 40, n_labels: int = 30, seed: int = 0, labels_each: int = 2
) -> Dataset:
    """Learnable multilabel rows: each label has three features of its own, a row those of its labels and some noise."""
    rng = np.random.default_rng(seed)
    parts = rng.integers(0, n_features, (n_labels, 3))
    features, labels = [], []
    for _ in range(n_rows):
        chosen = rng.choice(n_labels, labels_each, replace=False)
        noise = rng.integers(0, n_features, 2)
        features.append(np.unique(np.concatenate([parts[chosen].ravel(), noise])))
        labels.append(np.sort(chosen))
    return Dataset(_rows(features, n_features), _rows(labels, n_labels))


def _rows(lists: list[np.ndarray], n_columns: int) -> SparseRows:
    indptr = np.concatenate([[0], np.cumsum([len(row) for row in lists])]).astype(np.int64)
    indices = np.concatenate(lists).astype(np.int32)
    return SparseRows(indptr, indices, np.ones(len(indices), np.float32), n_columns)


@pytest.fixture
def small_data() -> Dataset:
    """300 rows, 40 features, 30 labels."""
    return made_up()


@pytest.fixture
def small_file(tmp_path: Path) -> Path:
    """The same rows as an XMC file."""
    path = tmp_path / "small.txt"
    write_xmc(made_up(), path)
    return path


Run = Callable[..., "subprocess.CompletedProcess[str]"]


def checked(run: Callable[[list[str], dict[str, str]], subprocess.CompletedProcess[str]], cache: Path) -> Run:
    """Runs commands with a cache folder of their own; the exit code is as expected, and there is no traceback."""

    def checked_run(*arguments: object, code: int | None = 0) -> subprocess.CompletedProcess[str]:
        result = run([str(argument) for argument in arguments], os.environ | {"XMACH_CACHE": str(cache)})
        assert code is None or result.returncode == code, (result.returncode, result.stdout, result.stderr)
        assert "Traceback" not in result.stderr, result.stderr
        return result

    return checked_run


@pytest.fixture(scope="session")
def command_server() -> Iterator[CommandServer]:
    """One for all tests of a process."""
    server = CommandServer()
    yield server
    server.close()


@pytest.fixture
def xmach(tmp_path: Path, command_server: CommandServer) -> Run:
    """Runs the command in a process of its own, forked from one that has imported everything."""
    return checked(command_server.run, tmp_path / "cache")


@pytest.fixture
def xmach_process(tmp_path: Path) -> Run:
    """Runs the command in a fresh interpreter, as a shell does: seconds slower."""

    def run(arguments: list[str], environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "xmach", *arguments]
        return subprocess.run(command, capture_output=True, text=True, env=environment, check=False)

    return checked(run, tmp_path / "cache")
