"""Candidates as pairs of a row and a label, checked before a kernel follows them."""

from __future__ import annotations

import numpy as np

from xmach.errors import InputError
from xmach.models.linear_arrays import read_only
from xmach.types import IntArray


def checked_pairs(indptr: IntArray, ids: IntArray, n_rows: int, n_labels: int) -> tuple[IntArray, IntArray]:
    """Return candidates as the kernels take them: ids[indptr[i]:indptr[i + 1]] for row i.

    Raises InputError if the offsets do not divide the ids among the rows, or an id is not a label.
    """
    indptr, ids = (np.ascontiguousarray(each, np.int64) for each in (indptr, ids))
    if indptr.ndim != 1 or ids.ndim != 1 or len(indptr) != n_rows + 1:
        raise InputError(f"candidates of {n_rows} rows need {n_rows + 1} offsets, got shape {indptr.shape}")
    if indptr[0] != 0 or indptr[-1] != len(ids) or (indptr[1:] < indptr[:-1]).any():
        raise InputError(f"the offsets of the candidates do not rise from 0 to {len(ids)}")
    if len(ids) and not 0 <= ids.min() <= ids.max() < n_labels:
        raise InputError(f"candidates must be label ids from 0 to {n_labels - 1}, got {ids.min()} to {ids.max()}")
    return read_only(indptr), read_only(ids)
