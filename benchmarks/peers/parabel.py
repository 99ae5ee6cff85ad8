"""Parabel, by omikuji: label trees with linear classifiers, on the tf-idf rows that MACH has, too."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import omikuji

from benchmarks.peers.adapter import Settings
from benchmarks.peers.hashing import hashed_rows
from benchmarks.peers.search_data import Training
from xmach.data.write.xmc import xmc_header, xmc_text
from xmach.features import HashedText, Scaler, fit_scaler
from xmach.types import FloatArray, IntArray, SparseRows, row_batches

_LINES = 4096  # written at a time


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
        """Write the file that omikuji reads, and let it read it; it refuses rows without features."""
        texts, bought, _ = data.rows()
        features = hashed_rows(self._text, texts, self._folder)
        kept = np.flatnonzero(np.diff(features.indptr))
        self._scaler = fit_scaler(features)
        with self._rows.open("wb") as file:
            file.write(xmc_header(len(kept), features.n_columns, bought.n_columns))
            for start, stop in row_batches(len(kept), _LINES):
                rows = kept[start:stop]
                scaled = self._scaler.apply(features.take(rows))
                assert isinstance(scaled, SparseRows)
                file.write(xmc_text(scaled, bought.take(rows)))
        del features, texts, bought
        self._pool = omikuji._ThreadPoolHandle(1)
        path = omikuji.ffi.new("char[]", str(self._rows).encode())
        data_set = omikuji.lib.load_omikuji_data_set(path, self._pool.ptr)
        if data_set == omikuji.ffi.NULL:
            raise RuntimeError(f"omikuji cannot read {self._rows}")
        self._data = omikuji.ffi.gc(data_set, omikuji.lib.free_omikuji_data_set)

    def train(self) -> None:
        """Grow the trees. (`Model.train_on_data` reads the file in the same call, which could not be timed apart.)"""
        parameters = omikuji.Model.default_hyper_param()
        parameters.n_trees = self._settings.get("trees", 2)
        parameters.min_branch_size = self._settings.get("leaf", 100)
        parameters.linear_max_iter = self._settings.get("epochs", 20)
        model = omikuji.lib.train_omikuji_model(self._data, parameters, self._pool.ptr)
        if model == omikuji.ffi.NULL:
            raise RuntimeError("omikuji failed to train")
        self._model = omikuji.Model(model)

    def save(self) -> dict[str, Any]:
        """The trees and the tf-idf weights; omikuji does not tell its parameters, as the paper does not."""
        self._model_folder.mkdir(exist_ok=True)
        self._model.save(str(self._model_folder))
        assert self._scaler.idf is not None  # hashed texts are counts
        np.save(self._folder / "idf.npy", self._scaler.idf)
        self._rows.unlink()
        return {"parameters": None}

    def open(self, answering: Settings) -> None:
        """Read the trees."""
        self._model = omikuji.Model.load(str(self._model_folder))
        self._model.init_prediction_thread_pool(1)
        self._scaler = Scaler("tfidf", self._text.n_features, np.load(self._folder / "idf.npy"))
        self._beam = answering.get("beam", 10)

    def top(self, texts: Sequence[str], k: int) -> IntArray:
        """The products of the leaves that the beams reach; -1 where these are fewer than k."""
        best = np.full((len(texts), k), -1, np.int64)
        for i, found in enumerate(self._found(texts, k)):
            best[i, : len(found)] = [product for product, _ in found]
        return best

    def scores(self, texts: Sequence[str], candidates: SparseRows) -> FloatArray:
        """The scores of those among all products that the beams reach; 0 of the others."""
        reach = self._beam * self._settings.get("leaf", 100) * self._settings.get("trees", 2)
        scores = np.zeros(candidates.nnz, np.float32)
        for i, found in enumerate(self._found(texts, min(reach, candidates.n_columns))):
            known = dict(found)
            place = slice(*candidates.indptr[i : i + 2])
            scores[place] = [known.get(product, 0.0) for product in candidates.indices[place].tolist()]
        return scores

    def _found(self, texts: Sequence[str], k: int) -> Any:
        rows = self._scaler.apply(self._text.transform(texts))
        assert isinstance(rows, SparseRows)
        for i in range(rows.n_rows):
            columns, values = rows.row(i)
            pairs = list(zip(columns.tolist(), values.tolist(), strict=True))
            yield self._model.predict(pairs, self._beam, k) if pairs else []
