"""A batch's assembly: rows gathered from the data, tf-idf, unit length; Wiki10-31K's shape."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.preprocessing import normalize
from tests.reference.rows import tfidf_rows_slow, unit_rows_slow

from benchmarks.micro.entry import OURS, Entry
from benchmarks.micro.rows import zipf_rows
from xmach._kernels.train.rows import gather_rows, tfidf_rows, unit_rows
from xmach.types import DoubleArray, FloatArray, IntArray

N_ROWS, BATCH, N_FEATURES, EACH = 4000, 128, 101_938, 670


def entries() -> Iterator[Entry]:
    """Rows by chance out of 21 MB. Columns and values are read and written once; each value asks for its idf."""
    rows = zipf_rows(N_ROWS, N_FEATURES, EACH)
    draw = np.random.default_rng(2)
    counts = draw.geometric(0.6, rows.nnz).astype(np.float32)
    idf = 1 + 5 * draw.random(N_FEATURES, dtype=np.float32)
    which: IntArray = draw.permutation(N_ROWS)[:BATCH]
    matrix = sp.csr_matrix((counts, rows.indices, rows.indptr), shape=rows.shape)
    indptr = np.arange(BATCH + 1, dtype=np.int64) * EACH
    columns, values = np.empty(BATCH * EACH, np.int32), np.empty(BATCH * EACH, np.float32)

    def ours() -> FloatArray:
        gather_rows(rows.indptr, rows.indices, counts, which, indptr, columns, values)
        tfidf_rows(columns, values, idf, values)
        unit_rows(indptr, values, values)
        return values

    def twin() -> DoubleArray:
        parts = [slice(rows.indptr[i], rows.indptr[i + 1]) for i in which]
        found, numbers = (np.concatenate([array[part] for part in parts]) for array in (rows.indices, counts))
        return unit_rows_slow(indptr, tfidf_rows_slow(found, numbers, idf).astype(np.float32))

    def obvious() -> Any:
        chosen = matrix[which]
        chosen.data = (1 + np.log(chosen.data)) * idf[chosen.indices]
        return normalize(chosen, copy=False).data

    yield Entry(
        "gather_rows + tfidf_rows + unit_rows", f"{BATCH} rows of {EACH} values", "value", BATCH * EACH,
        {"copy": 16 * BATCH * EACH, "cells": BATCH * EACH},
        {OURS: ours, "NumPy twin": twin, "SciPy rows, log, scikit-learn normalize": obvious},
    )  # fmt: skip
