"""How the pages of mapped files are to be read: one by one while few are asked for, with their neighbours afterwards.

The system reads 31 neighbours of every page that is missing. A sparse row asks a first layer for some dozens of pages
that lie anywhere in it, so that the first answer of a large model would read thirty times what it needs.
"""

from __future__ import annotations

import mmap
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from xmach.types import Rows, SparseRows

READ_AROUND = 32 * mmap.PAGESIZE  # what one missing page reads where nothing was advised


@dataclass(frozen=True)
class Region:
    """A part of a mapped file, in bytes from its beginning."""

    memory: mmap.mmap
    start: int
    stop: int

    def advise(self, name: str) -> None:
        """Tell the system how these pages will be asked for, by the name of a constant of `mmap`.

        Advice only: where a system does not know it or does not want it, pages are read as ever. Pages that are shared
        with what lies before or behind are left alone.
        """
        first, last = -(-self.start // mmap.PAGESIZE), self.stop // mmap.PAGESIZE
        advice = getattr(mmap, name, None)
        if advice is not None and last > first:
            with suppress(OSError):
                self.memory.madvise(advice, first * mmap.PAGESIZE, (last - first) * mmap.PAGESIZE)


class FirstLayers:
    """The first layers of a model's repetitions in their files, each of which is asked for the same rows."""

    def __init__(self, layers: Sequence[Region]) -> None:
        self._layers = tuple(layers)
        self._bytes = max((layer.stop - layer.start for layer in layers), default=0)  # of one of them
        self._asked = 0  # what reading with neighbours would have read of each by now
        self.scattered = bool(layers)
        for layer in self._layers:
            layer.advise("MADV_RANDOM")

    def expect(self, rows: Rows) -> None:
        """Hear which rows are answered next; once a layer would be read as a whole anyway, neighbours are welcome.

        Dense rows are multiplied by the whole of a layer.
        """
        if not self.scattered:
            return
        self._asked += rows.nnz * READ_AROUND if isinstance(rows, SparseRows) else self._bytes
        if self._asked >= self._bytes:
            self.scattered = False
            for layer in self._layers:
                layer.advise("MADV_NORMAL")
