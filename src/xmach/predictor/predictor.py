"""The predictor: featurizer, R bucket models, signatures and decoder. What the store loads and a server serves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from xmach.buckets import Buckets, Index
from xmach.config import SQUARED_HINGE
from xmach.data import LabelCounts
from xmach.data.arrays import as_rows, as_sparse_rows, check_columns
from xmach.data.labels.names import LabelNames
from xmach.decoding import Candidates, Decoder, Explanation
from xmach.decoding.candidates import PreparedCandidates
from xmach.decoding.explanation import Evidence, label_evidence
from xmach.errors import InputError
from xmach.features import Scaler
from xmach.models import LinearModel
from xmach.parameters import whole
from xmach.predictor.all_labels import all_probabilities
from xmach.predictor.explaining import explain, one_row
from xmach.predictor.inputs import text_list
from xmach.predictor.label_lookup import LabelLookup
from xmach.predictor.second_stage import SecondStage
from xmach.predictor.sketching import Batch, Pages, Sketcher
from xmach.ranking import Ranking
from xmach.types import (
    AnyArray,
    BucketModel,
    DoubleArray,
    FloatArray,
    IntArray,
    Rows,
    SparseRows,
    TextRows,
    TopK,
    check_k,
)

MACH, RANK = STAGES = ("mach", "rank")  # the sketch's own order; the shortlist ranked anew


@dataclass(frozen=True, repr=False)
class Predictor:
    """A trained model: everything that needs no training.

    `xmach.load` gives one, and a fitted `MACHClassifier` has the same methods. X is a list of texts if the model was
    trained on texts, otherwise an array, a sparse matrix or a DataFrame.
    """

    models: tuple[BucketModel, ...]  # R of them, or fewer if some are missing
    hashes: Buckets  # of these repetitions only
    scaler: Scaler
    label_counts: LabelCounts  # training rows of each label
    label_names: LabelNames | None = None  # (K,); None: labels are named by their ids
    text: TextRows | None = None
    estimator: str = "log"
    threshold: float | None = None  # the lowest score of a label that `predict` returns for multilabel data
    multilabel: bool = False
    mean_labels: float = 1.0  # labels per training row
    feature_names: tuple[str, ...] | None = None  # (d,) of the table that was trained on
    index: Index | None = None  # tables stored beside the model; None: the decoder chooses
    ranking: Ranking | None = None  # the second stage; None: MACH's own order is the answer
    pages: Pages | None = None  # of the model files; None: the models are in memory

    def __repr__(self) -> str:
        kind = "texts" if self.text is not None else f"{self.n_features:,} features"
        sizes = f"{self.n_labels:,} labels, {len(self.models)} repetitions of {self.hashes.n_buckets:,} buckets"
        return f"<Predictor of {kind}: {sizes}, estimator={self.estimator!r}, multilabel={self.multilabel}>"

    @property
    def n_labels(self) -> int:
        """K."""
        return self.hashes.n_labels

    @property
    def n_features(self) -> int:
        """d."""
        return self.models[0].n_features

    @cached_property
    def decoder(self) -> Decoder:
        """The decoder over this model's signatures."""
        return Decoder(self.hashes, self.estimator, index=self.index or "auto", seen=self.label_counts.seen())

    def rows(self, X: Any) -> Rows:
        """Texts or arrays as rows of the model's width, checked; not yet scaled."""
        if self.text is not None and not isinstance(X, SparseRows):
            rows: Rows = self.text.transform(X if isinstance(X, list) else text_list(X))
            if rows.shape[0] == 0:
                raise InputError("X has no text in it: Found array with 0 sample(s)")
            return rows
        check_columns(X, self.feature_names)
        rows = as_rows(X, self.n_features)
        if rows.shape[0] == 0:
            raise InputError("X has no rows: Found array with 0 sample(s)")
        # a model trained on sparse rows converts dense ones
        return rows if self.scaler.kind != "tfidf" else as_sparse_rows(rows)

    def bucket_probabilities(self, X: Any) -> FloatArray:
        """The sketch itself: (n, R, B) bucket probabilities."""
        rows = self.rows(X)
        out = np.empty((rows.shape[0], len(self.models), self.hashes.n_buckets), np.float32)
        for batch in self.batches(rows):
            out[batch.start : batch.stop] = batch.sketch
        return out

    def top_k(
        self,
        X: Any,
        k: int = 5,
        *,
        estimator: str | None = None,
        probabilities: bool = False,
        include_unseen: bool = False,
        candidates: Candidates | None = None,
        threads: int | None = None,
        stage: str | None = None,
    ) -> TopK:
        """The k best labels of each row, best first, in bounded memory; labels never trained on come last.

        `stage`: "rank" ranks the best labels again, which is the default if the model has a ranker; "mach" gives the
        order of the sketch alone. `estimator`: another one than the model's own, for the order of the sketch.
        `probabilities`: scores as estimates of the probability; scores of a ranker always are.
        `include_unseen`: rank labels without a training row like all others.
        `candidates`: rank only these labels, given as names (strings) or ids (integers): a list for all rows, or a list
        of lists, one per row. The result is the full ranking without the other labels; a ranker
        ranks all candidates if they are at most as many as a shortlist has. If a row has fewer than k
        candidates, the remaining ids are -1 and labels None. For names that are not strings, pass `ids_of(names)`.
        A list has only names or only ids. In a 2-d array of strings, each row holds the names for one row of X.
        `threads`: use at most this many threads (at least 1). The default is one per core.
        """
        rows, k = self.rows(X), min(check_k(k), self.n_labels)
        if threads is not None:
            threads = whole("threads", threads, 1)
        self.check_estimate(estimator, probabilities, stage)
        prepared = None
        if candidates is not None:
            prepared = self.decoder.prepare_candidates(self._labels.candidate_ids(candidates), rows.shape[0])
            k = min(k, prepared.max_answers)
        scores = np.empty((rows.shape[0], k), np.float32)
        ids = np.empty((rows.shape[0], k), np.int64)
        for batch in self.batches(rows, threads):
            best = self.best(
                batch,
                k,
                estimator=estimator,
                probabilities=probabilities,
                include_unseen=include_unseen,
                threads=threads,
                candidates=None if prepared is None else prepared.slice(batch.start, batch.stop),
                stage=stage,
            )
            scores[batch.start : batch.stop], ids[batch.start : batch.stop] = best.scores, best.ids
        return TopK(self.names(ids), scores, ids)

    def best(
        self,
        batch: Batch,
        k: int,
        *,
        estimator: str | None = None,
        probabilities: bool = False,
        include_unseen: bool = False,
        candidates: PreparedCandidates | None = None,
        threads: int | None = None,
        stage: str | None = None,
    ) -> TopK:
        """`top_k` for a batch with its sketch, and candidates from `decoder.prepare_candidates`; ids only."""
        if self._ranks(stage, estimator):
            return self._second_stage.top_k(batch, k, candidates, include_unseen, threads)
        return self.decoder.top_k(
            batch.sketch,
            k,
            estimator=estimator,
            probabilities=probabilities,
            include_unseen=include_unseen,
            threads=threads,
            candidates=candidates,
        )

    def _ranks(self, stage: str | None, estimator: str | None) -> bool:
        """Whether the ranker orders the answer."""
        if stage not in (None, *STAGES):
            raise InputError(f"stage must be one of {', '.join(STAGES)}, got {stage!r}")
        if stage == RANK and self.ranking is None:
            raise InputError("this model has no ranker: leave out stage='rank', or train it with one")
        if stage == RANK and estimator is not None:
            raise InputError("an estimator orders the sketch; leave out stage='rank', or estimator")
        return self.ranking is not None and stage != MACH and estimator is None

    @property
    def ranked_by(self) -> str:
        """What orders the answers unless the caller says otherwise: "rank", the ranker, or the sketch's estimator."""
        return self.estimator if self.ranking is None else RANK

    @cached_property
    def _second_stage(self) -> SecondStage:
        assert self.ranking is not None
        return self.second_stage(self.ranking)

    def second_stage(self, ranking: Ranking) -> SecondStage:
        """The second stage of another ranking over this model's sketch, for training to compare them."""
        return SecondStage(self.decoder, ranking, ranking.known(self.label_counts.seen()))

    def check_estimate(self, estimator: str | None, probabilities: bool, stage: str | None = None) -> None:
        """Raise `InputError` if the model cannot estimate probabilities with this estimator (None: its own)."""
        if self._ranks(stage, estimator):
            return
        if probabilities and (estimator or self.estimator) == "mean" and not self.calibrated:
            raise InputError(
                "bucket scores of the squared hinge are not probabilities, so the unbiased estimate does not exist: "
                "leave out probabilities=True, use another estimator, or train with linear_loss='logistic'"
            )

    @property
    def calibrated(self) -> bool:
        """Whether bucket probabilities estimate probabilities; those of the squared hinge only rank buckets."""
        return not any(isinstance(model, LinearModel) and model.loss == SQUARED_HINGE for model in self.models)

    @property
    def candidates(self) -> int:
        """How many of the best labels of a row `predict` compares with the threshold."""
        return min(self.n_labels, max(10, 5 * round(self.mean_labels)))

    def predict(self, X: Any) -> Any:
        """The best class of each row; multilabel: a sparse 0/1 matrix.

        It has the labels whose score reaches the threshold that was chosen on validation rows. Without validation
        rows it has the m best labels, where m is the mean number of labels per training row.
        """
        if not self.multilabel:
            return self.top_k(X, 1).labels[:, 0]
        if self.threshold is None:
            best = self.top_k(X, max(1, round(self.mean_labels)))
            kept = np.ones(best.ids.shape, np.bool_)
        else:
            best = self.top_k(X, self.candidates)
            kept = best.scores >= self.threshold
        rows = np.nonzero(kept)[0]
        shape = (len(best.ids), self.n_labels)
        return sp.csr_matrix((np.ones(len(rows), np.int64), (rows, best.ids[kept])), shape=shape)

    def predict_proba(self, X: Any) -> DoubleArray:
        """The (n, K) probabilities of all labels, each row normalised to 1. For many labels use `top_k`."""
        return all_probabilities(self, self.rows(X), None if self.ranking is None else self._second_stage)

    def evidence(self, x: Any, ids: IntArray) -> Evidence:
        """The buckets of labels `ids` (m,) for one text or row: which, how probable, and their ranks."""
        return label_evidence(self.hashes, self.bucket_probabilities(one_row(self, x))[0], ids)

    def explain(self, x: Any, label: Any, *, estimator: str | None = None) -> Explanation:
        """Why a label has its score for one text or row `x`.

        `x` may also be a list with one text, a list of numbers, a pandas Series or a DataFrame with one row.
        `label` is a name as in `top_k(...).labels`. The result has the label's bucket and its probability in every
        repetition, the best labels that share a bucket with it, and for a text the effect of each of its first 63
        words: how much the score falls without it.
        """
        ids = self.ids_of([label])
        return explain(self, x, ids, estimator, self._second_stage if self._ranks(None, estimator) else None)

    def batches(self, rows: Rows, threads: int | None = None, *, scaled: bool = False) -> Iterator[Batch]:
        """Consecutive batches of rows with their bucket probabilities; each batch overwrites the one before.

        `scaled`: the rows are scaled already.
        """
        sketcher = Sketcher(self.models, self.hashes.n_buckets, self.scaler, self.pages)
        return sketcher.batches(rows, threads, scaled=scaled)

    @cached_property
    def _labels(self) -> LabelLookup:
        return LabelLookup(self.label_names, self.n_labels)

    def names(self, ids: IntArray) -> AnyArray:
        """The label names of ids; None for the id -1, which means that there is no label."""
        return self._labels.names(ids)

    def ids_of(self, names: Sequence[Any] | AnyArray) -> IntArray:
        """Return the ids (m,) of label names. Raise `InputError` if a name is not a label, or is shared by two."""
        return self._labels.ids_of(names)

    def __getstate__(self) -> dict[str, Any]:
        """The state without the decoder's tables, which are rebuilt when needed; models are pickled as arrays."""
        rebuilt = ("decoder", "_second_stage", "_labels")
        kept = {name: value for name, value in vars(self).items() if name not in rebuilt}
        return kept | {"index": None, "pages": None}
