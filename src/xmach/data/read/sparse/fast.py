"""The fast row parser: compiled, for clean rows; unusual rows are left to `exact`, its slow twin."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from xmach._kernels.parse.sparse_rows import BARRED, parse_rows
from xmach.data.read.lines import Chunk
from xmach.data.read.rows import Batch, Rules, repeats, row_offsets, row_order
from xmach.data.read.sparse.exact import BlankLines, parse_exact
from xmach.types import BoolArray, FloatArray, Int32Array, IntArray

_EXACT_BYTES = 1 << 12  # after an unusual row, the exact parser reads this much


class RowParser:
    """Parses the rows of a file chunk by chunk: clean rows with the fast parser, others with the exact one."""

    def __init__(self, rules: Rules) -> None:
        self._rules = rules
        self._blanks = BlankLines()

    def parse(self, chunk: Chunk) -> Iterator[Batch]:
        """Yield the rows of the next chunk, in order."""
        line, data, start = chunk.first_line, chunk.data, 0
        while start < len(data):
            batch, stop = parse_fast(chunk, self._rules, start)
            if stop > start:
                batch.faults.extend(self._blanks.end())
                yield batch
                line, start = line + len(batch.lines), stop
            if start < len(data):
                stop = data.find(b"\n", min(start + _EXACT_BYTES, len(data)) - 1) + 1
                yield parse_exact(Chunk(line, data[start:stop]), self._rules, self._blanks)
                line, start = line + data.count(b"\n", start, stop), stop
            chunk = Chunk(line, data)


def parse_fast(chunk: Chunk, rules: Rules, start: int = 0) -> tuple[Batch, int]:
    """Parse from byte `start`, which is line `first_line`, up to the first unusual row; also return where it begins."""
    data = np.frombuffer(chunk.data, np.uint8, offset=start)
    n, most = int(np.count_nonzero(data == ord("\n"))), len(data) // 2 + 1
    ends, label_counts, feature_counts = np.empty((3, n), np.int64)
    labels, features, values = np.empty(most, np.int64), np.empty(most, np.int32), np.empty(most, np.float32)
    bounds = rules.form, rules.n_features, rules.n_labels
    n = parse_rows(data, *bounds, ends, label_counts, labels, feature_counts, features, values)
    feature_counts, total = feature_counts[:n], int(feature_counts[:n].sum())
    features, values = features[:total], values[:total]
    if (order := row_order(feature_counts, features)) is not None:
        add = rules.form == BARRED
        n, feature_counts, features, values = _without_repeats(add, feature_counts, features[order], values[order])
    label_counts, labels = label_counts[:n], labels[: label_counts[:n].sum()]
    if (order := row_order(label_counts, labels)) is not None:
        label_counts, labels = _distinct(label_counts, labels[order])
    lines = np.arange(chunk.first_line, chunk.first_line + n)
    stop = start + int(ends[n - 1]) if n else start
    return Batch(lines, label_counts, labels, feature_counts, features, values), stop


def _without_repeats(
    add: bool, counts: IntArray, features: Int32Array, values: FloatArray
) -> tuple[int, IntArray, Int32Array, FloatArray]:
    """Cut sorted rows off before the first with a feature given twice; with `add`, add up the values instead."""
    again = repeats(counts, features)
    if not again.any():
        return len(counts), counts, features, values
    row = np.repeat(np.arange(len(counts)), counts)
    odd = again
    if add:
        values = add_up(values, again)
        features, row, counts = features[~again], row[~again], counts - np.bincount(row[again], minlength=len(counts))
        odd = ~np.isfinite(values)
    n = int(row[odd][0]) if odd.any() else len(counts)
    total = int(row_offsets(counts)[n])
    return n, counts[:n], features[:total], values[:total]


def add_up(values: FloatArray, again: BoolArray) -> FloatArray:
    """Add each value to those after it that are `again` of the same feature, in double precision."""
    with np.errstate(over="ignore"):
        sums: FloatArray = np.bincount(np.cumsum(~again) - 1, values).astype(np.float32)
    return sums


def _distinct(counts: IntArray, labels: IntArray) -> tuple[IntArray, IntArray]:
    """Drop duplicates of sorted labels."""
    again = repeats(counts, labels)
    if again.any():
        row = np.repeat(np.arange(len(counts)), counts)
        counts = counts - np.bincount(row[again], minlength=len(counts))
    return counts, labels[~again]
