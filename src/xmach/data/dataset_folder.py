"""The folder of a saved dataset: .npy arrays, label_names.arrow, and meta.json written last."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from xmach.data.labels.mapped_names import MappedNames, write_names
from xmach.data.npy import map_array, save_array
from xmach.data.options import Columns
from xmach.data.read.lines import file_errors
from xmach.errors import DataFileError, DataFileMissing
from xmach.types import AnyArray, FloatArray, Rows, SparseRows

FORMAT = 1
ROW_NUMBERS = "rows"
_META, _NAMES = "meta.json", "label_names.arrow"


class Described(Protocol):
    """What meta.json says of a dataset."""

    @property
    def n_features(self) -> int: ...
    @property
    def n_labels(self) -> int: ...
    @property
    def label_names(self) -> Sequence[str] | None: ...
    @property
    def skipped(self) -> Mapping[str, int]: ...
    @property
    def columns(self) -> Columns | None: ...
    @property
    def fingerprint(self) -> str: ...


def write_arrays(folder: Path, arrays: Mapping[str, AnyArray]) -> None:
    """One .npy file an array."""
    for name, array in arrays.items():
        save_array(folder / f"{name}.npy", array)


def write_meta(folder: Path, dataset: Described) -> None:
    """The label names and then meta.json, which makes the folder a dataset."""
    if dataset.label_names is not None:
        write_names(folder / _NAMES, dataset.label_names)
    meta = {
        "format": FORMAT,
        "fingerprint": dataset.fingerprint,
        "n_features": dataset.n_features,
        "n_labels": dataset.n_labels,
        "skipped": dict(dataset.skipped),
        "columns": None if dataset.columns is None else dataset.columns.to_dict(),
    }
    with (folder / _META).open("w", encoding="utf-8") as file:
        json.dump(meta, file, indent=1)


def stored_fingerprint(folder: Path) -> str | None:
    """The fingerprint in a dataset's folder; None if there is no usable dataset."""
    try:
        return str(_read_meta(folder)["fingerprint"])
    except DataFileError:
        return None


def read(folder: Path, *, in_memory: bool) -> dict[str, Any]:
    """The fields of a saved dataset; `in_memory` copies them and forgets the folder."""
    meta = _read_meta(folder)
    names: Sequence[str] | None = None
    try:
        features = read_features(folder, meta["n_features"], in_memory=in_memory)
        labels = read_sparse(folder, "labels", meta["n_labels"], in_memory=in_memory)
        weights = read_optional(folder, "weights", in_memory=in_memory)
        row_numbers = read_optional(folder, ROW_NUMBERS, in_memory=in_memory)
        columns = None if meta.get("columns") is None else Columns.from_dict(meta["columns"])  # older folders lack it
        if (folder / _NAMES).exists():
            names = MappedNames(folder / _NAMES)
    except (ValueError, TypeError, KeyError, OSError, EOFError) as error:  # pyarrow's errors are ValueErrors too
        raise DataFileError(folder, None, f"the saved dataset is damaged: {error}") from error
    return {
        "features": features,
        "labels": labels,
        "label_names": tuple(names) if in_memory and names is not None else names,
        "weights": weights,
        "folder": None if in_memory else folder.absolute(),
        "skipped": meta["skipped"],
        "stored_fingerprint": meta["fingerprint"],
        "columns": columns,
        "row_numbers": row_numbers,
    }


def read_features(folder: Path, n_features: int, *, in_memory: bool = False) -> Rows:
    """The features of a folder, dense or sparse."""
    if (folder / "features.npy").exists():
        dense: FloatArray = map_array(folder / "features.npy", in_memory=in_memory)
        return dense
    return read_sparse(folder, "features", n_features, in_memory=in_memory)


def read_optional(folder: Path, name: str, *, in_memory: bool = False) -> AnyArray | None:
    """The weights or the numbers of the rows in a folder; None where they have none."""
    path = folder / f"{name}.npy"
    return map_array(path, in_memory=in_memory) if path.exists() else None


def read_sparse(folder: Path, part: str, n_columns: int, *, in_memory: bool = False) -> SparseRows:
    """The sparse features or labels of a folder."""
    indptr, indices, values = (
        map_array(folder / f"{part}-{name}.npy", in_memory=in_memory) for name in ("indptr", "indices", "values")
    )
    if not indptr[-1] == len(indices) == len(values):
        raise ValueError(f"{part} have {indptr[-1]} values by their offsets but {len(values)} are there")
    return SparseRows(indptr, indices, values, n_columns)


def _read_meta(folder: Path) -> dict[str, Any]:
    with file_errors(folder):
        if not (folder / _META).is_file():
            raise DataFileMissing(folder, None, f"there is no saved dataset here: no {_META}")
        try:
            meta: dict[str, Any] = json.loads((folder / _META).read_text(encoding="utf-8"))
            version = meta["format"]
        except (ValueError, TypeError, KeyError) as error:
            raise DataFileError(folder / _META, None, "not the meta file of a dataset") from error
    if version != FORMAT:
        raise DataFileError(folder, None, f"saved in format {version}; this version reads format {FORMAT}")
    return meta
