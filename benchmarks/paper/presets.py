"""What the paper's experiments cost here: some steps of each at full width on made-up rows, the rest by proportion."""

from __future__ import annotations

import statistics
import time
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.contest import Spread
from benchmarks.places import table, write_results
from xmach.buckets import UniversalHashes
from xmach.features import Scaler
from xmach.learners import LabelledRows
from xmach.learners.network import NetworkTrainer
from xmach.planning import DataSize, Shape, human_bytes, training_memory
from xmach.planning.presets import PRESETS, Preset
from xmach.types import SparseRows

# Values and labels a row, as the public files have them; ImageNet's features are taken as dense, a query as 20 tokens.
ROWS = {
    "odp": (60, 1),
    "imagenet": (6144, 1),
    "wiki10-31k": (673, 19),
    "delicious-200k": (301, 75),
    "amazon-670k": (76, 5),
    "amazon-search": (20, 2),
}
STEPS = 12


def main() -> None:
    """Time each preset's training step, and write a table of time and memory."""
    results = [measure(preset) for preset in PRESETS.values()]
    rows = [
        [
            result["preset"], result["network"], f"{result['step_ms']:.0f} ms", f"{result['hours']:.2f} h",
            f"{result['total_hours']:,.1f} h", human_bytes(result["training_bytes"]),
            human_bytes(result["data_bytes"]), human_bytes(result["model_bytes"]),
        ]
        for result in results
    ]  # fmt: skip
    header = ["preset", "network", "step", "one repetition", "all R", "memory, one at a time", "mapped rows", "model"]
    write_results("presets", results, table(header, rows))


def measure(preset: Preset) -> dict[str, Any]:
    """One preset at full width: the median step, and what follows for the whole."""
    values, labels = ROWS[preset.name]
    config = preset.config
    B, R = config.n_buckets, config.n_repetitions
    rows = _rows(preset, values, labels, B)
    trainer = NetworkTrainer(preset.n_features, B, config.network, 0, 0)
    with threadpool_limits(1):
        seconds = []
        for step in range(STEPS + 2):  # two to compile and to touch the memory
            which = np.arange(step * preset.config.batch_size, (step + 1) * preset.config.batch_size)
            begun = time.perf_counter()
            trainer.step(rows.batch(which), 1e-3, (0, step))
            seconds.append(time.perf_counter() - begun)
    step_seconds = statistics.median(seconds[2:])
    hours = step_seconds * preset.config.epochs * preset.train_rows / preset.config.batch_size / 3600
    shape = Shape(preset.n_labels, preset.n_features, preset.config.hidden, B, R)
    memory = training_memory(shape, DataSize(preset.train_rows, values, labels), preset.config.batch_size)
    return {
        "preset": preset.name,
        "network": "-".join(map(str, shape.widths)),
        "step_ms": 1000 * step_seconds,
        "step": Spread.of(seconds[2:]).times(1000)._asdict(),
        "hours": hours,
        "total_hours": R * hours,
        "training_bytes": memory.parent + memory.repetition,
        "data_bytes": memory.data,
        "model_bytes": shape.model_bytes,
    }


def _rows(preset: Preset, values: int, labels: int, n_buckets: int) -> LabelledRows:
    """Made-up rows: columns after Zipf's law, labels uniform."""
    rng = np.random.default_rng(0)
    n = (STEPS + 2) * preset.config.batch_size
    if values == preset.n_features:
        columns = [np.arange(values)] * n
    else:  # with a probability of 1/rank, and as many distinct ones in every row
        draws = (preset.n_features ** rng.random((n, 4 * values))).astype(np.int64) - 1
        distinct = [np.unique(row) for row in draws]
        columns = [np.sort(rng.choice(row, min(values, len(row)), replace=False)) for row in distinct]
    features = _sparse(columns, preset.n_features)
    chosen = rng.integers(0, preset.n_labels, (n, labels))
    hashes = UniversalHashes.draw(preset.n_labels, n_buckets, 1, 0)
    true = _sparse([np.unique(row) for row in chosen], preset.n_labels)
    return LabelledRows(features, true, None, Scaler("none", preset.n_features), hashes, 0)


def _sparse(lists: list[Any], n_columns: int) -> SparseRows:
    indptr = np.concatenate([[0], np.cumsum([len(row) for row in lists])]).astype(np.int64)
    indices = np.concatenate(lists).astype(np.int32)
    return SparseRows(indptr, indices, np.ones(len(indices), np.float32), n_columns)
