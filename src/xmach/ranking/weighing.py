"""The search for the weights of a score's parts, on held-out rows that no part was trained on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from xmach.config import PRECISION, PROPENSITY
from xmach.ranking.fusion import AS_IS, Fusion, Line
from xmach.ranking.shortlist import Shortlist
from xmach.types import BoolArray, DoubleArray, FloatArray, SparseRows

_RANKS = 5  # the first places decide about the weights, without label texts
DEPTH = 100  # with label texts, the first 100 places count: labels are searched for, and users ask for long lists
_DEPTH_SHARE = 2 / 3  # of nDCG@100 in the quality then; with 1/3 recall@100 was half a point lower on Home Depot
_TAIL = 0.1  # share of PSP@5 in the quality: without it rare labels lose, and common ones hardly gain
_FACTORS = (0.0, 0.25, 0.5, 0.71, 1.41, 2.0, 4.0)  # a weight is tried at these multiples
_STARTS = (0.25, 1.0)  # and a weight of 0 at these values
_OFFSETS = {"prior": (0.05, 0.1, 0.2, 0.4), "unseen": (0.5, 1.0, 2.0, 4.0, 8.0)}  # tried with both signs, from 0
_ALWAYS = ("mach", "text")  # always count: held-out rows hardly show the labels that only have a text
_UNSEEN_PENALTY = 1.0  # of a label that no row has shown to be right, in units of the weighted sum
_PENALTY_SHARES = (1.0, 0.75, 0.5, 0.25)
_SKETCH_SHARES = (0.01, 0.02, 0.03, 0.05, 0.1)  # of the sketch's own estimate in the score, if any
_ROUNDS = 4
_LEAST_GAIN = 5e-4  # of the mean quality; a part that brings less is left out
_SURE = 1.0  # standard errors that a gain must exceed: with 0 noise gets a weight, with 1.5 tate loses its profiles
_NEWTON_STEPS = 50
_FLAT = 1e-6  # the least slope of a line; one that is so flat says nothing


class Trial:
    """Held-out rows with their candidates, to weigh the parts on."""

    def __init__(
        self,
        shortlist: Shortlist,
        parts: Mapping[str, FloatArray],
        labels: SparseRows,
        worth: DoubleArray | None = None,
        depth: int = 0,
        row_weights: FloatArray | None = None,
        goal: str = PRECISION,
    ) -> None:
        """`labels` (n, K): those of the rows. `worth` (K,): what finding a label counts in PSP; None: 1 for all.
        `depth`: how many places count in the quality; 0: the first five. `row_weights` (n,): what rows count there.
        `goal`: the quality is precision or propensity-scored precision.
        """
        n_right = np.diff(labels.indptr)
        asked = np.flatnonzero(n_right > 0)
        worth = np.ones(labels.n_columns) if worth is None else worth
        self._parts, self._right, self._n_right = parts, shortlist.are_labels(labels), n_right[asked]
        self._shortlist, self._asked = shortlist, asked
        right = self._right
        own = -np.sort(
            -Shortlist(labels.indptr, labels.indices.astype(np.int64)).table(worth[labels.indices], 0.0)[asked], axis=1
        )
        self._goal = goal
        self._worth = shortlist.table(np.where(right, worth[shortlist.ids], 0.0), 0.0)[asked]
        # the best that rows can reach with their first labels, on average
        self._most = {k: own[:, :k].sum(axis=1).mean() if len(asked) else 1.0 for k in (1, _RANKS)}
        self._tables = {name: shortlist.table(values, -np.inf)[asked] for name, values in parts.items()}
        self._truth = shortlist.table(right, False)[asked]
        self._missing = shortlist.table(np.zeros(len(right), np.float32), -np.inf)[asked]
        self._depth = max(depth, _RANKS)
        shares = np.ones(len(asked)) if row_weights is None else row_weights[asked].astype(np.float64)
        self._shares = shares / shares.mean() if shares.any() else np.ones(len(asked))

    def quality(self, weights: Mapping[str, float]) -> float:
        """Return the mean quality of the rows.

        It is P@1 and nDCG@5 and a tenth PSP@5, or PSP@1 and PSP@5; if many places count, nDCG is most of it.
        """
        return float(self._qualities(weights).mean()) if len(self._n_right) else 0.0

    def _qualities(self, weights: Mapping[str, float]) -> DoubleArray:
        """The quality of each row (n,) by the weighted sum of its parts."""
        total = self._missing.copy()
        for name, weight in weights.items():
            if weight:
                total += np.float32(weight) * np.where(np.isfinite(self._missing), self._tables[name], 0.0)
        return self._judged(total)

    def _judged(self, total: FloatArray) -> DoubleArray:
        """The quality of each row (n,) by a table of scores, times the row's weight; weights are 1 on average."""
        if not total.shape[1]:
            return np.zeros(len(self._n_right))
        k = min(self._depth, total.shape[1])
        top = np.argpartition(-total, k - 1, axis=1)[:, :k]
        order = np.take_along_axis(
            top, np.argsort(-np.take_along_axis(total, top, axis=1), axis=1, kind="stable"), axis=1
        )
        hits = np.take_along_axis(self._truth, order, axis=1)
        worth = np.take_along_axis(self._worth, order[:, :_RANKS], axis=1)
        tail = worth.sum(axis=1) / self._most[_RANKS]
        qualities: DoubleArray
        if self._goal == PROPENSITY:
            qualities = (worth[:, 0] / self._most[1] + tail) / 2
        else:
            both = hits[:, 0] + self._ndcg(hits[:, :_RANKS], _RANKS)
            qualities = (1.0 - _TAIL) / 2 * both + _TAIL * tail
        if self._depth > _RANKS:
            qualities = (1.0 - _DEPTH_SHARE) * qualities + _DEPTH_SHARE * self._ndcg(hits, self._depth)
        return qualities * self._shares

    def _ndcg(self, hits: BoolArray, depth: int) -> DoubleArray:
        """nDCG of each row (n,) whose first places are `hits`."""
        gains = 1.0 / np.log2(np.arange(depth) + 2.0)
        ideal = np.cumsum(gains)[np.minimum(self._n_right, depth) - 1]
        ndcg: DoubleArray = (hits * gains[: hits.shape[1]]).sum(axis=1) / ideal
        return ndcg

    def fit(self) -> tuple[Fusion, float]:
        """Return the best weights found and their quality: one weight at a time, until none gets better."""
        weights = {name: 0.0 if name in _OFFSETS else 1.0 for name in self._parts}
        best = self._qualities(weights)
        for _ in range(_ROUNDS):
            before = weights
            for name in weights:
                for value in _values(name, weights[name]):
                    tried = weights | {name: value}
                    qualities = self._qualities(tried)
                    if _gain(qualities, best) > 0.0:
                        weights, best = tried, qualities
            if weights == before:
                break
        weights, best = self._without_idle_parts(weights, best)
        weights = self._with_chances_of_unseen(weights, best)
        best = self._qualities(weights)
        fusion, best = self._with_sketch(
            self._calibrated(Fusion({n: weight for n, weight in weights.items() if weight})), best
        )
        return fusion, float(best.mean()) if len(best) else 0.0

    def _without_idle_parts(self, weights: dict[str, float], best: DoubleArray) -> tuple[dict[str, float], DoubleArray]:
        """Leave out every part that brings too little to be sure of, the least useful one first."""
        while True:
            without = {
                name: self._qualities(weights | {name: 0.0})
                for name, weight in weights.items()
                if weight and name not in _ALWAYS
            }
            if not without:
                break
            idle = min(without, key=lambda name: _gain(best, without[name]))
            if _gain(best, without[idle]) > _LEAST_GAIN:
                break
            weights, best = weights | {idle: 0.0}, without[idle]
        return weights, best

    def _with_chances_of_unseen(self, weights: dict[str, float], best: DoubleArray) -> dict[str, float]:
        """Let labels without training rows compete by their texts, if no held-out row has such a label.

        Their other parts are low because nothing was learned of them. They get what a right label has more there, as
        far as that does not harm the rows.
        """
        unseen = self._parts.get("unseen", np.zeros(len(self._right), np.float32)) > 0
        if not unseen.any() or not self._right.any() or (unseen & self._right).any():
            return weights
        missing = 0.0
        for name in set(weights) - {"text", "unseen"}:
            values = self._parts[name]
            missing += weights[name] * float(np.median(values[self._right]) - np.median(values[unseen]))
        for share in _PENALTY_SHARES:
            tried = weights | {"unseen": share * max(0.0, missing - _UNSEEN_PENALTY)}
            if _gain(best, self._qualities(tried)) <= _LEAST_GAIN:
                return tried
        return weights

    def _calibrated(self, fusion: Fusion) -> Fusion:
        """Fit both lines by logistic regression of being right: on the weighted sum, and on `mach` alone."""
        slope, intercept = logistic_line(fusion.sums(self._parts).astype(np.float64), self._right)
        sketch = logistic_line(self._parts["mach"].astype(np.float64), self._right)
        return replace(fusion, slope=slope, intercept=intercept, sketch=sketch)

    def _with_sketch(self, fusion: Fusion, best: DoubleArray) -> tuple[Fusion, DoubleArray]:
        """Give the sketch's own estimate a share of the score, if there are label texts.

        It is the largest share that makes the held-out labels likelier and does not surely rank their rows worse. It
        need not rank them better: many texts match what is asked for most, but few of the rows ask for that.
        """
        found = replace(fusion, sketch=AS_IS)
        if "text" not in fusion.weights or fusion.sketch.slope <= _FLAT:
            return found, best
        summed = Line(fusion.slope, fusion.intercept).probabilities(fusion.sums(self._parts))
        least, without = self._likelihood(summed), best
        for share in _SKETCH_SHARES:
            tried = replace(fusion, share=share)
            scores = tried.blended(summed, self._parts)
            qualities = self._judged(self._shortlist.table(scores, -np.inf)[self._asked])
            if self._likelihood(scores) > least and _gain(without, qualities) <= 0.0:
                found, best = tried, qualities
        return found, best

    def _likelihood(self, scores: FloatArray) -> float:
        """The mean logarithm of the probability of what the candidates are."""
        chances = np.clip(scores.astype(np.float64), 1e-12, 1.0 - 1e-7)
        return float(np.log(np.where(self._right, chances, 1.0 - chances)).mean()) if len(chances) else 0.0


def _gain(qualities: DoubleArray, others: DoubleArray) -> float:
    """By how much the mean of `qualities` surely exceeds that of `others`; below 0 if it does not."""
    if not len(qualities):
        return -np.inf
    differences = qualities - others
    return float(differences.mean() - _SURE * differences.std() / np.sqrt(len(differences)))


def _values(name: str, weight: float) -> Sequence[float]:
    """The values to try for a weight."""
    if name in _OFFSETS:
        return [0.0, *_OFFSETS[name], *(-value for value in _OFFSETS[name])]
    return [factor * weight for factor in _FACTORS if factor or name not in _ALWAYS] if weight else _STARTS


def logistic_line(x: DoubleArray, right: BoolArray) -> Line:
    """Return a line with a slope above 0: logistic regression of `right` on `x`, lightly regularised (Newton)."""
    if not len(x) or right.all() or not right.any():
        return AS_IS
    mean, spread = float(x.mean()), float(x.std()) or 1.0
    design = np.column_stack([(x - mean) / spread, np.ones(len(x))])
    theta, ridge = np.zeros(2), np.array([1.0, 1e-6])
    for _ in range(_NEWTON_STEPS):
        chance = 1.0 / (1.0 + np.exp(-np.clip(design @ theta, -60.0, 60.0)))
        gradient = design.T @ (chance - right) + ridge * theta
        weight = chance * (1.0 - chance)
        hessian = (design * weight[:, None]).T @ design + np.diag(ridge)
        step = np.linalg.solve(hessian, gradient)
        theta = theta - np.clip(step, -4.0, 4.0)
        if np.abs(step).max() < 1e-8:
            break
    slope = max(float(theta[0]) / spread, _FLAT)
    return Line(slope, float(theta[1]) - slope * mean)
