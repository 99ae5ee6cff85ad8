"""The peak memory of a command and all its processes, by sampling /proc (Linux)."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

SAMPLE_SECONDS = 0.02
_FILES_SECONDS = 0.25  # mapped files change slowly, and listing them takes milliseconds


def peak_bytes(command: Sequence[str], environment: Mapping[str, str]) -> int:
    """Run a command to its end: the most that its processes had in memory at a time, what they share counted once.

    That is the sum of their anonymous pages, and of every mapped file the most that one of them has resident. The sum
    of PSS would be the same on an idle machine, but a library that strangers use too is divided among them as well:
    the same run then weighed 30 MiB less while other tests ran. A peak too short for the samples shows in the
    high-water mark of its process.
    """
    try:
        return run_within(command, environment)
    except subprocess.CalledProcessError as error:
        raise RuntimeError(f"{' '.join(command)} ended with {error.returncode}: {error.stderr.decode()}") from None


class Stopped(Exception):
    """A command was ended because it used more than it was given; says of what."""


def run_within(
    command: Sequence[str],
    environment: Mapping[str, str],
    memory: int | None = None,
    seconds: float | None = None,
    sample: float = SAMPLE_SECONDS,
) -> int:
    """`peak_bytes`, within limits: the command is killed with all its processes when it is beyond one (`Stopped`).

    Limits of the kernel's own count addresses or make allocations fail, which each library takes in another way. A
    command that fails raises `CalledProcessError` with what it said. `sample`: seconds between two looks; a look at
    gigabytes takes a few hundredths.
    """
    with (
        tempfile.TemporaryFile() as words,
        subprocess.Popen(command, env=dict(environment), stdout=subprocess.DEVNULL, stderr=words) as process,
    ):
        try:
            peak = _watch(process, memory, seconds, sample)
        except BaseException:  # a limit, or Ctrl-C: nothing goes on by itself
            _end(_family(process.pid))
            raise
        if process.returncode:
            words.seek(0)
            raise subprocess.CalledProcessError(process.returncode, command, stderr=words.read())
    return peak


def high_water() -> int:
    """The most that this process had resident since it began, or since `forget_high_water`; libraries included."""
    return _high_water(os.getpid())


def forget_high_water() -> None:
    """Let this process's high-water mark begin again at what is resident now."""
    Path("/proc/self/clear_refs").write_text("5")


class PrivatePeak:
    """The most that this process has had resident without mapped files, of which the kernel keeps no mark: a thread
    looks ten times a second from now on."""

    def __init__(self) -> None:
        self._first = self._peak = self._now()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look, name="private-peak", daemon=True)
        self._thread.start()

    def above(self) -> int:
        """How far the most was above what there was at first; ends the looking."""
        self._over.set()
        self._thread.join()
        return max(self._peak, self._now()) - self._first

    def _look(self) -> None:
        while not self._over.wait(0.1):
            self._peak = max(self._peak, self._now())

    @staticmethod
    def _now() -> int:
        return _kilobytes(os.getpid(), "status", "RssAnon:")


def resident() -> int:
    """What this process has resident now."""
    return _kilobytes(os.getpid(), "status", "VmRSS:")


def _watch(process: subprocess.Popen[bytes], memory: int | None, seconds: float | None, sample: float) -> int:
    """The peak of a process and its children, sampled until it ends, or is ended for being beyond a limit.

    The last look is when its time is up: a process that ends between two looks would have gone unnoticed.
    """
    peak = files = 0
    looked, begun = 0.0, time.monotonic()
    while process.poll() is None:
        family = _family(process.pid)
        if time.monotonic() - looked > _FILES_SECONDS:
            looked, files = time.monotonic(), _mapped_bytes(family)
        now = files + sum(_anonymous_bytes(member) for member in family)
        peak = max(peak, now, *map(_high_water, family))
        passed = time.monotonic() - begun
        for limit, used, what in ((memory, now, "memory"), (seconds, passed, "time")):
            if limit is not None and used > limit:
                raise Stopped(f"out of {what} after {passed:,.0f} s")
        time.sleep(sample if seconds is None else min(sample, seconds - passed))
    return peak


def _end(family: Sequence[int]) -> None:
    """Kill a process and all that it started."""
    for member in family:
        with suppress(ProcessLookupError):
            os.kill(member, signal.SIGKILL)


def _family(process: int) -> list[int]:
    """A process and all that it started."""
    family = [process]
    for parent in family:  # grows while it is walked
        for task in _lines(Path(f"/proc/{parent}/task"), "children"):
            family += [int(child) for child in task.split()]
    return family


def _anonymous_bytes(process: int) -> int:
    return _kilobytes(process, "smaps_rollup", "Anonymous:")


def _high_water(process: int) -> int:
    """The most that a process ever had resident, libraries included."""
    return _kilobytes(process, "status", "VmHWM:")


def _kilobytes(process: int, file: str, field: str) -> int:
    lines = _lines(Path(f"/proc/{process}"), file)
    return sum(1024 * int(line.split()[1]) for line in lines if line.startswith(field))


def _mapped_bytes(family: Sequence[int]) -> int:
    """The resident pages of every mapped file, of the process that has most of it."""
    most: dict[str, int] = {}
    for process in family:
        resident: dict[str, int] = {}
        name, pages = "", 0
        for line in _lines(Path(f"/proc/{process}"), "smaps"):
            words = line.split(maxsplit=5)
            if not words[0].endswith(":"):  # a mapping: its addresses, ..., the name of its file
                name = words[5] if len(words) > 5 and words[5].startswith("/") else ""
            elif words[0] == "Rss:":
                pages = int(words[1])
            elif words[0] == "Anonymous:" and name:  # what was written to stopped being the file's
                resident[name] = resident.get(name, 0) + pages - int(words[1])
        most |= {name: max(pages, most.get(name, 0)) for name, pages in resident.items()}
    return 1024 * sum(most.values())


def _lines(folder: Path, name: str) -> list[str]:
    """The lines of a file of a process, or of all its threads; none where it has ended meanwhile."""
    try:
        files = [folder / name] if folder.name != "task" else [thread / name for thread in folder.iterdir()]
        return [line for file in files for line in file.read_text().splitlines()]
    except OSError:
        return []
