"""MACH itself, as `xmach train` does it on text: one repetition after the other, one thread.

All repetitions are trained once; answering with the first R of them is a contestant of its own (`repetitions`).
"""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.peers.adapter import Settings
from benchmarks.peers.hashing import hashed_rows
from benchmarks.peers.search_data import Training
from xmach.config import LINEAR, MIXED, SOFTMAX, SQUARED_HINGE, MachConfig
from xmach.data import Dataset
from xmach.decoding.estimators import prepare_cells, rule_of
from xmach.errors import ParameterError
from xmach.features import HashedText
from xmach.models import LinearModel
from xmach.planning.proposal import GOOD_REPETITIONS
from xmach.predictor import Predictor
from xmach.store import load
from xmach.training import fit
from xmach.types import BucketModel, FloatArray, IntArray, SparseRows

WEIGHTS = ("none", "products", "sessions", "log sessions")
_TOY = {"n_buckets": 4, "n_repetitions": 2, "n_features": 1000, "bucketing": MIXED}
_TOYS: tuple[Settings, ...] = (
    {"learner": LINEAR, "linear_loss": SQUARED_HINGE},
    {"learner": LINEAR, "linear_loss": SOFTMAX, "passes": 1},
    {"hidden": (4,), "epochs": 1},
)


class Mach:
    """Settings: those of `MachConfig`; `n_features` of the text; `weights` of rows; `title_parts`, rows of some words
    of each title."""

    def __init__(self, settings: Settings, folder: Path) -> None:
        given = dict(settings)
        self._text = HashedText(given.pop("n_features", 80_000))
        self._weights, self._parts = given.pop("weights", "none"), given.pop("title_parts", 0)
        if self._weights not in WEIGHTS:
            raise ParameterError(f"weights must be one of {', '.join(WEIGHTS)}, got {self._weights!r}")
        self._config = MachConfig(**({"n_repetitions": GOOD_REPETITIONS} | given))
        self._folder = folder

    def warm_up(self) -> None:
        """Let the kernels be compiled or read: train on a few rows, and answer them."""
        texts = [f"{colour} {thing}" for colour in ("red", "blue", "green") for thing in ("table", "chair", "lamp")]
        bought = SparseRows(np.arange(10), np.arange(9, dtype=np.int32), np.ones(9, np.float32), 9)
        for settings in _TOYS:
            with tempfile.TemporaryDirectory() as place:
                toy = Mach({**_TOY, **settings}, Path(place))
                toy.prepare(Training(texts, texts, bought, np.ones(9, np.float32)))
                toy.train()
                toy.open({})
                toy.top(texts, 2)
                toy.search_with("pruned")
                toy.top(texts, 2)

    def prepare(self, data: Training) -> None:
        """Hash the texts, weigh the rows."""
        texts, bought, sessions = data.rows(self._parts, self._config.seed)
        weights = {
            "none": None,
            "products": np.diff(bought.indptr).astype(
                np.float32
            ),  # a pair of query and product counts once, as for DSSM
            "sessions": sessions,
            "log sessions": 1 + np.log(sessions),
        }[self._weights]
        self._rows = Dataset(hashed_rows(self._text, texts, self._folder), bought, weights=weights)

    def train(self) -> None:
        """Train what is missing; the processor's seconds of each repetition are kept beside it."""
        model = self._folder / "model"
        for r in range(self._config.n_repetitions):
            begun = time.process_time()
            trained = fit(self._rows, self._config, model, [r], text=self._text, executor="local").trained
            if trained:
                self._seconds(r).write_text(json.dumps(time.process_time() - begun))

    def save(self) -> dict[str, Any]:
        """Each repetition was written when it was done. Says what one has and what each took."""
        models = load(self._folder / "model", verify=False).models
        parameters = sum(_parameters(model) for model in models)
        seconds = [json.loads(self._seconds(r).read_text()) for r in range(self._config.n_repetitions)]
        return {"parameters": parameters, "seconds each": seconds}

    def open(self, answering: Settings) -> None:
        """Map the model, or its first `repetitions`; read it by `estimator`, otherwise log."""
        # checksums would read repetitions that are not asked for
        whole = load(self._folder / "model", verify=False, allow_partial=True)
        first = range(answering.get("repetitions", len(whole.models)))
        self._predictor: Predictor = replace(
            whole,
            models=tuple(whole.models[r] for r in first),
            hashes=whole.hashes.subset(first),
            index=None,
            estimator=answering.get("estimator", "log"),
        )

    def search_with(self, search: str) -> None:
        """Let the decoder search in this way, instead of the one it would choose."""
        self._predictor.decoder.search = search

    def top(self, texts: Sequence[str], k: int) -> IntArray:
        """Decoded from the sketch."""
        return self._predictor.top_k(list(texts), k).ids

    def scores(self, texts: Sequence[str], candidates: SparseRows) -> FloatArray:
        """The estimate of each candidate, from its cells of the sketch."""
        predictor, parts = self._predictor, []
        for batch in predictor.batches(predictor.rows(list(texts))):
            parts.append(candidate_scores(predictor, batch.sketch, candidates.slice(batch.start, batch.stop)))
        return np.concatenate(parts)

    def _seconds(self, repetition: int) -> Path:
        return self._folder / f"seconds-{repetition:03d}.json"


def _parameters(model: BucketModel) -> int:
    """The weights and biases that a model keeps."""
    if isinstance(model, LinearModel):
        return model.n_weights + model.n_buckets
    return sum(array.size for array in model.arrays().values())


def candidate_scores(predictor: Predictor, sketch: FloatArray, candidates: SparseRows) -> FloatArray:
    """The mean over R of each candidate's cells (of their logarithms, for `log`), one a stored value."""
    rule = rule_of(predictor.estimator)
    cells = prepare_cells(np.ascontiguousarray(sketch), rule)  # (n, R, B)
    rows = np.repeat(np.arange(candidates.n_rows), np.diff(candidates.indptr))
    ids = candidates.indices.astype(np.int64)
    read = [cells[rows, r, predictor.hashes.buckets(ids, r)] for r in range(cells.shape[1])]
    merged: FloatArray = np.mean(read, axis=0, dtype=np.float32)
    return merged
