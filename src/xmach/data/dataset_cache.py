"""Datasets that are built into a folder once and opened from there: all or nothing, and never half seen."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TypeAlias

from xmach.data import dataset_folder
from xmach.data.dataset import Dataset
from xmach.data.options import Columns
from xmach.data.read.lines import file_errors
from xmach.errors import DataFileError, DataFileMissing

Build: TypeAlias = Callable[[Path], str]  # fills a folder; the fingerprint of what is in it


def built(target: Path | None, build: Build) -> Dataset:
    """The dataset in the target folder, built where there is none; without a folder, built anew and in memory."""
    if target is None:
        with tempfile.TemporaryDirectory(prefix="xmach-") as temporary, file_errors(temporary):
            build(Path(temporary))
            return Dataset.open(temporary, in_memory=True)
    try:
        return Dataset.open(target)
    except DataFileError:
        _set_aside(target)
    with dataset_folder.staging(target) as staged:
        dataset_folder.publish(staged, target, build(staged))
    return Dataset.open(target)


def describe(
    folder: Path,
    n_features: int,
    n_labels: int,
    label_names: Sequence[str] | None,
    skipped: Mapping[str, int],
    columns: Columns | None,
) -> str:
    """Make arrays that lie in a folder a dataset: its fingerprint."""
    features = dataset_folder.read_features(folder, n_features)
    labels = dataset_folder.read_sparse(folder, "labels", n_labels)
    weights = dataset_folder.read_optional(folder, "weights")
    dataset = Dataset(features, labels, label_names, weights, skipped=dict(skipped), columns=columns)
    dataset_folder.write_meta(folder, dataset)
    return dataset.fingerprint


def _set_aside(target: Path) -> None:
    """Remove what is no usable dataset; the rename first, so that no other process sees half of it."""
    if target.exists():
        # another process may be doing the same
        with suppress(DataFileMissing), dataset_folder.staging(target) as temporary:
            target.rename(temporary / "unusable")
