"""Datasets that are built into a folder once and opened from there: all or nothing, and never half seen."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

from xmach.data import dataset_folder
from xmach.data.dataset import Dataset
from xmach.data.labels.mapped_names import write_names
from xmach.data.options import Columns
from xmach.data.read.lines import file_errors
from xmach.errors import DataFileError
from xmach.files import atomic_folder, remove_abandoned, scratch_folder

Build: TypeAlias = Callable[[Path], None]  # fills a folder


def built(target: Path | None, build: Build) -> Dataset:
    """The dataset in the target folder, built if there is none; without a folder, built in memory."""
    if target is None:
        with scratch_folder() as scratch, file_errors(scratch):
            build(scratch)
            return Dataset.open(scratch, in_memory=True)
    remove_abandoned(target.parent)  # even if there is nothing to write
    try:
        return Dataset.open(target)
    except DataFileError:
        pass
    with file_errors(target), atomic_folder(target, replace=True) as new:  # what is there cannot be used
        build(new)
    return Dataset.open(target)


def describe(
    folder: Path,
    n_features: int,
    n_labels: int,
    label_names: Sequence[str] | None,
    skipped: Mapping[str, int],
    columns: Columns | None,
) -> None:
    """Make arrays that lie in a folder a dataset."""
    if label_names is not None:
        write_names(folder / dataset_folder.NAMES, label_names)
    facts = n_features, n_labels, skipped, columns
    dataset_folder.write_meta(folder, *facts, fingerprint=None)
    dataset_folder.write_meta(folder, *facts, fingerprint=Dataset.open(folder).fingerprint)
