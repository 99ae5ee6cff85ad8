"""Means of row scores over batches: what is kept is sums, so rows may come in any portions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from xmach.errors import InputError, ParameterError
from xmach.metrics.hits import find_hits
from xmach.metrics.labels import TrueLabels
from xmach.metrics.scores import ROW_SCORES
from xmach.types import DoubleArray, check_k


class RankingMetrics:
    """The chosen scores at every k, over the rows of all batches given so far."""

    def __init__(self, ks: Sequence[int] = (1, 3, 5), names: Sequence[str] = tuple(ROW_SCORES)) -> None:
        unknown = [name for name in names if name not in ROW_SCORES]
        if unknown:
            raise ParameterError(f"names must be among {', '.join(ROW_SCORES)}, got {unknown[0]!r}")
        if not len(ks) or not len(names):
            raise ParameterError("ks and names must have at least one entry each")
        self.ks = tuple(sorted({check_k(k) for k in ks}))
        self.names = tuple(dict.fromkeys(names))
        self.rows = 0
        self.rows_without_labels = 0
        self._weight = 0.0  # the sum of the rows' weights
        self._plain = np.zeros((len(self.names), len(self.ks)))
        self._weighted = np.zeros((len(self.names), len(self.ks)))

    def update(
        self,
        true: TrueLabels,
        ranked: npt.ArrayLike,
        weights: npt.ArrayLike | None = None,
        *,
        exhaustive: bool = False,
    ) -> None:
        """Add a batch of rows: their labels, (n, m >= max(ks)) ids best first, and weights, by default 1 a row.

        `exhaustive`: the ranking may have fewer than max(ks) places, because there are no more labels.
        """
        places = np.shape(ranked)[1] if exhaustive else self.ks[-1]
        hits = find_hits(true, ranked, min(places, self.ks[-1]))
        weight = _checked_weights(weights, len(hits.n_true))
        for i, name in enumerate(self.names):
            for j, k in enumerate(self.ks):
                scores = ROW_SCORES[name](hits, k)  # (n,)
                self._plain[i, j] += scores.sum()
                self._weighted[i, j] += (scores * weight).sum()
        self.rows += len(weight)
        self.rows_without_labels += int((hits.n_true == 0).sum())
        self._weight += float(weight.sum())

    def result(self, weighted: bool = True) -> dict[str, float]:
        """The means, `{"precision@1": ..., ...}`, by the weights given to `update` or, if not weighted, of rows alike.

        The weighted mean of recall is the paper's wRecall.
        """
        if not self.rows:
            raise InputError("there are no rows to average over")
        if weighted and not 0 < self._weight < np.inf:
            raise InputError(f"weights must have a positive, finite sum, got {self._weight:g} over {self.rows} rows")
        means = self._weighted / self._weight if weighted else self._plain / self.rows
        return {f"{name}@{k}": float(means[i, j]) for i, name in enumerate(self.names) for j, k in enumerate(self.ks)}


def _checked_weights(weights: npt.ArrayLike | None, n_rows: int) -> DoubleArray:
    if weights is None:
        return np.ones(n_rows)
    array = np.asarray(weights)
    if array.shape != (n_rows,):
        raise InputError(f"weights must have one number a row, shape ({n_rows},), got {array.shape}")
    if array.size and array.dtype.kind not in "iuf":
        raise InputError(f"weights must be numbers, got {array.dtype}")
    wrong = ~(np.isfinite(array) & (array >= 0))
    if wrong.any():
        first = int(wrong.argmax())
        raise InputError(f"weights must be finite and at least 0, got {array[first]} in row {first}")
    return array.astype(np.float64)
