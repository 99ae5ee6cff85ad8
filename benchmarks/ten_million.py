"""Profiles and a ranker within a budget of bytes for ten million labels: time and memory of each stage.

    python -m benchmarks ten-million

The second stage is trained with shards in a model folder, as any other. Three things are cut
short, because they would take hours: the sketch is trained on a sample of the rows; rows get random labels as their
shortlists, as many as real ones have; and one shard of classifiers is trained, which stands for the others. So times of
a shortlist and of a classifier are measured on some, and memory on as many as there would be. Accuracy is not measured.
"""

from __future__ import annotations

import argparse
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from benchmarks.many_labels import Clock, cpu_seconds, synthetic_rows
from benchmarks.places import table, write_results
from xmach.config import LINEAR, LINEAR_RANKER, NONE, RANDOM, SQUARED_HINGE, MachConfig
from xmach.data import Dataset
from xmach.executors import LocalExecutor
from xmach.learners import LinearLearner
from xmach.planning import suggested_buckets
from xmach.predictor import Predictor
from xmach.ranking import Fusion
from xmach.store import ModelStore
from xmach.training import fit
from xmach.training import ranking as ranking_module
from xmach.training.choice import RankerChoice
from xmach.training.job import Job
from xmach.training.ranking import train_ranking
from xmach.training.run import Resources
from xmach.training.shards import RankerShard, ShortlistShard
from xmach.types import AnyArray

VALUES = 6  # of a row
ROWS_PER_LABEL = 1.05
SKETCH_ROWS, TIMED_ROWS = 30_000, 8192
LARGEST_SHARD = 2**16  # rows
LISTED = 69  # wrong labels on a row's shortlist
CHOICE = RankerChoice(Fusion({"mach": 1.0, "ranker": 1.0, "profile": 1.0}), cost=1.0)


def main(*options: str) -> None:
    """Train, and print a table of stages."""
    parser = argparse.ArgumentParser("ten-million")
    parser.add_argument("--labels", type=int, default=10_000_000)
    parser.add_argument("--ranker-bytes", type=int, default=2_000_000_000)
    given = parser.parse_args(list(options))
    with tempfile.TemporaryDirectory(prefix="xmach-ten-") as folder:
        results = measure(given, Path(folder) / "model")
    header = ["stage", "seconds", "CPU seconds", "high-water mark"]
    rows = [[s["stage"], f"{s['wall']:.0f}", f"{s['cpu']:.0f}", f"{s['peak'] / 1e9:.2f} GB"] for s in results["stages"]]
    print(results)
    write_results("ten-million", results, table(header, rows))


def measure(given: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """The stages, what was stored, and the time of a shortlist."""
    clock, n_labels = Clock(), given.labels
    data = synthetic_rows(n_labels, round(ROWS_PER_LABEL * n_labels), VALUES, seed=0)
    clock.close("rows are made")
    job, predictor, store = _sketched(data, given.ranker_bytes, folder, clock)
    cut, resources = Cut(n_labels), Resources(store, LocalExecutor(), clock.hear)
    with (
        patch.object(ShortlistShard, "run", lambda shard: cut.shortlist(shard)),
        patch.object(RankerShard, "run", lambda shard: cut.classifiers(shard)),
        patch.object(ranking_module, "choose_by_trial", lambda *_: CHOICE),
    ):
        ranking = train_ranking(job, predictor, MachConfig(), resources, fit)
    clock.close("classifiers are joined")
    assert ranking is not None
    store.put_ranking(ranking)
    clock.close("files are written")
    files = {path.name: path.stat().st_size for path in folder.glob("*.safetensors")}
    sizes = {"labels": n_labels, "rows": data.n_rows, "files": files, "kept": ranking.n_weights}
    return sizes | cut.facts | {"stages": clock.stages}


def _sketched(data: Dataset, ranker_bytes: int, folder: Path, clock: Clock) -> tuple[Job, Predictor, ModelStore]:
    """The job of the second stage, over a sketch of a sample."""
    n_buckets = suggested_buckets(data.n_labels)
    config = MachConfig(
        n_buckets=n_buckets, n_repetitions=2, learner=LINEAR, linear_loss=SQUARED_HINGE, cost=1.0, passes=1,
        bucketing=RANDOM, ranker=NONE,
    )  # fmt: skip
    sample = data.take(np.sort(np.random.default_rng(0).choice(data.n_rows, SKETCH_ROWS, replace=False)))
    fitted = fit(sample, config, workers=1)
    clock.close(f"two repetitions of {n_buckets:,} buckets are trained on {SKETCH_ROWS:,} rows, one pass")
    assert fitted.predictor is not None
    plan, counts = replace(fitted.plan, ranker=LINEAR_RANKER, ranker_bytes=ranker_bytes), data.label_counts()
    predictor, store = replace(fitted.predictor, label_counts=counts), ModelStore(folder)
    store.begin(plan, counts, None, predictor.scaler, None)
    assert plan.linear is not None
    return Job(plan, LinearLearner(plan.linear), data, None, predictor.scaler), predictor, store


class Cut:
    """Runs some shards, and lets the others repeat what these gave."""

    def __init__(self, n_labels: int) -> None:
        draw = np.random.default_rng(0)
        self._n_labels, self._list, self._train = n_labels, ShortlistShard.run, RankerShard.run
        self._listed = draw.integers(0, n_labels, (LARGEST_SHARD, LISTED), dtype=np.int32)
        self._trained: dict[str, AnyArray] = {}
        self.facts: dict[str, float] = {}

    def shortlist(self, shard: ShortlistShard) -> dict[str, AnyArray]:
        """Random labels for the rows of a shard; beforehand, real ones for some rows, to see how long that takes."""
        if "ms_per_shortlist" not in self.facts:
            for rows in (range(64), range(TIMED_ROWS)):  # the first ones make the decoder's tables
                begun = cpu_seconds()
                found = self._list(replace(shard, rows=rows))
            self.facts["ms_per_shortlist"] = 1000 * (cpu_seconds() - begun) / TIMED_ROWS
            self.facts["wrong_labels_listed"] = len(found["ids"]) / TIMED_ROWS
            print(self.facts, flush=True)
        ids = (self._listed[: len(shard.rows)] + np.int64(7919 * shard.rows.start)) % self._n_labels
        return {"indptr": np.arange(0, ids.size + 1, LISTED), "ids": ids.astype(np.int32).reshape(-1)}

    def classifiers(self, shard: RankerShard) -> dict[str, AnyArray]:
        """The classifiers of the first labels; for the others, the same again."""
        if len(self._trained.get("biases", ())) != shard.size:
            begun = cpu_seconds()
            self._trained = self._train(shard)
            self.facts["ms_per_classifier"] = 1000 * (cpu_seconds() - begun) / shard.size
            self.facts["weights_per_classifier"] = len(self._trained["values"]) / shard.size
            print(self.facts, flush=True)
        return self._trained
