"""Opening a model of 2 GB: imports, the first answer, verification, and what a second process adds in memory."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.places import table, write_results
from xmach.data import Dataset, write_xmc
from xmach.features import fit_scaler
from xmach.learners import NetworkSettings
from xmach.models import NetworkModel
from xmach.planning import human_bytes
from xmach.store import ModelStore
from xmach.training import plan_training
from xmach.types import SparseRows

FEATURES, HIDDEN, BUCKETS, REPETITIONS, LABELS = 500_000, 256, 2000, 4, 1_000_000  # 2.06 GB of weights
ROUNDS = 5

# A process that opens the model, answers one row, and says how long each took and what it has for itself alone. It
# ends when its input does. Private: pages that no other process maps, written to or not.
OPEN = """
import json, sys, time
def private():
    with open("/proc/self/smaps_rollup") as file:
        return sum(1024 * int(line.split()[1]) for line in file if line.startswith("Private_"))
begun = time.perf_counter()
import numpy as np
from xmach import load
import xmach.store.load, xmach.data.arrays
imported, before = time.perf_counter(), private()
predictor = load(sys.argv[1], verify=sys.argv[2] == "verify")
opened = time.perf_counter()
row = np.zeros((1, predictor.n_features), np.float32)
row[0, :: predictor.n_features // 50] = 1
best = predictor.top_k(row, 10)
answered = time.perf_counter()
print(json.dumps({"imports": imported - begun, "opening": opened - imported, "answer": answered - opened,
                  "private": private() - before, "ids": best.ids.tolist()}), flush=True)
sys.stdin.read()
"""


def main() -> None:
    """Write the model, open it in fresh processes, and print what that took."""
    with tempfile.TemporaryDirectory(prefix="xmach-opening-") as place:
        folder = Path(place) / "model"
        size = write_model(folder)
        opened(folder)  # kernels are compiled once after an installation
        runs = {"pages in memory": [], "pages on disk": [], "verified first": []}  # type: dict[str, list[dict[str, Any]]]
        for _ in range(ROUNDS):
            runs["pages in memory"].append(opened(folder))
            leave_cache(folder)
            runs["pages on disk"].append(opened(folder))
            runs["verified first"].append(opened(folder, "verify"))
        second = second_process(folder)
        command = [predict(folder, Path(place), verify) for verify in (False, True)]
    rows = [
        [name, *(f"{statistics.median(run[part] for run in group):.2f}" for part in ("imports", "opening", "answer"))]
        for name, group in runs.items()
    ]
    text = f"A model of {human_bytes(size)}, {LABELS:,} labels with names; seconds, median of {ROUNDS} processes.\n\n"
    text += table(["", "imports", "opening", "first answer"], rows)
    text += f"\nPrivate memory that opening and answering add to a second process: {human_bytes(second)}, "
    text += f"{100 * second / size:.1f} % of the model.\n"
    text += f"`xmach predict` of one row: {command[0]:.1f} s with --no-verify, {command[1]:.1f} s without.\n"
    write_results("opening", {"bytes": size, "runs": runs, "second": second, "predict": command}, text)


def write_model(folder: Path) -> int:
    """A model of random weights, every label named and seen; its bytes."""
    draw = np.random.default_rng(0)
    names = [f"label {i}" for i in range(LABELS)]
    rows = SparseRows(np.arange(LABELS + 1), draw.integers(0, FEATURES, LABELS, np.int32), _ones(LABELS), FEATURES)
    labels = SparseRows(np.arange(LABELS + 1), np.arange(LABELS, dtype=np.int32), _ones(LABELS), LABELS)
    data = Dataset(rows, labels, names)
    settings = NetworkSettings(hidden=(HIDDEN,))
    job = plan_training(data, settings, BUCKETS, REPETITIONS, 0, fit_scaler(rows))
    store = ModelStore(folder)
    store.begin(job.plan, data.label_counts(), names, job.scaler)
    for r in range(REPETITIONS):
        weights = [draw.standard_normal(shape, np.float32) for shape in ((FEATURES, HIDDEN), (HIDDEN, BUCKETS))]
        biases = (np.zeros(HIDDEN, np.float32), np.zeros(BUCKETS, np.float32))
        store.put(r, NetworkModel((weights[0], weights[1] * np.float32(0.05)), biases, "softmax"), [])
    store.finish("log", None, {})
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def _ones(size: int) -> np.ndarray[Any, np.dtype[np.float32]]:
    return np.ones(size, np.float32)


def leave_cache(folder: Path) -> None:
    """Ask the system to forget the pages of the files, so that they come from the disk again."""
    for path in folder.rglob("*.*"):
        with path.open("rb") as file:
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def opened(folder: Path, verify: str = "no-verify") -> dict[str, Any]:
    """What one process says that opens the model and answers."""
    command = [sys.executable, "-c", OPEN, str(folder), verify]
    said = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=True).stdout
    facts: dict[str, Any] = json.loads(said)
    return facts


def second_process(folder: Path) -> int:
    """The private bytes that opening and answering add to a process, while another has the model open."""
    command = [sys.executable, "-c", OPEN, str(folder), "no-verify"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as first:
        assert first.stdout is not None
        first.stdout.readline()  # it has answered, and waits
        return int(opened(folder)["private"])


def predict(folder: Path, place: Path, verify: bool) -> float:
    """Seconds of the command, from start to end, for a file of one row."""
    row = SparseRows(np.array([0, 2]), np.array([1, 2], np.int32), _ones(2), FEATURES)
    label = SparseRows(np.array([0, 1]), np.array([0], np.int32), _ones(1), LABELS)
    write_xmc(Dataset(row, label), place / "row.txt")
    command = [sys.executable, "-m", "xmach", "predict", str(folder), str(place / "row.txt"), "--cache", f"{place}/c"]
    begun = time.perf_counter()
    subprocess.run([*command, *([] if verify else ["--no-verify"])], check=True, capture_output=True)
    return time.perf_counter() - begun
