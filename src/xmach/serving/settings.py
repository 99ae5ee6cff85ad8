"""What a server is started with; plain values, so that worker processes are given them as JSON."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path

from xmach.errors import InputError, ParameterError
from xmach.parameters import real, whole

EXAMPLES_FILE = "examples.txt"  # in a model folder: queries to try, one a line; outside the checksums
TOKEN_VARIABLE = "XMACH_TOKEN"
_SHORTEST_TOKEN = 16


@dataclass(frozen=True)
class Settings:
    """A model folder and how it is served. Times are seconds, `queue` counts inputs that wait to be answered."""

    folder: Path
    host: str = "127.0.0.1"
    port: int = 8000
    workers: int = 1
    batch_size: int = 32  # inputs answered together at most; 1: no batching
    batch_wait: float = 0.001  # how long the first of them waits for others
    queue: int = 128
    timeout: float = 10.0  # to read a request, and again to answer it
    drain: float = 1.0  # how long a server that was told to stop still takes requests, and is not ready
    max_body: int = 2**20  # bytes
    max_inputs: int = 128  # of a request
    max_text: int = 10_000  # characters
    max_k: int = 1000
    watch: float = 1.0  # between two looks for a new model in the folder; 0: none
    verify: bool = True
    token_file: Path | None = None
    origins: tuple[str, ...] = ()  # that may call from another site's page (CORS)
    examples: Path | None = None  # queries to try, one a line

    def __post_init__(self) -> None:
        for name, low, high in (("port", 0, 65_535), ("workers", 1, 256), ("max_k", 1, 100_000)):
            whole(name, getattr(self, name), low, high)
        for name in ("batch_size", "queue", "max_body", "max_inputs", "max_text"):
            whole(name, getattr(self, name), 1)
        if self.max_inputs > self.queue:
            raise ParameterError(f"max_inputs ({self.max_inputs}) cannot be more than queue ({self.queue})")
        for name in ("batch_wait", "drain", "watch"):
            real(name, getattr(self, name), 0.0, 3600.0, with_low=True)
        real("timeout", self.timeout, 0.0, 3600.0, with_low=False)

    def to_json(self) -> str:
        """For another process; no secret is in it."""
        return json.dumps(asdict(self), default=str)

    @classmethod
    def from_json(cls, text: str) -> Settings:
        """The inverse of `to_json`."""
        values = json.loads(text)
        paths = {name: values[name] and Path(values[name]) for name in ("folder", "token_file", "examples")}
        return cls(**(values | paths | {"origins": tuple(values["origins"])}))

    def token(self) -> str | None:
        """What callers must know: from the file, otherwise from the environment; None: nothing."""
        return read_token(self.token_file)


def read_token(file: Path | None) -> str | None:
    """A token from a file, or without one from the environment; None if there is neither."""
    if file is not None:
        try:
            found: str | None = file.read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"{file}: the token cannot be read: {error}") from None
    else:
        found = os.environ.get(TOKEN_VARIABLE)
    if found is not None and (len(found) < _SHORTEST_TOKEN or not found.isascii() or not found.isprintable()):
        raise InputError(
            f"{file or TOKEN_VARIABLE}: a token has at least {_SHORTEST_TOKEN} printable ASCII characters; "
            f"this one has {len(found)}"
        )
    return found
