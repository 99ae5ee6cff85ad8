"""A million labels or more, with default settings: time and memory of each stage of training, and what was learned.

    python -m benchmarks many-labels --labels 1000000 --repetitions 2

Rows are synthetic: every label has columns of its own, which other labels share, and half of a row's values are in
them. Everything runs in one process with the rows in memory, so its high-water mark is what training takes.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.places import table, write_results
from benchmarks.processes import forget_high_water, high_water
from xmach.config import AUTO, MachConfig
from xmach.data import Dataset
from xmach.metrics import precision_at_k
from xmach.training import fit
from xmach.training.run import StageProgress
from xmach.types import Int32Array, SparseRows

N_FEATURES = 2**18
ROWS_PER_LABEL = 1.2
VALUES = 12  # of a row
TEST_ROWS = 2000
_BLOCK = 200_000  # rows made at a time


def main(*options: str) -> None:
    """Train, and print a table of stages."""
    parser = argparse.ArgumentParser("many-labels")
    parser.add_argument("--labels", type=int, default=1_000_000)
    parser.add_argument("--repetitions", type=int, default=2)
    parser.add_argument("--passes", default="auto")
    parser.add_argument("--in-memory", action="store_true", help="without a model folder")
    given = parser.parse_args(list(options))
    with tempfile.TemporaryDirectory(prefix="xmach-many-") as folder:
        results = measure(given, None if given.in_memory else Path(folder) / "model")
    header = ["stage", "seconds", "CPU seconds", "high-water mark"]
    rows = [[s["stage"], f"{s['wall']:.0f}", f"{s['cpu']:.0f}", f"{s['peak'] / 1e9:.2f} GB"] for s in results["stages"]]
    print(results)
    write_results("many-labels", results, table(header, rows))


def measure(given: argparse.Namespace, folder: Path | None) -> dict[str, Any]:
    """The stages of a training run, and P@1 on rows that were not trained on."""
    clock, n_labels = Clock(), given.labels
    config = MachConfig(
        n_repetitions=given.repetitions, passes=given.passes if given.passes == AUTO else int(given.passes)
    )
    data = synthetic_rows(n_labels, round(ROWS_PER_LABEL * n_labels), VALUES, seed=0)
    clock.close("rows are made")
    fitted = fit(data, config, folder, workers=1, on_progress=clock.hear)
    clock.close("the rest")
    assert fitted.predictor is not None
    test = synthetic_rows(n_labels, TEST_ROWS, VALUES, seed=1, every=False)
    found = {
        stage: precision_at_k(test.labels, fitted.predictor.top_k(test.features, 5, stage=stage, threads=1).ids, 1)
        for stage in ("mach", "rank")
    }
    clock.close("2,000 rows are answered twice")
    plan = fitted.plan.to_dict() | {"hashes": str(fitted.plan.hashes)}
    return {"labels": n_labels, "rows": data.n_rows, "p_at_1": found, "plan": plan, "stages": clock.stages}


class Clock:
    """Time, CPU time and the high-water mark of one stage after the other."""

    def __init__(self) -> None:
        self.stages: list[dict[str, Any]] = []
        self._begin()

    def _begin(self) -> None:
        forget_high_water()
        self._wall, self._cpu = time.perf_counter(), cpu_seconds()

    def hear(self, progress: StageProgress) -> None:
        """A stage ends when all of it is done; joining its parts counts with what follows."""
        if progress.done >= progress.total:
            self.close(progress.stage)

    def close(self, stage: str) -> None:
        """End a stage; of several with one name the last lines count together."""
        wall, cpu, peak = time.perf_counter() - self._wall, cpu_seconds() - self._cpu, high_water()
        print(f"{stage}: {wall:.1f} s, {cpu:.1f} s of CPU, {peak / 1e9:.2f} GB", flush=True)
        if self.stages and self.stages[-1]["stage"] == stage:
            last = self.stages.pop()
            wall, cpu, peak = wall + last["wall"], cpu + last["cpu"], max(peak, last["peak"])
        self.stages.append({"stage": stage, "wall": wall, "cpu": cpu, "peak": peak})
        self._begin()


def cpu_seconds() -> float:
    """Of this process and those that it started and that ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


class Drawn(NamedTuple):
    """Some rows: their columns and labels."""

    columns: Int32Array  # (n, values)
    labels: Int32Array  # (n,)


def synthetic_rows(n_labels: int, n_rows: int, values: int, seed: int, *, every: bool = True) -> Dataset:
    """Rows of one label each; with `every`, each label has one at least, and a few labels have many."""
    draw = np.random.default_rng(seed)
    frequent = (n_labels * draw.random(n_rows - n_labels if every else n_rows) ** 2).astype(np.int32)
    labels = np.concatenate([np.arange(n_labels, dtype=np.int32), frequent]) if every else frequent
    labels = draw.permutation(labels)
    columns = np.empty((n_rows, values), np.int32)
    for start in range(0, n_rows, _BLOCK):
        columns[start : start + _BLOCK] = _columns(draw, labels[start : start + _BLOCK], values)
    ones = np.ones(columns.size, np.float32)
    features = SparseRows(np.arange(0, columns.size + 1, values), columns.reshape(-1), ones, N_FEATURES)
    indptr = np.arange(n_rows + 1)
    return Dataset(features, SparseRows(indptr, labels, np.ones(n_rows, np.float32), n_labels))


def _columns(draw: np.random.Generator, labels: Int32Array, values: int) -> Int32Array:
    """(n, values): a column from each of as many equal stretches, its label's own one or a frequent one."""
    width = N_FEATURES // values
    places = np.arange(values)
    numbers = labels[:, None].astype(np.uint64) * np.uint64(2_654_435_761) + places.astype(np.uint64) * np.uint64(
        40_503
    )
    own = ((numbers * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(33)) % np.uint64(width)
    frequent = (width * draw.random(own.shape, np.float32) ** 3).astype(np.uint64)
    columns: Int32Array = (
        np.where(draw.random(own.shape) < 0.5, own, frequent) + places.astype(np.uint64) * np.uint64(width)
    ).astype(np.int32)
    return columns
