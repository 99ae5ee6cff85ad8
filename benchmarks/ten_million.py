"""Profiles and a ranker within a budget of bytes for ten million labels: time and memory of each stage.

    python -m benchmarks ten-million

The second stage is trained with shards in a model folder, as any other. Two things are cut short,
because they would take hours: the sketch is trained on a sample of the rows, and most rows get random labels as their
shortlist. So the time of a shortlist is measured on some shards of rows, and memory on as many negatives as there would
be. Accuracy is not measured.
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
from xmach.training.shards import ShortlistShard
from xmach.types import AnyArray

VALUES = 6  # of a row
ROWS_PER_LABEL = 1.05
SKETCH_ROWS = 300_000
LISTED = 69  # wrong labels on a row's shortlist
CHOICE = RankerChoice(Fusion({"mach": 1.0, "ranker": 1.0, "profile": 1.0}), cost=1.0)


def main(*options: str) -> None:
    """Train, and print a table of stages."""
    parser = argparse.ArgumentParser("ten-million")
    parser.add_argument("--labels", type=int, default=10_000_000)
    parser.add_argument("--ranker-bytes", type=int, default=2_000_000_000)
    parser.add_argument("--every", type=int, default=128, help="one shard of rows in so many gets real shortlists")
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
    shortlists, resources = Shortlists(given.every), Resources(store, LocalExecutor(), clock.hear)
    with (
        patch.object(ShortlistShard, "run", lambda shard: shortlists.of(shard)),
        patch.object(ranking_module, "choose_by_trial", lambda *_: CHOICE),
    ):
        ranking = train_ranking(job, predictor, MachConfig(), resources, fit)
    clock.close("classifiers are joined")
    assert ranking is not None
    store.put_ranking(ranking)
    clock.close("files are written")
    files = {path.name: path.stat().st_size for path in folder.glob("*.safetensors")}
    sizes = {"labels": n_labels, "rows": data.n_rows, "files": files, "kept": ranking.n_weights}
    return sizes | {"shortlists": shortlists.facts(), "stages": clock.stages}


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


class Shortlists:
    """Real shortlists for some shards of rows, random ones for the others."""

    def __init__(self, every: int) -> None:
        self._every, self._run = every, ShortlistShard.run
        self._cpu, self._rows, self._wrong, self._shards = 0.0, 0, 0, 0

    def of(self, shard: ShortlistShard) -> dict[str, AnyArray]:
        """The wrong labels of a shard's rows."""
        self._shards += 1
        if self._shards % self._every != 1:
            return _random_shortlists(shard)
        begun = cpu_seconds()
        found = self._run(shard)
        if self._shards > 1:  # the first one makes the decoder's tables
            self._cpu += cpu_seconds() - begun
            self._rows, self._wrong = self._rows + shard.size, self._wrong + len(found["ids"])
            print(f"shortlists so far: {self.facts()}", flush=True)
        return found

    def facts(self) -> dict[str, float]:
        """What a real shortlist takes, and how many wrong labels it has."""
        rows = max(1, self._rows)
        return {"rows": self._rows, "cpu_ms_per_row": 1000 * self._cpu / rows, "wrong_per_row": self._wrong / rows}


def _random_shortlists(shard: ShortlistShard) -> dict[str, AnyArray]:
    """As many labels for each row of a shard as a real shortlist has, ascending, none of them the row's own."""
    draw = np.random.default_rng(shard.rows.start)
    labels, n_labels = shard.material.labels.open(), shard.material.n_labels
    own = labels["indices"][np.arange(shard.rows.start, shard.rows.stop, shard.rows.step)]  # each row has one
    edges = np.linspace(0, n_labels, LISTED + 1).astype(np.int64)
    ids = (edges[:-1] + draw.integers(0, np.diff(edges) - 1, (len(own), LISTED))).astype(np.int32)
    ids += ids == own[:, None]  # the next one, which is in the same stretch
    return {"indptr": np.arange(0, ids.size + 1, LISTED), "ids": ids.reshape(-1)}
