"""Publish files and folders: their content is written beside them, flushed to disk, and renamed into place."""

from __future__ import annotations

import errno
import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from xmach.files.renaming import is_working_directory, link, rename_to_free, swap, sync
from xmach.files.staging import DOOMED, NEW, staging_folder


@contextmanager
def atomic_file(path: Path, *, exclusive: bool = False, parents: bool = False) -> Iterator[Path]:
    """Yield a path to write to; the file takes its name when the block ends, and is discarded if the block raises.

    `exclusive`: claim the name; raise FileExistsError if a file has it already. `parents`: create missing folders.
    A link stays a link: the file that it points to is replaced.
    """
    path = path.absolute()  # the block may change the working directory
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if path.exists() and not path.is_file():  # a pipe or a device stays what it is; /dev/stdout is a link to one
        yield path
        return
    if path.is_symlink() and not exclusive:
        path = Path(os.path.realpath(path))
    with staging_folder(path, parents) as staging:
        new = staging / NEW
        new.touch()
        mode = new.stat().st_mode
        yield new
        if new.stat().st_mode != mode:  # safetensors creates files that only their owner can read
            new.chmod(mode & 0o7777)
        sync(new)
        (link if exclusive else os.replace)(new, path)
        sync(path.parent)


@contextmanager
def atomic_folder(path: Path, *, replace: bool = False) -> Iterator[Path]:
    """Yield an empty folder to fill; it takes its name when the block ends, and is discarded if the block raises.

    `replace`: swap it with whatever has the name already; otherwise raise FileExistsError.
    A link stays a link: the folder that it points to is replaced. If that is the working directory of this process,
    the process moves to the new folder; other processes must change to it themselves.
    """
    path = Path(os.path.realpath(path))  # the block may change the working directory
    with staging_folder(path, parents=True) as staging:
        new = staging / NEW
        new.mkdir()
        yield new
        for base, _, files in os.walk(new):
            for name in (*files, "."):
                sync(Path(base, name))
        is_here = is_working_directory(path)
        (swap if replace else rename_to_free)(new, path)
        if is_here:
            os.chdir(path)
        sync(path.parent)


def write_json(path: Path, values: dict[str, Any], *, exclusive: bool = False) -> None:
    """Write plain values atomically, and create missing folders; the same values give the same bytes."""
    text = json.dumps(values, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    with atomic_file(path, exclusive=exclusive, parents=True) as new:
        new.write_text(text, encoding="utf-8")


def remove_at_once(path: Path) -> bool:
    """Remove a file or folder so that no other process sees half of it; return False if there is none."""
    path = path.absolute()
    if not os.path.lexists(path):
        return False
    try:
        with staging_folder(path) as staging:
            os.rename(path, staging / DOOMED)
    except FileNotFoundError:  # another process was faster
        return False
    return True


def sha256_of(path: Path) -> str:
    """The SHA-256 of a file, as hex digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
