"""Requests answered by the predictor, several at a time, as JSON.

Inputs go to the predictor in batches small enough that each gets the bits it would get alone, so an answer does not
depend on the other requests. Everything runs in one thread: the other cores are for accepting and rejecting requests,
and for other workers.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np
import orjson

from xmach.errors import InputError, XmachError
from xmach.models.network import ROWS_ALIKE
from xmach.predictor import Predictor
from xmach.serving.messages import ExplainRequest, PredictRequest, RowMessage
from xmach.serving.model import Served
from xmach.types import IntArray, SparseRows, TopK, nine_digits, row_batches

_NO_TEXTS = "this model was not trained on texts: give rows of features ('rows') instead of 'texts'"


class _Prepared(NamedTuple):
    """A request with checked inputs, and labels as ids."""

    place: int  # among the requests
    request: PredictRequest
    inputs: Sequence[str | SparseRows]  # texts, or rows of one row each
    k: int  # labels to ask for: enough to leave out the excluded ones
    candidates: IntArray | None
    exclude: IntArray

    def key(self) -> Hashable:
        """Requests with equal keys are answered together."""
        candidates = None if self.candidates is None else self.candidates.tobytes()
        return self.request.rows is None, self.k, self.request.estimator, self.request.probabilities, candidates


def answer(served: Served, requests: Sequence[PredictRequest | ExplainRequest]) -> list[bytes | XmachError]:
    """The body of each request's response, or what is wrong with it."""
    bodies: list[bytes | XmachError] = [InputError("nothing was asked")] * len(requests)
    results: dict[int, list[dict[str, Any]]] = {}
    groups: dict[Hashable, list[_Prepared]] = {}
    for i, request in enumerate(requests):
        try:
            if isinstance(request, ExplainRequest):
                bodies[i] = _explanation(served, request)
                continue
            prepared = _prepare(served.predictor, i, request)
        except XmachError as error:
            bodies[i] = error
            continue
        groups.setdefault(prepared.key(), []).append(prepared)
        results[i] = []
    for members in groups.values():
        wanted = members[0].request
        inputs = [(member, each) for member in members for each in member.inputs]
        for start, stop in row_batches(len(inputs), ROWS_ALIKE):
            given: Any = [each for _, each in inputs[start:stop]]
            best = served.predictor.top_k(
                given if wanted.rows is None else _stacked(given),
                members[0].k,
                estimator=wanted.estimator,
                probabilities=wanted.probabilities,
                candidates=members[0].candidates,
                threads=1,
            )
            for row, (member, each) in enumerate(inputs[start:stop]):
                results[member.place].append(_result(served.predictor, member, each, best, row))
    for i, found in results.items():
        bodies[i] = orjson.dumps({"model": served.version, "results": found})
    return bodies


def _prepare(predictor: Predictor, place: int, request: PredictRequest) -> _Prepared:
    """Check a request by itself: an error later would reach all requests that are answered with it."""
    predictor.check_estimate(request.estimator, request.probabilities)
    inputs: Sequence[str | SparseRows] = request.texts or ()
    if request.rows is not None:
        inputs = [_row(i, row, predictor.n_features) for i, row in enumerate(request.rows)]
    elif predictor.text is None:
        raise InputError(_NO_TEXTS)
    exclude = np.unique(predictor.ids_of(request.exclude)) if request.exclude else np.empty(0, np.int64)
    candidates = None if request.candidates is None else np.unique(predictor.ids_of(request.candidates))
    return _Prepared(place, request, inputs, request.k + len(exclude), candidates, exclude)


def _row(i: int, row: RowMessage, n_features: int) -> SparseRows:
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


def _stacked(rows: Sequence[SparseRows]) -> SparseRows:
    """Rows of one row each, below each other."""
    indptr = np.append(0, np.cumsum([row.nnz for row in rows], dtype=np.int64))
    indices, values = np.concatenate([row.indices for row in rows]), np.concatenate([row.values for row in rows])
    return SparseRows(indptr, indices, values, rows[0].n_columns)


def _result(predictor: Predictor, wanted: _Prepared, given: str | SparseRows, best: TopK, row: int) -> dict[str, Any]:
    """What one input is answered."""
    request, labels, scores, ids = wanted.request, best.labels[row], best.scores[row], best.ids[row]
    kept = ids >= 0
    if len(wanted.exclude):
        kept &= ~np.isin(ids, wanted.exclude)
    if request.threshold is not None:
        kept &= scores >= request.threshold
    chosen = np.flatnonzero(kept)[: request.k]
    result = {"labels": labels[chosen].tolist(), "scores": nine_digits(scores[chosen])}
    if request.explain:
        buckets, probabilities, ranks = predictor.evidence(given, ids[chosen])
        result["evidence"] = [
            {"buckets": buckets[i].tolist(), "probabilities": nine_digits(probabilities[i]), "ranks": ranks[i].tolist()}
            for i in range(len(chosen))
        ]
    return result


def _explanation(served: Served, request: ExplainRequest) -> bytes:
    if request.row is None and served.predictor.text is None:
        raise InputError(_NO_TEXTS)
    given = request.text if request.row is None else _row(0, request.row, served.predictor.n_features)
    explained = served.predictor.explain(given, request.label, estimator=request.estimator)
    return orjson.dumps({"model": served.version, **vars(explained)})
