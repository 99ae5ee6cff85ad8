"""Opening a model of 2 GB: imports, the first answer, verification, and what a second process adds in memory.

Once with the pages of its files in memory, once after the system was asked to forget them. `xmach predict` of one row
likewise, beside a process that only imports what the command does.
"""

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

from benchmarks.contest import Spread
from benchmarks.drawings import PARTS
from benchmarks.places import table, write_results
from xmach.config import MachConfig
from xmach.data import Dataset, write_xmc
from xmach.features import fit_scaler
from xmach.models import NetworkModel
from xmach.planning import human_bytes
from xmach.store import ModelStore
from xmach.training.job import plan_training
from xmach.types import SparseRows

FEATURES, HIDDEN, BUCKETS, REPETITIONS, LABELS = 500_000, 256, 2000, 4, 1_000_000  # 2.06 GB of weights
ROUNDS = 5

# A process that opens the model, answers one row, and says how long each took and what it has for itself alone. It
# ends when its input does. Private: pages that no other process maps, written to or not.
OPEN = """
import json, sys, time
from pathlib import Path
def private():
    with open("/proc/self/smaps_rollup") as file:
        return sum(1024 * int(line.split()[1]) for line in file if line.startswith("Private_"))
begun = time.perf_counter()
import numpy as np
from xmach.store import ModelStore, load
import xmach.data.arrays
seconds, before = {"imports": time.perf_counter() - begun}, private()
if sys.argv[2] == "verify":
    begun, store = time.perf_counter(), ModelStore(Path(sys.argv[1]))
    store.verify(store.present())
    seconds["verification"] = time.perf_counter() - begun
verified = time.perf_counter()
predictor = load(sys.argv[1], verify=False)
opened = time.perf_counter()
row = np.zeros((1, predictor.n_features), np.float32)
row[0, :: predictor.n_features // 50] = 1
best = predictor.top_k(row, 10)
answered = time.perf_counter()
seconds |= {"opening": opened - verified, "answer": answered - opened}
print(json.dumps(seconds | {"private": private() - before, "ids": best.ids.tolist()}), flush=True)
sys.stdin.read()
"""
IMPORTS = (
    "import xmach.cli.app, xmach.cli.reading, xmach.data.write.predictions, xmach.store"  # what `xmach predict` imports
)


def main() -> None:
    """Write the model, open it in fresh processes, and print what that took."""
    with tempfile.TemporaryDirectory(prefix="xmach-opening-") as place:
        folder = Path(place) / "model"
        size, file = write_model(folder), write_row(Path(place))
        opened(folder)  # kernels are compiled once after an installation
        predict(folder, file)
        results = measure(folder, file)
    write_results("opening", {"bytes": size, **results}, _report(size, **results))


def measure(folder: Path, file: Path) -> dict[str, Any]:
    """Every way in turn, some rounds: processes that open the model, commands, and private bytes of a second one."""
    runs: dict[str, list[dict[str, Any]]] = {"pages in memory": [], "pages on disk": [], "verified first": []}
    commands: dict[str, list[float]] = {name: [] for name in ("imports alone", *runs)}
    second = []
    for _ in range(ROUNDS):
        runs["pages in memory"].append(opened(folder))
        commands["imports alone"].append(timed([sys.executable, "-c", IMPORTS]))
        commands["pages in memory"].append(predict(folder, file))
        leave_cache(folder)
        runs["pages on disk"].append(opened(folder))
        leave_cache(folder)
        commands["pages on disk"].append(predict(folder, file))
        leave_cache(folder)
        runs["verified first"].append(opened(folder, "verify"))
        commands["verified first"].append(predict(folder, file, verify=True))
        second.append(second_process(folder))
    return {"runs": runs, "commands": commands, "second": second}


def _report(
    size: int, runs: dict[str, list[dict[str, Any]]], commands: dict[str, list[float]], second: list[int]
) -> str:
    text = f"A model of {human_bytes(size)}, {LABELS:,} labels with names; seconds, median (least to most) of {ROUNDS} "
    text += "processes. Verified first: of pages on disk, which are in memory then.\n\n"
    rows = [
        [name, *(str(Spread.of([run[part] for run in group])) if part in group[0] else "-" for part in PARTS)]
        for name, group in runs.items()
    ]
    text += table(["", "imports", "verification", "opening", "first answer"], rows)
    shares = Spread.of([100 * each / size for each in second])
    text += "\nPrivate memory that opening and answering add to a second process: "
    text += f"{human_bytes(round(statistics.median(second)))}, {shares} % of the model.\n\n"
    header = ["`xmach predict` of one row", "seconds, start to end"]
    return text + table(header, [[name, str(Spread.of(seconds))] for name, seconds in commands.items()])


def write_model(folder: Path) -> int:
    """A model of random weights, every label named and seen; its bytes."""
    draw = np.random.default_rng(0)
    names = [f"label {i}" for i in range(LABELS)]
    rows = SparseRows(np.arange(LABELS + 1), draw.integers(0, FEATURES, LABELS, np.int32), _ones(LABELS), FEATURES)
    labels = SparseRows(np.arange(LABELS + 1), np.arange(LABELS, dtype=np.int32), _ones(LABELS), LABELS)
    data = Dataset(rows, labels, names)
    config = MachConfig(n_buckets=BUCKETS, n_repetitions=REPETITIONS, hidden=(HIDDEN,))
    job = plan_training(data, config, fit_scaler(rows))
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


def write_row(place: Path) -> Path:
    """A data file of one row."""
    row = SparseRows(np.array([0, 50]), np.arange(0, FEATURES, FEATURES // 50, dtype=np.int32), _ones(50), FEATURES)
    label = SparseRows(np.array([0, 1]), np.array([0], np.int32), _ones(1), LABELS)
    write_xmc(Dataset(row, label), place / "row.txt")
    return place / "row.txt"


def predict(folder: Path, file: Path, verify: bool = False) -> float:
    """Seconds of the command for a file of one row, which is read anew."""
    with tempfile.TemporaryDirectory(dir=file.parent) as cache:
        command = [sys.executable, "-m", "xmach", "predict", str(folder), str(file), "--cache", cache]
        return timed([*command, *([] if verify else ["--no-verify"])])


def timed(command: list[str]) -> float:
    """Seconds of a command from start to end."""
    begun = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True)
    return time.perf_counter() - begun
