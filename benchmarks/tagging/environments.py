"""Virtual environments of contestants whose libraries do not go with ours; made on first use, with pip."""

from __future__ import annotations

import subprocess
import sys
import venv
from importlib import metadata
from pathlib import Path

from benchmarks.peers.sources import digest_of
from benchmarks.places import OUT
from benchmarks.tagging.tagger import TAGGERS, Environment
from xmach.version import __version__

PLACE = OUT / "envs"
_READY = "ready"  # a file that is there once everything is installed


def python_of(environment: Environment | None, place: Path = PLACE) -> str:
    """Return the interpreter of an environment, which is made if it is missing; None is our own."""
    if environment is None:
        return sys.executable
    folder = _folder(environment, place)
    python = folder / "bin" / "python"
    if not is_made(environment, place):
        print(f"installing {', '.join([*environment.alone, *environment.requirements])}", file=sys.stderr, flush=True)
        venv.create(folder, clear=True, with_pip=True)
        install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        _run([*install, *environment.requirements])
        if environment.alone:
            _run([*install, "--no-deps", *environment.alone])
        (folder / _READY).touch()
    return str(python)


def is_made(environment: Environment, place: Path = PLACE) -> bool:
    """Whether an environment is complete."""
    return (_folder(environment, place) / _READY).exists()


def library_version(name: str) -> str | None:
    """Return the version of a contestant's library, or None if it is not installed.

    The version of an environment's library is the one that is asked for: the environment may not be made yet.
    """
    entry = TAGGERS[name]
    if entry.library == "xmach":
        return __version__
    if entry.environment is not None:
        wanted = dict(each.split("==") for each in entry.environment.alone)
        return wanted[entry.library]
    try:
        return metadata.version(entry.library)
    except metadata.PackageNotFoundError:
        return None


def _folder(environment: Environment, place: Path) -> Path:
    wanted = [*environment.requirements, *environment.alone, sys.version]
    return place / f"{environment.name}-{digest_of(wanted, [])}"


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        last = done.stderr.strip().splitlines()[-1:]
        raise OSError(f"pip failed: {' '.join(last) or 'it said nothing'}")
