"""Progress on stderr: a bar on a terminal, elsewhere a line now and then."""

from __future__ import annotations

import logging
import re
import sys
import time
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from types import TracebackType
from typing import TYPE_CHECKING

from xmach.config import options
from xmach.errors import ModelIncomplete, ParameterError, PlanMismatch

if TYPE_CHECKING:
    from rich.progress import Progress

    from xmach.training import ProgressHandler, StageProgress

_LINE_SECONDS = 10.0


def say(message: str) -> None:
    """A line on stderr."""
    print(message, file=sys.stderr, flush=True)


class Meter:
    """Shows how far a piece of work is; `update` may be called as often as one likes."""

    def __init__(self, what: str, unit: str) -> None:
        self.what, self.unit, self.done = what, unit, 0
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
        now, self.done = time.monotonic(), done
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


@contextmanager
def training_output() -> Iterator[ProgressHandler]:
    """Show what training reports: progress as a bar, log messages and warnings as lines on stderr.

    Warnings and errors name options as they are typed.
    """
    meter: Meter | None = None
    log = logging.getLogger("xmach")
    handler, level = _Lines(), log.level
    with ExitStack() as stack, warnings.catch_warnings():

        def show(progress: StageProgress) -> None:
            nonlocal meter
            # a stage may come again: the classifiers of labels are trained at three costs
            if meter is None or progress.stage != meter.what or progress.done < meter.done:
                stack.close()  # one bar at a time: the stage before is over
                meter = stack.enter_context(Meter(progress.stage, progress.unit))
            note = "" if progress.loss is None else f", loss {progress.loss:.4f}"
            meter.update(progress.done, progress.total, note)

        warnings.simplefilter("always", UserWarning)  # whatever PYTHONWARNINGS says
        warnings.showwarning = lambda message, *where: say(f"warning: {with_flags(str(message))}")
        log.addHandler(handler)
        log.setLevel(logging.INFO)
        try:
            yield show
        except (ParameterError, ModelIncomplete) as error:
            raise type(error)(with_flags(str(error))) from None
        except PlanMismatch as error:
            raise PlanMismatch(_with_flags_of_plan(str(error))) from None
        finally:
            log.removeHandler(handler)
            log.setLevel(level)


def with_flags(message: str) -> str:
    """A message of the library with options as they are typed: `n_buckets=5` becomes `--buckets 5`."""
    message = message.replace("every repetition in only", "every repetition in --only")
    message = re.sub(r"\bonly_ranker\b", "--only-ranker", message)
    for name, option in options().items():
        if option.flag is not None:
            message = re.sub(rf"\b{name}='?([^\s']+)'?", rf"{option.flag} \1", message)
            message = re.sub(rf"\b{name}\b", option.flag, message) if "_" in name else message
    return message


def _with_flags_of_plan(message: str) -> str:
    """The message of a `PlanMismatch`, in which `epochs: 4 here, 1 there` becomes `--epochs: 4 here, 1 there`."""
    flags = {name: option.flag for name, option in options().items() if option.flag is not None}
    flags |= {"data": "the training rows", "validation": "--validation", "label_text": "--label-text"}
    for name, flag in flags.items():
        message = re.sub(rf"(?<=[( ]){name}: (?=.* here, )", f"{flag}: ", message)
    return message


class _Lines(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        say(with_flags(record.getMessage()))
