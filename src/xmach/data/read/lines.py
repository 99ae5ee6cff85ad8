"""Files as chunks of whole lines: gzip detected from the content, byte order mark dropped, memory bounded."""

from __future__ import annotations

import gzip
import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import IO, NamedTuple

from xmach.errors import DataFileError, DataFileMissing
from xmach.types import OnProgress

CHUNK_BYTES = 1 << 20  # small enough that a chunk and its arrays stay in the cache
MAX_LINE_BYTES = 1 << 30
_BOM = b"\xef\xbb\xbf"
_GZIP = b"\x1f\x8b"


class Chunk(NamedTuple):
    """Whole lines, each ended by a newline; it is added to the last line of a file if missing."""

    first_line: int  # 1-based
    data: bytes


@contextmanager
def file_errors(path: str | os.PathLike[str]) -> Iterator[None]:
    """Convert an OSError about a path to a DataFileError."""
    try:
        yield
    except DataFileError:
        raise
    except FileNotFoundError as error:
        raise DataFileMissing(os.fspath(path), None, "there is no such file") from error
    except PermissionError as error:
        raise DataFileMissing(os.fspath(path), None, "no permission to open it") from error
    except OSError as error:
        raise DataFileError(os.fspath(path), None, error.strerror or str(error)) from error


def is_gzip(path: Path) -> bool:
    """Return whether a file's content is gzip'd, whatever its name."""
    with file_errors(path):
        if path.is_dir():
            raise DataFileError(path, None, "this is a folder, not a data file")
        if path.exists() and not path.is_file():
            raise DataFileError(path, None, "not a regular file; copy its content to one")
        with path.open("rb") as raw:
            return raw.read(2) == _GZIP


def line_chunks(path: Path, on_progress: OnProgress | None = None, size: int = CHUNK_BYTES) -> Iterator[Chunk]:
    """Yield the lines of a file, plain or gzip'd, about `size` bytes at a time, without a byte order mark."""
    compressed = is_gzip(path)
    with file_errors(path), path.open("rb") as raw:
        total = os.fstat(raw.fileno()).st_size
        content: IO[bytes] | gzip.GzipFile = gzip.GzipFile(fileobj=raw, mode="rb") if compressed else raw
        line, rest, mark = 1, b"", _BOM
        while True:
            try:
                block = content.read(max(size, len(_BOM)))
            except (gzip.BadGzipFile, EOFError, zlib.error) as error:
                raise DataFileError(path, None, f"the gzip stream is damaged: {error}") from error
            if not block:
                break
            block, mark = block.removeprefix(mark), b""
            if on_progress is not None:
                on_progress(raw.tell(), total)
            cut = block.rfind(b"\n") + 1
            if cut == 0:
                rest += block
                if len(rest) > MAX_LINE_BYTES:
                    raise DataFileError(path, line, f"a line of more than {MAX_LINE_BYTES} bytes: not a text file?")
                continue
            data, rest = rest + block[:cut], block[cut:]
            yield Chunk(line, data)
            line += data.count(b"\n")
        if rest:
            yield Chunk(line, rest + b"\n")


def line_content(line: bytes) -> bytes:
    """Return a line without its comment and carriage return."""
    return line.partition(b"#")[0].removesuffix(b"\r")


def first_line(path: Path) -> tuple[int, bytes] | None:
    """Return the number and content of the first line that is not just a comment; None if there is none."""
    return next(_numbered(path), None)


def leading_lines(path: Path, n: int = 1000) -> Iterator[bytes]:
    """Yield the contents of the first n lines that are not just comments."""
    return (content for _, content in islice(_numbered(path), n))


def _numbered(path: Path) -> Iterator[tuple[int, bytes]]:
    for chunk in line_chunks(path, size=1 << 16):
        for line, raw in enumerate(chunk.data.split(b"\n")[:-1], chunk.first_line):
            content = line_content(raw)
            if content.strip(b" \t") or b"#" not in raw:
                yield line, content
