"""What two workers gain: against one, and against two processes side by side that train half of a model each.

Runs alternate, start to end; all ways must give the same bytes.
"""

from __future__ import annotations

import hashlib
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.places import OUT, data_folder, table, write_results

ROUNDS = 5
ONE, POOL, APART = "one worker", "two workers", "two processes"


@dataclass(frozen=True)
class Job:
    """What is trained, and how often."""

    about: str
    data: str
    repetitions: int
    options: tuple[str, ...]


JOBS = (
    Job("network, delicious", "delicious", 8, ("--learner", "network", "--buckets", "300")),
    Job("linear buckets, citeulike_t", "citeulike_t", 64, ("--learner", "linear", "--linear-loss", "squared_hinge",
        "--cost", "1", "--passes", "8", "--buckets", "1000")),
)  # fmt: skip


def main() -> None:
    """Train each job in all three ways, in turn, and compare."""
    results: list[dict[str, Any]] = []
    for job in JOBS:
        ways = {ONE: [range(job.repetitions)], POOL: [range(job.repetitions)]}
        half = job.repetitions // 2
        ways[APART] = [range(half), range(half, job.repetitions)]
        seconds: dict[str, list[float]] = {way: [] for way in ways}
        digests = set()
        for _ in range(ROUNDS):
            for way, shares in ways.items():
                place = OUT / "executors"
                shutil.rmtree(place, ignore_errors=True)
                seconds[way].append(_train(job, place, shares, 2 if way == POOL else 1))
                digests.add(_digest(place))
        results.append({"job": job.about, "seconds": seconds, "same_bytes": len(digests) == 1})
    texts = [_text(result["job"], result["seconds"], result["same_bytes"]) for result in results]
    write_results("executors", results, "\n".join(texts))


def ratios(seconds: Mapping[str, list[float]], other: str) -> list[float]:
    """How many times as long as two workers another way took, round by round, ascending."""
    return sorted(long / short for long, short in zip(seconds[other], seconds[POOL], strict=True))


def _text(job: str, seconds: Mapping[str, list[float]], same_bytes: bool) -> str:
    rows = []
    for way, times in seconds.items():
        against = ratios(seconds, way)
        middle = f"{statistics.median(against):.2f} ({against[0]:.2f} to {against[-1]:.2f})"
        rows.append([way, f"{statistics.median(times):.1f}", "-" if way == POOL else middle])
    verdict = "same bytes" if same_bytes else "DIFFERENT BYTES"
    return f"{job}, {verdict}\n\n{table(['', 'seconds, median', 'times two workers'], rows)}"


def _train(job: Job, place: Path, shares: list[range], workers: int) -> float:
    """Train shares of the repetitions at the same time, each into a folder of its own; return the seconds."""
    file = data_folder() / job.data / "train.txt.gz"
    begun = time.monotonic()
    running = []
    for number, share in enumerate(shares):
        command = [sys.executable, "-m", "xmach", "train", str(file), "--model", str(place / str(number)), *job.options]
        # one more than is trained: no way spends time on finishing the model, which only one process could do
        command += ["--repetitions", str(job.repetitions + 1), "--only", f"{share.start}-{share.stop - 1}"]
        command += ["--workers", str(workers), "--executor", "local" if workers == 1 else "pool"]
        running.append(subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
    if any(process.wait() for process in running):
        sys.exit(f"{job.about}: training failed")
    return time.monotonic() - begun


def _digest(place: Path) -> str:
    """The digest of all repetitions, in whichever folder they are."""
    digest = hashlib.sha256()
    for path in sorted(place.rglob("repetition-*"), key=lambda path: path.name):
        digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()
