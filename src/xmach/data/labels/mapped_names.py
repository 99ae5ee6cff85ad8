"""Label names in an Arrow file, read where they are: fifty million names need no memory until they are used."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from copy import copy
from pathlib import Path
from typing import Any, overload

import numpy as np
import pyarrow as pa

from xmach.types import AnyArray, IntArray

_BLOCK = 1 << 16  # names converted at a time


class MappedNames(Sequence[Any]):
    """The names in one column of a memory-mapped Arrow file, as a sequence.

    An integer index gives a name and a slice gives a list. An array or list of ids gives an array of names of the same
    shape; a mask of K truth values gives the names where it is true.
    """

    def __init__(self, path: Path, column: str = "name") -> None:
        with pa.memory_map(str(path)) as source:
            self._column = pa.ipc.open_file(source).read_all().column(column)

    def __len__(self) -> int:
        return len(self._column)

    @overload
    def __getitem__(self, i: int) -> Any: ...
    @overload
    def __getitem__(self, i: slice) -> list[Any]: ...
    @overload
    def __getitem__(self, i: AnyArray | list[Any]) -> AnyArray: ...
    def __getitem__(self, i: int | slice | AnyArray | list[Any]) -> Any:
        if isinstance(i, slice):
            start, stop, step = i.indices(len(self._column))
            if step == 1:
                return self._column.slice(start, max(0, stop - start)).to_pylist()
            return self[np.arange(start, stop, step)].tolist()
        if not isinstance(i, np.ndarray | list):
            return self._column[int(i)].as_py()
        ids = self._ids(np.asarray(i))
        places = ids.ravel()
        places = np.where(places < 0, places + len(self), places)  # negative ids count from the end, as in an array
        # neither pa.array nor to_numpy, which import pandas
        wanted = pa.Array.from_buffers(pa.int64(), len(places), [None, pa.py_buffer(places)])
        names = self._column.take(wanted).to_pylist()
        return np.array(names, self._column.type.to_pandas_dtype()).reshape(ids.shape)

    def _ids(self, i: AnyArray) -> IntArray:
        """Return ids as 64-bit whole numbers, and a mask (K,) as the ids where it is true."""
        if i.dtype == np.bool_:
            if i.shape != (len(self),):
                raise IndexError(f"a mask must have one entry for each of the {len(self)} labels, got shape {i.shape}")
            return np.flatnonzero(i)
        if i.size and i.dtype.kind not in "iu":
            raise IndexError(f"label ids must be whole numbers, got {i.dtype}")
        return i.astype(np.int64, copy=False)

    def __iter__(self) -> Iterator[Any]:
        for start in range(0, len(self), _BLOCK):
            yield from self._column.slice(start, _BLOCK).to_pylist()

    def __contains__(self, name: object) -> bool:
        return any(name in self[start : start + _BLOCK] for start in range(0, len(self), _BLOCK))

    def __eq__(self, other: object) -> bool:
        """Whether another sequence or array has the same names in the same order."""
        if not isinstance(other, Sequence | np.ndarray) or isinstance(other, str | bytes):
            return NotImplemented
        blocks = range(0, len(self), _BLOCK)
        same = (self[start : start + _BLOCK] == list(other[start : start + _BLOCK]) for start in blocks)
        return len(self) == len(other) and all(same)

    __hash__ = None  # type: ignore[assignment]  # like a list

    def with_more(self, names: Sequence[Any]) -> MappedNames:
        """Return these names, still mapped, followed by others, which are held in memory."""
        joined = copy(self)
        joined._column = pa.chunked_array([*self._column.chunks, pa.array(names, self._column.type)])
        return joined

    def tolist(self) -> list[Any]:
        """All names in a list."""
        names: list[Any] = self._column.to_pylist()
        return names

    def __repr__(self) -> str:
        shown = [name if len(name) <= 23 else f"{name[:20]}..." for name in map(repr, self[:5])]
        return f"MappedNames([{', '.join([*shown, '...'][: len(self)])}], {len(self):,} names)"


def write_names(path: Path, names: Sequence[str]) -> None:
    """Write names to an Arrow file with one column, `name`."""
    schema = pa.schema([("name", pa.string())])
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, schema) as file:
        for start in range(0, len(names), _BLOCK):
            block = pa.array(list(names[start : start + _BLOCK]), pa.string())
            file.write_batch(pa.record_batch([block], schema=schema))


def names_digest(names: Sequence[str] | None) -> str:
    """A hash of the names in their order; empty for no names."""
    if names is None:
        return ""
    digest = hashlib.sha256()
    for start in range(0, len(names), _BLOCK):
        digest.update(json.dumps(list(names[start : start + _BLOCK])).encode())
    return digest.hexdigest()
