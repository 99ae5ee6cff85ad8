"""Label names in an Arrow file, read where they lie: fifty million names need no memory until asked for."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import overload

import pyarrow as pa

_BLOCK = 1 << 16


class MappedNames(Sequence[str]):
    """The names in an Arrow file, memory-mapped."""

    def __init__(self, path: Path) -> None:
        with pa.memory_map(str(path)) as source:
            self._column = pa.ipc.open_file(source).read_all().column("name")

    def __len__(self) -> int:
        return len(self._column)

    @overload
    def __getitem__(self, i: int) -> str: ...
    @overload
    def __getitem__(self, i: slice) -> list[str]: ...
    def __getitem__(self, i: int | slice) -> str | list[str]:
        if isinstance(i, slice):
            return [str(name) for name in self._column[i].to_pylist()]
        return str(self._column[i].as_py())


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
