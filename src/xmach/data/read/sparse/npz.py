"""Features and labels as SciPy matrices: `trn_X_Xf.npz` and `trn_X_Y.npz`, or `X.trn.npz` and `Y.trn.npz`.

Matrices are held in memory while they are read, and validated like arrays. Faults name rows, counted from 0.
"""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from xmach.data.arrays import as_rows, check_structure
from xmach.data.options import ReadOptions
from xmach.data.read.labels import LabelsById
from xmach.data.read.lines import file_errors, is_gzip
from xmach.data.read.rows import Batch, Fault, FaultHandler, row_offsets
from xmach.errors import DataFileError, InputError
from xmach.types import BoolArray, OnProgress, SparseRows, row_batches

_ROWS = 1 << 16
_PARTS = {"format.npy", "shape.npy", "data.npy"}


class NpzReader(LabelsById):
    """Reads one matrix of features and one of labels."""

    def __init__(self, options: ReadOptions) -> None:
        self._options = options
        self.n_features = 0
        self.n_labels = options.known_labels or 0

    def batches(self, path: Path, report: FaultHandler, on_progress: OnProgress | None = None) -> Iterator[Batch]:
        """Yield the rows that are good in both files."""
        options, size = self._options, path.stat().st_size if path.is_file() else 0
        features, bad = _load(path, "features", options.n_features, report)
        labels, label_path = SparseRows(np.zeros(features.n_rows + 1, np.int64), *_NOTHING, self.n_labels), path
        if options.with_labels and options.label_file is not None:
            label_path = options.label_file
            labels, worse = _load(label_path, "labels", options.known_labels, report)
            if labels.n_rows != features.n_rows:
                message = f"{labels.n_rows} rows, but {path} has {features.n_rows}"
                raise DataFileError(label_path, None, message)
            bad |= worse
        self.n_features, self.n_labels = features.n_columns, labels.n_columns
        for start, stop in row_batches(features.n_rows, _ROWS):
            yield _batch(features.slice(start, stop), labels.slice(start, stop), start, ~bad[start:stop])
            if on_progress is not None:
                on_progress(size * stop // features.n_rows, size)


_NOTHING = np.zeros(0, np.int32), np.zeros(0, np.float32)


def _load(path: Path, what: str, expected: int | None, report: FaultHandler) -> tuple[SparseRows, BoolArray]:
    """Return the rows of a matrix and which of them are bad; reports their faults."""
    matrix = _matrix(path)
    if expected is not None and matrix.shape[1] != expected:
        raise DataFileError(path, None, f"{matrix.shape[1]} {what}, but {expected} are expected")
    try:
        check_structure(matrix, "the matrix")
        if matrix.dtype.kind not in "fiub":
            raise InputError(f"the matrix must hold numbers, got {matrix.dtype}")
        matrix = matrix.tocsr()
        bad = _report_rows(path, matrix, what, report)
        matrix.data[np.repeat(bad, np.diff(matrix.indptr))] = 0  # left out; check the others
        kept = as_rows(matrix, name="the matrix")
    except InputError as error:
        raise DataFileError(path, None, str(error)) from None
    assert isinstance(kept, SparseRows)
    return kept, bad


def _report_rows(path: Path, matrix: Any, what: str, report: FaultHandler) -> BoolArray:
    """Return which rows have a value that is not finite, or a label value below 0; reports their faults."""
    used = int(matrix.indptr[-1])
    matrix.data, matrix.indices = matrix.data[:used], matrix.indices[:used]  # arrays may be longer than needed
    with np.errstate(over="ignore"):
        numbers = matrix.data.astype(np.float32)
    infinite = ~np.isfinite(numbers)
    wrong = np.flatnonzero(infinite if what == "features" else infinite | (numbers < 0))
    bad = np.zeros(matrix.shape[0], np.bool_)
    rows, first = np.unique(np.searchsorted(matrix.indptr, wrong, side="right") - 1, return_index=True)
    bad[rows] = True
    for row, place in zip(rows.tolist(), wrong[first].tolist(), strict=True):
        reason = "value not finite" if infinite[place] else "label value below 0"
        message = f"{float(matrix.data[place]):g} at row {row}, column {int(matrix.indices[place])}: {reason}"
        report(Fault(None, reason, message, file=path))
    return bad


def _matrix(path: Path) -> Any:
    """Load the matrix in a file, without unpickling."""
    if is_gzip(path):
        raise DataFileError(path, None, "gzip'd, but npz is already compressed: unzip the file first")
    with file_errors(path):
        try:
            with zipfile.ZipFile(path) as archive:
                names = set(archive.namelist())
            matrix = sp.load_npz(path) if names >= _PARTS else None
        except (zipfile.BadZipFile, zlib.error, EOFError) as error:
            raise DataFileError(path, None, f"the npz file is damaged: {error}") from error
        except (ValueError, KeyError, TypeError, IndexError, AttributeError, NotImplementedError) as error:
            raise DataFileError(path, None, f"the npz file holds no valid sparse matrix: {error}") from error
    if matrix is None:
        found = ", ".join(sorted(names)[:6]) or "nothing"
        raise DataFileError(path, None, f"not a sparse matrix, but {found}; expected a file of scipy.sparse.save_npz")
    return matrix


def _batch(features: SparseRows, labels: SparseRows, start: int, good: BoolArray) -> Batch:
    """Return the good rows of some rows; labels stored as 0 are dropped."""
    if not good.all():
        kept = np.flatnonzero(good)
        features, labels = features.take(kept), labels.take(kept)
    numbers = start + np.flatnonzero(good)
    stored = labels.values != 0
    values = labels.values[stored]
    return Batch(
        lines=numbers,
        rows=numbers,
        label_counts=np.diff(row_offsets(stored)[labels.indptr]),
        labels=labels.indices[stored].astype(np.int64),
        feature_counts=np.diff(features.indptr),
        features=features.indices,
        values=features.values,
        label_values=None if (values == 1).all() else values,
    )
