"""Renames in one step, and flushing to disk."""

from __future__ import annotations

import ctypes
import errno
import os
import shutil
from contextlib import suppress
from pathlib import Path

OLD = "old"  # the name of what `swap` moved aside, beside the new folder
_TAKEN = (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR)  # what `os.rename` says if a folder cannot have a name


def rename_to_free(new: Path, path: Path) -> None:
    """Rename a folder; raise FileExistsError if something other than an empty folder has the name."""
    try:
        os.rename(new, path)
    except OSError as error:
        if error.errno not in _TAKEN:
            raise
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path)) from error


def swap(new: Path, path: Path) -> None:
    """Rename a folder over another, in one step if the system can; what was there ends up in the staging folder."""
    while True:
        try:
            os.rename(new, path)  # nothing is there, or an empty folder
            return
        except OSError as error:
            if error.errno not in _TAKEN:
                raise
        if exchange(new, path):
            return
        old = new.with_name(OLD)
        shutil.rmtree(old, ignore_errors=True)
        with suppress(FileNotFoundError):  # another process removed it
            os.rename(path, old)


def is_working_directory(path: Path) -> bool:
    """Whether this process works in a folder."""
    try:
        return path.samefile(os.curdir)
    except OSError:  # not there, or the working directory may not be read
        return False


def exchange(one: Path, other: Path) -> bool:
    """Exchange two names in one step; return False if the system or the file system cannot."""
    try:
        renameat2 = ctypes.CDLL(None, use_errno=True).renameat2  # Linux; not wrapped by `os`
    except AttributeError:
        return False
    here, flags = -100, 2  # AT_FDCWD, RENAME_EXCHANGE
    return bool(renameat2(here, os.fsencode(one), here, os.fsencode(other), flags) == 0)


def link(new: Path, path: Path) -> None:
    """Give a file a name that must be free; without hard links there is a moment between the check and the rename."""
    try:
        os.link(new, path)
    except OSError as error:
        if error.errno not in (errno.EPERM, errno.ENOTSUP, errno.ENOSYS):
            raise
        if path.exists():
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path)) from None
        os.replace(new, path)


def sync(path: Path) -> None:
    """Wait until a file, or the list of files in a folder, is on the disk."""
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except PermissionError:  # a folder that may be written to but not listed
        return
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
