"""The memory that a plan tells against the peaks of real runs: `xmach train` and `xmach predict` in fresh processes."""

from __future__ import annotations

import os
import sys
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.places import table, write_results
from benchmarks.processes import peak_bytes
from xmach.config import LINEAR_RANKER, NONE
from xmach.data import Dataset, write_xmc
from xmach.learners.session import effective_batch_size
from xmach.planning import (
    DataSize,
    RankerSize,
    Shape,
    expected_ranker,
    expected_weights,
    human_bytes,
    prediction_bytes,
    softmax_weights,
    training_bytes,
)
from xmach.planning.linear_sizes import TYPICAL_COST
from xmach.planning.ranker_sizes import HIGHEST_COST
from xmach.store import ModelStore, load
from xmach.types import SparseRows


@dataclass(frozen=True)
class Case:
    """A model and the made-up rows to train it on, for one epoch."""

    shape: Shape
    data: DataSize
    batch_size: int = 256
    workers: int = 1
    cost: float | None = None  # of linear buckets; None: chosen, as passes are
    ranker: str = NONE


# In every one each feature occurs: an untouched Adam moment would take no memory.
TRAINING = {
    "ODP, linear": Case(Shape(105_033, 422_713, (), 32, 1), DataSize(30_000, 100)),
    "Wiki10-31K": Case(Shape(30_938, 101_938, (500, 500), 2000, 1), DataSize(6000, 200, 18), batch_size=100),
    "search, batch of 512": Case(Shape(100_000, 80_000, (256,), 5000, 1), DataSize(60_000, 30, 3), batch_size=512),
    "citeulike_t": Case(Shape(52_946, 20_000, (500,), 2000, 1), DataSize(20_000, 60, 5)),
    "full rows of 500": Case(Shape(200, 500, (64,), 50, 1), DataSize(6000, 500, 2)),
    "validation rows": Case(Shape(20_000, 40_000, (500,), 1000, 2), DataSize(20_000, 60, 3, n_validation=2000)),
    "8 models on validation rows": Case(Shape(5000, 20_000, (500,), 1000, 8), DataSize(6000, 60, 3, n_validation=4000)),
    "table of numbers": Case(Shape(1000, 100, (256,), 100, 1), DataSize(40_000, sparse=False, source="table")),
    "text": Case(Shape(5000, 80_000, (128,), 500, 1), DataSize(50_000, 44, 3, source="text")),  # 12 words a row
    "2 workers": Case(Shape(20_000, 40_000, (500,), 1000, 2), DataSize(20_000, 60, 3), workers=2),
}
PREDICTION = {
    "citeulike_t": Case(Shape(52_946, 20_000, (500,), 2000, 4), DataSize(3000, 60, 5)),
    "ODP, linear": Case(Shape(105_033, 422_713, (), 32, 12), DataSize(10_000, 60)),
    "3 million labels": Case(Shape(3_000_000, 5000, (64,), 1000, 8), DataSize(100, 30, 2)),
}


def _linear(
    n_labels: int, n_features: int, n_buckets: int, n_repetitions: int, data: DataSize, workers: int = 1
) -> Case:
    """Sparse linear buckets; cost and passes are chosen unless `data` says otherwise."""
    cost = None if data.choosing else 1.0
    weights = expected_weights(n_features, n_buckets, data, cost or TYPICAL_COST)
    shape = Shape(n_labels, n_features, (), n_buckets, n_repetitions, weights=weights)
    return Case(shape, data, workers=workers, cost=cost)


_MANY = DataSize(500_000, 40, 2)
_LEFT_OUT = DataSize(100_000, 25, 2, choosing=True)  # with one worker, no figure of the planner was settled on them
LINEAR_TRAINING = {
    "linear buckets, chosen": _linear(20_000, 20_000, 1000, 1, DataSize(20_000, 60, 3, choosing=True)),
    "linear buckets, chosen, 2^18 features": _linear(20_000, 2**18, 1000, 1, DataSize(20_000, 60, 3, choosing=True)),
    "linear buckets, 2^18 features": _linear(20_000, 2**18, 1000, 1, DataSize(20_000, 60, 3)),
    "linear buckets, 500,000 rows": _linear(20_000, 20_000, 128, 1, _MANY),
    "linear buckets, 500,000 rows, 2^18 features": _linear(20_000, 2**18, 128, 1, _MANY),
    "linear buckets, 2 workers": _linear(20_000, 20_000, 1000, 2, DataSize(20_000, 60, 3), workers=2),
    "linear buckets, 2 workers, 2^18 features": _linear(20_000, 2**18, 1000, 2, DataSize(20_000, 60, 3), workers=2),
    "linear buckets, 2 workers, 500,000 rows": _linear(20_000, 2**18, 128, 2, _MANY, workers=2),
    "linear buckets, 2 workers, 100,000 rows": _linear(5000, 60_000, 300, 2, _LEFT_OUT, workers=2),
    "linear buckets, left out": _linear(5000, 60_000, 300, 2, _LEFT_OUT),
    "linear buckets, left out, 2 workers": _linear(8000, 40_000, 600, 3, DataSize(60_000, 30, 3), workers=2),
}
LINEAR_PREDICTION = {
    "linear buckets": _linear(52_946, 20_000, 2000, 6, DataSize(20_000, 20, 11)),
    "linear buckets, 2^18 features": _linear(20_000, 2**18, 1000, 6, DataSize(20_000, 60, 3)),
    "linear buckets, left out": _linear(5000, 60_000, 300, 4, _LEFT_OUT),
}


def _softmax(
    n_labels: int, n_features: int, n_buckets: int, n_repetitions: int, data: DataSize, workers: int = 1
) -> Case:
    """Linear buckets that are trained together."""
    weights = softmax_weights(n_features, n_buckets, data)
    shape = Shape(n_labels, n_features, (), n_buckets, n_repetitions, weights=weights, joint=True)
    return Case(shape, data, workers=workers)


SOFTMAX_TRAINING = {
    "softmax buckets": _softmax(30_000, 20_000, 1000, 1, DataSize(30_000, 40, 1)),
    "softmax buckets, 80,000 features": _softmax(50_000, 80_000, 1500, 1, DataSize(60_000, 15, 1)),
    "softmax buckets, many rows": _softmax(100_000, 10_000, 300, 1, DataSize(300_000, 20, 1)),
    "softmax buckets, 2 workers": _softmax(30_000, 40_000, 800, 2, DataSize(40_000, 30, 1), workers=2),
}


def _ranked(
    n_labels: int, n_features: int, n_buckets: int, n_repetitions: int, data: DataSize, workers: int = 1
) -> Case:
    """Linear buckets with a ranker. Rows show their labels, or it would be of no use, and not be stored."""
    case = _linear(n_labels, n_features, n_buckets, n_repetitions, data, workers)
    ranker = expected_ranker(LINEAR_RANKER, n_labels, n_features, data)
    return replace(case, shape=replace(case.shape, ranker=ranker), ranker=LINEAR_RANKER)


# Every part of a ranker is stored, so that its size is known; of the costs only the highest is tried, which takes most.
_STORING_ALL = f"""
from xmach.cli import main
from xmach.ranking import weighing
from xmach.training import ranking
weighing._LEAST_GAIN, ranking.COSTS = -1.0, ({HIGHEST_COST},)
main()
"""
RANKED_TRAINING = {
    "ranker": _ranked(2000, 20_000, 500, 2, DataSize(20_000, 40, 3)),
    "ranker, 2^18 features": _ranked(50_000, 2**18, 1000, 2, DataSize(60_000, 20, 2)),
    "ranker, 2 workers": _ranked(5000, 20_000, 300, 2, DataSize(60_000, 15, 4), workers=2),
}
RANKED_PREDICTION = {"ranker": _ranked(2000, 20_000, 500, 2, DataSize(20_000, 40, 3))}
TRAINING |= LINEAR_TRAINING | SOFTMAX_TRAINING | RANKED_TRAINING
PREDICTION |= LINEAR_PREDICTION | RANKED_PREDICTION
SMALL_LINEAR = _linear(1000, 30_000, 500, 1, DataSize(2000, 40, 2))
SMALL_RANKED = _ranked(1000, 30_000, 500, 2, DataSize(4000, 30, 2))
SMALL = Case(Shape(1000, 30_000, (256,), 500, 1), DataSize(2000, 40, 2))  # for the test suite: a few seconds


def main() -> None:
    """Measure every case, and print plan and peak side by side."""
    results: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory(prefix="xmach-memory-") as folder:
        warm_up(Path(folder))
        for command, cases in (("train", TRAINING), ("predict", PREDICTION)):
            for name, case in cases.items():
                planned, measured = (train if command == "train" else predict)(case, Path(folder))
                ratio = measured / planned
                results.append(
                    {"run": command, "case": name, "shape": str(case.shape), "workers": case.workers}
                    | {"planned": planned, "measured": measured, "ratio": ratio}
                )
    columns = ["run", "case", "model", "plan", "measured peak", "measured / plan"]
    rows = [
        [run["run"], run["case"], run["shape"], *map(human_bytes, (run["planned"], run["measured"])), _ratio(run)]
        for run in results
    ]
    write_results("memory", results, table(columns, rows))


def _ratio(run: dict[str, Any]) -> str:
    return f"{run['ratio']:.3f}"


def warm_up(folder: Path) -> None:
    """Let the kernels be compiled: the first run after an installation takes some 40 MiB a process more."""
    predict(Case(Shape(50, 40, (8,), 10, 2), DataSize(200, 5, 2)), folder)
    train(Case(Shape(50, 40, (), 10, 1), DataSize(200, 5, 2, n_validation=20)), folder)
    for workers in (1, 2):  # several have rows in mapped files, which are other types to the compiler
        predict(_linear(50, 40, 10, 2, DataSize(200, 5, 2, choosing=True), workers), folder)


def train(case: Case, folder: Path) -> tuple[int, int]:
    """The planned and the measured bytes of a training run, with the file read for the first time."""
    batch = effective_batch_size(case.batch_size, case.data.n_rows)
    with tempfile.TemporaryDirectory(dir=folder) as place:
        command, environment = _training(case, Path(place))
        measured = peak_bytes(command, environment)
        return training_bytes(_trained(case.shape, place), case.data, batch, case.workers), measured


def predict(case: Case, folder: Path) -> tuple[int, int]:
    """The same of a run that answers the rows that a model was trained on."""
    with tempfile.TemporaryDirectory(dir=folder) as place:
        command, environment = _training(case, Path(place))
        peak_bytes(command, environment)
        answers = ["--out", str(Path(place) / "answers.jsonl")]
        command = [sys.executable, "-m", "xmach", "predict", f"{place}/model", f"{place}/rows.txt", *answers]
        measured = peak_bytes(command, environment)
        return prediction_bytes(_trained(case.shape, place), case.data), measured


def _trained(shape: Shape, place: str) -> Shape:
    """The shape with the weights that linear buckets kept: how well those are estimated is measured elsewhere.

    Labels of these rows are drawn at random, and nothing can be learned from them; real rows need fewer weights.
    """
    if shape.weights is None:
        return shape
    store = ModelStore(Path(place) / "model")
    kept = [store.history(r)[-1]["weights"] for r in store.present()]
    return replace(shape, weights=round(sum(kept) / len(kept)), ranker=_trained_ranker(shape, place))


def _trained_ranker(shape: Shape, place: str) -> RankerSize | None:
    """The ranker with the entries that were stored."""
    if shape.ranker is None:
        return None
    ranking = load(Path(place) / "model").ranking
    assert ranking is not None
    assert ranking.profiles is not None
    assert ranking.ranker is not None
    weights = len(ranking.ranker.gaps)
    entries = len(ranking.profiles.arrays()["gaps"])
    return replace(shape.ranker, profile_entries=entries, weights=weights, tried_weights=weights)


def _training(case: Case, place: Path) -> tuple[list[str], dict[str, str]]:
    """The command that trains a case on rows written into a folder, and its environment."""
    shape, data = case.shape, case.data
    hidden = ",".join(map(str, shape.hidden)) or "none"
    if data.source == "numbers":
        rows = _rows(shape, data, data.n_rows, seed=0)
        write_xmc(rows if case.ranker == NONE else _showing_labels(rows), place / "rows.txt")
    file, options = ("rows.txt", []) if data.source == "numbers" else _write_table(shape, data, place / "rows.csv")
    xmach = ["-m", "xmach"] if case.ranker == NONE else ["-c", _STORING_ALL]
    command = [sys.executable, *xmach, "train", str(place / file), "--model", str(place / "model"), *options]
    command += ["--buckets", str(shape.n_buckets), "--repetitions", str(shape.n_repetitions)]
    command += ["--workers", str(case.workers), "--bucketing", "mixed" if shape.n_tables else "random"]
    if shape.weights is None:
        command += ["--hidden", hidden, "--epochs", "1", "--batch-size", str(case.batch_size)]
    else:
        command += ["--learner", "linear", "--ranker", case.ranker]
        command += ["--linear-loss", "softmax", "--passes", "1"] if shape.joint else ["--linear-loss", "squared_hinge"]
        command += [] if case.cost is None else ["--cost", str(case.cost), "--passes", "2"]
    if data.n_validation:
        write_xmc(_rows(shape, data, data.n_validation, seed=1), place / "validation.txt")
        command += ["--validation", str(place / "validation.txt")]
    return command, os.environ | {"XMACH_CACHE": str(place / "cache")}


def _write_table(shape: Shape, data: DataSize, path: Path) -> tuple[str, list[str]]:
    """A CSV file of numbers or of texts; its name, and the options that say what is what."""
    draw = np.random.default_rng(0)
    labels = draw.integers(0, shape.n_labels, (data.n_rows, round(data.labels_per_row)))
    columns = [f"c{i}" for i in range(shape.n_features)] if data.source == "table" else ["text"]
    with path.open("w", encoding="utf-8") as file:
        file.write(",".join([*columns, "labels"]) + "\n")
        for row in labels:
            if data.source == "table":
                cells = ",".join(f"{number:.4f}" for number in draw.random(shape.n_features))
            else:
                cells = " ".join(f"{word:06x}" for word in draw.zipf(1.3, 12) % 2**24)
            file.write(f"{cells},{'|'.join(map(str, row))}\n")
    options = ["--label-separator", "|", *(["--text", "text"] if data.source == "text" else [])]
    return path.name, options


def _rows(shape: Shape, data: DataSize, n_rows: int, seed: int) -> Dataset:
    """Rows with exactly the planned number of values and labels, drawn evenly."""
    draw = np.random.default_rng(seed)
    features = _sparse(draw, n_rows, shape.n_features, round(data.nonzeros_per_row))
    return Dataset(features, _sparse(draw, n_rows, shape.n_labels, round(data.labels_per_row)))


def _showing_labels(rows: Dataset) -> Dataset:
    """The rows with every second value in a column that belongs to one of the row's labels."""
    draw, features = np.random.default_rng(2), rows.features
    assert isinstance(features, SparseRows)
    shape = (rows.n_rows, features.nnz // rows.n_rows)
    edges = np.linspace(0, rows.n_features, shape[1] + 1).astype(np.int64)
    labels = rows.labels.indices.reshape(rows.n_rows, -1).astype(np.int64)
    shown = np.take_along_axis(labels, draw.integers(0, labels.shape[1], shape), axis=1)  # (n, each)
    own = edges[:-1] + (shown * 2_654_435_761 + np.arange(shape[1]) * 40_503) % 2**31 % np.diff(edges)
    columns = np.where(draw.random(shape) < 0.5, own, features.indices.reshape(shape))
    return replace(rows, features=replace(features, indices=columns.ravel().astype(np.int32)))


def _sparse(draw: np.random.Generator, n_rows: int, n_columns: int, each: int) -> SparseRows:
    """One column from each of as many equal stretches: distinct and sorted, and in time every one of them."""
    edges = np.linspace(0, n_columns, each + 1).astype(np.int64)
    columns = edges[:-1] + draw.integers(0, np.diff(edges), (n_rows, each))  # (n, each)
    indptr = np.arange(0, n_rows * each + 1, each)
    return SparseRows(indptr, columns.ravel().astype(np.int32), np.ones(n_rows * each, np.float32), n_columns)
