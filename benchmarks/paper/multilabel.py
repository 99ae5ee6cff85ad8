"""The paper's multilabel experiment and its estimator table, on the data sets that can be had here.

Trains with the defaults of `xmach train` and R = 16, for two values of B each, and evaluates the first 2, 4, 8 and 16
repetitions with every estimator. Models stay in build/bench, so that a second run goes on where the first one ended.
"""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from typing import Any

from benchmarks.places import OUT, data_folder, table, write_results
from xmach import load, read_dataset
from xmach.buckets import UniversalHashes
from xmach.decoding import ESTIMATORS
from xmach.evaluation import evaluate
from xmach.predictor import Predictor

SETS = {"delicious": (300, 150), "bibtex": (100, 50), "citeulike_t": (2000, 1000)}  # values of B
REPETITIONS = (2, 4, 8, 16)


def main() -> None:
    """Train what is not trained yet, evaluate, write the tables."""
    rows: list[dict[str, Any]] = []
    for name, buckets in SETS.items():
        for n_buckets in buckets:
            rows += _run(name, n_buckets)
    write_results("multilabel", rows, _precision_table(rows) + "\n" + _estimator_table(rows))


def _run(name: str, n_buckets: int) -> list[dict[str, Any]]:
    folder, model = data_folder() / name, OUT / "models" / f"{name}-{n_buckets}"
    command = [sys.executable, "-m", "xmach", "train", str(folder / "train.txt.gz"), "--model", str(model)]
    subprocess.run([*command, "--buckets", str(n_buckets), "--repetitions", str(max(REPETITIONS))], check=True)
    predictor, test = load(model), read_dataset(folder / "test.txt.gz")
    rows = []
    for r in REPETITIONS:
        for estimator, result in zip(
            ESTIMATORS, evaluate(_first(predictor, r), test, (1, 3, 5), ESTIMATORS), strict=True
        ):
            rows.append({"set": name, "B": n_buckets, "R": r, "estimator": estimator, **result.metrics})
    return rows


def _first(predictor: Predictor, r: int) -> Predictor:
    """The predictor with its first r repetitions only."""
    h = predictor.hashes
    hashes = UniversalHashes(h.n_labels, h.n_buckets, h.prime, h.a[:r], h.b[:r])
    return replace(predictor, models=predictor.models[:r], hashes=hashes)


def _figures(row: dict[str, Any]) -> str:
    return " / ".join(f"{100 * row[f'precision@{k}']:.1f}" for k in (1, 3, 5))


def _precision_table(rows: list[dict[str, Any]]) -> str:
    """P@1/3/5 by R, with the default estimator."""
    lines = []
    for name, buckets in SETS.items():
        for n_buckets in buckets:
            chosen = [row for row in rows if (row["set"], row["B"], row["estimator"]) == (name, n_buckets, "log")]
            lines.append([name, str(n_buckets), *(_figures(row) for row in chosen)])
    return table(["set", "B", *(f"R = {r}" for r in REPETITIONS)], lines)


def _estimator_table(rows: list[dict[str, Any]]) -> str:
    """P@1/3/5 by estimator, at the smallest and the largest R."""
    lines = []
    for name, buckets in SETS.items():
        for r in (REPETITIONS[1], REPETITIONS[-1]):
            chosen = [row for row in rows if (row["set"], row["B"], row["R"]) == (name, buckets[0], r)]
            lines.append([name, str(buckets[0]), str(r), *(_figures(row) for row in chosen)])
    return table(["set", "B", "R", *ESTIMATORS], lines)
