"""Made-up rows with Zipf's features: a few in almost every row, most in hardly any, as words are."""

from __future__ import annotations

import numpy as np

from xmach.types import SparseRows


def zipf_rows(n_rows: int, n_columns: int, each: int, seed: int = 0) -> SparseRows:
    """Rows of `each` different columns, drawn with probability 1/rank; a column's number tells nothing of its rank."""
    draw = np.random.default_rng(seed)
    cumulative = np.cumsum(1.0 / np.arange(1, n_columns + 1))
    names = draw.permutation(n_columns)
    rows = []
    for _ in range(n_rows):
        found = np.zeros(0, np.int64)
        while len(found) < each:
            found = np.union1d(found, np.searchsorted(cumulative, draw.random(each) * cumulative[-1]))
        rows.append(np.sort(names[draw.permutation(found)[:each]]))
    values = draw.lognormal(-2.0, 1.0, n_rows * each).astype(np.float32)
    indptr = np.arange(n_rows + 1, dtype=np.int64) * each
    return SparseRows(indptr, np.concatenate(rows).astype(np.int32), values, n_columns)
