"""XMC text to arrays: `read_dataset` against scikit-learn's svmlight loader, on the same rows, in turn, one thread.

scikit-learn reads the rows without their header, which it does not know. Seconds are both of the clock and of the
processor: on a busy machine the latter says what one core can do.
"""

from __future__ import annotations

import gzip
import os
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_svmlight_file

from benchmarks.places import OUT, data_folder, table, write_results
from xmach.data import read_dataset

ROUNDS = 7
BYTES = 100_000_000
N_FEATURES, N_LABELS = 135_909, 670_091  # as Amazon-670K has


def main() -> None:
    """Time both readers on a made-up file and on a real one."""
    folder = OUT / "reading"
    folder.mkdir(parents=True, exist_ok=True)
    results, rows = {}, []
    for name, path in (("made-up", _made_up(folder)), ("citeulike_t", _unpacked(folder))):
        result = results[name] = _compare(path)
        size = result["bytes"] / 1e6
        for reader in ("xmach", "scikit-learn"):
            clock, core = (sorted(result[f"{reader}, {which}"]) for which in ("clock", "processor"))
            speeds = f"{size / statistics.median(core):.0f} ({size / core[-1]:.0f} to {size / core[0]:.0f})"
            rows.append([name, f"{size:.0f}", reader, f"{size / statistics.median(clock):.0f}", speeds])
        ratios = sorted(result["ratios"])
        rows[-2].append(f"{statistics.median(ratios):.1f} ({ratios[0]:.1f} to {ratios[-1]:.1f})")
        rows[-1].append("1")
    header = ["file", "MB", "reader", "MB/s, clock", "MB/s, processor", "times scikit-learn's speed"]
    write_results("reading", results, table(header, rows))


def _compare(path: Path) -> dict[str, Any]:
    headless = path.with_suffix(".svm")
    headless.write_bytes(path.read_bytes().partition(b"\n")[2])
    ours, theirs = read_dataset(path), load_svmlight_file(headless, dtype=np.float32, multilabel=True, zero_based=True)
    assert np.array_equal(ours.arrays()["features-values"], theirs[0].data)  # and both are warm
    contestants: dict[str, Callable[[], object]] = {
        "xmach": lambda: read_dataset(path, "xmc"),
        "scikit-learn": lambda: load_svmlight_file(headless, dtype=np.float32, multilabel=True, zero_based=True),
    }
    result: dict[str, Any] = {f"{name}, {which}": [] for name in contestants for which in ("clock", "processor")}
    for _ in range(ROUNDS):
        for name, read in contestants.items():
            clock, processor = time.perf_counter(), time.process_time()
            read()
            result[f"{name}, processor"].append(time.process_time() - processor)
            result[f"{name}, clock"].append(time.perf_counter() - clock)
    pairs = zip(result["scikit-learn, processor"], result["xmach, processor"], strict=True)
    return {"bytes": os.path.getsize(path), "ratios": [theirs / ours for theirs, ours in pairs], **result}


def _made_up(folder: Path) -> Path:
    """Rows with Zipf's features and labels, and values such as tf-idf gives, with six decimals."""
    path = folder / "made-up.txt"
    rng, rows, size = np.random.default_rng(0), [], 0
    while size < BYTES:
        features = np.unique((N_FEATURES ** rng.random(rng.integers(20, 200))).astype(np.int64) - 1)
        labels = np.unique((N_LABELS ** rng.random(rng.integers(1, 10))).astype(np.int64) - 1)
        values = rng.lognormal(-2.0, 1.0, len(features))
        tokens = [f"{index}:{value:.6f}" for index, value in zip(features.tolist(), values.tolist(), strict=True)]
        rows.append(",".join(map(str, labels.tolist())) + " " + " ".join(tokens) + "\n")
        size += len(rows[-1])
    path.write_text(f"{len(rows)} {N_FEATURES} {N_LABELS}\n" + "".join(rows), encoding="ascii")
    return path


def _unpacked(folder: Path) -> Path:
    path = folder / "citeulike_t.txt"
    path.write_bytes(gzip.decompress((data_folder() / "citeulike_t" / "train.txt.gz").read_bytes()))
    return path
