"""Publish files and folders atomically, and clean up after processes that were killed.

Content is written into a staging folder beside its destination, flushed to disk, and renamed into place. A reader sees
the old content or the new, never half of it. The name of a staging folder says which process made it, so that a later
run can remove what a killed process left behind. No other module of xmach renames or creates temporary files.
"""

from __future__ import annotations

import ctypes
import errno
import hashlib
import json
import os
import re
import shutil
import tempfile
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

_SILENT_SECONDS = 24 * 3600.0
_NEW, _OLD, _DOOMED, _NAME = "new", "old", "doomed", "name"  # names inside a staging folder
_LONGEST_TARGET = 64  # bytes of a target's name in the name of its staging folder
_TAKEN = (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR)  # what `os.rename` says if a folder cannot have a name
_TEMPORARY = re.compile(  # nine digits fit into every system's process id; older versions wrote no start time
    r"(?:\.(?P<target>(?s:.+))|xmach-[a-z]+)"
    r"\.(?P<machine>[0-9a-f]+)-(?P<process>[0-9]{1,9})(?:-(?P<started>[0-9]+))?-[0-9a-f]+\.part"
)


# --- publishing


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
    with _staging(path, parents) as staging:
        new = staging / _NEW
        new.touch()
        mode = new.stat().st_mode
        yield new
        if new.stat().st_mode != mode:  # safetensors creates files that only their owner can read
            new.chmod(mode & 0o7777)
        _sync(new)
        (_link if exclusive else os.replace)(new, path)
        _sync(path.parent)


@contextmanager
def atomic_folder(path: Path, *, replace: bool = False) -> Iterator[Path]:
    """Yield an empty folder to fill; it takes its name when the block ends, and is discarded if the block raises.

    `replace`: swap it with whatever has the name already; otherwise raise FileExistsError.
    A link stays a link: the folder that it points to is replaced. If that is the working directory of this process,
    the process moves to the new folder; other processes must change to it themselves.
    """
    path = Path(os.path.realpath(path))  # the block may change the working directory
    with _staging(path, parents=True) as staging:
        new = staging / _NEW
        new.mkdir()
        yield new
        for base, _, files in os.walk(new):
            for name in (*files, "."):
                _sync(Path(base, name))
        is_here = _is_working_directory(path)
        (_swap if replace else _rename_to_free)(new, path)
        if is_here:
            os.chdir(path)
        _sync(path.parent)


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
        with _staging(path) as staging:
            os.rename(path, staging / _DOOMED)
    except FileNotFoundError:  # another process was faster
        return False
    return True


def sha256_of(path: Path) -> str:
    """The SHA-256 of a file, as hex digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


# --- scratch space


@contextmanager
def scratch_folder(kind: str = "data") -> Iterator[Path]:
    """Yield a private folder in the system's temporary folder; it is removed when the block ends."""
    folder = _scratch_path(kind)
    folder.mkdir(0o700)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def scratch_file(kind: str, size: int) -> Path:
    """Create a private file of zeros in the system's temporary folder; the caller removes it."""
    path = _scratch_path(kind)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        os.truncate(descriptor, size)
    finally:
        os.close(descriptor)
    return path


def remove_abandoned_scratch() -> None:
    """Remove scratch files and folders of processes that were killed."""
    remove_abandoned(Path(tempfile.gettempdir()))


def _scratch_path(kind: str) -> Path:
    remove_abandoned_scratch()
    return Path(tempfile.gettempdir(), f"xmach-{kind}.{_writer()}.part")


# --- what killed processes left


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
    """Whether a file or folder is one that this module makes and removes again, going by its name."""
    return _TEMPORARY.fullmatch(path.name) is not None


def _is_abandoned(left: Path, temporary: re.Match[str]) -> bool:
    started = temporary["started"]
    if temporary["machine"] == (f"{uuid.getnode():x}" if started is None else _machine()):
        return not _is_alive(int(temporary["process"]), started)
    if temporary["target"] is None:
        return False
    inside = (Path(base, name) for base, folders, files in os.walk(left) for name in (*folders, *files))
    last_change = 0.0
    for path in (left, *inside):
        with suppress(OSError):  # its writer may be removing it
            last_change = max(last_change, path.lstat().st_mtime)
    return time.time() - last_change > _SILENT_SECONDS


def _is_alive(process: int, started: str | None) -> bool:
    """Whether a process is running and is the one that started then, not a later one with the same id.

    `started` None: the start is unknown, and every process with this id counts.
    """
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # another user's process
        pass
    state, since = _status(process)
    return state == "" or (state not in ("Z", "X") and started in (since, None))


def _status(process: int) -> tuple[str, str]:
    """The state and the start time of a process; "" and "0" if the system does not tell."""
    try:
        fields = Path(f"/proc/{process}/stat").read_bytes().rpartition(b")")[2].decode().split()
    except OSError:
        return "", "0"
    return fields[0], fields[19]


def _writer() -> str:
    """A name unique to this attempt that identifies this process."""
    process = os.getpid()
    return f"{_machine()}-{process}-{_status(process)[1]}-{uuid.uuid4().hex[:16]}"


@cache
def _machine() -> str:
    """The same for all processes that see each other's ids; containers of one host do not."""
    node = uuid.getnode()
    address = 0 if node >> 40 & 1 else node  # a random number if there is no network card
    try:
        namespace = os.stat("/proc/self/ns/pid").st_ino
    except OSError:
        namespace = 0
    return hashlib.sha256(f"{address} {os.uname().nodename} {namespace}".encode()).hexdigest()[:12]


# --- staging, renaming, flushing


@contextmanager
def _staging(path: Path, parents: bool = False) -> Iterator[Path]:
    """A folder beside a path, on the same file system; a library's own temporary files stay inside it."""
    remove_abandoned(path.parent)
    short = path.name
    while len(os.fsencode(short)) > _LONGEST_TARGET:
        short = short[:-1]
    staging = path.with_name(f".{short}.{_writer()}.part")
    staging.mkdir(parents=parents)
    try:
        if short != path.name:
            (staging / _NAME).write_bytes(os.fsencode(path.name))
            _sync(staging / _NAME)
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
        if target is not None and (left / _OLD).exists() and not target.exists():
            os.rename(left / _OLD, target)
        if left.is_dir() and not left.is_symlink():
            shutil.rmtree(left, ignore_errors=True)
        else:
            left.unlink()


def _rename_to_free(new: Path, path: Path) -> None:
    try:
        os.rename(new, path)
    except OSError as error:
        if error.errno not in _TAKEN:
            raise
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path)) from error


def _swap(new: Path, path: Path) -> None:
    """Rename a folder over another, in one step if the system can; what was there ends up in the staging folder."""
    while True:
        try:
            os.rename(new, path)  # nothing is there, or an empty folder
            return
        except OSError as error:
            if error.errno not in _TAKEN:
                raise
        if _exchange(new, path):
            return
        old = new.with_name(_OLD)
        shutil.rmtree(old, ignore_errors=True)
        with suppress(FileNotFoundError):  # another process removed it
            os.rename(path, old)


def _is_working_directory(path: Path) -> bool:
    try:
        return path.samefile(os.curdir)
    except OSError:  # not there, or the working directory may not be read
        return False


def _exchange(one: Path, other: Path) -> bool:
    """Exchange two names in one step; return False if the system or the file system cannot."""
    try:
        renameat2 = ctypes.CDLL(None, use_errno=True).renameat2  # Linux; not wrapped by `os`
    except AttributeError:
        return False
    here, exchange = -100, 2  # AT_FDCWD, RENAME_EXCHANGE
    return bool(renameat2(here, os.fsencode(one), here, os.fsencode(other), exchange) == 0)


def _link(new: Path, path: Path) -> None:
    """Give a file a name that must be free; without hard links there is a moment between the check and the rename."""
    try:
        os.link(new, path)
    except OSError as error:
        if error.errno not in (errno.EPERM, errno.ENOTSUP, errno.ENOSYS):
            raise
        if path.exists():
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path)) from None
        os.replace(new, path)


def _sync(path: Path) -> None:
    """Wait until a file, or the list of files in a folder, is on the disk."""
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except PermissionError:  # a folder that may be written to but not listed
        return
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
