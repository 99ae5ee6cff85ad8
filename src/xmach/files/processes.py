"""Processes by name: which one writes now, and whether another is still running."""

from __future__ import annotations

import hashlib
import os
import uuid
from functools import cache
from pathlib import Path


def is_alive(process: int, started: str | None) -> bool:
    """Whether a process is running and is the one that started then, not a later one with the same id.

    `started` None: the start is unknown, and every process with this id counts.
    """
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # another user's process
        pass
    state, since = status(process)
    return state == "" or (state not in ("Z", "X") and started in (since, None))


def status(process: int) -> tuple[str, str]:
    """The state and the start time of a process; "" and "0" if the system does not tell."""
    try:
        fields = Path(f"/proc/{process}/stat").read_bytes().rpartition(b")")[2].decode().split()
    except OSError:
        return "", "0"
    return fields[0], fields[19]


def writer() -> str:
    """A name unique to this attempt that identifies this process."""
    process = os.getpid()
    return f"{machine()}-{process}-{status(process)[1]}-{uuid.uuid4().hex[:16]}"


@cache
def machine() -> str:
    """The same for all processes that see each other's ids; containers of one host do not."""
    node = uuid.getnode()
    address = 0 if node >> 40 & 1 else node  # a random number if there is no network card
    try:
        namespace = os.stat("/proc/self/ns/pid").st_ino
    except OSError:
        namespace = 0
    return hashlib.sha256(f"{address} {os.uname().nodename} {namespace}".encode()).hexdigest()[:12]
