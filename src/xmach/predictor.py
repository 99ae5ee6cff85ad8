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

from xmach.buckets import Buckets, Index
from xmach.data import LabelCounts
from xmach.data.arrays import as_rows, as_sparse_rows, check_columns
from xmach.data.labels.name_index import NameIndex
from xmach.data.labels.names import LabelNames
from xmach.decoding import Candidates, Decoder
from xmach.errors import InputError
from xmach.features import Scaler
from xmach.parameters import whole
from xmach.planning import usable_cores
from xmach.types import (
    AnyArray,
    BucketModel,
    FloatArray,
    IntArray,
    Rows,
    SparseRows,
    TextRows,
    TopK,
    check_k,
    row_batches,
    slice_rows,
)

_BATCH_BYTES = 64 * 2**20  # bucket probabilities held at a time
_FEW_ROWS = 16  # so few are not worth a second thread


class Pages(Protocol):
    """Pages of a model that lies in files."""

    def expect(self, rows: Rows) -> None:
        """Hear which rows are answered next."""


@dataclass(frozen=True)
class Predictor:
    """Answers rows or texts with the k best labels; needs no training code."""

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
    pages: Pages | None = None  # of the files that the models lie in; None: they are in memory

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
        if self.text is None or isinstance(X, SparseRows):
            check_columns(X, self.feature_names)
            rows = as_rows(X, self.n_features)
            if rows.shape[0] == 0:
                raise InputError("X has no rows: Found array with 0 sample(s)")
            # a model trained on sparse rows takes dense ones as the sparse rows that they are
            return rows if self.scaler.kind != "tfidf" else as_sparse_rows(rows)
        return text_rows(X, self.text)

    def bucket_probabilities(self, X: Any) -> FloatArray:
        """The sketch itself: (n, R, B) bucket probabilities."""
        rows = self.rows(X)
        out = np.empty((rows.shape[0], len(self.models), self.hashes.n_buckets), np.float32)
        for start, stop in row_batches(rows.shape[0], self._batch_size):
            self._fill(slice_rows(rows, start, stop), out[start:stop])
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
    ) -> TopK:
        """The k best labels of each row, best first, in bounded memory; labels never trained on come last.

        `candidates`: the best of these ids only, an array for all rows or a list of arrays, one a row; as in the full
        ranking without the others. For names see `ids_of`. Where a row has fewer than k, ids are -1 and names None.
        """
        rows, k = self.rows(X), min(check_k(k), self.n_labels)
        prepared = None if candidates is None else self.decoder.prepare_candidates(candidates, rows.shape[0])
        k = k if prepared is None else min(k, prepared.max_answers)
        scores = np.empty((rows.shape[0], k), np.float32)
        ids = np.empty((rows.shape[0], k), np.int64)
        for start, stop, sketch in self.sketches(rows):
            best = self.decoder.top_k(
                sketch,
                k,
                estimator=estimator,
                probabilities=probabilities,
                include_unseen=include_unseen,
                candidates=None if prepared is None else prepared.slice(start, stop),
            )
            scores[start:stop], ids[start:stop] = best.scores, best.ids
        return TopK(self.names(ids), scores, ids)

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

    def sketches(self, rows: Rows) -> Iterator[tuple[int, int, FloatArray]]:
        """(start, stop, bucket probabilities) of consecutive batches of rows; the next batch takes the place of one."""
        size = min(rows.shape[0], self._batch_size)
        sketch = np.empty((size, len(self.models), self.hashes.n_buckets), np.float32)  # (n, R, B)
        for start, stop in row_batches(rows.shape[0], size):
            self._fill(slice_rows(rows, start, stop), sketch[: stop - start])
            yield start, stop, sketch[: stop - start]

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
        """(m,) the ids of label names, the inverse of `names`; a name that is no label's, or of several, is refused."""
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
            raise InputError(f"{len(unknown)} of {len(wanted)} names are no label's; the first is {unknown[0]!r}")
        return np.array([found[name] for name in wanted], np.int64)

    @cached_property
    def _name_index(self) -> NameIndex:
        assert self.label_names is not None
        return NameIndex(self.label_names)

    def __getstate__(self) -> dict[str, Any]:
        """Without the decoder's tables, which are made again when needed; the models travel as arrays in memory."""
        kept = {name: value for name, value in vars(self).items() if name not in ("decoder", "_name_index")}
        return kept | {"index": None, "pages": None}

    @property
    def _batch_size(self) -> int:
        return max(1, min(4096, _BATCH_BYTES // (4 * len(self.models) * self.hashes.n_buckets)))

    def _fill(self, rows: Rows, sketch: FloatArray) -> None:
        """Write the bucket probabilities of a batch into (n, R, B): a thread a core, each with a repetition at a time.

        Linear algebra on one thread each: so a product has the same bits whatever the number of cores, and threads of
        two kinds do not wait for each other's core. Decoding begins when all are done.
        """
        if self.pages is not None:
            self.pages.expect(rows)
        scaled = self.scaler.apply(rows)

        def forward(r: int) -> None:
            sketch[:, r] = self.models[r].probabilities(scaled)

        repetitions = range(len(self.models))
        workers = 1 if len(sketch) <= _FEW_ROWS else min(len(self.models), usable_cores())
        with _linear_algebra().limit(limits=1):
            if workers == 1:
                for r in repetitions:
                    forward(r)
                return
            with ThreadPoolExecutor(workers) as pool:
                list(pool.map(forward, repetitions))


@cache
def _linear_algebra() -> ThreadpoolController:
    """The libraries whose threads can be told; looking for them takes milliseconds."""
    return ThreadpoolController()


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
