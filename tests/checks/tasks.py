"""What learners are checked with: rows with labels, and a task whose monitor can stop it at any step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from xmach.buckets import UniversalHashes
from xmach.data.arrays import as_sparse_rows
from xmach.features import Scaler
from xmach.learners import LabelledRows, Task
from xmach.types import AnyArray, Progress, SparseRows


def labelled(n: int, d: int, n_labels: int, n_buckets: int, sparse: bool = True, seed: int = 0) -> LabelledRows:
    """Random rows with none to three labels, label values and row weights other than 1."""
    draw = np.random.default_rng(seed)
    dense = (draw.normal(size=(n, d)) * (draw.random((n, d)) < 0.4)).astype(np.float32)
    dense[n // 2] = 0.0
    dense[-1] = draw.normal(size=d)  # every feature is in some row
    lengths = draw.integers(0, 4, n)
    labels = [np.sort(draw.choice(n_labels, length, replace=False)) for length in lengths]
    indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    values = draw.integers(1, 5, indptr[-1]).astype(np.float32)
    rows = SparseRows(indptr, np.concatenate(labels).astype(np.int32), values, n_labels)
    weights = draw.choice([0.5, 1.0, 2.0], n).astype(np.float32)
    hashes = UniversalHashes.draw(n_labels, n_buckets, 3, seed)
    return LabelledRows(as_sparse_rows(dense) if sparse else dense, rows, weights, Scaler("none", d), hashes, 0)


def rows_of(
    features: AnyArray, labels: list[list[int]], n_labels: int, n_buckets: int, weights: list[float] | None = None
) -> LabelledRows:
    """The given rows, sparse, with the given lists of labels."""
    indptr = np.concatenate([[0], np.cumsum([len(ids) for ids in labels])]).astype(np.int64)
    ids = np.array([label for row in labels for label in row], np.int32)
    targets = SparseRows(indptr, ids, np.ones(len(ids), np.float32), n_labels)
    given = None if weights is None else np.array(weights, np.float32)
    hashes = UniversalHashes.draw(n_labels, n_buckets, 3)
    scaler = Scaler("none", features.shape[1])
    return LabelledRows(as_sparse_rows(np.asarray(features, np.float32)), targets, given, scaler, hashes, 0)


def separable(n: int = 300, n_labels: int = 12, n_buckets: int = 6, seed: int = 0, sparse: bool = True) -> LabelledRows:
    """One label a row, told by its own feature; and a little noise, none of it negative."""
    draw = np.random.default_rng(seed)
    ids = draw.integers(0, n_labels, n)
    dense = np.abs(draw.normal(0, 0.05, (n, n_labels))).astype(np.float32)
    dense[np.arange(n), ids] += 1.0
    rows = rows_of(dense, [[label] for label in ids.tolist()], n_labels, n_buckets)
    return rows if sparse else replace(rows, features=dense)


@dataclass
class StopAt:
    """Says stop when it is asked for the n-th time; None: never."""

    stop_at: int | None = None
    asked: int = 0
    reports: list[tuple[int, Progress]] = field(default_factory=list)

    def report(self, repetition: int, progress: Progress, part: int = 0) -> None:
        self.reports.append((repetition, progress))

    def should_stop(self) -> bool:
        self.asked += 1
        return self.stop_at is not None and self.asked >= self.stop_at


@dataclass
class Desk:
    """A task with its monitor, and the checkpoints that it left."""

    rows: LabelledRows
    validation: LabelledRows | None = None
    seed: int = 0
    repetition: int = 0
    saved: list[dict[str, AnyArray]] = field(default_factory=list)

    def task(self, monitor: StopAt | None = None) -> Task:
        def save(state: Mapping[str, AnyArray]) -> None:
            self.saved.append({name: np.array(array) for name, array in state.items()})

        return Task(
            repetition=self.repetition,
            seed=self.seed,
            n_features=self.rows.features.shape[1],
            n_buckets=self.rows.hashes.n_buckets,
            rows=self.rows,
            validation=self.validation,
            monitor=StopAt() if monitor is None else monitor,
            load_progress=lambda: self.saved[-1] if self.saved else None,
            save_progress=save,
        )
