"""A board that workers write their progress on and read the stop sign from: a small memory-mapped file."""

from __future__ import annotations

import mmap
import struct
from pathlib import Path

from xmach.files import scratch_file
from xmach.types import Progress

_FLAG = struct.Struct("q")  # 0: go on, 1: stop
_SLOT = struct.Struct("qqd")  # rows done, rows in all, loss


class Board:
    """One slot a repetition and one stop flag, shared by all processes on this machine; pickles as its path."""

    def __init__(self, slots: dict[int, int], path: Path | None = None) -> None:
        self._slots = slots  # repetition -> place on the board
        if path is None:
            path = scratch_file("board", _FLAG.size + _SLOT.size * len(slots))
        self._path = path
        with path.open("r+b") as file:
            self._memory = mmap.mmap(file.fileno(), 0)

    @classmethod
    def for_repetitions(cls, repetitions: list[int]) -> Board:
        """A new board with a slot for each of these repetitions."""
        return cls({repetition: place for place, repetition in enumerate(repetitions)})

    def report(self, repetition: int, progress: Progress) -> None:
        """Write a repetition's progress into its slot."""
        _SLOT.pack_into(self._memory, _FLAG.size + _SLOT.size * self._slots[repetition], *progress)

    def progress(self) -> dict[int, Progress]:
        """What every repetition last reported; zeros for one that has not begun."""
        return {
            repetition: Progress(*_SLOT.unpack_from(self._memory, _FLAG.size + _SLOT.size * place))
            for repetition, place in self._slots.items()
        }

    def stop(self) -> None:
        """Ask every worker to save and stop."""
        _FLAG.pack_into(self._memory, 0, 1)

    def should_stop(self) -> bool:
        """Whether somebody asked to stop."""
        return bool(_FLAG.unpack_from(self._memory)[0])

    def close(self) -> None:
        """Remove the board's file; processes that still have it open are not disturbed."""
        self._path.unlink(missing_ok=True)

    def __reduce__(self) -> tuple[type[Board], tuple[dict[int, int], Path]]:
        return Board, (self._slots, self._path)
