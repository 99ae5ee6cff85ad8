"""From label names to ids, and back."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from xmach.data.labels.name_index import NameIndex
from xmach.data.labels.names import LabelNames
from xmach.decoding.candidates import is_per_row
from xmach.errors import InputError
from xmach.parameters import whole
from xmach.types import AnyArray, IntArray


class LabelLookup:
    """The labels of a model by name; without names they are called by their ids."""

    def __init__(self, label_names: LabelNames | None, n_labels: int) -> None:
        self.label_names, self.n_labels = label_names, n_labels

    def names(self, ids: IntArray) -> AnyArray:
        """The label names of ids; None for the id -1, which means that there is no label."""
        if self.label_names is None:
            return ids
        if not (missing := ids < 0).any():
            return self.label_names[ids]
        named = self.label_names[np.where(missing, 0, ids)].astype(object)
        named[missing] = None
        return named

    def ids_of(self, names: Sequence[Any] | AnyArray) -> IntArray:
        """Return the ids (m,) of label names. Raise `InputError` if a name is not a label, or is shared by two."""
        if isinstance(names, str) or not np.iterable(names):
            raise InputError(f"ids_of takes a list of label names, got {names!r}: put it in a list")
        if self.label_names is None:
            return np.array([whole("a label's name", name, 0, self.n_labels - 1) for name in names], np.int64)
        wanted = names.tolist() if isinstance(names, np.ndarray) else list(names)  # not all as text if one is text
        if not all(isinstance(name, Hashable) for name in wanted):
            raise InputError("ids_of takes a list of label names, not of lists of them")
        found = self._name_index.find(wanted)
        unknown = [name for name in wanted if name not in found]
        if unknown:
            several = f"{len(unknown)} of {len(wanted)} names are not labels; the first is {unknown[0]!r}"
            raise InputError(several if len(wanted) > 1 else f"{unknown[0]!r} is not a label of this model")
        return np.array([found[name] for name in wanted], np.int64)

    def candidate_ids(self, candidates: Any) -> Any:
        """Candidates with names, which are strings, replaced by their ids."""
        if getattr(candidates, "dtype", np.dtype(object)).kind not in "OUT" or not np.iterable(candidates):
            return candidates
        if isinstance(candidates, str):
            raise InputError(f"candidates must be a list of labels, got {candidates!r}: put it in a list")
        if getattr(candidates, "ndim", 1) > 1:
            candidates = np.asarray(candidates).tolist()
        if not hasattr(candidates, "__getitem__"):
            candidates = list(candidates)
        if isinstance(next(iter(candidates), None), Iterator):  # a generator can be read only once
            candidates = [list(row) for row in candidates]
        if is_per_row(candidates):
            return [self.candidate_ids(row) for row in candidates]
        named = {issubclass(kind, str) for kind in set(map(type, candidates))}
        if len(named) > 1:
            name, other = (next(c for c in candidates if isinstance(c, str) is text) for text in (True, False))
            raise InputError(f"candidates must be all names or all ids, got both: {name!r} and {other!r}")
        return self.ids_of(list(candidates)) if True in named else candidates

    @cached_property
    def _name_index(self) -> NameIndex:
        assert self.label_names is not None
        return NameIndex(self.label_names)
