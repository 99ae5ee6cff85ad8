"""A slow twin of the learning of term weights, with dense arrays."""

from __future__ import annotations

from typing import Any

import numpy as np


def learned_weights(
    rows: Any, texts: Any, factors: Any, candidates: list[Any], right: list[Any], sharpness: float, rate: float
) -> Any:
    """One pass over dense rows (n, d), with the texts (K, d) of 0 and 1; weights begin at 1, squares at 0.01."""
    weights, squares = np.ones(rows.shape[1]), np.full(rows.shape[1], 0.01)
    for row, ids, hits in zip(rows, candidates, right, strict=True):
        if not hits.any():
            continue
        parts = texts[ids] * factors[ids, None] * row  # (candidates, d)
        scores = sharpness * (parts @ weights)
        chances = np.exp(scores - scores.max())
        slopes = sharpness * ((chances / chances.sum() - hits / hits.sum()) @ parts)
        moved = slopes != 0.0
        squares[moved] += slopes[moved] ** 2
        weights[moved] -= rate * slopes[moved] / np.sqrt(squares[moved])
    return weights
