"""MACH itself: `xmach.training.fit` into a folder, one repetition after the other, one thread."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from benchmarks.tagging.tagger import Settings
from xmach.config import LINEAR, LINEAR_RANKER, LOGISTIC, MIXED, SOFTMAX, SQUARED_HINGE, MachConfig
from xmach.data import Dataset
from xmach.data.arrays import as_rows, as_sparse_rows
from xmach.store import load
from xmach.training import fit
from xmach.types import IntArray

_TOY_FEATURES, _TOY_ROWS = 8, 320  # as many rows as a ranker needs
_TOYS: tuple[Settings, ...] = (
    {"learner": LINEAR, "linear_loss": SQUARED_HINGE, "bucketing": MIXED, "ranker": LINEAR_RANKER},
    {"learner": LINEAR, "linear_loss": LOGISTIC, "passes": 1},
    {"learner": LINEAR, "linear_loss": SOFTMAX, "passes": 1},
    {"hidden": (4,), "epochs": 1},
)


class Mach:
    """Settings: those of `MachConfig`. Rows are scaled already, so `scaling` is "none"."""

    def __init__(self, settings: Settings, folder: Path) -> None:
        self._config, self._folder = MachConfig(**{"scaling": "none", **settings}), folder

    def warm_up(self) -> None:
        """Let the kernels be compiled or read: train each kind of model on a few rows, and predict them."""
        rows = csr_matrix(np.eye(_TOY_FEATURES, dtype=np.float32)[np.arange(_TOY_ROWS) % _TOY_FEATURES])
        for toy in _TOYS:
            with tempfile.TemporaryDirectory() as place:
                mach = Mach({"n_buckets": 4, "n_repetitions": 2, **toy}, Path(place) / "model")
                mach.prepare(rows, rows)
                mach.train()
                mach.open()
                mach.predict(rows, 2)

    def prepare(self, features: Any, labels: Any) -> None:
        """Give the rows the form that xmach trains on."""
        self._rows = Dataset(as_rows(features), as_sparse_rows(as_rows(labels)))

    def train(self) -> None:
        """Train every repetition; each is written when it is done."""
        fit(self._rows, self._config, self._folder, executor="local")

    def save(self) -> None:
        """Nothing to do: training has written the model."""

    def open(self) -> None:
        """Map the model."""
        self._predictor = load(self._folder, verify=False)

    def predict(self, features: Any, k: int) -> IntArray:
        """Decode the sketch."""
        return self._predictor.top_k(features, k, threads=1).ids
