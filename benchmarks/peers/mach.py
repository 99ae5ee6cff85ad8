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
from xmach.config import AUTO, LINEAR, MIXED, NONE, SOFTMAX, SQUARED_HINGE, MachConfig
from xmach.data import Dataset, LabelTexts
from xmach.decoding.estimators import prepare_cells, rule_of
from xmach.errors import ParameterError
from xmach.features import HashedText
from xmach.models import LinearModel
from xmach.planning.proposal import GOOD_REPETITIONS
from xmach.predictor import Predictor
from xmach.ranking import Shortlist
from xmach.store import load
from xmach.training import fit
from xmach.types import BucketModel, FloatArray, IntArray, SparseRows

WEIGHTS = ("none", "products", "sessions", "log sessions")
TITLES = ("rows", "text", "both")
_TOY_COPIES = 30  # of each text: a ranker needs 200 rows
_HELD_OUT = (10, 800, 5000)  # one query in ten chooses the ranker's settings, if titles are rows, too; least and most
_TOY = {"n_buckets": 4, "n_repetitions": 2, "n_features": 1000, "bucketing": MIXED}
_TOYS: tuple[Settings, ...] = (
    {"learner": LINEAR, "linear_loss": SQUARED_HINGE},
    {"learner": LINEAR, "linear_loss": SOFTMAX, "passes": 1},
    {"hidden": (4,), "epochs": 1},
    {"titles": "text", "learner": LINEAR, "cost": 1.0, "ranker": LINEAR},
)


class Mach:
    """Settings: those of `MachConfig`; `n_features` of the text; `weights` of rows; `title_parts`, rows of some words
    of each title; `titles`: rows beside the queries, the text of their label (then there is a ranker), or both."""

    def __init__(self, settings: Settings, folder: Path) -> None:
        given = dict(settings)
        self._text = HashedText(given.pop("n_features", 80_000))
        self._weights, self._parts = given.pop("weights", "none"), given.pop("title_parts", 0)
        self._titles = given.pop("titles", "rows")
        for name, value, known in (("weights", self._weights, WEIGHTS), ("titles", self._titles, TITLES)):
            if value not in known:
                raise ParameterError(f"{name} must be one of {', '.join(known)}, got {value!r}")
        ranker = NONE if self._titles == "rows" else AUTO
        defaults: dict[str, Any] = {"n_repetitions": GOOD_REPETITIONS, "ranker": ranker}
        self._config = MachConfig(**(defaults | given))
        self._folder = folder

    def warm_up(self) -> None:
        """Let the kernels be compiled or read: train on a few rows, and answer them."""
        texts = [f"{colour} {thing}" for colour in ("red", "blue", "green") for thing in ("table", "chair", "lamp")]
        n = _TOY_COPIES * len(texts)
        bought = SparseRows(np.arange(n + 1), np.arange(n, dtype=np.int32) % 9, np.ones(n, np.float32), len(texts))
        for settings in _TOYS:
            with tempfile.TemporaryDirectory() as place:
                toy = Mach({**_TOY, **settings}, Path(place))
                toy.prepare(Training(texts, _TOY_COPIES * texts, bought, np.ones(n, np.float32)))
                toy.train()
                toy.open({})
                toy.top(texts, 2)
                toy.search_with("pruned")
                toy.top(texts, 2)

    def prepare(self, data: Training) -> None:
        """Hash the texts, weigh the rows, hold some queries out if titles are rows and texts."""
        texts, bought, sessions = data.rows(self._parts, self._config.seed)
        if self._titles == "text":
            texts, bought, sessions = data.queries, data.bought, data.sessions
        weights = {
            "none": None,
            "products": np.diff(bought.indptr).astype(
                np.float32
            ),  # a pair of query and product counts once, as for DSSM
            "sessions": sessions,
            "log sessions": 1 + np.log(sessions),
        }[self._weights]
        self._rows = Dataset(hashed_rows(self._text, texts, self._folder), bought, weights=weights)
        self._validation: Dataset | None = None
        self._label_text: LabelTexts | None = None
        if self._titles != "rows":
            titles = hashed_rows(self._text, data.titles, self._folder)
            self._label_text = LabelTexts.of(np.arange(len(data.titles)), titles)
        if self._titles == "both":
            self._hold_out(len(data.queries))

    def _hold_out(self, n_queries: int) -> None:
        """Set some queries aside: a title is the text of its own label, so its row would say too much of texts."""
        share, least, most = _HELD_OUT
        order = np.random.default_rng(self._config.seed).permutation(n_queries)
        held_out = np.sort(order[: min(max(n_queries // share, least), most, n_queries // 2)])
        kept = np.setdiff1d(np.arange(self._rows.n_rows), held_out)
        self._rows, self._validation = self._rows.take(kept), self._rows.take(held_out)

    def train(self) -> None:
        """Train what is missing; the processor's seconds of each repetition are kept beside it."""
        model = self._folder / "model"
        for r in range(self._config.n_repetitions):
            begun = time.process_time()
            trained = fit(
                self._rows,
                self._config,
                model,
                [r],
                text=self._text,
                executor="local",
                validation=self._validation,
                label_text=self._label_text,
            ).trained
            if trained:
                self._seconds(r).write_text(json.dumps(time.process_time() - begun))

    def save(self) -> dict[str, Any]:
        """Each repetition was written when it was done. Says what one has and what each took."""
        model = load(self._folder / "model", verify=False)
        parameters = sum(_parameters(each) for each in model.models)
        parameters += 0 if model.ranking is None else model.ranking.n_weights
        seconds = [json.loads(self._seconds(r).read_text()) for r in range(self._config.n_repetitions)]
        return {"parameters": parameters, "seconds each": seconds}

    def open(self, answering: Settings) -> None:
        """Map the model, or its first `repetitions`; read it by `estimator`, otherwise log."""
        # checksums would read repetitions that are not asked for
        whole = load(self._folder / "model", verify=False, allow_partial=True)
        first = range(answering.get("repetitions", len(whole.models)))
        if len(first) < len(whole.models) and whole.ranking is not None:
            raise ParameterError("the ranker's weights are for all repetitions: leave out `repetitions`")
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
        """Decoded from the sketch, and ranked by the ranker if there is one."""
        return self._predictor.top_k(list(texts), k).ids

    def scores(self, texts: Sequence[str], candidates: SparseRows) -> FloatArray:
        """The estimate of each candidate, from its cells of the sketch, or by the ranker."""
        predictor, parts = self._predictor, []
        stage = None if predictor.ranking is None else predictor.second_stage(predictor.ranking)
        for batch in predictor.batches(predictor.rows(list(texts))):
            some = candidates.slice(batch.start, batch.stop)
            if stage is None:
                parts.append(candidate_scores(predictor, batch.sketch, some))
            else:
                parts.append(stage.scores(batch, Shortlist(some.indptr, some.indices.astype(np.int64))))
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
