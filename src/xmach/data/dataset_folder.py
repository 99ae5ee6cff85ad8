"""The folder of a saved dataset: .npy arrays, label_names.arrow, and meta.json written last."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from xmach.data.npy import save_array
from xmach.data.options import Columns
from xmach.data.read.lines import file_errors
from xmach.errors import DataFileError, DataFileMissing
from xmach.types import AnyArray

FORMAT = 1
ROW_NUMBERS = "rows"
NAMES = "label_names.arrow"
_META = "meta.json"


def write_arrays(folder: Path, arrays: Mapping[str, AnyArray]) -> None:
    """One .npy file an array."""
    for name, array in arrays.items():
        save_array(folder / f"{name}.npy", array)


def write_meta(
    folder: Path,
    n_features: int,
    n_labels: int,
    skipped: Mapping[str, int],
    columns: Columns | None,
    fingerprint: str | None,
) -> None:
    """Write meta.json, which makes the folder a dataset."""
    meta = {
        "format": FORMAT,
        "fingerprint": fingerprint,
        "n_features": n_features,
        "n_labels": n_labels,
        "skipped": dict(skipped),
        "columns": None if columns is None else columns.to_dict(),
    }
    with (folder / _META).open("w", encoding="utf-8") as file:
        json.dump(meta, file, indent=1)


def stored_fingerprint(folder: Path) -> str | None:
    """The fingerprint in a dataset's folder; None if there is no usable dataset."""
    try:
        return str(read_meta(folder)["fingerprint"])
    except DataFileError:
        return None


def read_meta(folder: Path) -> dict[str, Any]:
    """What meta.json says; raises `DataFileError` if there is no usable dataset."""
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
