"""The staging folders that files are written into, and what killed processes left of them.

The name of a staging folder says which process made it, so that a later run can remove what a killed process left.
"""

from __future__ import annotations

import os
import re
import shutil
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path

from xmach.files.processes import is_alive, machine, writer
from xmach.files.renaming import OLD, sync

NEW, DOOMED = "new", "doomed"  # names inside a staging folder
_NAME = "name"  # another one: the file that holds a target's name
_SILENT_SECONDS = 24 * 3600.0
_LONGEST_TARGET = 64  # bytes of a target's name in the name of its staging folder
_TEMPORARY = re.compile(  # nine digits fit into every system's process id; older versions wrote no start time
    r"(?:\.(?P<target>(?s:.+))|xmach-[a-z]+)"
    r"\.(?P<machine>[0-9a-f]+)-(?P<process>[0-9]{1,9})(?:-(?P<started>[0-9]+))?-[0-9a-f]+\.part"
)


@contextmanager
def staging_folder(path: Path, parents: bool = False) -> Iterator[Path]:
    """A folder beside a path, on the same file system; a library's own temporary files stay inside it."""
    remove_abandoned(path.parent)
    short = path.name
    while len(os.fsencode(short)) > _LONGEST_TARGET:
        short = short[:-1]
    staging = path.with_name(f".{short}.{writer()}.part")
    staging.mkdir(parents=parents)
    try:
        if short != path.name:
            (staging / _NAME).write_bytes(os.fsencode(path.name))
            sync(staging / _NAME)
        yield staging
    finally:
        _discard(staging, path)


def _target_of(staging: Path, short: str | None) -> Path | None:
    """What a staging folder was made for, given the target in its name; None for scratch space."""
    if short is None:
        return None
    try:
        return staging.with_name(os.fsdecode((staging / _NAME).read_bytes()))
    except (OSError, ValueError):  # it has no such file: the name was short enough
        return staging.with_name(short)


def _discard(left: Path, target: Path | None) -> None:
    """Remove something temporary; a folder that was moved aside and not replaced gets its name back first."""
    with suppress(OSError):
        if target is not None and (left / OLD).exists() and not target.exists():
            os.rename(left / OLD, target)
        if left.is_dir() and not left.is_symlink():
            shutil.rmtree(left, ignore_errors=True)
        else:
            left.unlink()


def remove_abandoned(folder: Path, *, deep: bool = False) -> None:
    """Remove what dead processes left in a folder; `deep`: in its subfolders, too. What a live process writes stays.

    A process of another machine counts as dead if it has changed nothing for a day. Scratch space of other machines
    is never removed, because it may be read without being changed.
    """
    levels = os.walk(folder)  # skips folders that it cannot read
    for base, folders, files in levels if deep else islice(levels, 1):
        for name in (*folders, *files):
            temporary = _TEMPORARY.fullmatch(name)
            if temporary is not None and _is_abandoned(Path(base, name), temporary):
                _discard(Path(base, name), _target_of(Path(base, name), temporary["target"]))


def is_temporary(path: Path) -> bool:
    """Whether a file or folder is one that xmach makes and removes again, going by its name."""
    return _TEMPORARY.fullmatch(path.name) is not None


def _is_abandoned(left: Path, temporary: re.Match[str]) -> bool:
    started = temporary["started"]
    if temporary["machine"] == (f"{uuid.getnode():x}" if started is None else machine()):
        return not is_alive(int(temporary["process"]), started)
    if temporary["target"] is None:
        return False
    inside = (Path(base, name) for base, folders, files in os.walk(left) for name in (*folders, *files))
    last_change = 0.0
    for path in (left, *inside):
        with suppress(OSError):  # its writer may be removing it
            last_change = max(last_change, path.lstat().st_mtime)
    return time.time() - last_change > _SILENT_SECONDS
