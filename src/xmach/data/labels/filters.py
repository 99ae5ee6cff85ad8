"""The XMC repository's `filter_labels_test.txt`: pairs of row and label that evaluation must leave out.

Datasets whose rows and labels are the same items (a product and the products bought with it) have such a file: the
label that is the row itself counts neither as an answer nor as true. Every line is `row label`, both counted from 0.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import numpy as np

from xmach.data.read.lines import line_chunks
from xmach.data.read.rows import whole_number
from xmach.errors import DataFileError, InputError
from xmach.types import BoolArray, IntArray, SparseRows

_PAIR = re.compile(rb"[ \t]*([0-9]+)[ \t]+([0-9]+)[ \t]*\r?")


def read_filter(path: str | os.PathLike[str], n_rows: int, n_labels: int) -> SparseRows:
    """Read the labels to leave out of each row; pairs may repeat, and the file may be empty."""
    pairs: list[tuple[int, int]] = []
    for chunk in line_chunks(Path(path)):
        for line, raw in enumerate(chunk.data.split(b"\n")[:-1], chunk.first_line):
            if not raw.strip(b" \t\r"):
                continue
            match = _PAIR.fullmatch(raw)
            if match is None:
                seen = raw[:60].decode("utf-8", "replace")
                message = f"{seen!r} is not a pair; expected a row and a label, two whole numbers"
                raise DataFileError(os.fspath(path), line, message)
            pair = whole_number(match[1].decode()), whole_number(match[2].decode())
            for number, size, what in zip(pair, (n_rows, n_labels), ("row", "label"), strict=True):
                if number >= size:
                    message = f"{what} {number}: there are {size} {what}s, so the last is {size - 1}"
                    raise DataFileError(os.fspath(path), line, message)
            pairs.append(pair)
    distinct = np.unique(np.array(pairs, np.int64).reshape(-1, 2), axis=0)  # (m, 2) by row, then label
    indptr = np.searchsorted(distinct[:, 0], np.arange(n_rows + 1)).astype(np.int64)
    return SparseRows(indptr, distinct[:, 1].astype(np.int32), np.ones(len(distinct), np.float32), n_labels)


def answers_to_ask(filtered: SparseRows, k: int) -> int:
    """Return the number of answers per row that leaves k after the filtered ones are dropped."""
    return min(k + int(np.diff(filtered.indptr).max(initial=0)), max(k, filtered.n_columns))


def drop_answers(ids: IntArray, filtered: SparseRows, k: int) -> IntArray:
    """Return the best k of m ids (n, k), best first, without the filtered ones; -1 if fewer than k remain."""
    if len(ids) != filtered.n_rows:
        raise InputError(f"there are {len(ids)} rows of answers but {filtered.n_rows} rows in the filter")
    rows = np.broadcast_to(np.arange(len(ids))[:, None], ids.shape)
    dropped = (ids < 0) | _is_filtered(rows, ids, filtered)
    order = np.argsort(dropped, axis=1, kind="stable")[:, :k]  # kept ids come first, in their order
    best = np.full((len(ids), k), -1, np.int64)
    best[:, : order.shape[1]] = np.where(np.take_along_axis(dropped, order, 1), -1, np.take_along_axis(ids, order, 1))
    return best


def drop_labels(labels: SparseRows, filtered: SparseRows) -> SparseRows:
    """Return the true labels of rows without the filtered ones."""
    if labels.n_rows != filtered.n_rows:
        raise InputError(f"there are {labels.n_rows} rows of labels but {filtered.n_rows} rows in the filter")
    rows = np.repeat(np.arange(labels.n_rows), np.diff(labels.indptr))
    kept = ~_is_filtered(rows, labels.indices.astype(np.int64), filtered)
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(kept)])[labels.indptr]
    return SparseRows(offsets, labels.indices[kept], labels.values[kept], labels.n_columns)


def _is_filtered(rows: IntArray, ids: IntArray, filtered: SparseRows) -> BoolArray:
    """Return whether each pair of row and label is in the filter."""
    width = max(filtered.n_columns, int(ids.max(initial=0)) + 1)
    of_filter = np.repeat(np.arange(filtered.n_rows), np.diff(filtered.indptr)) * width + filtered.indices  # ascending
    keys = rows * width + ids
    place = np.searchsorted(of_filter, keys)
    inside = place < len(of_filter)
    found = np.zeros(keys.shape, np.bool_)
    found[inside] = of_filter[place[inside]] == keys[inside]
    return found
