"""Our own form of Parquet: sparse or dense rows in list columns, sizes and label names in the file's metadata.

`indices` (list<int32>) and `values` (list<float32>) are the features, or `features` (list<float32>) if they are dense.
`labels` is a list of names, or of ids if labels have no names. `label_values` and `weight` exist only if they are not
all 1.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from xmach.data.read.rows import RowError
from xmach.data.read.tables.cells import BadRows
from xmach.data.read.tables.reader import Features
from xmach.types import AnyArray, FloatArray, IntArray

INDICES, VALUES, DENSE, LABELS, LABEL_VALUES, WEIGHT = (
    "indices", "values", "features", "labels", "label_values", "weight",
)  # fmt: skip
_KEY, _NAMES_KEY = b"xmach", b"xmach.label_names"
FORMAT = 1


@dataclass(frozen=True)
class Sizes:
    """The metadata of a file."""

    n_features: int
    n_labels: int
    dense: bool
    label_values: bool
    weights: bool
    label_names: tuple[str, ...] | None = None

    def to_metadata(self) -> dict[bytes, bytes]:
        """Return them as keys and values of a Parquet file."""
        facts = {"format": FORMAT, **asdict(self)}
        names = facts.pop("label_names")
        metadata = {_KEY: json.dumps(facts).encode()}
        return metadata if names is None else metadata | {_NAMES_KEY: json.dumps(names).encode()}

    @classmethod
    def from_metadata(cls, metadata: Mapping[bytes, bytes] | None) -> Sizes | None:
        """Parse `to_metadata`; None if the file was not written by xmach; raises RowError."""
        if metadata is None or _KEY not in metadata:
            return None
        try:
            facts = json.loads(metadata[_KEY])
            version = facts.pop("format")
            names = json.loads(metadata[_NAMES_KEY]) if _NAMES_KEY in metadata else None
            if version != FORMAT:
                raise RowError("unknown format", f"written in format {version}; this version reads format {FORMAT}")
            return cls(**facts, label_names=None if names is None else tuple(map(str, names)))
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise RowError("bad metadata", f"its xmach metadata are damaged: {error}") from None

    def schema(self) -> pa.Schema:
        """The columns of the file."""
        numbers = pa.list_(pa.float32())
        features = [(DENSE, numbers)] if self.dense else [(INDICES, pa.list_(pa.int32())), (VALUES, numbers)]
        fields = [*features, (LABELS, pa.list_(pa.int32() if self.label_names is None else pa.string()))]
        if self.label_values:
            fields.append((LABEL_VALUES, numbers))
        if self.weights:
            fields.append((WEIGHT, pa.float32()))
        return pa.schema(fields)


def sparse_features(indices: pa.ListArray, values: pa.ListArray, n_features: int, bad: BadRows) -> Features:
    """Return the features of sparse rows; indices must ascend within a row and be below d."""
    counts, places = _flat(indices)
    value_counts, numbers = _flat(values)
    _mark_bad(bad, np.flatnonzero(counts != value_counts), "bad features", "the numbers of indices and values differ")
    if bad:
        return Features(counts, np.zeros(0, np.int32), np.zeros(0, np.float32))
    row_of = np.repeat(np.arange(len(counts)), counts)
    wrong = (places < 0) | (places >= n_features)
    _mark_bad(bad, row_of[wrong], "feature index too large", f"a feature index that is not in 0..{n_features - 1}")
    falls = (places[1:] <= places[:-1]) & (row_of[1:] == row_of[:-1])
    _mark_bad(bad, row_of[1:][falls], "bad features", "feature indices must ascend within a row")
    _mark_bad(bad, row_of[~np.isfinite(numbers)], "value not finite", "a feature value that is not finite in float32")
    return Features(counts, np.asarray(places, np.int32), np.asarray(numbers, np.float32))


def dense_features(column: pa.ListArray, n_features: int, bad: BadRows) -> Features:
    """Return the features of dense rows of d numbers."""
    counts, numbers = _flat(column)
    _mark_bad(bad, np.flatnonzero(counts != n_features), "bad features", f"expected {n_features} numbers")
    row_of = np.repeat(np.arange(len(counts)), counts)
    _mark_bad(bad, row_of[~np.isfinite(numbers)], "value not finite", "a feature value that is not finite in float32")
    dense = np.zeros((0, n_features), np.float32) if bad else numbers.reshape(len(counts), n_features)
    nothing = np.zeros(0, np.int32)
    return Features(np.zeros(len(counts), np.int64), nothing, nothing.astype(np.float32), dense.astype(np.float32))


def label_values(column: pa.ListArray, label_counts: IntArray, bad: BadRows) -> FloatArray:
    """Return the counts or weights of labels."""
    counts, numbers = _flat(column)
    _mark_bad(
        bad, np.flatnonzero(counts != label_counts), "bad label values", "the numbers of labels and values differ"
    )
    row_of = np.repeat(np.arange(len(counts)), counts)
    _mark_bad(bad, row_of[~np.isfinite(numbers)], "bad label values", "a label value that is not finite")
    return numbers.astype(np.float32)


def _flat(column: pa.ListArray) -> tuple[IntArray, AnyArray]:
    """Return the number of entries of each row, and all entries; a null list is empty, a null in a list not finite."""
    counts = np.asarray(pc.list_value_length(column).fill_null(0), np.int64)
    values = column.flatten()
    if values.null_count:
        values = values.fill_null(-1 if pa.types.is_integer(values.type) else float("nan"))
    return counts, values.to_numpy(zero_copy_only=False)


def _mark_bad(bad: BadRows, rows: IntArray, reason: str, message: str) -> None:
    for row in rows:
        bad.setdefault(int(row), RowError(reason, message))
