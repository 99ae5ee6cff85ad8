"""`pool` with two workers against `local`: the same bytes, and the ratio of times, runs alternating."""

from __future__ import annotations

import hashlib
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path

from benchmarks.places import OUT, data_folder, table, write_results

ROUNDS = 3
CONTESTANTS = {"local": ["--executor", "local"], "pool, 2 workers": ["--executor", "pool", "--workers", "2"]}


def main() -> None:
    """Train the same model with both executors, in turn, and compare."""
    seconds: dict[str, list[float]] = {name: [] for name in CONTESTANTS}
    digests = set()
    for _ in range(ROUNDS):
        for name, options in CONTESTANTS.items():
            model = OUT / "executors"
            shutil.rmtree(model, ignore_errors=True)
            seconds[name].append(_train(model, options))
            digests.add(_digest(model))
    ratios = sorted(local / pool for local, pool in zip(*seconds.values(), strict=True))
    rows = [[name, f"{statistics.median(times):.1f}"] for name, times in seconds.items()]
    text = table(["executor", "seconds, median"], rows)
    text += f"\nlocal / pool: median {statistics.median(ratios):.2f}, {ratios[0]:.2f} to {ratios[-1]:.2f}; "
    text += "same bytes\n" if len(digests) == 1 else "DIFFERENT BYTES\n"
    write_results("executors", {"seconds": seconds, "ratios": ratios, "same_bytes": len(digests) == 1}, text)


def _train(model: Path, options: list[str]) -> float:
    file = data_folder() / "delicious" / "train.txt.gz"
    command = [sys.executable, "-m", "xmach", "train", str(file), "--model", str(model), "--buckets", "300"]
    begun = time.monotonic()
    subprocess.run([*command, "--repetitions", "8", *options], check=True, capture_output=True)
    return time.monotonic() - begun


def _digest(model: Path) -> str:
    digest = hashlib.sha256()
    for path in sorted(path for path in model.rglob("*") if path.is_file()):
        digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()
