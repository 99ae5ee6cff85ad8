"""SIGKILL while something is written: a reader finds the old or the new content, and the next run leaves nothing over.

The writer is a process of its own. It is killed before every single change that it makes to the disk, and at random
moments, which also fall into the libraries that write files themselves.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest
from tests.checks import writes
from tests.checks.writes import WRITES

from xmach.files import is_temporary


class Writers:
    """Processes that write, forked from one that has imported everything."""

    def __init__(self, states: Path) -> None:
        command = [sys.executable, writes.__file__, str(states)]
        self._server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def start(self, name: str, place: Place, step: int | None = None) -> int:
        """Start a process; its id."""
        assert self._server.stdin is not None
        self._server.stdin.write(json.dumps([name, str(place.folder), str(place.scratch), step]) + "\n")
        self._server.stdin.flush()
        return self._line()

    def exit_code(self) -> int:
        """Wait for the process."""
        return self._line()

    def _line(self) -> int:
        assert self._server.stdout is not None
        return int(self._server.stdout.readline())

    def close(self) -> None:
        """End the server; it ends when its input does."""
        self._server.communicate()


@pytest.fixture(scope="module")
def states(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The state before each write, as a folder by its name."""
    folder = tmp_path_factory.mktemp("states")
    for name, each in WRITES.items():
        (folder / name).mkdir()
        each.before(folder / name)
    return folder


@pytest.fixture(scope="module")
def writers(states: Path) -> Iterator[Writers]:
    writers = Writers(states)
    yield writers
    writers.close()


class Place:
    """Where a write happens: its folder, and a temporary folder of the system that only this test uses."""

    def __init__(self, base: Path, state: Path) -> None:
        self.folder, self.scratch, self._state = base / "folder", base / "scratch", state
        self.scratch.mkdir()
        self.reset()

    def reset(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)
        shutil.copytree(self._state, self.folder)

    def left(self) -> list[str]:
        """What is temporary, or in no state that a reader should find."""
        paths = [*self.folder.rglob("*"), *self.scratch.iterdir()]
        return [str(path) for path in paths if is_temporary(path) or path.parent == self.scratch]


@pytest.fixture
def place(tmp_path: Path, states: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> Place:
    place = Place(tmp_path, states / name)
    monkeypatch.setattr(tempfile, "tempdir", str(place.scratch))
    return place


# more than a hundred changes, much the same for each file
LONG = ["model", "new model", "training", "training in parts", "training with a ranker"]


@pytest.mark.parametrize(
    ("name", "stride"),
    [(name, 5 if name in LONG else 1) for name in WRITES]
    + [pytest.param(name, 1, marks=pytest.mark.slow) for name in LONG],
)
def test_killed_at_every_step(writers: Writers, place: Place, name: str, stride: int) -> None:
    each = WRITES[name]
    old = each.read(place.folder)
    each.write(place.folder)
    new = each.read(place.folder)
    seen, littered = [], 0
    for step in count(1, stride):
        place.reset()
        writers.start(name, place, step)
        if (code := writers.exit_code()) == 0:
            break
        assert code == -signal.SIGKILL
        littered += bool(place.left())
        seen.append(each.read(place.folder))
        each.write(place.folder)
        assert not place.left(), f"killed before change {step}"
        if name != "metrics":  # which are added
            assert each.read(place.folder) == new
    assert set(seen) <= {old, new}
    assert stride > 1 or set(seen) == {old, new}
    assert littered > 2


@pytest.mark.parametrize("name", WRITES)
def test_killed_at_any_moment(writers: Writers, place: Place, name: str) -> None:
    each, moments = WRITES[name], random.Random(name)
    old = each.read(place.folder)
    each.write(place.folder)
    new = each.read(place.folder)
    for _ in range(10):
        place.reset()
        process = writers.start(name, place)
        time.sleep(moments.uniform(0.0, 0.05))
        os.kill(process, signal.SIGKILL)
        assert writers.exit_code() == -signal.SIGKILL
        assert name == "metrics" or each.read(place.folder) in (old, new)
        each.write(place.folder)
        assert name == "metrics" or each.read(place.folder) == new
        assert not place.left()
