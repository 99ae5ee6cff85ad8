"""Slow twin of the kernels in `xmach._kernels.rank.descent`: one label at a time, in Python, with the same bits."""

from __future__ import annotations

import numpy as np

from xmach.ranking.label_rows import LabelRows
from xmach.ranking.label_training import RankerSettings
from xmach.types import FloatArray, SparseRows

_MASK, _GOLDEN = 2**64 - 1, 0x9E3779B97F4A7C15


def mixed_slow(bits: int) -> int:
    """The twin of `mixed`, in Python's integers."""
    bits = (bits ^ bits >> 30) * 0xBF58476D1CE4E5B9 & _MASK
    bits = (bits ^ bits >> 27) * 0x94D049BB133111EB & _MASK
    return bits ^ bits >> 31


class OrderSlow:
    """The twin of `shuffle` and its generator."""

    def __init__(self, seed: int, label: int) -> None:
        self.state = mixed_slow(seed ^ mixed_slow((label + _GOLDEN) & _MASK))

    def shuffle(self, order: list[int], n: int) -> None:
        for i in range(n - 1):
            self.state = (self.state + _GOLDEN) & _MASK
            at = i + ((mixed_slow(self.state) >> 32) * (n - i) >> 32)
            order[i], order[at] = order[at], order[i]


def own_rows(positives: LabelRows, negatives: LabelRows, i: int, cost: float) -> list[tuple[int, float, float]]:
    """The twin of `list_rows`: (row, sign, 1 / (2 C)) of the label at place i."""
    spans = [slice(*lists.starts[i : i + 2]) for lists in (positives, negatives)]
    holds = set(positives.rows[spans[0]].tolist())
    found = []
    for sign, lists, span in ((1.0, positives, spans[0]), (-1.0, negatives, spans[1])):
        rows, weights = lists.rows[span], lists.weights[span] if lists.weighted else np.ones(span.stop - span.start)
        for row, weight in zip(rows.tolist(), weights.tolist(), strict=True):
            if cost * weight > 1e-30 and (sign > 0 or row not in holds):
                found.append((row, sign, 0.5 / (cost * weight)))
        if not found:
            return []
    return found


def dot_slow(rows: SparseRows, row: int, weights: FloatArray) -> np.float32:
    """Four sums in float32, as the kernel adds."""
    columns, values = rows.row(row)
    products, sums = values * weights[columns], np.zeros(4, np.float32)
    whole = len(products) & ~3
    for e, product in enumerate(products):
        sums[e % 4 if e < whole else 0] += product
    return np.float32((sums[0] + sums[1]) + (sums[2] + sums[3]))


def train_label_slow(
    rows: SparseRows, positives: LabelRows, negatives: LabelRows, settings: RankerSettings, seed: int, i: int
) -> tuple[FloatArray, np.float32]:
    """The dense weights and the bias of the label at place i, not pruned."""
    weights, bias = np.zeros(rows.n_columns, np.float32), np.float32(0.0)
    own = own_rows(positives, negatives, i, settings.cost)
    if not own:
        return weights, np.float32(-1.0)
    generator = OrderSlow(seed, positives.first + i)
    duals, order, active, bound = [0.0] * len(own), list(range(len(own))), len(own), np.inf
    norms = [1.0 + sum(float(v) ** 2 for v in rows.row(row)[1]) + ridge for row, _, ridge in own]
    for _ in range(settings.passes):
        generator.shuffle(order, active)
        seen, s = [], 0
        while s < active:
            k = order[s]
            row, sign, ridge = own[k]
            gradient = sign * float(dot_slow(rows, row, weights) + bias) - 1.0 + duals[k] * ridge
            if duals[k] == 0.0 and gradient > bound:
                active -= 1
                order[s], order[active] = order[active], k
                continue
            s += 1
            seen.append(min(gradient, 0.0) if duals[k] == 0.0 else gradient)
            if abs(seen[-1]) > 1e-12:
                old, duals[k] = duals[k], max(duals[k] - gradient / norms[k], 0.0)
                step = np.float32((duals[k] - old) * sign)
                weights[rows.row(row)[0]] += step * rows.row(row)[1]
                bias = np.float32(bias + step)
        top, low = max(seen, default=-np.inf), min(seen, default=np.inf)
        bound = top if top > 0 else np.inf
        if top - low <= settings.epsilon:
            if active == len(own):
                break
            active, bound = len(own), np.inf
    return weights, bias
