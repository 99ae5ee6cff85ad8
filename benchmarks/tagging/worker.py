"""One contestant in a process of its own: `python -m benchmarks.tagging.worker train|predict JOB.json`.

Writes the file that the job names: the seconds of each part, of the processor and by the clock, and the peak memory
above what the process had with its libraries and data loaded. Imports neither xmach nor anything else that a
contestant's own environment may lack.
"""

from __future__ import annotations

import json
import resource
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix, load_npz

from benchmarks.processes import forget_high_water, high_water, resident
from benchmarks.tagging.tagger import Tagger, tagger_class


def main(verb: str, job_file: str) -> None:
    """Train and save, or open and predict, as a job says."""
    job = json.loads(Path(job_file).read_text(encoding="utf-8"))
    tagger = tagger_class(job["tagger"])(job["settings"], Path(job["model"]))
    tagger.warm_up()
    result = {"train": _train, "predict": _predict}[verb](tagger, job)
    Path(job["out"]).write_text(json.dumps(result), encoding="utf-8")


class _Stopwatch:
    """The seconds of the parts of a run, children included, and its memory above what it had after loading."""

    def __init__(self) -> None:
        self._parts: dict[str, dict[str, float]] = {}
        self._before = 0

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        cpu, wall = _cpu_seconds(), time.monotonic()
        yield
        self._parts[name] = {"cpu": _cpu_seconds() - cpu, "wall": time.monotonic() - wall}

    def load(self, folder: str, *names: str) -> list[Any]:
        """Read matrices of a set; memory counts from here on."""
        with self.part("load"):
            matrices = [csr_matrix(load_npz(Path(folder) / f"{name}.npz")) for name in names]
        forget_high_water()
        self._before = resident()
        return matrices

    def result(self) -> dict[str, Any]:
        return {"seconds": self._parts, "memory": high_water() - self._before, "before": self._before}


def _train(tagger: Tagger, job: dict[str, Any]) -> dict[str, Any]:
    shutil.rmtree(job["model"], ignore_errors=True)  # of a run that was stopped
    watch = _Stopwatch()
    features, labels = watch.load(job["data"], "train_x", "train_y")
    with watch.part("prepare"):
        tagger.prepare(features, labels)
    with watch.part("train"):
        tagger.train()
    with watch.part("save"):
        tagger.save()
    return watch.result()


def _predict(tagger: Tagger, job: dict[str, Any]) -> dict[str, Any]:
    """Predict, and leave (n, k) labels in a file; what is missing is -1."""
    watch = _Stopwatch()
    (features,) = watch.load(job["data"], "test_x")
    with watch.part("open"):
        tagger.open()
    with watch.part("predict"):
        found = tagger.predict(features, job["k"])
    result = watch.result()
    best = np.full((features.shape[0], job["k"]), -1, np.int64)
    best[:, : found.shape[1]] = found
    np.save(job["best"], best)
    return result


def _cpu_seconds() -> float:
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


if __name__ == "__main__":
    main(*sys.argv[1:])
