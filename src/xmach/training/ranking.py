"""Trains the second stage of a model whose repetitions are there: profiles, shortlists, classifiers, fusion.

Each step runs in shards through the executor. With a store, a finished shard is kept until the model is finished, so a
run that is killed resumes after it. Bytes do not depend on how the work was divided.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from xmach.block_sizes import (
    LABEL_SHARDS,
    LEAST_SHARD_LABELS,
    NEGATIVES_BY_PROFILE,
    NEGATIVES_BY_SKETCH,
    POOLED_OCCURRENCES,
    TERM_ROWS,
)
from xmach.config import NONE, PROFILE
from xmach.data import Dataset, LabelTexts
from xmach.data.arrays import as_sparse_rows
from xmach.errors import InputError, Interrupted, NotEnoughMemory, ParameterError
from xmach.executors import Board, Executor, LocalExecutor
from xmach.files import scratch_folder
from xmach.learners import prepare_rows, stream
from xmach.metrics import propensities
from xmach.models.bucket_weights import BucketWeights
from xmach.planning import Plan, negative_step
from xmach.predictor import Predictor
from xmach.ranking import Fusion, LabelWeights, Profiles, Ranking, Shortlist, ShortlistSizes, log_frequencies
from xmach.ranking.fusion import DEPTH, Trial
from xmach.ranking.label_joining import least_bytes as classifier_bytes
from xmach.ranking.label_rows import LabelRows, rows_of_labels, rows_of_parts
from xmach.ranking.label_texts import term_weights, text_part, text_profiles
from xmach.ranking.label_training import RankerSettings
from xmach.ranking.profiles import least_bytes as profile_bytes
from xmach.store import ModelStore
from xmach.training.bucketing import mean_one
from xmach.training.run import ProgressHandler, StageProgress, stopping_on_signals
from xmach.training.shards import (
    Material,
    ProfileShard,
    RankerShard,
    SharedArrays,
    ShortlistShard,
    rows_to_arrays,
    run_shard,
)
from xmach.types import AnyArray, FloatArray, SparseRows

COSTS = (0.3, 1.0, 3.0)  # of the classifiers; held-out rows choose
NEGATIVE_SIZES = ShortlistSizes(mach=NEGATIVES_BY_SKETCH, profile=NEGATIVES_BY_PROFILE)
_LEAST_ROWS, _ROW_SHARDS = 8192, 256  # rows of a shard, at least; shards, at most: each is an open file in the end
_BUDGETED = 2  # parts that share the bytes: profiles and classifiers
_ENTRY_BYTES = 3  # of a profile, at most: a wide gap and a code


@dataclass(frozen=True)
class Choice:
    """What held-out rows decided."""

    fusion: Fusion
    cost: float


class RankingTrainer:
    """Trains the second stage of a model, whose `predictor` knows the sketch, from the rows of the model."""

    def __init__(
        self,
        plan: Plan,
        data: Dataset,
        predictor: Predictor,
        label_text: LabelTexts | None = None,
        *,
        store: ModelStore | None,
        executor: Executor,
        on_progress: ProgressHandler | None,
        label: str = "",
    ) -> None:
        self._plan, self._data, self._predictor = plan, data, predictor
        self._label_text = label_text
        self._store, self._on_progress, self._label = store, on_progress, label
        self._executor = executor if data.labels.nnz > POOLED_OCCURRENCES else LocalExecutor()

    def train(self, validation: Dataset | None, choice: Choice | None) -> tuple[Ranking, Choice]:
        """Train all parts. Without a `choice`, the validation rows make it."""
        board = Board.for_repetitions([0])
        with self._scratch() as scratch, stopping_on_signals(board if self._store is not None else None):
            try:
                return self._train(validation, choice, self._material(board, scratch), scratch)
            finally:
                board.close()

    @contextmanager
    def _scratch(self) -> Iterator[Path | None]:
        """A folder for arrays that worker processes share; None if there are no such processes."""
        if self._executor.workers == 1:
            yield None
            return
        with scratch_folder() as folder:
            yield folder

    def _material(self, board: Board, scratch: Path | None) -> Material:
        data = self._data
        rows, features, scale = prepare_rows(data.features, self._predictor.scaler)
        rows = replace(rows, indices=features[rows.indices])
        data.let_go()
        positives = rows_of_labels(data.labels, 0, data.n_labels, _weights(data))
        return Material(
            rows=_shared(rows_to_arrays(rows), scratch, "rows"),
            n_features=self._plan.n_features,
            scale=scale,
            labels=_shared(rows_to_arrays(data.labels), scratch, "labels"),
            n_labels=data.n_labels,
            positives=_shared(_lists(positives), scratch, "positives"),
            seed=self._plan.seed,
            monitor=board,
            store=self._store,
        )

    def _train(
        self, validation: Dataset | None, choice: Choice | None, material: Material, scratch: Path | None
    ) -> tuple[Ranking, Choice]:
        frequencies = log_frequencies(self._data.label_counts())
        ranking = Ranking(Fusion({"mach": 1.0}), frequencies, texts=self._texts(material))
        ranked = self._plan.ranker != PROFILE and (choice is None or choice.fusion.uses("ranker"))
        if ranked or choice is None or choice.fusion.uses("profile"):
            ranking = replace(ranking, profiles=self._profiles(material))
        if not ranked:
            if choice is None:
                assert validation is not None
                choice = Choice(self._fitted(ranking, validation)[0], 0.0)
            return _with_choice(ranking, choice), choice
        negatives = self._negatives(material, ranking.profiles, scratch)
        if choice is None:
            assert validation is not None
            choice = self._chosen(ranking, validation, material, negatives)
        if choice.fusion.uses("ranker"):
            ranking = replace(ranking, ranker=self._classifiers(material, negatives, choice.cost))
        return _with_choice(ranking, choice), choice

    # --- the parts

    def _profiles(self, material: Material) -> Profiles:
        shards = [ProfileShard(_named("profiles", labels), material, labels) for labels in self._label_ranges()]
        arrays = self._run("label profiles", shards, "labels")
        parts = [BucketWeights.from_arrays(s.labels.start, a) for s, a in zip(shards, arrays, strict=True)]
        with self._explained_budget():
            return Profiles.join(parts, self._plan.n_features, self._data.n_labels, most_bytes=self._bytes())

    def _texts(self, material: Material) -> Profiles | None:
        """The texts of labels as profiles."""
        if self._label_text is None or not len(self._label_text.ids):
            return None
        rows = as_sparse_rows(self._predictor.scaler.apply(self._label_text.rows))
        part = text_part(self._label_text.ids, rows, self._data.n_labels)
        order = stream(self._plan.seed, 0, "term weights").permutation(self._data.n_rows)[:TERM_ROWS]
        own = material.sparse_rows().take(order)
        own = replace(own, values=own.values * np.float32(material.scale))
        weights = term_weights(part, own, self._data.labels.take(order))
        return text_profiles(part, self._plan.n_features, weights)

    def _negatives(self, material: Material, profiles: Profiles | None, scratch: Path | None) -> SharedArrays:
        """The rows that wrongly have each label on their shortlist."""
        assert profiles is not None
        n_rows, store, executor = self._data.n_rows, self._store, self._executor
        step = negative_step(n_rows, self._data.n_labels)
        size = step * max(_LEAST_ROWS, -(-n_rows // (_ROW_SHARDS * step)))  # of a shard, the rows between included
        local = executor.workers == 1 or store is None  # a model in memory is not sent to worker processes
        shared = _shared(profiles.arrays(), None if local else scratch, "profiles")
        shards = [
            ShortlistShard(
                _named("shortlists", rows),
                material,
                rows,
                self._predictor if local or store is None else store.folder,
                shared,
                NEGATIVE_SIZES,
                1 if executor.workers == 1 or not local else executor.workers,
            )
            for start in range(0, n_rows, size)
            for rows in (range(start, min(start + size, n_rows), step),)
        ]
        arrays = self._run("shortlists", shards, "rows", LocalExecutor() if local else executor)
        nothing, n_labels = np.zeros(0, np.float32), self._data.n_labels
        wrong = [SparseRows(each["indptr"], each["ids"], nothing, n_labels) for each in arrays]
        weights = _weights(self._data)
        lists = rows_of_parts(wrong, step, None if weights is None else weights[::step])
        return _shared(_lists(lists), scratch, "negatives")

    def _classifiers(self, material: Material, negatives: SharedArrays, cost: float) -> LabelWeights:
        """The classifiers of all labels."""
        settings = RankerSettings(cost=cost)
        shards = [
            RankerShard(_named(f"classifiers-{cost:g}", labels), material, labels, negatives, settings)
            for labels in self._label_ranges()
        ]
        arrays = self._run("classifiers of labels", shards, "labels")
        parts = [BucketWeights.from_arrays(s.labels.start, a) for s, a in zip(shards, arrays, strict=True)]
        with self._explained_budget():
            return LabelWeights.join(parts, self._plan.n_features, self._data.n_labels, most_bytes=self._bytes())

    def _bytes(self) -> int | None:
        """The bytes that a part may take."""
        return None if self._plan.ranker_bytes is None else self._plan.ranker_bytes // _BUDGETED

    @contextmanager
    def _explained_budget(self) -> Iterator[None]:
        """Let the error of a part that does not fit name the option."""
        try:
            yield
        except (InputError, NotEnoughMemory) as error:
            if self._plan.ranker_bytes is None:
                raise
            raise ParameterError(f"ranker_bytes={self._plan.ranker_bytes} is too little: {error}") from None

    # --- the choice

    def _chosen(self, ranking: Ranking, validation: Dataset, material: Material, negatives: SharedArrays) -> Choice:
        """The cost and the fusion that rank the validation rows best."""
        best: tuple[float, Choice] | None = None
        for cost in COSTS:
            ranking = replace(ranking, ranker=None)  # of the cost before
            ranking = replace(ranking, ranker=self._classifiers(material, negatives, cost))
            fusion, quality = self._fitted(ranking, validation)
            if best is None or quality > best[0]:
                best = quality, Choice(fusion, cost)
        assert best is not None
        return best[1]

    def _fitted(self, ranking: Ranking, validation: Dataset) -> tuple[Fusion, float]:
        """The fusion that ranks the validation rows best, and the quality it reaches."""
        shortlist, parts = self._candidates(ranking, validation)
        worth = 1.0 / propensities(self._data.label_counts().dense(), self._data.n_rows)
        labels = replace(validation.labels, n_columns=max(validation.labels.n_columns, len(worth)))
        depth = 0 if ranking.texts is None else DEPTH
        return Trial(shortlist, parts, labels, worth, depth, validation.weights).fit()

    def _candidates(self, ranking: Ranking, validation: Dataset) -> tuple[Shortlist, dict[str, FloatArray]]:
        """The candidates of the validation rows, and the values of their parts."""
        stage, shortlists, values = self._predictor.second_stage(ranking), [], []
        for batch in self._predictor.batches(self._predictor.rows(validation.features)):
            shortlist = stage.shortlist(batch)
            shortlists.append(shortlist)
            values.append(stage.parts(batch, shortlist))
        return _stacked(shortlists), {name: np.concatenate([each[name] for each in values]) for name in values[0]}

    # --- running shards

    def _label_ranges(self) -> list[range]:
        n_labels = self._data.n_labels
        size = max(LEAST_SHARD_LABELS, -(-n_labels // LABEL_SHARDS))
        return [range(start, min(start + size, n_labels)) for start in range(0, n_labels, size)]

    def _run(
        self,
        stage: str,
        shards: Sequence[ProfileShard | ShortlistShard | RankerShard],
        unit: str,
        executor: Executor | None = None,
    ) -> list[Mapping[str, AnyArray]]:
        """The arrays of all shards, in order."""
        total, done = sum(shard.size for shard in shards), 0
        found: dict[str, Mapping[str, AnyArray] | None] = {}
        for result in (executor or self._executor).run(run_shard, shards):
            if not result.finished:
                continue
            found[result.name], done = result.arrays, done + result.size
            if self._on_progress is not None:
                self._on_progress(StageProgress(f"{self._label}{stage}", done, total, unit))
        if len(found) < len(shards):
            raise Interrupted("stopped while the ranker was trained")
        arrays = []
        for shard in shards:
            kept = found[shard.name]
            if kept is None:
                assert self._store is not None
                kept = self._store.piece(shard.name)
            arrays.append(kept)
        return arrays


def check_ranker_bytes(plan: Plan) -> None:
    """Raise ParameterError if the ranker's files cannot be as small as `ranker_bytes`: before training, not after."""
    if plan.ranker == NONE or plan.ranker_bytes is None:
        return
    n_features, n_labels = plan.n_features, plan.hashes.n_labels
    least = profile_bytes(n_features, n_labels) + _ENTRY_BYTES * n_labels  # each profile keeps its largest entry
    if plan.ranker != PROFILE:
        least = max(least, classifier_bytes(n_labels))
    if plan.ranker_bytes // _BUDGETED < least:
        sizes = f"{n_labels:,} labels and {n_features:,} features"
        raise ParameterError(
            f"ranker_bytes={plan.ranker_bytes} is too little for {sizes}: give at least {_BUDGETED * least}, or train "
            "without a ranker"
        )


def _with_choice(ranking: Ranking, choice: Choice) -> Ranking:
    """The ranking with its weights, without the parts that do not count."""
    fusion = choice.fusion
    return replace(
        ranking,
        fusion=fusion,
        cost=choice.cost,
        profiles=ranking.profiles if fusion.uses("profile") else None,
        ranker=ranking.ranker if fusion.uses("ranker") else None,
        texts=ranking.texts if fusion.uses("text") else None,
    )


def _named(what: str, numbers: range) -> str:
    """The name of a shard: one that another version of xmach made of other labels or rows is not taken for it."""
    return f"{what}-{numbers.start:09d}-{numbers.stop:09d}"


def _weights(data: Dataset) -> FloatArray | None:
    return None if data.weights is None else mean_one(data.weights, data.n_rows)


def _lists(rows: LabelRows) -> dict[str, AnyArray]:
    return {"starts": rows.starts, "rows": rows.rows, "weights": rows.weights}


def _shared(arrays: Mapping[str, AnyArray], scratch: Path | None, name: str) -> SharedArrays:
    return SharedArrays.of(arrays, None if scratch is None else scratch / name)


def _stacked(shortlists: Sequence[Shortlist]) -> Shortlist:
    """The shortlists of consecutive rows as one."""
    lengths = np.concatenate([np.diff(each.indptr) for each in shortlists])
    return Shortlist(np.append(0, np.cumsum(lengths)), np.concatenate([each.ids for each in shortlists]))
