"""How much memory this process may still take, and an error for what does not fit."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from xmach.errors import NotEnoughMemory
from xmach.planning.units import human_bytes


class _Group(NamedTuple):
    """The names of a control group's memory files; both versions count the page cache as usage."""

    mount: str
    limit: str
    usage: str
    cache: str  # in memory.stat: file pages that the kernel gives up first


_VERSION_1 = _Group("sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
_VERSION_2 = _Group("sys/fs/cgroup", "memory.max", "memory.current", "inactive_file")


def available_bytes(root: Path = Path("/")) -> int:
    """The memory left to this process: the least of the machine's and of what its control groups leave it."""
    machine = _fields(root / "proc/meminfo").get("MemAvailable:")
    free = machine * 1024 if machine is not None else _physical_bytes()
    return min([free, *_group_room(root)])


def usable_cores() -> int:
    """The cores this process may use: its affinity, its control group's quota, and LOKY_MAX_CPU_COUNT."""
    from loky import cpu_count  # takes 20 ms to import

    return int(cpu_count())


def check_memory(needed: int, what: str, advice: str, available: int | None = None) -> None:
    """Raise NotEnoughMemory if `needed` bytes are not free; the message has both figures and what to change."""
    free = available_bytes() if available is None else available
    if needed > free:
        raise NotEnoughMemory(f"{what} needs {human_bytes(needed)} of memory, {human_bytes(free)} are free: {advice}")


def _group_room(root: Path) -> Iterator[int]:
    """What each control group of this process leaves, from its own up to the root: any of them may have the limit."""
    for line in _lines(root / "proc/self/cgroup"):  # 4:memory:/a/b, or 0::/a/b in version 2
        number, controllers, path = line.split(":", 2)
        if number != "0" and "memory" not in controllers.split(","):
            continue
        group = _VERSION_2 if number == "0" else _VERSION_1
        # In a container the path may be the host's, of which only the root is mounted; folders that are not there
        # say nothing.
        inner = PurePosixPath(*(part for part in PurePosixPath(path).parts if part not in ("/", "..")))
        for folder in (inner, *inner.parents):
            yield from _room(root / group.mount / folder, group)


def _room(folder: Path, group: _Group) -> Iterator[int]:
    limit, usage = _number(folder / group.limit), _number(folder / group.usage)
    if limit is not None and usage is not None:
        used = usage - _fields(folder / "memory.stat").get(group.cache, 0)
        yield max(0, limit - used)


def _physical_bytes() -> int:
    """Where there is no /proc: the free pages, or where these are not told (macOS) all pages."""
    name = "SC_AVPHYS_PAGES" if "SC_AVPHYS_PAGES" in os.sysconf_names else "SC_PHYS_PAGES"
    return os.sysconf(name) * os.sysconf("SC_PAGE_SIZE")


def _lines(file: Path) -> list[str]:
    try:
        return file.read_text().splitlines()
    except OSError:  # another system, or not ours to read: then it says nothing
        return []


def _number(file: Path) -> int | None:
    """The only number of a file; None if there is none, as in a version 2 limit of `max`."""
    lines = _lines(file)
    return int(lines[0]) if lines and lines[0].isdigit() else None


def _fields(file: Path) -> dict[str, int]:
    """The lines `name number ...` of a file."""
    words = [line.split() for line in _lines(file)]
    return {word[0]: int(word[1]) for word in words if len(word) > 1 and word[1].isdigit()}
