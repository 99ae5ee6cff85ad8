"""XR-Linear, by PECOS: one tree over clustered labels, with linear classifiers. Runs without xmach."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from pecos.xmc import Indexer, LabelEmbeddingFactory
from pecos.xmc.xlinear.model import XLinearModel
from scipy.sparse import csc_matrix

from benchmarks.tagging.tagger import Settings


class XrLinear:
    """Labels embedded by their rows (PIFA) and clustered by hierarchical k-means: PECOS' defaults.

    Settings: those of `XLinearModel.train`, such as `threshold`, below which weights are dropped (0.1).
    """

    def __init__(self, settings: Settings, folder: Path) -> None:
        self._settings, self._folder = settings, folder

    def warm_up(self) -> None:
        """Nothing to do."""

    def prepare(self, features: Any, labels: Any) -> None:
        """Give labels the form that PECOS asks for."""
        self._features, self._labels = features, csc_matrix(labels)

    def train(self) -> None:
        """Cluster the labels, then train the classifiers of every level."""
        embedding = LabelEmbeddingFactory.create(self._labels, self._features, method="pifa", threads=1)
        clusters = Indexer.gen(embedding, indexer_type="hierarchicalkmeans", threads=1)
        self._model = XLinearModel.train(self._features, self._labels, C=clusters, threads=1, **self._settings)

    def save(self) -> None:
        """Write the model."""
        self._model.save(str(self._folder))

    def open(self) -> None:
        """Read the model."""
        self._model = XLinearModel.load(str(self._folder), is_predict_only=True)

    def predict(self, features: Any, k: int) -> Any:
        """Return the labels that the beam reaches (10 nodes of a level)."""
        found = self._model.predict(features, only_topk=k, threads=1)
        best = np.full((found.shape[0], k), -1, np.int64)
        for i in range(found.shape[0]):
            place = slice(found.indptr[i], found.indptr[i + 1])
            order = np.argsort(-found.data[place], kind="stable")
            best[i, : len(order)] = found.indices[place][order]
        return best
