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
    """A slot for each part of each repetition and one stop flag, shared by all processes on this machine.

    It pickles as its path.
    """

    def __init__(self, slots: dict[int, int], parts: int = 1, path: Path | None = None) -> None:
        self._slots, self._parts = slots, parts  # repetition -> place on the board; slots at each place
        if path is None:
            path = scratch_file("board", _FLAG.size + _SLOT.size * parts * len(slots))
        self._path = path
        with path.open("r+b") as file:
            self._memory = mmap.mmap(file.fileno(), 0)

    @classmethod
    def for_repetitions(cls, repetitions: list[int], parts: int = 1) -> Board:
        """A new board with a slot for each part of these repetitions."""
        return cls({repetition: place for place, repetition in enumerate(repetitions)}, parts)

    def report(self, repetition: int, progress: Progress, part: int = 0) -> None:
        """Write a part's progress into its slot."""
        _SLOT.pack_into(self._memory, self._offset(self._slots[repetition], part), *progress)

    def progress(self) -> dict[int, Progress]:
        """What every repetition last reported, its parts added up; zeros for one that has not begun."""
        return {repetition: self._summed(place) for repetition, place in self._slots.items()}

    def _summed(self, place: int) -> Progress:
        parts = [Progress(*_SLOT.unpack_from(self._memory, self._offset(place, part))) for part in range(self._parts)]
        last = next((each.loss for each in reversed(parts) if each.done), 0.0)
        return Progress(sum(each.done for each in parts), sum(each.total for each in parts), last)

    def _offset(self, place: int, part: int) -> int:
        return _FLAG.size + _SLOT.size * (place * self._parts + part)

    def stop(self) -> None:
        """Ask every worker to save and stop."""
        _FLAG.pack_into(self._memory, 0, 1)

    def should_stop(self) -> bool:
        """Whether somebody asked to stop."""
        return bool(_FLAG.unpack_from(self._memory)[0])

    def close(self) -> None:
        """Remove the board's file; processes that still have it open are not disturbed."""
        self._path.unlink(missing_ok=True)

    def __reduce__(self) -> tuple[type[Board], tuple[dict[int, int], int, Path]]:
        return Board, (self._slots, self._parts, self._path)
