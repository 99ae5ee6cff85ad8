"""Progress on stderr: a bar on a terminal, elsewhere a line now and then."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress

_LINE_SECONDS = 10.0
_POLL_SECONDS = 0.5


def say(message: str) -> None:
    """A line on stderr."""
    print(message, file=sys.stderr, flush=True)


class Meter:
    """Shows how far a piece of work is; `update` may be called as often as one likes."""

    def __init__(self, what: str, unit: str) -> None:
        self.what, self.unit = what, unit
        self._begun = self._shown = time.monotonic()
        self._first: int | None = None  # work that was done before this run does not count as speed
        self._bar: Progress | None = None

    def __enter__(self) -> Meter:
        if sys.stderr.isatty():
            self._bar = _bar()
            self._bar.add_task(self.what, total=None, note="")
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def update(self, done: int, total: int, note: str = "") -> None:
        """Say that `done` of `total` units are done."""
        now = time.monotonic()
        self._first = done if self._first is None else self._first
        speed = (done - self._first) / max(now - self._begun, 1e-9)
        text = f"{speed:,.0f} {self.unit}/s{note}"
        if self._bar is not None:
            self._bar.update(self._bar.task_ids[0], completed=done, total=total, note=text)
        elif now - self._shown >= _LINE_SECONDS:
            self._shown = now
            left = f", {(total - done) / speed:,.0f} s left" if speed > 0 else ""
            say(f"{self.what}: {done / max(total, 1):.0%}, {text}{left}")


def _bar() -> Progress:
    from rich.console import Console  # not before there is a terminal to draw on
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    words, note = TextColumn("{task.description}"), TextColumn("{task.fields[note]}")
    columns = (words, BarColumn(), TaskProgressColumn(), note, TimeRemainingColumn())
    return Progress(*columns, console=Console(stderr=True), transient=True)


class Watch:
    """Calls a function now and then in a thread, while the work goes on."""

    def __init__(self, look: Callable[[], None]) -> None:
        self._look = look
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Watch:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._over.wait(_POLL_SECONDS):
            self._look()
