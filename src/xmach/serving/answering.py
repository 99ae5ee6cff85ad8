"""What is asked of a model, and the answers: several requests' inputs at a time.

Inputs go through the network in batches small enough that each gets the bits it would get alone, and are decoded
together where they ask for the same thing: an answer does not depend on who else asks. All in one thread: the others
are for whoever waits to be taken or refused, and for other workers.
"""

from __future__ import annotations

import json
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from xmach.errors import InputError, XmachError
from xmach.models.network import ROWS_ALIKE
from xmach.serving.model import Served
from xmach.types import FloatArray, IntArray, SparseRows, TopK, row_batches

AT_A_TIME = min(16, ROWS_ALIKE)  # inputs; the predictor would take a second thread for more
AGREES = 10  # a repetition agrees with a label whose bucket is among so many best ones


@dataclass(frozen=True)
class SparseInput:
    """A row of features."""

    indices: Sequence[int]
    values: Sequence[float]


@dataclass(frozen=True)
class Ask:
    """One request: texts or rows, and what is wanted of each."""

    texts: Sequence[str] = ()
    rows: Sequence[SparseInput] = ()
    k: int = 5
    estimator: str | None = None
    candidates: Sequence[Hashable] | None = None  # only these labels
    exclude: Sequence[Hashable] = ()  # none of these
    threshold: float | None = None  # the least score
    probabilities: bool = False
    explain: bool = False

    def __len__(self) -> int:
        return len(self.texts) + len(self.rows)


@dataclass(frozen=True)
class _Wanted:
    """A request as the decoder knows it."""

    first: int  # its first row in the batch
    ask: Ask
    k: int  # with those that will be left out
    candidates: IntArray | None
    exclude: IntArray

    def key(self) -> tuple[Any, ...]:
        """Equal for requests that are decoded together."""
        among = None if self.candidates is None else self.candidates.tobytes()
        return self.k, self.ask.estimator, self.ask.probabilities, among


def answer(served: Served, asks: Sequence[Ask]) -> list[bytes | XmachError]:
    """The body of each request's response, or what is wrong with it."""
    done: list[bytes | XmachError] = [InputError("nothing was asked")] * len(asks)
    texts, rows, wanted = list[str](), list[SparseRows](), dict[int, _Wanted]()
    for i, ask in sorted(enumerate(asks), key=lambda each: not each[1].texts):  # texts first: they are hashed together
        try:
            want = _prepared(served, ask, len(texts) + sum(part.n_rows for part in rows))
            if ask.texts:
                _check_texts(served)
                texts += ask.texts
            else:
                rows.append(as_rows(served, (), ask.rows))
            wanted[i] = want
        except XmachError as error:
            done[i] = error
    results: dict[int, list[dict[str, Any]]] = {i: [] for i in wanted}
    together = joined([*([as_rows(served, texts, ())] if texts else []), *rows], served.predictor.n_features)
    for start, stop in row_batches(together.n_rows, AT_A_TIME):
        sketch = served.predictor.bucket_probabilities(together.slice(start, stop))
        for i, found in _decoded(served, sketch, start, wanted):
            results[i] += found
    for i, found in results.items():
        done[i] = json.dumps({"model": served.version, "results": found}, ensure_ascii=False).encode()
    return done


def _check_texts(served: Served) -> None:
    if served.predictor.text is None:
        raise InputError("this model was not trained on texts: give rows of features ('rows') instead of 'texts'")


def as_rows(served: Served, texts: Sequence[str], rows: Sequence[SparseInput]) -> SparseRows:
    """Inputs as rows of the model's width, not yet scaled."""
    predictor = served.predictor
    if texts:
        _check_texts(served)
        assert predictor.text is not None
        return predictor.text.transform(list(texts))
    return joined([_row(i, row, predictor.n_features) for i, row in enumerate(rows)], predictor.n_features)


def _row(i: int, row: SparseInput, n_features: int) -> SparseRows:
    indices, values = np.array(row.indices, np.int64), np.array(row.values, np.float32)
    if len(indices) != len(values):
        raise InputError(f"row {i} has {len(indices)} indices and {len(values)} values: there must be as many")
    if len(indices) and indices.max() >= n_features:
        raise InputError(f"row {i} has the index {indices.max()}, the model's features are 0 to {n_features - 1}")
    if not np.isfinite(values).all():
        raise InputError(f"row {i} has a value that is too large for 32 bits")
    order = np.argsort(indices, kind="stable")
    columns = indices[order]
    if (columns[1:] == columns[:-1]).any():
        raise InputError(f"row {i} has an index twice")
    return SparseRows(np.array([0, len(order)]), columns.astype(np.int32), values[order], n_features)


def joined(parts: Sequence[SparseRows], n_columns: int) -> SparseRows:
    """Rows below each other."""
    lengths = [np.diff(part.indptr) for part in parts]
    indptr = np.concatenate([np.zeros(1, np.int64), np.cumsum(np.concatenate([np.empty(0, np.int64), *lengths]))])
    indices = np.concatenate([np.empty(0, np.int32), *(part.indices for part in parts)])
    values = np.concatenate([np.empty(0, np.float32), *(part.values for part in parts)])
    return SparseRows(indptr.astype(np.int64), indices.astype(np.int32), values.astype(np.float32), n_columns)


def _prepared(served: Served, ask: Ask, first: int) -> _Wanted:
    exclude = np.unique(served.ids_of(ask.exclude)) if ask.exclude else np.empty(0, np.int64)
    if ask.candidates is None:
        return _Wanted(first, ask, ask.k + len(exclude), None, exclude)
    candidates = np.setdiff1d(served.ids_of(ask.candidates), exclude)
    return _Wanted(first, ask, ask.k, candidates, np.empty(0, np.int64))


def _decoded(
    served: Served, sketch: FloatArray, start: int, wanted: dict[int, _Wanted]
) -> list[tuple[int, list[dict[str, Any]]]]:
    """Results of the requests that have rows in (start, start + n), whose bucket probabilities these are."""
    groups: dict[tuple[Any, ...], list[tuple[int, _Wanted, IntArray]]] = {}
    for i, want in wanted.items():
        first, last = max(want.first, start), min(want.first + len(want.ask), start + len(sketch))
        if first < last:
            groups.setdefault(want.key(), []).append((i, want, np.arange(first, last) - start))
    found = []
    for members in groups.values():
        places, want = np.concatenate([rows for _, _, rows in members]), members[0][1]
        best = _best(served, sketch[places], want)
        best = best._replace(labels=served.predictor.names(best.ids))
        done = 0
        for i, each, rows in members:
            part = slice(done, done + len(rows))
            done += len(rows)
            mine = TopK(best.labels[part], best.scores[part], best.ids[part])
            found.append((i, _results(served, sketch[rows], mine, each)))
    return found


def _best(served: Served, sketch: FloatArray, want: _Wanted) -> TopK:
    """The best labels of rows that ask for the same."""
    if want.candidates is not None and not len(want.candidates):  # all of them are excluded
        nothing = np.empty((len(sketch), 0), np.int64)
        return TopK(nothing, np.empty((len(sketch), 0), np.float32), nothing)
    return served.predictor.decoder.top_k(
        sketch,
        want.k,
        estimator=want.ask.estimator,
        probabilities=want.ask.probabilities,
        threads=1,
        candidates=want.candidates,
    )


def _results(served: Served, sketch: FloatArray, best: TopK, want: _Wanted) -> list[dict[str, Any]]:
    results = []
    for i in range(len(best.ids)):
        kept = best.ids[i] >= 0
        if len(want.exclude):
            kept &= ~np.isin(best.ids[i], want.exclude)
        if want.ask.threshold is not None:
            kept &= best.scores[i] >= want.ask.threshold
        chosen = np.flatnonzero(kept)[: want.ask.k]
        result = {"labels": best.labels[i][chosen].tolist(), "scores": numbers(best.scores[i][chosen])}
        if want.ask.explain:
            result["evidence"] = evidence(served, sketch[i], best.ids[i][chosen])
        results.append(result)
    return results


def evidence(served: Served, sketch: FloatArray, ids: IntArray) -> list[dict[str, Any]]:
    """Of each label its bucket in every repetition, that bucket's probability, and its rank among the B; 1 is best."""
    hashes, (n_repetitions, n_buckets) = served.predictor.hashes, sketch.shape
    buckets = np.stack([hashes.buckets(ids, r) for r in range(n_repetitions)], axis=1)  # (labels, R)
    cells = sketch[np.arange(n_repetitions), buckets]
    rising = np.sort(sketch, axis=1)
    columns = [n_buckets - np.searchsorted(rising[r], cells[:, r], "right") + 1 for r in range(n_repetitions)]
    ranks = np.stack(columns, axis=1)
    return [
        {"buckets": buckets[i].tolist(), "probabilities": numbers(cells[i]), "ranks": ranks[i].tolist()}
        for i in range(len(ids))
    ]


def numbers(values: FloatArray) -> list[float]:
    """float32 with the nine digits that tell them apart, and no more."""
    return [float(f"{value:.9g}") for value in values.tolist()]
