"""Files that are there whole or not at all: temporary name in the same folder, fsync, rename, fsync the folder."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import shutil
import time
import uuid
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

_MACHINE = f"{uuid.getnode():x}"
_SILENT_SECONDS = 24 * 3600.0


def write_atomically(path: Path, write: Callable[[Path], None], exclusive: bool = False) -> None:
    """Let `write` fill a temporary file, then give it its name; a reader sees the old file or the new one.

    `exclusive`: raise FileExistsError where there is a file of that name already.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = temporary_beside(path)
    try:
        write(temporary)
        temporary.chmod(0o666 & ~_umask())  # safetensors makes files that only their owner can read
        with temporary.open("rb") as file:
            os.fsync(file.fileno())
        (_link if exclusive else os.replace)(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def temporary_beside(path: Path) -> Path:
    """A name unique to the attempt, as duplicates may race; machine and process tell whether it was abandoned."""
    return path.with_name(f".{path.name}.{_MACHINE}-{os.getpid()}-{uuid.uuid4().hex}.part")


def remove_abandoned(folder: Path) -> None:
    """Remove what is temporary below a folder and has no writer left: killed here, or silent elsewhere for a day."""
    # os.walk, for it passes over folders that vanish meanwhile
    names = [Path(base, name) for base, folders, files in os.walk(folder) for name in (*folders, *files)]
    for left in names:
        writer = re.search(r"^\..*\.([0-9a-f]+)-([0-9]+)-[0-9a-f]+\.part$", left.name)
        if writer is None:  # none of ours
            continue
        with suppress(FileNotFoundError):
            young = time.time() - left.stat().st_mtime < _SILENT_SECONDS
            if _is_alive(int(writer[2])) if writer[1] == _MACHINE else young:
                continue
            if left.is_dir():
                shutil.rmtree(left)
            else:
                left.unlink()


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # somebody else's
        return True
    return True


def _link(source: Path, path: Path) -> None:
    """Give a file a name that must be free; where the file system knows no links, as well as it can be done."""
    try:
        os.link(source, path)
    except OSError as error:
        if error.errno not in (errno.EPERM, errno.ENOTSUP, errno.ENOSYS):
            raise
        if path.exists():
            raise FileExistsError(path) from None
        os.replace(source, path)


def _umask() -> int:
    """The process's umask, which can only be read by setting it."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def write_json(path: Path, values: dict[str, Any], exclusive: bool = False) -> None:
    """Write plain values, atomically; the same values give the same bytes."""
    text = json.dumps(values, indent=1, ensure_ascii=False, allow_nan=False) + "\n"

    def write(temporary: Path) -> None:
        temporary.write_text(text, encoding="utf-8")

    write_atomically(path, write, exclusive)


def sha256_of(path: Path) -> str:
    """The SHA-256 of a file, as hex digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
