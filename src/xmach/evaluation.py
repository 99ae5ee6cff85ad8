"""Evaluation: a predictor's metrics on a dataset, and the choices made on validation rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from xmach.data import Dataset
from xmach.data.labels.filters import answers_to_ask, drop_answers, drop_labels
from xmach.decoding import ESTIMATORS, Candidates
from xmach.errors import InputError
from xmach.metrics import (
    Coverage,
    PaperTable,
    PropensityScored,
    RankingMetrics,
    RecallByFrequency,
    TrueLabels,
    frequency_groups,
    propensities,
)
from xmach.metrics.hits import find_hits
from xmach.metrics.labels import label_pairs
from xmach.metrics.tables import MATCHING, RANKING, needed_scores, paper_values
from xmach.predictor import Predictor
from xmach.types import OnProgress, SparseRows


class Evaluation(NamedTuple):
    """Metrics by name, and the number of rows; docs/metrics.md defines each metric."""

    metrics: dict[str, float]  # weighted, if the rows have weights
    rows: int
    rows_without_labels: int
    unweighted: dict[str, float]  # with equal weights: the same as `metrics` if rows have no weights


def evaluate(
    predictor: Predictor,
    data: Dataset,
    ks: Sequence[int] = (1, 3, 5),
    estimators: Sequence[str | None] = (None,),
    on_progress: OnProgress | None = None,
    left_out: SparseRows | None = None,
    candidates: Candidates | None = None,
) -> list[Evaluation]:
    """Compute every metric of the predictor's answers, one evaluation per estimator, in one pass over the rows.

    None is the predictor's own estimator. Rows have the dataset's weights. `on_progress(done, total)` is called after
    each batch. Labels `left_out` of a row count neither as answers nor as true (see `xmach.data.read_filter`). With
    `candidates` (see `Predictor.top_k`) only those are answers; a true label that is not a candidate counts as missed.
    """
    # Labels unknown to the model are labels without training rows.
    known = predictor.label_counts.dense()
    counts = np.pad(known, (0, max(0, data.n_labels - predictor.n_labels)))
    n_rows = max(1, round(predictor.label_counts.total / predictor.mean_labels))
    chances, groups = propensities(counts, n_rows), frequency_groups(known)
    sums = [
        RankingMetrics(ks, corpus=[Coverage(), PropensityScored(chances), RecallByFrequency(groups)])
        for _ in estimators
    ]
    _add_answers(predictor, data, estimators, sums, on_progress, left_out, candidates)
    return [
        Evaluation(total.result(), total.rows, total.rows_without_labels, total.result(weighted=False))
        for total in sums
    ]


def matching_table(
    predictor: Predictor,
    data: Dataset,
    k: int = 100,
    *,
    candidates: Candidates | None = None,
    estimator: str | None = None,
    as_written: bool = False,
    on_progress: OnProgress | None = None,
) -> PaperTable:
    """Compute the paper's table of matching metrics, over the k best products: MAP, MRR, nDCG and recall.

    Each is given weighted by the dataset's weights, the sessions, and unweighted. `xmach.metrics.representative` draws
    `candidates` like the paper's million. `as_written` uses the formulas of the paper's appendix instead of the usual
    ones (docs/metrics.md).
    """
    sums = RankingMetrics((k,), needed_scores(MATCHING))
    _add_answers(predictor, data, (estimator,), [sums], on_progress, None, candidates)
    return PaperTable(f"matching @{k}", paper_values(sums, MATCHING, as_written), sums.rows)


def ranking_table(
    predictor: Predictor,
    data: Dataset,
    seen: TrueLabels,
    *,
    estimator: str | None = None,
    as_written: bool = False,
    on_progress: OnProgress | None = None,
) -> PaperTable:
    """Compute the paper's table of ranking metrics: purchases ranked against products `seen` but not bought.

    `seen` has the ids for each row of `data`; an id that was also bought is a purchase. Rows without both kinds are
    left out, because there is nothing to rank. A purchase that is unknown to the model counts as missed. If the model
    knows none of all these products, InputError is raised. Weights and `as_written` are as in `matching_table`.
    """
    bought = label_pairs(data.labels)
    negatives = label_pairs(seen)
    if negatives.n_rows != data.n_rows:
        raise InputError(f"seen has {negatives.n_rows} rows, data has {data.n_rows}")
    width = max(data.n_labels, int(negatives.ids.max(initial=0)) + 1)
    true, other = (np.unique(pairs.rows * width + pairs.ids) for pairs in (bought, negatives))
    other = np.setdiff1d(other, true, assume_unique=True)
    ranked = np.intersect1d(true // width, other // width)
    if not len(ranked):
        raise InputError("no row has both a purchase and a product that was seen and not bought: nothing to rank")
    pairs = np.sort(np.concatenate([true, other]))
    pairs = pairs[pairs % width < predictor.n_labels]
    bounds = np.searchsorted(pairs, [ranked * width, (ranked + 1) * width])  # (2, rows)
    candidates = [pairs[start:stop] % width for start, stop in bounds.T.tolist()]
    sums = RankingMetrics((1, max(1, *map(len, candidates))), needed_scores(RANKING))
    _add_answers(predictor, data.take(ranked), (estimator,), [sums], on_progress, None, candidates)
    return PaperTable("ranking", paper_values(sums, RANKING, as_written), sums.rows, data.n_rows - sums.rows)


def settle(predictor: Predictor, validation: Dataset | None, estimator: str) -> tuple[Predictor, dict[str, float]]:
    """Choose the estimator and the multilabel threshold; return the predictor and each estimator's validation P@1.

    `auto` is the estimator with the best P@1 on validation rows, ties broken by P@5; without rows it is `log`.
    """
    if validation is None:
        return replace(predictor, estimator="log" if estimator == "auto" else estimator), {}
    names = ESTIMATORS if estimator == "auto" else (estimator,)
    sums = [RankingMetrics((1, 5), ("precision",)) for _ in names]
    _add_answers(predictor, validation, names, sums)
    precisions = {name: total.result() for name, total in zip(names, sums, strict=True)}
    if estimator == "auto":
        estimator = max(names, key=lambda name: (precisions[name]["precision@1"], precisions[name]["precision@5"]))
    settled = replace(predictor, estimator=estimator)
    if settled.multilabel:
        settled = replace(settled, threshold=choose_threshold(settled, validation))
    return settled, {f"validation precision@1 {name}": values["precision@1"] for name, values in precisions.items()}


def _add_answers(
    predictor: Predictor,
    data: Dataset,
    estimators: Sequence[str | None],
    sums: Sequence[RankingMetrics],
    on_progress: OnProgress | None = None,
    left_out: SparseRows | None = None,
    candidates: Candidates | None = None,
) -> None:
    """Add the answers of each estimator to its sums; bucket probabilities are computed once."""
    if data.n_rows == 0:
        raise InputError("there are no rows to evaluate on")
    rows, labels = predictor.rows(data.features), data.labels
    labels = labels if left_out is None else drop_labels(labels, left_out)
    prepared = None if candidates is None else predictor.decoder.prepare_candidates(candidates, data.n_rows)
    for batch in predictor.batches(rows):
        start, stop = batch.start, batch.stop
        true = labels.slice(start, stop)
        weights = None if data.weights is None else data.weights[start:stop]
        chosen = None if prepared is None else prepared.slice(start, stop)
        out = None if left_out is None else left_out.slice(start, stop)
        for estimator, total in zip(estimators, sums, strict=True):
            k = total.ks[-1]
            asked = k if out is None else answers_to_ask(out, k)
            ids = predictor.best(batch, asked, estimator=estimator, candidates=chosen).ids
            total.update(true, ids if out is None else drop_answers(ids, out, k), weights, exhaustive=True)
        if on_progress is not None:
            on_progress(stop, data.n_rows)


def choose_threshold(predictor: Predictor, validation: Dataset) -> float:
    """Return the lowest score of a predicted label: the one with the best micro F1 on validation rows."""
    k = predictor.candidates
    best = predictor.top_k(validation.features, k)
    hit = find_hits(validation.labels, best.ids, k).places
    order = np.argsort(-best.scores.ravel(), kind="stable")
    true_positives = np.cumsum(hit.ravel()[order])
    f1 = 2.0 * true_positives / (np.arange(1, len(order) + 1) + validation.labels.nnz)
    return float(best.scores.ravel()[order[int(np.argmax(f1))]])
