"""NPY files written by appending, so that an array larger than memory can be written in one pass."""

from __future__ import annotations

import mmap
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Protocol

import numpy as np
import numpy.typing as npt

from xmach.types import AnyArray, IntArray

_HASH_BLOCK = 1 << 20  # array elements hashed at a time, so that a memory-mapped array is never copied whole


class Digest(Protocol):
    """A hash that grows, as those of hashlib."""

    def update(self, data: bytes | memoryview, /) -> None:
        """Add bytes."""


class NpyAppender:
    """A .npy file of numbers, or of rows of fixed width; closing it writes the final length into the header."""

    def __init__(self, path: Path, dtype: npt.DTypeLike, width: int | None = None) -> None:
        self._dtype = np.dtype(dtype)
        self._row_shape = () if width is None else (width,)
        self._length = 0
        self._file = path.open("wb")
        self._header_bytes = self._write_header()

    def append(self, values: AnyArray) -> None:
        """Add values at the end."""
        self._file.write(np.ascontiguousarray(values, self._dtype).data)
        self._length += len(values)

    def close(self) -> None:
        """Write the final length into the header."""
        self._file.seek(0)
        if self._write_header() != self._header_bytes:  # NumPy pads headers so that a length can grow in place
            raise RuntimeError("NumPy wrote an .npy header of a different size for a longer array")
        self._file.close()

    def __enter__(self) -> NpyAppender:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if kind is None:
            self.close()
        else:
            self._file.close()

    def _write_header(self) -> int:
        descr = np.lib.format.dtype_to_descr(self._dtype)
        header = {"descr": descr, "fortran_order": False, "shape": (self._length, *self._row_shape)}
        np.lib.format.write_array_header_1_0(self._file, header)
        return self._file.tell()


class SparseAppender:
    """Writes the three arrays of sparse rows, some rows at a time."""

    def __init__(self, folder: Path, part: str) -> None:
        self._files, self._done = ExitStack(), 0
        types = {"indptr": np.int64, "indices": np.int32, "values": np.float32}
        self._out = {
            name: self._files.enter_context(NpyAppender(folder / f"{part}-{name}.npy", dtype))
            for name, dtype in types.items()
        }
        self._out["indptr"].append(np.zeros(1, np.int64))

    def append(self, lengths: IntArray, indices: AnyArray, values: AnyArray) -> None:
        """Add rows."""
        self._out["indptr"].append(self._done + np.cumsum(lengths))
        self._out["indices"].append(indices)
        self._out["values"].append(values)
        self._done += len(indices)

    def __enter__(self) -> SparseAppender:
        return self

    def __exit__(self, *error: object) -> None:
        self._files.__exit__(*error)  # type: ignore[arg-type]


def save_array(path: Path, array: AnyArray) -> None:
    """Write an array of any shape."""
    with path.open("wb") as file:
        np.lib.format.write_array(file, np.ascontiguousarray(array), allow_pickle=False)


def map_array(path: Path, *, in_memory: bool = False) -> AnyArray:
    """Memory-map the array in a file, or read a copy into memory."""
    array: AnyArray = np.load(path, mmap_mode=None if in_memory else "r", allow_pickle=False)
    return array.view(np.ndarray)  # slicing np.memmap itself is slow


def let_go(array: AnyArray) -> None:
    """Release the pages of a mapped array; they are read again when needed.

    Otherwise a pass over a large file would end with all of it resident. An array in memory is not changed.
    """
    base: object = array
    while isinstance(base, np.ndarray | memoryview):
        base = base.base if isinstance(base, np.ndarray) else base.obj
    if isinstance(base, mmap.mmap) and not array.flags.writeable:  # pages that were written to would be lost
        base.madvise(mmap.MADV_DONTNEED)


def add_arrays(digest: Digest, arrays: Mapping[str, AnyArray]) -> None:
    """Add named arrays to a hash; pages of mapped arrays are released again."""
    for name, array in arrays.items():
        digest.update(f"{name} {array.dtype.str} {array.shape}".encode())
        flat = array.reshape(-1)
        for start in range(0, len(flat), _HASH_BLOCK):
            digest.update(np.ascontiguousarray(flat[start : start + _HASH_BLOCK]).data)
            let_go(array)
