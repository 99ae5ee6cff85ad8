"""Propensity-scored metrics: the rarer a label in training, the more a hit counts (Jain et al., KDD 2016)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from xmach.errors import InputError
from xmach.metrics.hits import Hits, distinct
from xmach.metrics.labels import TrueLabels, label_pairs
from xmach.metrics.scores import discounts, perfect_dcg
from xmach.metrics.sums import RatioSums
from xmach.parameters import real, whole
from xmach.types import DoubleArray, IntArray


def propensities(label_counts: npt.ArrayLike, n_rows: int, a: float = 0.55, b: float = 1.5) -> DoubleArray:
    """Return the probability (K,) that a true label is observed, from its training rows N_l and all N training rows.

    p_l = 1 / (1 + C exp(-A log(N_l + B))), C = (log N - 1)(B + 1)^A, natural logarithms. With fewer than 3 rows
    log N - 1 is negative, and C is set to 0.
    """
    counts = np.asarray(label_counts)
    if counts.ndim != 1 or (counts.size and counts.dtype.kind not in "iuf") or not bool((counts >= 0).all()):
        raise InputError(
            "label_counts must be the number of training rows of each label: one dimension, numbers of at least 0"
        )
    a = real("a", a, 0, np.inf, with_low=True)
    b = real("b", b, 0, np.inf, with_low=False)
    c = max(np.log(whole("n_rows", n_rows, 1)) - 1, 0) * (b + 1) ** a
    chances: DoubleArray = 1 / (1 + c * np.exp(-a * np.log(counts + b)))
    return chances


def own_propensities(true: TrueLabels) -> DoubleArray:
    """Return propensities computed from the evaluated rows themselves, as if they were the training rows."""
    pairs = distinct(label_pairs(true))
    return propensities(np.bincount(pairs.ids), max(1, pairs.n_rows))


class PropensityScored:
    """PSP@k and PSnDCG@k: the gain of all rows divided by the gain of their best rankings."""

    def __init__(self, propensities: npt.ArrayLike) -> None:
        self._propensities = np.asarray(propensities, np.float64)  # (K,)
        if self._propensities.ndim != 1:
            raise InputError(f"propensities must have one number per label, got shape {self._propensities.shape}")
        if not bool(((self._propensities > 0) & (self._propensities <= 1)).all()):
            raise InputError("propensities must be above 0 and at most 1: compute them with xmach.metrics.propensities")
        self._sums = RatioSums()

    def check(self, hits: Hits) -> None:
        """Raise InputError if a label has no propensity."""
        highest, n_labels = int(hits.true.ids.max(initial=-1)), len(self._propensities)
        if highest >= n_labels:
            raise InputError(
                f"true label ids go up to {highest}, but there are {n_labels} propensities: give labels that are "
                "unknown to training the propensity of 0 training rows"
            )

    def update(self, hits: Hits, ks: Sequence[int], weights: DoubleArray) -> None:
        """Add a batch of rows, with (n,) weights."""
        gains = _gains(hits, self._propensities)
        for k in ks:  # hits / k: the k of both sums cancels
            self._sums.add(f"psp@{k}", *gains.within(k), weights)
        discounted = gains.discounted()
        for k in ks:
            gained, possible = discounted.within(k)
            perfect = perfect_dcg(hits, k)
            self._sums.add(f"psndcg@{k}", gained / perfect, possible / perfect, weights)

    def result(self, weighted: bool) -> dict[str, float]:
        """Return `psp@k` and `psndcg@k`."""
        return self._sums.result(weighted)


class _Gains(NamedTuple):
    """The gain at each place of a ranking, and of the best ranking, which has the row's rarest labels first."""

    ranked: DoubleArray  # (n, depth)
    best: DoubleArray  # (nnz,) by ascending row
    rows: IntArray  # (nnz,)
    places: IntArray  # (nnz,) from 0 in each row

    def within(self, k: int) -> tuple[DoubleArray, DoubleArray]:
        """Return the gain (n,) and the possible gain (n,) of the first k places."""
        gained: DoubleArray = self.ranked[:, :k].sum(axis=1)
        possible: DoubleArray = np.bincount(self.rows, self.best * (self.places < k), len(gained)).astype(np.float64)
        return gained, possible

    def discounted(self) -> _Gains:
        """Return the gains with those of later places discounted."""
        discount = discounts(max(self.ranked.shape[1], int(self.places.max(initial=0)) + 1))
        ranked = self.ranked * discount[: self.ranked.shape[1]]
        return self._replace(ranked=ranked, best=self.best * discount[self.places])


def _gains(hits: Hits, chances: DoubleArray) -> _Gains:
    ranked = np.zeros(hits.places.shape)
    ranked[hits.places] = 1 / chances[hits.ids[hits.places]]
    each = 1 / chances[hits.true.ids]
    order = np.lexsort((-each, hits.true.rows))  # rows stay where they are
    first = np.cumsum(hits.n_true) - hits.n_true  # (n,)
    return _Gains(ranked, each[order], hits.true.rows, np.arange(len(each)) - first[hits.true.rows])
