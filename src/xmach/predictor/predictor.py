"""The predictor: featurizer, R bucket models, signatures and decoder. What the store loads and a server serves."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp
from threadpoolctl import ThreadpoolController

from xmach.block_sizes import SKETCH_BYTES, SKETCH_ROWS
from xmach.buckets import Buckets, Index
from xmach.config import SQUARED_HINGE
from xmach.data import LabelCounts
from xmach.data.arrays import as_rows, as_sparse_rows, check_columns
from xmach.data.labels.name_index import NameIndex
from xmach.data.labels.names import LabelNames
from xmach.decoding import Candidates, Decoder, Explanation
from xmach.decoding.candidates import PreparedCandidates, is_per_row
from xmach.decoding.explanation import Evidence, Rival, WordEffect, find_rivals, label_evidence, repetition_evidence
from xmach.errors import InputError, NotEnoughMemory
from xmach.features import Scaler, word_spans
from xmach.models import LinearModel
from xmach.models.network import ROWS_ALIKE
from xmach.parameters import whole
from xmach.planning import usable_cores
from xmach.predictor.second_stage import Batch, SecondStage
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
    nine_digits,
    row_batches,
    slice_rows,
)

_FEW_ROWS = min(16, ROWS_ALIKE)  # so few are not worth a second thread, and each gets the bits it gets alone
_MOST_WORDS = 63  # of a text, whose effect `explain` measures; with the whole text four batches
MACH, RANK = STAGES = ("mach", "rank")  # the sketch's own order; the shortlist ranked anew
DENSE_CELLS = 2**27  # the most entries that `predict_proba` gives: 1 GiB of float64


class Pages(Protocol):
    """Pages of a model that lies in files."""

    def expect(self, rows: Rows) -> None:
        """Hear which rows are answered next."""


@dataclass(frozen=True, repr=False)
class Predictor:
    """A trained model: everything that needs no training.

    `xmach.load` gives one, and a fitted `MACHClassifier` has the same methods. X is a list of texts if the model was
    trained on texts, otherwise an array, a sparse matrix or a DataFrame.
    """

    models: tuple[BucketModel, ...]  # R of them, or fewer where some are missing
    hashes: Buckets  # of just those repetitions
    scaler: Scaler
    label_counts: LabelCounts  # training rows of each label
    label_names: LabelNames | None = None  # (K,); None: labels are called by their ids
    text: TextRows | None = None
    estimator: str = "log"
    threshold: float | None = None  # the least score of a label that `predict` gives in the multilabel case
    multilabel: bool = False
    mean_labels: float = 1.0  # labels a training row
    feature_names: tuple[str, ...] | None = None  # (d,) of the table that was trained on
    index: Index | None = None  # tables that lie beside the model; None: the decoder chooses
    ranking: Ranking | None = None  # the second stage; None: MACH's own order is the answer
    pages: Pages | None = None  # of the files that the models lie in; None: they are in memory

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
        # a model trained on sparse rows takes dense ones as the sparse rows that they are
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

        `stage`: "rank" looks twice at the best labels, if the model has a ranker (the default then); "mach" gives the
        order of the sketch alone. `estimator`: another one than the model's own, for the order of the sketch.
        `probabilities`: scores as estimates of the probability; scores of a ranker always are.
        `include_unseen`: rank labels without a training row like all others.
        `candidates`: rank only these labels, given as names (strings) or ids (integers): a list for all rows, or a list
        of lists, one per row. The result is the full ranking without the other labels; a ranker
        looks twice at all candidates if they are at most as many as a shortlist has. If a row has fewer than k
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
            prepared = self.decoder.prepare_candidates(self._candidate_ids(candidates), rows.shape[0])
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
        """`top_k` for a batch whose sketch is there, with candidates from `decoder.prepare_candidates`; ids only."""
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
        """Whether the ranker decides about the answer."""
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
        """The second stage of another ranking over this model's sketch, as training tries them."""
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
        """How many of the best labels of a row are held against the threshold."""
        return min(self.n_labels, max(10, 5 * round(self.mean_labels)))

    def predict(self, X: Any) -> Any:
        """The best class of each row; multilabel: a sparse 0/1 matrix.

        There the labels whose score reaches the threshold chosen on validation rows; without those the m best, m the
        mean number of labels of a training row.
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
        rows = self.rows(X)
        if rows.shape[0] * self.n_labels > DENSE_CELLS:
            raise NotEnoughMemory(
                f"predict_proba would give {rows.shape[0]} x {self.n_labels} numbers; "
                f"use top_k(X, k), or at most {max(1, DENSE_CELLS // self.n_labels)} rows at a time"
            )
        result = np.empty((rows.shape[0], self.n_labels))
        for batch in self.batches(rows):
            if self._ranks(None, None):
                best = self.best(batch, self.n_labels)
                np.put_along_axis(result[batch.start : batch.stop], best.ids, best.scores, axis=1)
                continue
            unbiased = self.estimator == "mean" and self.calibrated
            scores = self.decoder.scores(batch.sketch, probabilities=unbiased).astype(np.float64)
            if self.estimator == "log":
                scores = np.exp(scores - scores.max(axis=1, keepdims=True))
            result[batch.start : batch.stop] = np.maximum(scores, 0.0)
        known = self.label_counts.seen() if self.ranking is None else self._second_stage.known
        if known is not None:
            result[:, ~known] = 0.0
        result[~result.any(axis=1)] = 1.0
        result /= result.sum(axis=1, keepdims=True)
        return result

    def evidence(self, x: Any, ids: IntArray) -> Evidence:
        """The buckets of labels `ids` (m,) for one text or row: which, how probable, and their ranks."""
        return label_evidence(self.hashes, self.bucket_probabilities(self._one_row(x))[0], ids)

    def explain(self, x: Any, label: Any, *, estimator: str | None = None) -> Explanation:
        """Why a label has its score for one text or row `x`.

        `x` may also be a list with one text, a list of numbers, a pandas Series or a DataFrame with one row.
        `label` is a name as in `top_k(...).labels`. The result has the label's bucket and its probability in every
        repetition, the best labels that share a bucket with it, and for a text the effect of each of its first 63
        words: how much the score falls without it.
        """
        ids = self.ids_of([label])
        if self.text is not None and not isinstance(x, str | SparseRows):
            texts = text_list(x)
            x = texts[0] if len(texts) == 1 else texts
        spans = word_spans(x)[:_MOST_WORDS] if isinstance(x, str) and self.text is not None else []
        shortened = [f"{x[:start]} {x[end:]}" for start, end in spans]
        rows = self.rows([x, *shortened]) if spans else self._one_row(x)
        sketch, scores = self.bucket_probabilities(slice_rows(rows, 0, 1)), list[FloatArray]()
        candidates, parts = self.decoder.prepare_candidates(ids, rows.shape[0]), dict[str, float]()
        for start, stop in row_batches(rows.shape[0], _FEW_ROWS):
            for batch in self.batches(slice_rows(rows, start, stop)):
                best = self.best(batch, 1, estimator=estimator, candidates=candidates, include_unseen=True, threads=1)
                scores.append(best.scores[:, 0])
                if self._ranks(None, estimator) and not parts:
                    parts = self._second_stage.contributions(batch, ids)
        every = np.concatenate(scores)
        repetitions = repetition_evidence(self.hashes, sketch[0], ids)
        best, shared = find_rivals(self.hashes, self.decoder, sketch, int(ids[0]), estimator)
        if self._ranks(None, estimator) and best.ids.size:
            places = {label: place for place, label in enumerate(best.ids[0].tolist())}
            best = self.top_k(slice_rows(rows, 0, 1), len(places), candidates=best.ids[0], include_unseen=True)
            shared = [shared[places[label]] for label in best.ids[0].tolist()]
        rivals = self.names(best.ids[0]).tolist(), nine_digits(best.scores[0]), shared
        return Explanation(
            label=self.names(ids).tolist()[0],
            score=nine_digits(every[:1])[0],
            estimator=estimator or self.ranked_by,
            agreeing=sum(each.agrees for each in repetitions),
            repetitions=repetitions,
            rivals=[Rival(*each) for each in zip(*rivals, strict=True)],
            words=[
                WordEffect(x[start:end], start, end, effect)
                for (start, end), effect in zip(spans, nine_digits(every[0] - every[1:]), strict=True)
            ],
            parts=parts,
        )

    def _one_row(self, x: Any) -> Rows:
        """One text or row as (1, d) rows."""
        if isinstance(x, str) and self.text is None:
            raise InputError("this model was not trained on texts: give a row of features")
        rows = self.rows([x] if isinstance(x, str) else x if self.text is not None else _as_table(x))
        if rows.shape[0] != 1:
            raise InputError(f"x must be one text or row, got {rows.shape[0]} of them")
        return rows

    def batches(self, rows: Rows, threads: int | None = None, *, scaled: bool = False) -> Iterator[Batch]:
        """Consecutive batches of rows with their bucket probabilities; each batch overwrites the one before.

        `scaled`: the rows are scaled already.

        Each thread computes one repetition at a time, with linear algebra on one thread: so a product has the same bits
        whatever the number of cores, and threads of two kinds do not wait for each other's core.
        """
        n_rows, repetitions = rows.shape[0], range(len(self.models))
        size = min(n_rows, self._batch_size)
        sketch = np.empty((size, len(self.models), self.hashes.n_buckets), np.float32)  # (n, R, B)
        for start, stop in row_batches(n_rows, size):
            part, out = rows if size == n_rows else slice_rows(rows, start, stop), sketch[: stop - start]
            if self.pages is not None:
                self.pages.expect(part)
            ready = part if scaled else self.scaler.apply(part)

            def forward(r: int, ready: Rows = ready, out: FloatArray = out) -> None:
                out[:, r] = self.models[r].probabilities(ready)

            workers = 1 if len(out) <= _FEW_ROWS else min(len(self.models), threads or usable_cores())
            with _linear_algebra().limit(limits=1):
                if workers == 1:
                    for r in repetitions:
                        forward(r)
                else:
                    with ThreadPoolExecutor(workers) as pool:
                        list(pool.map(forward, repetitions))
            yield Batch(start, stop, ready, out)

    def names(self, ids: IntArray) -> AnyArray:
        """The label names of ids; None for the id -1, which is no label's."""
        if self.label_names is None:
            return ids
        if not (missing := ids < 0).any():
            return self.label_names[ids]
        named = self.label_names[np.where(missing, 0, ids)].astype(object)
        named[missing] = None
        return named

    def ids_of(self, names: Sequence[Any] | AnyArray) -> IntArray:
        """Return the ids (m,) of label names. Raise `InputError` if a name is not a label, or is shared by two."""
        if isinstance(names, str) or not np.iterable(names):
            raise InputError(f"ids_of takes a list of label names, got {names!r}: put it in a list")
        if self.label_names is None:
            return np.array([whole("a label's name", name, 0, self.n_labels - 1) for name in names], np.int64)
        wanted = names.tolist() if isinstance(names, np.ndarray) else list(names)  # not all as text if one is text
        if not all(isinstance(name, Hashable) for name in wanted):
            raise InputError("ids_of takes a list of label names, not of lists of them")
        found = self._name_index.find(wanted)
        unknown = [name for name in wanted if name not in found]
        if unknown:
            several = f"{len(unknown)} of {len(wanted)} names are not labels; the first is {unknown[0]!r}"
            raise InputError(several if len(wanted) > 1 else f"{unknown[0]!r} is not a label of this model")
        return np.array([found[name] for name in wanted], np.int64)

    def _candidate_ids(self, candidates: Any) -> Any:
        """Candidates with names, which are strings, replaced by their ids."""
        if getattr(candidates, "dtype", np.dtype(object)).kind not in "OUT" or not np.iterable(candidates):
            return candidates
        if isinstance(candidates, str):
            raise InputError(f"candidates must be a list of labels, got {candidates!r}: put it in a list")
        if getattr(candidates, "ndim", 1) > 1:
            candidates = np.asarray(candidates).tolist()
        if not hasattr(candidates, "__getitem__"):
            candidates = list(candidates)
        if isinstance(next(iter(candidates), None), Iterator):  # a generator can be read only once
            candidates = [list(row) for row in candidates]
        if is_per_row(candidates):
            return [self._candidate_ids(row) for row in candidates]
        named = {issubclass(kind, str) for kind in set(map(type, candidates))}
        if len(named) > 1:
            name, other = (next(c for c in candidates if isinstance(c, str) is text) for text in (True, False))
            raise InputError(f"candidates must be all names or all ids, got both: {name!r} and {other!r}")
        return self.ids_of(list(candidates)) if True in named else candidates

    @cached_property
    def _name_index(self) -> NameIndex:
        assert self.label_names is not None
        return NameIndex(self.label_names)

    def __getstate__(self) -> dict[str, Any]:
        """Without the decoder's tables, which are made again when needed; the models travel as arrays in memory."""
        kept = {
            name: value for name, value in vars(self).items() if name not in ("decoder", "_second_stage", "_name_index")
        }
        return kept | {"index": None, "pages": None}

    @property
    def _batch_size(self) -> int:
        return max(1, min(SKETCH_ROWS, SKETCH_BYTES // (4 * len(self.models) * self.hashes.n_buckets)))


@cache
def _linear_algebra() -> ThreadpoolController:
    """The libraries whose threads can be told; looking for them takes milliseconds."""
    return ThreadpoolController()


def _as_table(x: Any) -> Any:
    """One row of numbers (a list, a 1-d array or a pandas Series) as a table with one row; anything else as it is."""
    if hasattr(x, "to_frame") and hasattr(x, "index"):
        return x.to_frame().T  # with the feature names, which are then checked
    if isinstance(x, list | tuple):
        return [x] if len(x) and np.ndim(x[0]) == 0 else x
    return x[None] if isinstance(x, np.ndarray) and x.ndim == 1 else x


def text_list(X: Any) -> list[str]:
    """Texts as a list; only a plain sequence of str will do."""
    if isinstance(X, str | bytes) or not isinstance(X, Iterable) or getattr(X, "ndim", 1) != 1:
        seen = "one text" if isinstance(X, str) else type(X).__name__
        seen += f" of {X.ndim} dimensions" if hasattr(X, "ndim") else ""
        raise InputError(f"X must be a list of texts, got {seen}; put texts in a list, or choose one column")
    return X.to_pylist() if hasattr(X, "to_pylist") else list(X)  # Arrow's own strings are no str


def text_rows(X: Any, text: TextRows) -> SparseRows:
    """Texts as rows."""
    rows = text.transform(text_list(X))
    if rows.n_rows == 0:
        raise InputError("X has no text in it: Found array with 0 sample(s)")
    return rows
