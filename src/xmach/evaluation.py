"""Evaluation: a predictor's metrics on a dataset, and the choices that are made on validation rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from xmach.data import Dataset
from xmach.decoding import ESTIMATORS
from xmach.errors import InputError
from xmach.metrics import RankingMetrics
from xmach.metrics.hits import find_hits
from xmach.predictor import Predictor


class Evaluation(NamedTuple):
    """Metrics by name, and over how many rows."""

    metrics: dict[str, float]
    rows: int
    rows_without_labels: int


def evaluate(
    predictor: Predictor,
    data: Dataset,
    ks: Sequence[int] = (1, 3, 5),
    estimators: Sequence[str | None] = (None,),
    progress: Callable[[int, int], None] | None = None,
) -> list[Evaluation]:
    """The metrics of the predictor's answers, one evaluation an estimator, all from one pass over the rows.

    None is the predictor's own estimator. Rows carry the dataset's weights. `progress(done, total)` is called now
    and then.
    """
    if data.n_rows == 0:
        raise InputError("there is no row to evaluate on")
    rows = predictor.rows(data.features)
    sums = [RankingMetrics(ks) for _ in estimators]
    for start, stop, sketch in predictor.sketches(rows):
        true = data.labels.slice(start, stop)
        weights = None if data.weights is None else data.weights[start:stop]
        for estimator, total in zip(estimators, sums, strict=True):
            ids = predictor.decoder.top_k(sketch, max(ks), estimator=estimator).ids
            total.update(true, ids, weights, exhaustive=True)
        if progress is not None:
            progress(stop, data.n_rows)
    return [Evaluation(total.result(), total.rows, total.rows_without_labels) for total in sums]


def settle(predictor: Predictor, validation: Dataset | None, estimator: str) -> tuple[Predictor, dict[str, float]]:
    """The predictor with its estimator and multilabel threshold settled, and the validation P@1 of each estimator.

    `auto` is the estimator with the best P@1 on validation rows, at equality the best P@5; without rows it is `log`.
    """
    if validation is None:
        return replace(predictor, estimator="log" if estimator == "auto" else estimator), {}
    names = ESTIMATORS if estimator == "auto" else (estimator,)
    with threadpool_limits(1):  # sums of linear algebra must not depend on the number of threads
        results = dict(zip(names, evaluate(predictor, validation, (1, 5), names), strict=True))
    if estimator == "auto":
        metrics = {name: result.metrics for name, result in results.items()}
        estimator = max(names, key=lambda name: (metrics[name]["precision@1"], metrics[name]["precision@5"]))
    settled = replace(predictor, estimator=estimator)
    if settled.multilabel:
        with threadpool_limits(1):
            settled = replace(settled, threshold=choose_threshold(settled, validation))
    return settled, {
        f"validation precision@1 {name}": result.metrics["precision@1"] for name, result in results.items()
    }


def choose_threshold(predictor: Predictor, validation: Dataset) -> float:
    """The score from which on a label is predicted: the one with the best micro F1 on validation rows."""
    k = predictor.candidates
    best = predictor.top_k(validation.features, k)
    hit = find_hits(validation.labels, best.ids, k).places
    order = np.argsort(-best.scores.ravel(), kind="stable")
    true_positives = np.cumsum(hit.ravel()[order])
    f1 = 2.0 * true_positives / (np.arange(1, len(order) + 1) + validation.labels.nnz)
    return float(best.scores.ravel()[order[int(np.argmax(f1))]])
