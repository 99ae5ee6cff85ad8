"""Parabel, by omikuji: label trees with linear classifiers, on the tf-idf rows that MACH has, too."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.peers.adapter import Settings
from benchmarks.peers.hashing import hashed_rows
from benchmarks.peers.search_data import Training
from benchmarks.peers.trees import (
    TreeTrainer,
    best_labels,
    filled_batches,
    find_labels,
    open_trees,
    save_trees,
    write_rows,
)
from xmach.features import HashedText, Scaler, fit_scaler
from xmach.types import FloatArray, IntArray, SparseRows


class Parabel:
    """Settings: `trees`, `leaf` (the most products of a leaf), `epochs` (of each node's classifier), `n_features`.

    Answering: `beam`, the nodes of a level that are followed. omikuji is not seeded: two runs differ a little.
    """

    def __init__(self, settings: Settings, folder: Path) -> None:
        self._settings, self._folder = settings, folder
        self._text = HashedText(settings.get("n_features", 80_000))
        self._rows, self._model_folder = folder / "rows.txt", folder / "model"

    def warm_up(self) -> None:
        """Let the text kernels be compiled or read."""
        fit_scaler(self._text.transform(["a lamp"])).apply(self._text.transform(["a table"]))

    def prepare(self, data: Training) -> None:
        """Write the file that omikuji reads, and let it read it."""
        texts, bought, _ = data.rows()
        features = hashed_rows(self._text, texts, self._folder)
        self._scaler = fit_scaler(features)
        n_rows, batches = filled_batches(features)
        scaled = ((self._scaled(features.take(rows)), bought.take(rows)) for rows in batches)
        write_rows(self._rows, scaled, (n_rows, features.n_columns, bought.n_columns))
        del features, texts, bought, scaled, batches
        self._trainer = TreeTrainer(self._rows)

    def train(self) -> None:
        """Grow the trees."""
        self._model = self._trainer.train(
            n_trees=self._settings.get("trees", 2),
            min_branch_size=self._settings.get("leaf", 100),
            linear_max_iter=self._settings.get("epochs", 20),
        )

    def save(self) -> dict[str, Any]:
        """The trees and the tf-idf weights; omikuji does not tell its parameters, as the paper does not."""
        save_trees(self._model, self._model_folder)
        assert self._scaler.idf is not None  # hashed texts are counts
        np.save(self._folder / "idf.npy", self._scaler.idf)
        self._rows.unlink()
        return {"parameters": None}

    def open(self, answering: Settings) -> None:
        """Read the trees."""
        self._model = open_trees(self._model_folder)
        self._scaler = Scaler("tfidf", self._text.n_features, np.load(self._folder / "idf.npy"))
        self._beam = answering.get("beam", 10)

    def top(self, texts: Sequence[str], k: int) -> IntArray:
        """The products of the leaves that the beams reach; -1 where these are fewer than k."""
        return best_labels(self._model, self._scaled(self._text.transform(texts)), self._beam, k)

    def scores(self, texts: Sequence[str], candidates: SparseRows) -> FloatArray:
        """The scores of those among all products that the beams reach; 0 of the others."""
        reach = self._beam * self._settings.get("leaf", 100) * self._settings.get("trees", 2)
        rows = self._scaled(self._text.transform(texts))
        scores = np.zeros(candidates.nnz, np.float32)
        for i, found in enumerate(find_labels(self._model, rows, self._beam, min(reach, candidates.n_columns))):
            known = dict(found)
            place = slice(*candidates.indptr[i : i + 2])
            scores[place] = [known.get(product, 0.0) for product in candidates.indices[place].tolist()]
        return scores

    def _scaled(self, rows: SparseRows) -> SparseRows:
        scaled = self._scaler.apply(rows)
        assert isinstance(scaled, SparseRows)
        return scaled
