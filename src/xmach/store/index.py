"""A decoder's tables beside a model: plain files, memory-mapped, so that processes share one copy of their pages.

They follow from the plan's hashes, so they do not belong to the model: they have no checksum, and nothing is lost with
them.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from xmach.buckets import Buckets, Index, Tables, fill_tables, stored, table_shapes
from xmach.errors import ModelCorrupt, ModelMissing
from xmach.files import atomic_folder, remove_abandoned, remove_at_once, write_json
from xmach.parameters import whole
from xmach.planning import human_bytes
from xmach.types import AnyArray

FOLDER, ABOUT = "index", "about.json"
_SAMPLE = 64  # labels looked up when tables are opened


def index_bytes(hashes: Buckets) -> int:
    """The size of the tables."""
    return sum(shape[0] * shape[1] * dtype.itemsize for shape, dtype in table_shapes(hashes).values())


def build_index(model: Path, hashes: Buckets, threads: int = 1, tell: Callable[[int, int], None] | None = None) -> Path:
    """Build the tables of a model's hashes and replace those that are there in one step.

    `tell` is called with how many cells are done, and how many there are.
    """
    whole("threads", threads, 1)
    if not model.is_dir():
        raise ModelMissing(f"{model}: there is no such folder")
    remove_abandoned(model)  # first: it may free the space that is needed
    size, free = index_bytes(hashes), shutil.disk_usage(model).free
    if size > free:
        raise OSError(f"{model}: the index needs {human_bytes(size)} on disk, {human_bytes(free)} are free")
    place = model / FOLDER
    with atomic_folder(place, replace=True) as new:
        maps = {}
        for name, (shape, dtype) in table_shapes(hashes).items():
            _allocate(new / name, shape[0] * shape[1] * dtype.itemsize)
            maps[name] = np.memmap(new / name, dtype, "r+", shape=shape)
        fill_tables(hashes, Tables(**maps), threads, tell)
        for array in maps.values():
            array.flush()
        write_json(new / ABOUT, hashes.to_dict())
    return place


def remove_index(model: Path) -> bool:
    """Remove a model's tables; return False if there are none."""
    return remove_at_once(model / FOLDER)


def open_index(model: Path, hashes: Buckets) -> Index | None:
    """The index of a model's tables, memory-mapped; None if there are none."""
    place = model / FOLDER
    if not place.is_dir():
        return None
    advice = "build it anew (xmach index) or remove it (xmach index --remove)"
    tables = None
    try:
        if json.loads((place / ABOUT).read_text(encoding="utf-8")) == hashes.to_dict():
            tables = Tables(**{name: _map(place / name, *what) for name, what in table_shapes(hashes).items()})
    except (OSError, ValueError) as error:
        if not place.is_dir():  # removed or replaced meanwhile: the hash answers as well
            return None
        raise ModelCorrupt(f"{place}: the index cannot be read ({error}); {advice}") from None
    if tables is None or not _agrees(tables, hashes):
        raise ModelCorrupt(f"{place}: the index is not that of this model; {advice}")
    return stored(hashes, tables)


def _map(path: Path, shape: tuple[int, int], dtype: np.dtype[Any]) -> AnyArray:
    """A table of known shape; copy on write: to Numba the same type as an array in memory, and nothing is written."""
    found, expected = path.stat().st_size, shape[0] * shape[1] * dtype.itemsize
    if found != expected:
        raise ValueError(f"{path.name} has {found} bytes, not {expected}")
    return np.asarray(np.memmap(path, dtype, "c", shape=shape))


def _agrees(tables: Tables, hashes: Buckets) -> bool:
    """Whether lists begin and end where lists can, and some labels, first and last among them, are where they belong.

    A full comparison would read gigabytes; what this cannot see is a changed byte within a table.
    """
    labels = np.unique(np.linspace(0, hashes.n_labels - 1, _SAMPLE).astype(np.int64))
    for r, offsets in enumerate(tables.offsets):
        if offsets[0] != 0 or offsets[-1] != hashes.n_labels or (offsets[1:] < offsets[:-1]).any():
            return False
        buckets = hashes.buckets(labels, r)
        if not np.array_equal(tables.signatures[labels, r], buckets):
            return False
        for label, bucket in zip(labels, buckets, strict=True):
            members = tables.members(r, bucket)  # by rising id
            at = np.searchsorted(members, label)
            if at == len(members) or members[at] != label:
                return False
    return True


def _allocate(path: Path, size: int) -> None:
    """A file of that size, its room on disk taken: a map of a file with holes dies of a full disk by a signal."""
    with path.open("wb") as file:
        file.truncate(size)
        if hasattr(os, "posix_fallocate"):  # not on macOS
            os.posix_fallocate(file.fileno(), 0, size)
