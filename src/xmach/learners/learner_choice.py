"""Linear buckets or a network: both are trained on a sample of the rows, and compared on validation rows.

One repetition each decides. What is compared is the mean of P@1, P@3 and P@5 over its buckets.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from xmach.block_sizes import MOST_HELD_OUT, VALIDATION_ROWS
from xmach.config import LINEAR, NETWORK, LinearSettings, NetworkSettings
from xmach.learners.linear import LinearLearner
from xmach.learners.linear_choice import choose_settings, taken
from xmach.learners.network import stream
from xmach.learners.session import NetworkLearner
from xmach.learners.task import LabelledRows, Learner, Task
from xmach.metrics import RankingMetrics
from xmach.planning import COMPARED_ROWS
from xmach.types import AnyArray, BucketModel, FloatArray, IntArray, Progress, row_batches, slice_rows

_DEPTHS = (1, 3, 5)


def compare_learners(
    network: NetworkSettings, linear: LinearSettings, rows: LabelledRows, validation: LabelledRows, seed: int
) -> dict[str, float]:
    """The mean P@1, 3 and 5 of each learner's buckets on validation rows, by the learner's name."""
    draw = stream(seed, 0, "learners")
    sample, asked = (
        taken(each, np.sort(draw.permutation(each.n_rows)[:most]))
        for each, most in ((rows, COMPARED_ROWS), (validation, MOST_HELD_OUT))
    )
    chosen = choose_settings(linear, sample, asked, seed).settings
    learners: Mapping[str, Learner] = {LINEAR: LinearLearner(chosen), NETWORK: NetworkLearner(network)}
    return {name: _quality(_trained(learner, sample, seed), asked) for name, learner in learners.items()}


def _trained(learner: Learner, rows: LabelledRows, seed: int) -> BucketModel:
    outcome = learner.train(
        Task(
            repetition=rows.repetition,
            seed=seed,
            n_features=rows.features.shape[1],
            n_buckets=rows.hashes.n_buckets,
            rows=rows,
            validation=None,
            monitor=_Unwatched(),
            load_progress=lambda: None,
            save_progress=_forget,
        )
    )
    assert outcome is not None
    return outcome.model


class _Unwatched:
    """A monitor that nobody reads and that never stops the work."""

    def report(self, repetition: int, progress: Progress, part: int = 0) -> None:
        """Say nothing."""

    def should_stop(self) -> bool:
        """Never."""
        return False


def _forget(state: Mapping[str, AnyArray]) -> None:
    """Keep no checkpoint."""


def _quality(model: BucketModel, rows: LabelledRows) -> float:
    """The mean of P@1, P@3 and P@5 if the buckets of a row's labels are its true answers."""
    metrics = RankingMetrics(_DEPTHS, ["precision"])
    for start, stop in row_batches(rows.n_rows, VALIDATION_ROWS):
        labels = rows.labels.slice(start, stop)
        buckets = rows.hashes.buckets(labels.indices, rows.repetition)
        true = [np.unique(buckets[first:last]) for first, last in zip(labels.indptr, labels.indptr[1:], strict=False)]
        scores = model.probabilities(rows.scaler.apply(slice_rows(rows.features, start, stop)))
        metrics.update(true, _best(scores, _DEPTHS[-1]))
    found = metrics.result()
    return sum(found[f"precision@{k}"] for k in _DEPTHS) / len(_DEPTHS)


def _best(scores: FloatArray, k: int) -> IntArray:
    """(n, k or B): the buckets with the best scores, best first."""
    best: IntArray = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    return best
