"""The memory that a plan tells against the peaks of real runs: `xmach train` and `xmach predict` in fresh processes."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.memory_cases import PREDICTION, TRAINING, Case, linear_case
from benchmarks.memory_rows import drawn_rows, showing_labels, write_table, write_titles
from benchmarks.places import table, write_results
from benchmarks.processes import peak_bytes
from xmach.config import NONE
from xmach.data import write_xmc
from xmach.learners.session import effective_batch_size
from xmach.planning import DataSize, Shape, held_out_size, human_bytes, prediction_bytes, training_memory
from xmach.store import ModelStore


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
        predict(linear_case(50, 40, 10, 2, DataSize(200, 5, 2, choosing=True), workers), folder)


def train(case: Case, folder: Path) -> tuple[int, int]:
    """The planned and the measured bytes of a training run, with the file read for the first time."""
    batch = effective_batch_size(case.batch_size, case.data.n_rows)
    if case.ranker != NONE:  # its kernels are compiled for each kind of arrays that a case has
        with tempfile.TemporaryDirectory(dir=folder) as place:
            peak_bytes(*_training(case, Path(place)))
    with tempfile.TemporaryDirectory(dir=folder) as place:
        command, environment = _training(case, Path(place))
        measured = peak_bytes(command, environment)
        shape, data = _trained(case, Path(place))
        held = 0 if case.stored else shape.n_repetitions
        return training_memory(shape, held_out_size(data), batch, case.workers, models_held=held).total, measured


def predict(case: Case, folder: Path) -> tuple[int, int]:
    """The same of a run that answers the rows that a model was trained on."""
    with tempfile.TemporaryDirectory(dir=folder) as place:
        command, environment = _training(case, Path(place))
        peak_bytes(command, environment)
        answers = ["--out", str(Path(place) / "answers.jsonl")]
        command = [sys.executable, "-m", "xmach", "predict", f"{place}/model", f"{place}/rows.txt", *answers]
        measured = peak_bytes(command, environment)
        return prediction_bytes(*_trained(case, Path(place))), measured


def _trained(case: Case, place: Path) -> tuple[Shape, DataSize]:
    """The shape with the weights that were kept, and the rows as they were read.

    How well weights are estimated is measured elsewhere. Labels of most of these rows are drawn at random, and nothing
    can be learned from them; real rows need fewer weights.
    """
    shape = case.shape
    if shape.weights is None:
        return shape, case.data
    if shape.ranker is None:
        store = ModelStore(place / "model")
        kept = [store.history(r)[-1]["weights"] for r in store.present()]
        return replace(shape, weights=round(sum(kept) / len(kept))), case.data
    facts = json.loads((place / "facts.json").read_text())
    entries, tried = facts["Profiles made"], facts.get("LabelWeights made", 0)
    ranker = replace(
        shape.ranker,
        profile_entries=facts["Profiles kept"],
        dropped_entries=max(0, entries - facts["Profiles kept"]) if case.ranker_bytes else 0,
        weights=facts["ranker"],
        tried_weights=tried,
        dropped_weights=max(0, tried - facts["LabelWeights kept"]) if case.ranker_bytes else 0,
        text_entries=facts["texts"],
    )
    return replace(shape, weights=facts["buckets"], ranker=ranker), replace(case.data, nonzeros_per_row=facts["values"])


def _training(case: Case, place: Path) -> tuple[list[str], dict[str, str]]:
    """The command that trains a case on rows written into a folder, and its environment."""
    shape, data = case.shape, case.data
    hidden = ",".join(map(str, shape.hidden)) or "none"
    shown = showing_labels if case.ranker != NONE else lambda rows: rows
    if data.source == "numbers":
        write_xmc(shown(drawn_rows(shape, data, data.n_rows, seed=0)), place / "rows.txt")
        file, options = "rows.txt", list[str]()
    else:
        file, options = write_table(shape, data, place / "rows.csv", case.titles)
    if case.titles:
        write_titles(shape.n_labels, place / "titles.csv")
        options += ["--label-text", str(place / "titles.csv")]
    xmach = ["-m", "xmach"] if case.ranker == NONE else ["-m", "benchmarks.memory_run", str(place), str(case.stored)]
    command = [sys.executable, *xmach, "train", str(place / file), "--model", str(place / "model"), *options]
    command += ["--buckets", str(shape.n_buckets), "--repetitions", str(shape.n_repetitions)]
    command += ["--workers", str(case.workers), "--bucketing", "mixed" if shape.n_tables else "random"]
    if shape.weights is None:
        command += ["--hidden", hidden, "--epochs", "1", "--batch-size", str(case.batch_size)]
    else:
        command += ["--learner", "linear", "--ranker", case.ranker]
        command += ["--linear-loss", "softmax", "--passes", "1"] if shape.joint else ["--linear-loss", "squared_hinge"]
        command += [] if case.cost is None else ["--cost", str(case.cost), "--passes", "2"]
        command += [] if case.ranker_bytes is None else ["--ranker-bytes", str(case.ranker_bytes)]
    if data.n_validation:
        write_xmc(shown(drawn_rows(shape, data, data.n_validation, seed=1)), place / "validation.txt")
        command += ["--validation", str(place / "validation.txt")]
    return command, os.environ | {"XMACH_CACHE": str(place / "cache")}
