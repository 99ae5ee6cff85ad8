"""Dataset: rows of features, their labels and the label names; in memory or memory-mapped."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from xmach.data import dataset_folder
from xmach.data.labels.counts import LabelCounts
from xmach.data.labels.mapped_names import MappedNames, names_digest, write_names
from xmach.data.npy import add_arrays, let_go, map_array
from xmach.data.options import Columns
from xmach.data.read.lines import file_errors
from xmach.errors import DataFileError, InputError
from xmach.files import atomic_folder
from xmach.types import AnyArray, FloatArray, IntArray, Rows, SparseRows, shortened, slice_rows, take_rows


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """n rows of d features, with labels from K; every array may be memory-mapped."""

    features: Rows  # (n, d) sparse, or dense float32
    labels: SparseRows  # (n, K); values are counts or weights, 1 for plain labels
    label_names: Sequence[str] | None = None  # K names; None: labels are numbered 0..K-1
    weights: FloatArray | None = None  # (n,)
    folder: Path | None = None  # where it is saved
    skipped: Mapping[str, int] = field(default_factory=dict)  # rows dropped while reading, by reason
    stored_fingerprint: str | None = field(default=None, repr=False)
    columns: Columns | None = None  # of the table it was read from
    row_numbers: IntArray | None = None  # (n,) the row in the file of each row, from 0; None: 0..n-1
    added_labels: tuple[str, ...] = field(default=(), repr=False)  # the last of `label_names`: not in the folder

    def __repr__(self) -> str:
        form = "sparse" if isinstance(self.features, SparseRows) else "dense"
        where = "" if self.folder is None else f", in {shortened(str(self.folder), 80)}"
        return (
            f"<Dataset: {self.n_rows:,} {form} rows of {self.n_features:,} features, {self.n_labels:,} labels{where}>"
        )

    def __post_init__(self) -> None:
        n_rows = self.features.shape[0]
        if self.labels.n_rows != n_rows:
            raise InputError(f"features have {n_rows} rows but labels have {self.labels.n_rows}")
        if self.weights is not None and len(self.weights) != n_rows:
            raise InputError(f"features have {n_rows} rows but there are {len(self.weights)} weights")
        if self.row_numbers is not None and len(self.row_numbers) != n_rows:
            raise InputError(f"features have {n_rows} rows but there are {len(self.row_numbers)} row numbers")
        if self.label_names is not None and len(self.label_names) != self.n_labels:
            raise InputError(f"there are {self.n_labels} labels but {len(self.label_names)} label names")

    @classmethod
    def from_arrays(cls, X: Any, y: Any) -> Dataset:
        """Rows X (an array, a DataFrame or a sparse matrix) and their labels y (classes, a 0/1 matrix, or lists).

        Labels other than 0..K-1 are named by their text, as in a file.
        """
        from xmach.data.arrays import as_rows, column_names
        from xmach.data.labels.targets import encode_targets  # imports scikit-learn

        targets, columns = encode_targets(y), column_names(X)
        classes = targets.classes
        plain = classes.dtype.kind in "iu" and np.array_equal(classes, np.arange(len(classes)))
        return cls(
            as_rows(X),
            targets.labels,
            None if plain else [str(name) for name in classes],
            columns=None if columns is None else Columns(features=tuple(map(str, columns))),
        )

    @property
    def n_rows(self) -> int:
        """n."""
        return int(self.features.shape[0])

    @property
    def n_features(self) -> int:
        """d."""
        return int(self.features.shape[1])

    @property
    def n_labels(self) -> int:
        """K."""
        return self.labels.n_columns

    @cached_property
    def is_multiclass(self) -> bool:
        """Whether every row has exactly one label."""
        return bool(np.all(np.diff(self.labels.indptr) == 1))

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of the contents, the same in memory and saved."""
        if self.stored_fingerprint is not None and not self.added_labels:
            return self.stored_fingerprint
        facts = {"shape": [self.n_rows, self.n_features, self.n_labels], "names": names_digest(self.label_names)}
        digest = hashlib.sha256(json.dumps(facts).encode())
        add_arrays(digest, self.arrays())
        return digest.hexdigest()

    def arrays(self) -> dict[str, AnyArray]:
        """Return every array by the name of its file, in the type it is stored in."""
        arrays: dict[str, AnyArray] = {}
        for part, rows in (("features", self.features), ("labels", self.labels)):
            if isinstance(rows, SparseRows):
                arrays[f"{part}-indptr"] = np.asarray(rows.indptr, np.int64)
                arrays[f"{part}-indices"] = np.asarray(rows.indices, np.int32)
                arrays[f"{part}-values"] = np.asarray(rows.values, np.float32)
            else:
                arrays[part] = np.ascontiguousarray(rows, np.float32)
        if self.weights is not None:
            arrays["weights"] = np.asarray(self.weights, np.float32)
        return arrays

    def label_counts(self) -> LabelCounts:
        """Return the number of rows of each label."""
        return LabelCounts.of_rows(self.labels)

    def slice(self, start: int, stop: int) -> Dataset:
        """Return rows start..stop-1, sharing memory with this dataset."""
        weights = None if self.weights is None else self.weights[start:stop]
        numbers = None if self.row_numbers is None else self.row_numbers[start:stop]
        features, labels = slice_rows(self.features, start, stop), self.labels.slice(start, stop)
        return Dataset(features, labels, self.label_names, weights, row_numbers=numbers)

    def take(self, rows: IntArray) -> Dataset:
        """Return a copy of the given rows, in the given order."""
        weights = None if self.weights is None else self.weights[rows]
        numbers = None if self.row_numbers is None else self.row_numbers[rows]
        features, labels = take_rows(self.features, rows), self.labels.take(rows)
        return Dataset(features, labels, self.label_names, weights, row_numbers=numbers)

    def with_more_labels(self, names: Sequence[str]) -> Dataset:
        """Return the same rows with more labels, which no row has; the arrays and mapped names are shared."""
        if not names:
            return self
        if self.label_names is None:
            raise InputError(f"the labels are numbered 0 to {self.n_labels - 1}, so they cannot be joined by names")
        known = self.label_names
        return replace(
            self,
            labels=replace(self.labels, n_columns=self.n_labels + len(names)),
            label_names=known.with_more(names) if isinstance(known, MappedNames) else (*known, *names),
            stored_fingerprint=None if self.folder is None else self.stored_fingerprint,
            added_labels=() if self.folder is None else (*self.added_labels, *names),
        )

    def let_go(self) -> None:
        """Release the pages of mapped arrays, so that a pass over a large file does not keep all of it resident."""
        for array in self.arrays().values():
            let_go(array)

    def save(self, folder: str | os.PathLike[str]) -> Dataset:
        """Write to a folder that does not exist yet, all or nothing, and open it from there.

        A folder that already holds the same dataset is left as it is.
        """
        target, arrays = Path(folder), self.arrays()
        if self.row_numbers is not None:  # where rows come from is not what they are: not part of the fingerprint
            arrays[dataset_folder.ROW_NUMBERS] = np.asarray(self.row_numbers, np.int64)
        with file_errors(target):
            try:
                with atomic_folder(target) as new:
                    dataset_folder.write_arrays(new, arrays)
                    if self.label_names is not None:
                        write_names(new / dataset_folder.NAMES, self.label_names)
                    sizes = self.n_features, self.n_labels
                    dataset_folder.write_meta(new, *sizes, self.skipped, self.columns, self.fingerprint)
            except FileExistsError as error:
                if not target.is_dir() or dataset_folder.stored_fingerprint(target) != self.fingerprint:
                    message = "something else is there already; choose another folder"
                    raise DataFileError(target, None, message) from error
        return Dataset.open(target)

    @classmethod
    def open(cls, folder: str | os.PathLike[str], *, in_memory: bool = False) -> Dataset:
        """Open a saved dataset: memory-mapped, or read into memory, which makes it independent of its folder."""
        place = Path(folder)
        meta = dataset_folder.read_meta(place)

        def array(name: str) -> AnyArray | None:
            path = place / f"{name}.npy"
            return map_array(path, in_memory=in_memory) if path.exists() else None

        def sparse(part: str, n_columns: int) -> SparseRows:
            indptr, indices, values = (
                map_array(place / f"{part}-{name}.npy", in_memory=in_memory) for name in ("indptr", "indices", "values")
            )
            if not indptr[-1] == len(indices) == len(values):
                raise ValueError(f"{part} have {indptr[-1]} values by their offsets but {len(values)} are there")
            return SparseRows(indptr, indices, values, n_columns)

        names: Sequence[str] | None = None
        try:
            if (place / dataset_folder.NAMES).exists():
                mapped = MappedNames(place / dataset_folder.NAMES)
                names = tuple(mapped) if in_memory else mapped
            dense, columns = array("features"), meta.get("columns")  # old folders have no columns
            return cls(
                features=sparse("features", meta["n_features"]) if dense is None else dense,
                labels=sparse("labels", meta["n_labels"]),
                label_names=names,
                weights=array("weights"),
                folder=None if in_memory else place.absolute(),
                skipped=meta["skipped"],
                stored_fingerprint=meta["fingerprint"],
                columns=None if columns is None else Columns.from_dict(columns),
                row_numbers=array(dataset_folder.ROW_NUMBERS),
            )
        except (ValueError, TypeError, KeyError, OSError, EOFError) as error:  # pyarrow's errors are ValueErrors too
            raise DataFileError(place, None, f"the saved dataset is damaged: {error}") from error

    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]:
        if self.folder is not None:
            return _opened_once, (self.folder, self.stored_fingerprint, self.added_labels)
        parts = (self.features, self.labels, self.label_names, self.weights, None, dict(self.skipped))
        return Dataset, (*parts, self.stored_fingerprint, self.columns, self.row_numbers)


@lru_cache(maxsize=4)
def _opened_once(folder: Path, fingerprint: str | None, added_labels: tuple[str, ...]) -> Dataset:
    """A saved dataset, opened once in a process: the specs of many parts name the same folder."""
    return Dataset.open(folder).with_more_labels(added_labels) if added_labels else Dataset.open(folder)
