"""Random rows and labels for the tests of profiles and rankers."""

from __future__ import annotations

import numpy as np

from xmach.data.arrays import as_sparse_rows
from xmach.types import SparseRows


def random_rows(draw: np.random.Generator, n_rows: int, n_columns: int, density: float = 0.4) -> SparseRows:
    """Rows of a few round values of both signs, so that sums tie and cancel."""
    chosen = draw.random((n_rows, n_columns)) < density
    return as_sparse_rows((draw.choice([-1.0, 0.5, 1.0, 3.0], (n_rows, n_columns)) * chosen).astype(np.float32))


def random_labels(draw: np.random.Generator, n_rows: int, n_labels: int, density: float = 0.3) -> SparseRows:
    """Label rows with counts; some rows and some labels are empty."""
    chosen = draw.random((n_rows, n_labels)) < density
    chosen[:, draw.random(n_labels) < 0.2] = False
    return as_sparse_rows((draw.choice([1.0, 2.0, 0.5], (n_rows, n_labels)) * chosen).astype(np.float32))
