"""Metrics over batches: only sums are kept, so batches may have any size."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

from xmach.errors import InputError, ParameterError
from xmach.metrics.hits import Hits, find_hits
from xmach.metrics.labels import TrueLabels
from xmach.metrics.scores import ROW_SCORES
from xmach.types import DoubleArray, check_k


class CorpusMetric(Protocol):
    """A metric that is not a mean of row scores: it counts labels, or divides sums over all rows."""

    def check(self, hits: Hits) -> None:
        """Raise InputError if rows cannot be scored; called before any metric is updated."""

    def update(self, hits: Hits, ks: Sequence[int], weights: DoubleArray) -> None:
        """Add a batch of rows, with (n,) weights."""

    def result(self, weighted: bool) -> dict[str, float]:
        """Return the values so far, by name."""


class RatioSums:
    """Sums over rows of the gain and of the possible gain, by name, weighted and unweighted."""

    def __init__(self) -> None:
        self._sums: dict[str, DoubleArray] = {}  # (2, 2): weighted and unweighted, gained and possible

    def add(self, name: str, gained: npt.ArrayLike, possible: npt.ArrayLike, weights: DoubleArray) -> None:
        """Add (n,) rows."""
        both = np.array([gained, possible], np.float64)  # (2, n)
        self._sums[name] = self._sums.get(name, 0) + np.stack([(both * weights).sum(axis=1), both.sum(axis=1)])

    def result(self, weighted: bool) -> dict[str, float]:
        """Return the gain divided by the possible gain, by name; 0 if nothing was possible."""
        sums = {name: both[0 if weighted else 1] for name, both in self._sums.items()}
        return {name: float(gained / possible) if possible else 0.0 for name, (gained, possible) in sums.items()}


class RankingMetrics:
    """The chosen row scores and corpus metrics at every k, over the rows of all batches so far."""

    def __init__(
        self,
        ks: Sequence[int] = (1, 3, 5),
        names: Sequence[str] = tuple(ROW_SCORES),
        corpus: Sequence[CorpusMetric] = (),
    ) -> None:
        unknown = [name for name in names if name not in ROW_SCORES]
        if unknown:
            raise ParameterError(f"names must be from {', '.join(ROW_SCORES)}; got {unknown[0]!r}")
        if not len(ks) or not (len(names) or len(corpus)):
            raise ParameterError("ks must not be empty, and names and corpus must not both be empty")
        self.ks = tuple(sorted({check_k(k) for k in ks}))
        self.names = tuple(dict.fromkeys(names))
        self.rows = 0
        self.rows_without_labels = 0
        self._weight = 0.0  # the sum of the rows' weights
        self._means = RatioSums()
        self._corpus = tuple(corpus)

    def update(
        self,
        true: TrueLabels,
        ranked: npt.ArrayLike,
        weights: npt.ArrayLike | None = None,
        *,
        exhaustive: bool = False,
    ) -> None:
        """Add a batch of rows: their labels, (n, m >= max(ks)) ids best first, and weights, by default 1 per row.

        With `exhaustive` the ranking may have fewer than max(ks) places, because there are no more labels.
        """
        places = np.shape(ranked)[1] if exhaustive else self.ks[-1]
        hits = find_hits(true, ranked, min(places, self.ks[-1]))
        weight = _checked_weights(weights, len(hits.n_true))
        for metric in self._corpus:
            metric.check(hits)
        for name in self.names:
            for k in self.ks:
                self._means.add(f"{name}@{k}", ROW_SCORES[name](hits, k), np.ones(len(weight)), weight)
        for metric in self._corpus:
            metric.update(hits, self.ks, weight)
        self.rows += len(weight)
        self.rows_without_labels += int((hits.n_true == 0).sum())
        self._weight += float(weight.sum())

    def result(self, weighted: bool = True) -> dict[str, float]:
        """Return the values, `{"precision@1": ..., ...}`, with the weights given to `update` or with equal weights.

        The weighted mean of recall is the paper's wRecall.
        """
        if not self.rows:
            raise InputError("there are no rows to average over")
        if weighted and not 0 < self._weight < np.inf:
            raise InputError(f"weights must have a positive, finite sum, got {self._weight:g} over {self.rows} rows")
        values = self._means.result(weighted)
        for metric in self._corpus:
            values |= metric.result(weighted)
        return values


def _checked_weights(weights: npt.ArrayLike | None, n_rows: int) -> DoubleArray:
    if weights is None:
        return np.ones(n_rows)
    array = np.asarray(weights)
    if array.shape != (n_rows,):
        raise InputError(f"weights must have one number per row, shape ({n_rows},), got {array.shape}")
    if array.size and array.dtype.kind not in "iuf":
        raise InputError(f"weights must be numbers, got {array.dtype}")
    wrong = ~(np.isfinite(array) & (array >= 0))
    if wrong.any():
        first = int(wrong.argmax())
        raise InputError(f"weights must be finite and at least 0, got {array[first]} in row {first}")
    return array.astype(np.float64)
