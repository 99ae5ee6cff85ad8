"""Private files and folders in the system's temporary folder."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from xmach.files.processes import writer
from xmach.files.staging import remove_abandoned


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
    return Path(tempfile.gettempdir(), f"xmach-{kind}.{writer()}.part")
