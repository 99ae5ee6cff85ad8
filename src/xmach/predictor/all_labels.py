"""The probabilities of all labels."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from xmach.errors import NotEnoughMemory
from xmach.predictor.second_stage import SecondStage
from xmach.types import DoubleArray, Rows

if TYPE_CHECKING:
    from xmach.predictor.predictor import Predictor

DENSE_CELLS = 2**27  # the most entries that `predict_proba` gives: 1 GiB of float64


def all_probabilities(predictor: Predictor, rows: Rows, stage: SecondStage | None) -> DoubleArray:
    """The (n, K) probabilities of all labels, each row normalised to 1; by the second stage if there is one."""
    n_labels = predictor.n_labels
    if rows.shape[0] * n_labels > DENSE_CELLS:
        raise NotEnoughMemory(
            f"predict_proba would give {rows.shape[0]} x {n_labels} numbers; "
            f"use top_k(X, k), or at most {max(1, DENSE_CELLS // n_labels)} rows at a time"
        )
    result = np.empty((rows.shape[0], n_labels))
    for batch in predictor.batches(rows):
        if stage is not None:
            best = stage.top_k(batch, n_labels, None, include_unseen=False, threads=None)
            np.put_along_axis(result[batch.start : batch.stop], best.ids, best.scores, axis=1)
            continue
        unbiased = predictor.estimator == "mean" and predictor.calibrated
        scores = predictor.decoder.scores(batch.sketch, probabilities=unbiased).astype(np.float64)
        if predictor.estimator == "log":
            scores = np.exp(scores - scores.max(axis=1, keepdims=True))
        result[batch.start : batch.stop] = np.maximum(scores, 0.0)
    known = predictor.label_counts.seen() if stage is None else stage.known
    if known is not None:
        result[:, ~known] = 0.0
    result[~result.any(axis=1)] = 1.0
    result /= result.sum(axis=1, keepdims=True)
    return result
