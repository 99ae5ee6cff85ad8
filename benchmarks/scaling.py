"""Time and memory against K, R, B, rows and workers; everything else of a small model stays as it is."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.contest import Spread
from benchmarks.places import table, write_results
from benchmarks.processes import peak_bytes
from xmach.data import Dataset, write_xmc
from xmach.planning import human_bytes
from xmach.types import SparseRows

LABELS = (100_000, 1_000_000, 10_000_000, 50_000_000)
SEARCHES = (("exact", "stored"), ("pruned", "stored"), ("pruned", "computed"))
ROUNDS = 2


@dataclass(frozen=True)
class Case:
    """A model, and the made-up rows that it is trained on for some epochs."""

    n_labels: int = 100_000
    n_buckets: int = 2000
    n_repetitions: int = 4
    n_rows: int = 20_000
    hidden: int = 64
    n_features: int = 20_000
    epochs: int = 1

    def options(self) -> list[str]:
        """As the train command takes them."""
        sizes = {"buckets": self.n_buckets, "repetitions": self.n_repetitions, "hidden": self.hidden}
        return [word for name, n in (sizes | {"epochs": self.epochs}).items() for word in (f"--{name}", str(n))]


# Answers some rows with one search; says the seconds a row, one thread, and the memory that its process had at most.
DECODE = """
import json, sys, time
import numpy as np
from xmach.buckets import UniversalHashes
from xmach.decoding import Decoder
n_labels, n_buckets, n_repetitions, rows, search, index = *map(int, sys.argv[1:5]), *sys.argv[5:]
hashes = UniversalHashes.draw(n_labels, n_buckets, n_repetitions, 0)
draw = np.random.default_rng(0)
sketch = np.full((rows, n_repetitions, n_buckets), 0.3 / n_buckets, np.float32)
for i in range(rows):  # 20 labels share 0.7 of the mass by rank, over an even ground, with noise
    for rank, label in enumerate(draw.integers(0, n_labels, 20), 1):
        for r in range(n_repetitions):
            sketch[i, r, hashes.buckets(np.array([label]), r)] += 0.7 / rank / 3.6
sketch *= np.exp(0.5 * draw.standard_normal(sketch.shape, np.float32))
sketch /= sketch.sum(axis=2, keepdims=True)
def resident(field):
    with open("/proc/self/status") as file:
        return next(1024 * int(line.split()[1]) for line in file if line.startswith(field))
before = resident("VmRSS:")
begun = time.perf_counter()
decoder = Decoder(hashes, "mean", search=search, index=index)
decoder.top_k(sketch[:1], 10, threads=1)
built = time.perf_counter()
decoder.top_k(sketch, 10, threads=1)
print(json.dumps({"first": built - begun, "row": (time.perf_counter() - built) / rows,
                  "memory": resident("VmHWM:") - before}))
"""


def main() -> None:
    """Measure each, write all."""
    with tempfile.TemporaryDirectory(prefix="xmach-scaling-") as place:
        folder = Path(place)
        train(Case(n_rows=500), folder)  # kernels are compiled once after an installation
        labels = [of_labels(Case(n_labels=n), folder) for n in LABELS]
        others = [of_training(folder, name, values) for name, values in VARIED.items()]
        workers = of_workers(folder)
    text = "Against K: B = 2000, R = 4, 20,000 rows of 30 features, a hidden layer of 64.\n\n"
    text += _label_table(labels)
    text += "\nTraining, one worker: microseconds a row, a repetition and an epoch.\n\n"
    text += table(["varied", "value", "us"], [[name, f"{v:,}", f"{us:.1f}"] for name, each in others for v, us in each])
    gains = {name: Spread.of(ratios) for name, ratios in workers.items()}
    text += (
        f"\n8 repetitions, 1 worker on one core against 2 on two: {gains['pool']} times; two runs of 4 side by side, "
    )
    text += (
        f"which share nothing but the machine: {gains['side by side']} times; 1 worker that has both cores, of which "
    )
    text += f"its second thread needs a little: {gains['second core']} times.\n"
    write_results("scaling", {"labels": labels, "training": dict(others), "workers": workers}, text)


def _label_table(labels: list[dict[str, Any]]) -> str:
    sizes = ("training", "model", "answering")
    header = ["labels", "training one repetition", "model", "opening and answering"]
    header += [f"a row, {search}, {index}" for search, index in SEARCHES] + ["memory of each"]
    rows = []
    for run in labels:
        decoding = [run["decoding"][f"{search}, {index}"] for search, index in SEARCHES]
        row = [f"{run['n_labels']:,}", *(human_bytes(run[name]) for name in sizes)]
        row += ["-" if part is None else f"{1e3 * part['row']:.3g} ms" for part in decoding]
        rows.append([*row, ", ".join("-" if part is None else human_bytes(part["memory"]) for part in decoding)])
    return table(header, rows)


def of_labels(case: Case, folder: Path) -> dict[str, Any]:
    """Peak memory of training a repetition and of answering, the model's bytes, and decoding by each search."""
    file, model = write_rows(case, folder), folder / "model"
    shutil.rmtree(model, ignore_errors=True)
    environment = os.environ | {"XMACH_CACHE": str(folder / "cache")}
    command = [sys.executable, "-m", "xmach"]
    training = [*command, "train", str(file), "--model", str(model), *case.options(), "--executor", "local"]
    peak = peak_bytes([*training, "--only", "0"], environment)
    peak_bytes(training, environment)
    few = write_rows(replace(case, n_rows=4), folder, "few.txt")
    answering = [*command, "predict", str(model), str(few), "--no-verify", "--out", str(folder / "answers.jsonl")]
    return {
        "n_labels": case.n_labels,
        "training": peak,
        "model": sum(path.stat().st_size for path in model.rglob("*") if path.is_file()),
        "answering": peak_bytes(answering, environment),
        "decoding": {f"{search}, {index}": decode(case, search, index) for search, index in SEARCHES},
    }


def decode(case: Case, search: str, index: str) -> dict[str, float] | None:
    """Seconds and bytes of a search in a process of its own; None where there is no such search."""
    rows = max(4, 2_000_000 // case.n_labels)
    numbers = map(str, (case.n_labels, case.n_buckets, case.n_repetitions, rows))
    done = subprocess.run([sys.executable, "-c", DECODE, *numbers, search, index], capture_output=True, text=True)
    if "ParameterError" in done.stderr:
        return None
    done.check_returncode()
    figures: dict[str, float] = json.loads(done.stdout)
    return figures


VARIED = {
    "n_repetitions": (2, 4, 8),
    "n_buckets": (500, 2000, 8000),
    "n_rows": (20_000, 40_000, 80_000),
}


def of_training(folder: Path, name: str, values: tuple[int, ...]) -> tuple[str, list[tuple[int, float]]]:
    """Microseconds a row where one of the numbers varies; what a run of no repetition takes is taken off."""
    figures = []
    for value in values:
        case = replace(Case(n_repetitions=2, epochs=4), **{name: value})
        whole, least = (train(each, folder) for each in (case, replace(case, epochs=1)))
        work = case.n_rows * case.n_repetitions * (case.epochs - 1)
        figures.append((value, 1e6 * (whole - least) / work))
    return name, figures


def of_workers(folder: Path) -> dict[str, list[float]]:
    """How many times as fast as one worker on one core 8 repetitions are: with two workers on two, as two runs that
    know nothing of each other, and with one worker whose second thread has a core of its own.

    One worker on one core runs before and after each of them, and the mean of both is compared: the machine's speed
    drifts within minutes, and whoever always came first after a pause would look the fastest.
    """
    case = Case(n_repetitions=8, n_rows=40_000, hidden=128, epochs=4)
    ways: dict[str, dict[str, Any]] = {
        "pool": {"workers": 2},
        "side by side": {"only": ("0-3", "4-7")},
        "second core": {},
    }
    ratios: dict[str, list[float]] = {name: [] for name in ways}
    alone = partial(train, case, folder, cores={min(os.sched_getaffinity(0))})
    before = alone()
    for _ in range(ROUNDS):
        for name, options in ways.items():
            seconds, after = train(case, folder, **options), alone()
            ratios[name].append((before + after) / 2 / seconds)
            before = after
    return ratios


def train(
    case: Case,
    folder: Path,
    workers: int = 1,
    only: tuple[str, ...] = ("0-",),
    cores: AbstractSet[int] = frozenset(),
) -> float:
    """Seconds of the train command, or of several of them side by side, from start to end; on some `cores` only."""
    file = write_rows(case, folder)
    options = [*case.options(), "--workers", str(workers), "--cache", str(folder / "cache")]
    parts = [[] if part == "0-" else ["--only", part] for part in only]
    models = [folder / f"trained-{i}" for i in range(len(parts))]
    for model in models:
        shutil.rmtree(model, ignore_errors=True)
    pin = partial(os.sched_setaffinity, 0, cores) if cores else None
    begun = time.perf_counter()
    running = [
        subprocess.Popen(
            [sys.executable, "-m", "xmach", "train", str(file), "--model", str(model), *options, *part],
            stderr=subprocess.DEVNULL,
            preexec_fn=pin,
        )
        for model, part in zip(models, parts, strict=True)
    ]
    if any(process.wait() for process in running):
        raise RuntimeError(f"training failed: {case}")
    return time.perf_counter() - begun


def write_rows(case: Case, folder: Path, name: str = "") -> Path:
    """An XMC file of made-up rows, written once: 30 features a row, three labels."""
    file = folder / (name or f"rows-{case.n_labels}-{case.n_rows}.txt")
    if not file.exists() or name:
        draw, n = np.random.default_rng(0), case.n_rows
        columns = np.sort(draw.integers(0, case.n_features // 30, (n, 30)) + np.arange(30) * (case.n_features // 30))
        labels = np.sort(draw.integers(0, case.n_labels // 3, (n, 3)) + np.arange(3) * (case.n_labels // 3))
        write_xmc(Dataset(_rows(columns, case.n_features), _rows(labels, case.n_labels)), file)
    return file


def _rows(columns: np.ndarray[Any, np.dtype[np.int64]], width: int) -> SparseRows:
    """Rows of ones in the given (n, m) columns."""
    n, m = columns.shape
    return SparseRows(np.arange(n + 1) * m, columns.ravel().astype(np.int32), np.ones(n * m, np.float32), width)
