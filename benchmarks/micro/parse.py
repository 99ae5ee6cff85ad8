"""Text to arrays: rows of an XMC file without its header."""

from __future__ import annotations

import io
from collections.abc import Iterator

import numpy as np
from sklearn.datasets import load_svmlight_file
from tests.reference.sparse_rows import parse_rows_slow

from benchmarks.micro.entry import OURS, Entry
from benchmarks.micro.rows import zipf_rows
from xmach._kernels.parse.sparse_rows import PLAIN, parse_rows
from xmach.types import FloatArray

N_ROWS, N_FEATURES, EACH, N_LABELS = 300, 135_909, 75, 670_091  # few: the twin computes with fractions


def entries() -> Iterator[Entry]:
    """Everybody parses the same bytes from memory and gives the values. Bound by instructions, not by memory."""
    features, labels = zipf_rows(N_ROWS, N_FEATURES, EACH), zipf_rows(N_ROWS, N_LABELS, 5, seed=1)
    text = bytearray()
    for i in range(N_ROWS):
        tokens = [f"{index}:{value:.6f}" for index, value in zip(*features.row(i), strict=True)]
        text += (",".join(map(str, labels.row(i)[0])) + " " + " ".join(tokens) + "\n").encode()
    data = bytes(text)
    buffer, most = np.frombuffer(data, np.uint8), len(data) // 2 + 1

    def ours() -> FloatArray:
        ends, label_counts, feature_counts = np.empty((3, N_ROWS), np.int64)
        labels, features = np.empty(most, np.int64), np.empty(most, np.int32)
        values = np.empty(most, np.float32)
        arrays = (ends, label_counts, labels, feature_counts, features, values)
        n = parse_rows(buffer, PLAIN, N_FEATURES, N_LABELS, *arrays)
        return values[: feature_counts[:n].sum()]

    def twin() -> FloatArray:
        rows = parse_rows_slow(data, PLAIN, N_FEATURES, N_LABELS)
        return np.array([value for _, _, values in rows for value in values], np.float32)

    def loader() -> FloatArray:
        matrix = load_svmlight_file(io.BytesIO(data), dtype=np.float32, multilabel=True, zero_based=True)[0]
        values: FloatArray = matrix.data
        return values

    yield Entry(
        "parse_rows", f"{N_ROWS} rows of {EACH} values with six decimals, {len(data) // 1000} KB", "byte", len(data),
        {"read": len(data)}, {OURS: ours, "NumPy twin": twin, "scikit-learn svmlight loader": loader}, tolerance=1e-7,
    )  # fmt: skip
