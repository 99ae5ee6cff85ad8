"""NPY files that grow by appending, so that a file larger than memory can be written in one pass."""

from __future__ import annotations

import mmap
from pathlib import Path
from types import TracebackType

import numpy as np
import numpy.typing as npt

from xmach.types import AnyArray


class NpyAppender:
    """A .npy file of numbers, or of rows of some width; its header gets the final length on closing."""

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
        """Write the length."""
        self._file.seek(0)
        if self._write_header() != self._header_bytes:  # NumPy pads headers so that a length can grow in place
            raise RuntimeError("NumPy wrote an .npy header of another size for a longer array")
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


def save_array(path: Path, array: AnyArray) -> None:
    """Write an array of any shape."""
    with path.open("wb") as file:
        np.lib.format.write_array(file, np.ascontiguousarray(array), allow_pickle=False)


def map_array(path: Path, *, in_memory: bool = False) -> AnyArray:
    """An array that stays in its file until it is looked at, or a copy of it in memory."""
    array: AnyArray = np.load(path, mmap_mode=None if in_memory else "r", allow_pickle=False)
    return array.view(np.ndarray)  # slicing np.memmap itself is slow


def let_go(array: AnyArray) -> None:
    """Give the pages of a mapped array back to the system; they are read again when looked at.

    Whoever walks through a file larger than memory would otherwise have all of it resident in the end. An array in
    memory is left alone.
    """
    base: object = array
    while isinstance(base, np.ndarray):
        base = base.base
    if isinstance(base, mmap.mmap) and not array.flags.writeable:  # what was written there would be lost
        base.madvise(mmap.MADV_DONTNEED)
