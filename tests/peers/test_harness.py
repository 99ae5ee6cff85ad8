"""The harness: limits hold, what is finished is kept, whatever changes makes a new result, failures say why."""

from __future__ import annotations

import mmap
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.peers import harness, runs
from benchmarks.peers.harness import Contestant, contest
from benchmarks.peers.runs import Limits
from benchmarks.peers.sources import ShopSource
from benchmarks.processes import PrivatePeak, Stopped, run_within

GIB = 2**30
HOARD = "import time; held = bytearray(10 * 2**20 * 40); time.sleep(60)"  # 400 MiB


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("peers")


def _row(source: ShopSource, place: Path, contestant: Contestant, limits: Limits) -> dict[str, Any]:
    return contest(source, [contestant], limits, place)[0]


def test_a_contestant_runs_once_and_a_changed_setting_is_another(
    source: ShopSource, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    called: list[str] = []

    def counted(command: list[str], *rest: Any) -> int:
        called.append(command[3])
        return run_within(command, *rest)

    monkeypatch.setattr(runs, "run_within", counted)
    limits = Limits(2 * GIB, 120)
    first = _row(source, place, Contestant("popular"), limits)
    assert called == ["train", "answer"]
    assert 0.5 < first["matching"]["weighted"]["recall@100"] < 1
    assert first["ranking"]["unweighted"]["ndcg@100"] > 0
    assert first["parameters"] == 300
    assert {"training: load", "training: prepare", "training: train", "training: save"} < set(first["seconds"])
    assert {"answering: load", "answering: open", "answering: answer", "answering: rank"} < set(first["seconds"])
    assert 0 <= first["training memory"] < 100 * 2**20
    assert _row(source, place, Contestant("popular"), limits) == first
    assert len(called) == 2
    _row(source, place, Contestant("popular", {}, {"asked": "otherwise"}), limits)  # the same model
    assert called[2:] == ["answer"]
    _row(source, place, Contestant("popular", {"another": "setting"}), limits)
    assert called[3:] == ["train", "answer"]


def test_a_limit_is_a_reason_and_is_tried_again_only_with_more(source: ShopSource, place: Path) -> None:
    contestant = Contestant("popular", {"about": "limits"})
    short = Limits(2 * GIB, 0.01)
    row = _row(source, place, contestant, short)
    assert row["failed"].startswith("out of time after 0 s (limits: 2.00 GiB, 0 s)")
    assert row["while"] == "training"
    assert _row(source, place, contestant, short) == row
    assert "failed" not in _row(source, place, contestant, Limits(2 * GIB, 120))


def test_an_error_is_a_reason(source: ShopSource, place: Path) -> None:
    wrong = Contestant("mach", {"n_buckets": 1, "n_repetitions": 1})
    row = _row(source, place, wrong, Limits(2 * GIB, 120))
    assert row["failed"].startswith("ended with 1: xmach.errors.ParameterError: n_buckets must be")


def test_a_library_that_is_not_here_is_a_reason(
    source: ShopSource, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(harness, "library_version", lambda name: None)
    row = _row(source, place, Contestant("parabel"), Limits())
    assert row["failed"] == "omikuji is not installed (the `bench` extra)"


def test_memory_beyond_the_limit_ends_the_process() -> None:
    with pytest.raises(Stopped, match="out of memory after"):
        run_within([sys.executable, "-c", HOARD], os.environ, memory=200 * 2**20, seconds=30)


def test_time_is_up_between_two_looks() -> None:
    with pytest.raises(Stopped, match="out of time after 0 s"):
        run_within([sys.executable, "-c", "import time; time.sleep(3)"], os.environ, seconds=0.1, sample=5)


def test_children_end_with_their_parent(tmp_path: Path) -> None:
    child = tmp_path / "child"
    code = f"import subprocess, sys, time; p = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)']);\
 open({str(child)!r}, 'w').write(str(p.pid)); time.sleep(60)"
    with pytest.raises(Stopped, match="out of time after"):
        run_within([sys.executable, "-c", code], os.environ, seconds=3)
    deadline = time.monotonic() + 20
    while _runs(int(child.read_text())):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def _runs(process: int) -> bool:
    try:
        return "State:\tZ" not in Path(f"/proc/{process}/status").read_text()
    except OSError:
        return False


def test_private_memory_is_what_no_file_stands_behind(tmp_path: Path) -> None:
    np.save(tmp_path / "mapped.npy", np.ones(40 * 2**17))  # 40 MiB
    peak = PrivatePeak()
    mapped = np.load(tmp_path / "mapped.npy", mmap_mode="r")
    assert mapped.sum() == len(mapped)
    # pages of its own: an array may get some that the process had already
    with mmap.mmap(-1, 20 * 2**20, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as held:
        for page in range(0, len(held), mmap.PAGESIZE):
            held[page] = 1
        time.sleep(0.5)
    assert 15 * 2**20 < peak.above() < 35 * 2**20


def test_what_a_failing_command_said_is_kept() -> None:
    with pytest.raises(subprocess.CalledProcessError, match="exit status 3") as caught:
        run_within([sys.executable, "-c", "import sys; print('no', file=sys.stderr); sys.exit(3)"], os.environ)
    assert caught.value.stderr == b"no\n"


def test_names_tell_settings() -> None:
    contestant = Contestant("mach", {"n_buckets": 2000, "hidden": ()}, {"repetitions": 4})
    assert contestant.name == "mach, n_buckets=2,000, hidden=none, repetitions=4"
