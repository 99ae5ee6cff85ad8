"""User targets (classes, indicator matrices, lists of labels) to sparse label rows."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import replace
from typing import Any, Literal, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from xmach.data.arrays import as_rows
from xmach.errors import InputError
from xmach.types import AnyArray, IntArray, SparseRows


class Targets(NamedTuple):
    """Labels of n rows as ids into `classes`."""

    labels: SparseRows  # (n, K)
    classes: AnyArray  # (K,) names; for a matrix without column names, the column numbers
    form: Literal["classes", "dense", "sparse", "lists"]  # the form of y, which `predict` returns as well

    @property
    def multilabel(self) -> bool:
        """Whether a row may have none, one or several labels."""
        return self.form != "classes"


def encode_targets(y: Any, classes: AnyArray | None = None) -> Targets:
    """Convert y to label rows. If `classes` are given, ids follow them, and other labels get ids after them."""
    if y is None:
        raise InputError("training requires y to be passed, but the target y is None")
    if np.ma.is_masked(y):
        raise InputError("y has masked values, whose hidden values would be used; drop those rows")
    if sp.issparse(y):
        return _from_matrix(y, "sparse", classes)
    if not hasattr(y, "__array__"):  # no array, Series or DataFrame
        if not isinstance(y, Iterable):
            raise InputError(f"y must give every row a class or a list of labels, got {y!r}")
        y = list(y) if not isinstance(y, Sequence) else y
        if len(y) and not isinstance(y[0], str | bytes) and all(isinstance(row, _COLLECTIONS) for row in y):
            if _is_indicator(y):
                return _from_matrix(np.asarray(y), "dense", classes)
            return _from_lists(y, classes)
    array = np.asarray(y)
    if array.ndim == 1 and array.dtype == object and len(array) and all(isinstance(row, _COLLECTIONS) for row in array):
        return _from_lists(array, classes)
    if array.ndim == 2 and array.shape[1] > 1:
        return _from_matrix(array, "dense", classes, getattr(y, "columns", None))
    return _from_classes(y, classes)


_COLLECTIONS = (list, tuple, set, frozenset, np.ndarray)


def _is_indicator(rows: Sequence[Any]) -> bool:
    """Return whether lists are the rows of a 0/1 matrix, as scikit-learn reads them: one length above 1, all 0 or 1."""
    lengths = {len(row) for row in rows}
    if len(lengths) != 1 or lengths.pop() < 2 or any(isinstance(row, set | frozenset) for row in rows):
        return False
    return all(not isinstance(value, str) and value in (0, 1) for row in rows for value in row)


def _from_classes(y: Any, classes: AnyArray | None) -> Targets:
    if getattr(np.asarray(y), "dtype", None) is not None and np.asarray(y).dtype.kind == "f":
        bad = np.flatnonzero(~np.isfinite(np.asarray(y).ravel()))
        if len(bad):
            raise InputError(f"y contains NaN or infinity at row {int(bad[0])}; every row needs a class")
    vector = column_or_1d(y, warn=True)
    if len(vector) == 0:
        raise InputError("y is empty: Found array with 0 sample(s)")
    if vector.dtype.kind == "U" and not hasattr(y, "__array__"):
        _check_not_mixed(y)
    if vector.dtype == object:
        _check_not_missing(vector)
    try:
        check_classification_targets(vector)
        found, ids = np.unique(vector, return_inverse=True)
    except TypeError as error:
        raise InputError(_MIXED if "not supported between" in str(error) else f"y: {error}") from None
    except ValueError as error:
        if "Unknown label type: unknown" not in str(error):
            raise InputError(f"y: {error}") from None
        seen = f"{vector[0]!r} (a {type(vector[0]).__name__}) in row 0"
        raise InputError(f"y: Unknown label type: {seen}; classes are text or numbers, of dtype str or int") from None
    if classes is not None:
        ids, found = _ids_among(classes, found)[ids], classes
    return Targets(_label_rows(np.arange(len(ids) + 1), ids, len(found)), found, "classes")


_MIXED = "y mixes types that cannot be sorted, such as text and numbers, or has missing values; use one type"


def _check_not_mixed(labels: Iterable[Any]) -> None:
    """Raise InputError for numbers mixed with text: NumPy would turn 1 into '1' and NaN into 'nan'."""
    if not all(isinstance(label, str) for label in labels):
        raise InputError(_MIXED)


def _check_not_missing(vector: AnyArray) -> None:
    for row, label in enumerate(vector):
        try:
            missing = label is None or (not isinstance(label, _COLLECTIONS) and bool(label != label))
        except TypeError:  # pandas' NA neither equals itself nor differs
            missing = True
        if missing:
            raise InputError(f"y has no class in row {row} ({label}); drop the row, or give it a class")


def _label_rows(indptr: IntArray, ids: IntArray, n_labels: int) -> SparseRows:
    width = max(n_labels, int(ids.max(initial=-1)) + 1)  # unknown labels have ids beyond the classes
    return SparseRows(indptr, ids.astype(np.int32), np.ones(len(ids), np.float32), width)


def _from_matrix(y: Any, form: Literal["dense", "sparse"], classes: AnyArray | None, names: Any = None) -> Targets:
    if classes is not None and y.shape[1] != len(classes):
        raise InputError(f"y has {y.shape[1]} columns, but there are {len(classes)} labels")
    if form == "dense" and y.dtype.kind in "OUS":  # objects may be numbers; text is rejected
        y = as_rows(y, name="y as a matrix")
    rows = as_rows(sp.csr_array(y) if form == "dense" else y, name="y")
    assert isinstance(rows, SparseRows)
    if (rows.values < 0).any():
        place = int(np.flatnonzero(rows.values < 0)[0])
        row = int(np.searchsorted(rows.indptr, place, side="right")) - 1
        raise InputError(
            f"y must be 0/1 (or counts) in an indicator matrix, got {rows.values[place]:g} at row {row}, "
            f"column {int(rows.indices[place])}"
        )
    stored = rows.values > 0  # a stored zero is not a label
    kept = np.concatenate([np.zeros(1, np.int64), np.cumsum(stored)])[rows.indptr]
    labels = SparseRows(kept, rows.indices[stored], rows.values[stored], rows.n_columns)
    return Targets(labels, np.arange(rows.n_columns) if names is None else np.asarray(names), form)


def _from_lists(y: Any, classes: AnyArray | None) -> Targets:
    if any(isinstance(label, _COLLECTIONS) for row in y for label in row):
        raise InputError("y must be a list of label lists; one of the labels is itself a list")
    if odd := [label for row in y for label in row if not isinstance(label, Hashable)]:
        raise InputError(f"y has {odd[0]!r} (a {type(odd[0]).__name__}) as a label; a label is text or a number")
    lengths = np.array([len(set(row)) for row in y], np.int64)
    flat = [label for row in y for label in set(row)]
    if not flat and classes is None:
        raise InputError("y has no label in any row")
    try:
        array = np.asarray(flat, dtype=object if not flat else None)
        if array.dtype.kind == "U":
            _check_not_mixed(flat)
        found, ids = np.unique(array, return_inverse=True)
    except TypeError:
        raise InputError(_MIXED) from None
    if found.dtype.kind == "f" and not np.isfinite(found).all():
        raise InputError("y contains NaN or infinity as a label")
    if classes is not None:
        ids, found = _ids_among(classes, found)[ids], classes
    indptr = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
    row_of = np.repeat(np.arange(len(lengths)), lengths)
    order = np.lexsort((ids, row_of))  # ids ascend within a row
    return Targets(_label_rows(indptr, ids[order], len(found)), found, "lists")


def _ids_among(classes: AnyArray, found: AnyArray) -> IntArray:
    """Return the position of each label in the classes; labels unknown to the model get ids after the classes.

    Such a label counts as true and can never be predicted.
    """
    place = {label: i for i, label in enumerate(classes.tolist())}
    unknown = iter(range(len(classes), len(classes) + len(found)))
    return np.array([place[label] if label in place else next(unknown) for label in found.tolist()], np.int64)


def with_labels(targets: Targets, labels: Sequence[Any], name: str) -> tuple[Targets, IntArray]:
    """Return the targets with more labels (each once) among their classes, and the ids of these labels.

    The classes stay sorted, so ids may change. The labels of a matrix are its columns: no other can join. `name` is the
    argument that the labels are from.
    """
    place = {label: i for i, label in enumerate(targets.classes.tolist())}
    ids = np.array([place.get(label, -1) for label in labels], np.int64)
    new = [label for label, i in zip(labels, ids.tolist(), strict=True) if i < 0]
    if not new:
        return targets, ids
    if targets.form in ("dense", "sparse"):
        raise InputError(
            f"{name} has the label {new[0]!r}, which is not a column of y; labels are its {len(place)} columns: add a "
            "column of zeros for a label that has no rows"
        )
    added = _as_classes(new, targets.classes, name)
    classes = np.unique(np.concatenate([targets.classes, added]))
    moved = np.searchsorted(classes, targets.classes)  # ascending, so labels stay sorted within their rows
    ids[ids >= 0] = moved[ids[ids >= 0]]
    ids[ids < 0] = np.searchsorted(classes, added)
    rows = targets.labels
    labels_of_rows = replace(rows, indices=moved[rows.indices].astype(np.int32), n_columns=len(classes))
    return targets._replace(labels=labels_of_rows, classes=classes), ids


def _as_classes(labels: list[Any], classes: AnyArray, name: str) -> AnyArray:
    """Return new labels as an array that can be sorted among the classes."""
    is_text = isinstance(classes[0], str)
    for label in labels:
        if isinstance(label, str) is not is_text or not isinstance(label, str | int | float | np.generic):
            seen = f"{label!r} (a {type(label).__name__})"
            raise InputError(
                f"{name} has the label {seen}, but the labels of y are such as {classes[0]!r}; use one type"
            )
    array = np.array(labels)
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise InputError(f"{name} has NaN or infinity as a label")
    return array.astype(object) if classes.dtype == object else array
