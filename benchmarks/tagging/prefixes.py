"""The first R repetitions of one model, for several R: `python -m benchmarks.tagging.prefixes JOB.json`.

Trains some repetitions, predicts with those that are there, trains the next ones. So each R takes its own time, and
all of them together no longer than the largest.
"""

from __future__ import annotations

import json
import shutil
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix, load_npz

from benchmarks.tagging.contest import DEPTH, judge
from benchmarks.tagging.mach import Mach
from xmach.config import MachConfig
from xmach.data import Dataset
from xmach.data.arrays import as_rows, as_sparse_rows
from xmach.store import ModelStore, load
from xmach.training import fit


def main(job_file: str) -> None:
    """Write a list with the quality, the CPU seconds of training and the bytes of each R."""
    job = json.loads(Path(job_file).read_text(encoding="utf-8"))
    model, data = Path(job["model"]), Path(job["data"])
    Mach({}, model).warm_up()
    shutil.rmtree(model, ignore_errors=True)  # of a run that was stopped
    train_x, train_y, test_x = (csr_matrix(load_npz(data / f"{name}.npz")) for name in ("train_x", "train_y", "test_x"))
    rows = Dataset(as_rows(train_x), as_sparse_rows(as_rows(train_y)))
    most = max(job["repetitions"])
    config = MachConfig(**{"scaling": "none", **job["settings"], "n_repetitions": most})
    results: list[dict[str, Any]] = []
    trained, seconds = 0, 0.0
    for r in sorted(job["repetitions"]):
        begun = time.process_time()
        fit(rows, config, model, only=range(trained, r), executor="local")
        seconds, trained = seconds + time.process_time() - begun, r
        predictor = load(model, verify=False, allow_partial=True)
        best = np.full((test_x.shape[0], DEPTH), -1, np.int64)
        found = predictor.top_k(test_x, DEPTH, threads=1).ids
        best[:, : found.shape[1]] = found
        results.append({"R": r, "quality": judge(data, best), "seconds": seconds, "bytes": bytes_of(model, r, most)})
    shutil.rmtree(model)
    Path(job["out"]).write_text(json.dumps(results), encoding="utf-8")


def bytes_of(folder: Path, r: int, most: int) -> int:
    """The size of a model of the first `r` repetitions; its tables of buckets are there for `most`."""
    store = ModelStore(folder)
    own = [store.path(repetition) for repetition in range(most) if store.has(repetition)]
    shared = [path for path in folder.rglob("*") if path.is_file() and path not in own]
    tables = sum(path.stat().st_size for path in shared if path.name.startswith("buckets"))
    rest = sum(path.stat().st_size for path in shared) - tables
    return sum(path.stat().st_size for path in own[:r]) + rest + tables * r // most


if __name__ == "__main__":
    main(*sys.argv[1:])
