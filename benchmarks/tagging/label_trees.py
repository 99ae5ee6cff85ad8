"""Parabel and Bonsai, by omikuji: label trees with linear classifiers."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

from benchmarks.peers.trees import TreeTrainer, best_labels, filled_batches, open_trees, save_trees, write_rows
from benchmarks.tagging.tagger import Settings
from xmach.data.arrays import as_rows, as_sparse_rows
from xmach.types import IntArray


class Parabel:
    """Three balanced binary trees: omikuji's defaults.

    Settings: omikuji's hyper-parameters by name, and `beam`, the nodes of a level that are followed when predicting.
    omikuji is not seeded: two runs differ a little.
    """

    defaults: ClassVar[Settings] = {}

    def __init__(self, settings: Settings, folder: Path) -> None:
        given = {**self.defaults, **settings}
        self._beam = given.pop("beam", 10)
        self._parameters, self._folder = given, folder

    def warm_up(self) -> None:
        """Nothing to do."""

    def prepare(self, features: Any, labels: Any) -> None:
        """Write the file that omikuji reads, and let it read it."""
        x, y = (as_sparse_rows(as_rows(each)) for each in (features, labels))
        n_rows, batches = filled_batches(x)
        file = self._folder.with_suffix(".txt")
        write_rows(file, ((x.take(rows), y.take(rows)) for rows in batches), (n_rows, x.n_columns, y.n_columns))
        self._trainer = TreeTrainer(file)
        file.unlink()

    def train(self) -> None:
        """Grow the trees."""
        self._model = self._trainer.train(**self._parameters)

    def save(self) -> None:
        """Write the trees."""
        save_trees(self._model, self._folder)

    def open(self) -> None:
        """Read the trees."""
        self._model = open_trees(self._folder)

    def predict(self, features: Any, k: int) -> IntArray:
        """Return the labels of the leaves that the beams reach."""
        return best_labels(self._model, as_sparse_rows(as_rows(features)), self._beam, k)


class Bonsai(Parabel):
    """Three shallow trees of 100 branches by k-means, as omikuji's documentation sets them."""

    defaults: ClassVar[Settings] = {"cluster_k": 100, "cluster_balanced": False, "max_depth": 3}
