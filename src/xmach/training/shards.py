"""The shards of the ranker's training: pure functions of picklable specs, which an executor runs side by side."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple, TypeAlias

import numpy as np
from threadpoolctl import threadpool_limits

from xmach.data.npy import map_array, save_array
from xmach.predictor import Predictor
from xmach.ranking import Fusion, Profiles, Ranking, ShortlistSizes
from xmach.ranking.label_rows import LabelRows
from xmach.ranking.label_training import RankerSettings, train_labels
from xmach.ranking.profiles import profile_part
from xmach.store import ModelStore, load
from xmach.types import AnyArray, Monitor, SparseRows


@dataclass(frozen=True)
class SharedArrays:
    """Named arrays that many shards read: in memory, or mapped from a folder of scratch files."""

    arrays: Mapping[str, AnyArray] | None
    folder: Path | None = None
    names: tuple[str, ...] = ()

    @classmethod
    def of(cls, arrays: Mapping[str, AnyArray], folder: Path | None) -> SharedArrays:
        """Share arrays in memory, or write them to a new folder."""
        if folder is None:
            return cls(arrays)
        folder.mkdir()
        for name, array in arrays.items():
            save_array(folder / f"{name}.npy", array)
        return cls(None, folder, tuple(arrays))

    def open(self) -> Mapping[str, AnyArray]:
        """Return the arrays."""
        if self.folder is None:
            assert self.arrays is not None
            return self.arrays
        return _mapped(self.folder, self.names)


@lru_cache(maxsize=8)
def _mapped(folder: Path, names: tuple[str, ...]) -> dict[str, AnyArray]:
    """The arrays of a folder, mapped once in a process."""
    return {name: map_array(folder / f"{name}.npy") for name in names}


def rows_to_arrays(rows: SparseRows) -> dict[str, AnyArray]:
    """Sparse rows as named arrays, without their width."""
    return {"indptr": rows.indptr, "indices": rows.indices, "values": rows.values}


def rows_from_arrays(arrays: Mapping[str, AnyArray], n_columns: int) -> SparseRows:
    """The inverse of `rows_to_arrays`."""
    return SparseRows(arrays["indptr"], arrays["indices"], arrays["values"], n_columns)


@dataclass(frozen=True)
class Material:
    """What all shards share: the scaled rows, and which of them belong to each label."""

    rows: SharedArrays  # (n, d): scaled, then divided by `scale`; columns in any order within a row
    n_features: int  # d
    scale: float
    labels: SharedArrays  # (n, K) label rows
    n_labels: int  # K
    positives: SharedArrays  # rows by label: starts (K + 1,), rows, weights
    seed: int
    monitor: Monitor
    store: ModelStore | None  # where finished shards are kept; None: they only come back

    def sparse_rows(self) -> SparseRows:
        """The rows."""
        return rows_from_arrays(self.rows.open(), self.n_features)


class Done(NamedTuple):
    """A finished shard."""

    name: str
    arrays: Mapping[str, AnyArray] | None  # None: it was told to stop, or the store keeps them
    finished: bool
    size: int  # of what progress counts


@dataclass(frozen=True)
class ProfileShard:
    """The profiles of a range of labels."""

    name: str
    material: Material
    labels: range

    def run(self) -> dict[str, AnyArray]:
        """Make the profiles."""
        return profile_part(self.material.sparse_rows(), _of_labels(self.material.positives, self.labels)).arrays()

    @property
    def size(self) -> int:
        """Labels."""
        return len(self.labels)


@dataclass(frozen=True)
class ShortlistShard:
    """The labels that wrongly are on the shortlists of a range of rows: negatives for the ranker."""

    name: str
    material: Material
    rows: range
    predictor: Predictor | Path
    profiles: SharedArrays | None
    sizes: ShortlistSizes
    threads: int | None

    def run(self) -> dict[str, AnyArray]:
        """Make the shortlists, and leave out the rows' own labels."""
        predictor = _opened(self.predictor) if isinstance(self.predictor, Path) else self.predictor
        which = np.arange(self.rows.start, self.rows.stop, self.rows.step)
        some = self.material.sparse_rows().take(which)
        scaled = replace(some, values=some.values * np.float32(self.material.scale))
        stage = predictor.second_stage(
            shortlisting(self.material.n_labels, None if self.profiles is None else self.profiles.open(), self.sizes)
        )
        labels = rows_from_arrays(self.material.labels.open(), self.material.n_labels).take(which)
        indptr, ids = [np.zeros(1, np.int64)], []
        for batch in predictor.batches(scaled, self.threads, scaled=True):
            shortlist = stage.shortlist(batch, threads=self.threads)
            wrong = shortlist.without(labels.slice(batch.start, batch.stop))
            indptr.append(indptr[-1][-1] + wrong.indptr[1:])
            ids.append(wrong.ids.astype(np.int32))
        return {"indptr": np.concatenate(indptr), "ids": np.concatenate(ids)}

    @property
    def size(self) -> int:
        """Rows."""
        return len(self.rows)


@dataclass(frozen=True)
class RankerShard:
    """The linear classifiers of a range of labels."""

    name: str
    material: Material
    labels: range
    negatives: SharedArrays  # rows by label, as `Material.positives`
    settings: RankerSettings

    def run(self) -> dict[str, AnyArray]:
        """Train the classifiers."""
        rows = self.material.sparse_rows()
        own, wrong = _of_labels(self.material.positives, self.labels), _of_labels(self.negatives, self.labels)
        weights = train_labels(rows, own, wrong, self.settings, self.material.seed)
        return weights._replace(values=weights.values / np.float32(self.material.scale)).arrays()

    @property
    def size(self) -> int:
        """Labels."""
        return len(self.labels)


Shard: TypeAlias = ProfileShard | ShortlistShard | RankerShard


def run_shard(spec: Shard) -> Done:
    """Run a shard on one thread, unless it is finished already or the run was told to stop."""
    material, store = spec.material, spec.material.store
    if store is not None and store.has_piece(spec.name):
        return Done(spec.name, None, True, spec.size)
    if material.monitor.should_stop():
        return Done(spec.name, None, False, 0)
    with threadpool_limits(1), np.errstate(over="ignore", invalid="ignore"):
        arrays = spec.run()
    if store is None:
        return Done(spec.name, arrays, True, spec.size)
    store.put_piece(spec.name, arrays)
    return Done(spec.name, None, True, spec.size)


def _of_labels(shared: SharedArrays, labels: range) -> LabelRows:
    """The rows of a range of labels."""
    arrays = shared.open()
    starts = arrays["starts"][labels.start : labels.stop + 1]
    first, last = int(starts[0]), int(starts[-1])
    return LabelRows(labels.start, starts - first, arrays["rows"][first:last], arrays["weights"][first:last])


def shortlisting(n_labels: int, profiles: Mapping[str, AnyArray] | None, sizes: ShortlistSizes) -> Ranking:
    """A ranking that can only make shortlists."""
    nothing = np.zeros(n_labels, np.float32)
    stored = None if profiles is None else Profiles.from_arrays(profiles)
    return Ranking(Fusion({"mach": 1.0}), nothing, profiles=stored, sizes=sizes)


@lru_cache(maxsize=1)
def _opened(folder: Path) -> Predictor:
    """The model of a folder, opened once in a process."""
    return load(folder, verify=False, allow_partial=True)
