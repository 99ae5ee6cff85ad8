"""Label names, and files with the name of label i on line i + 1."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

from xmach.data.read.lines import line_chunks
from xmach.errors import DataFileError
from xmach.types import AnyArray, IntArray


class LabelNames(Protocol):
    """The names of K labels, by id: an array, or names in a file (`MappedNames`)."""

    def __len__(self) -> int: ...

    def __iter__(self) -> Iterator[Any]: ...

    def __getitem__(self, ids: IntArray, /) -> AnyArray: ...


def read_label_names(path: str | os.PathLike[str]) -> list[str]:
    """The names in a text file, gzip'd or not; blanks around them are dropped, and names may repeat."""
    names: list[str] = []
    path = Path(path)
    for chunk in line_chunks(path):
        try:
            text = chunk.data.decode("utf-8")
        except UnicodeDecodeError as error:
            line = chunk.first_line + chunk.data.count(b"\n", 0, error.start)
            message = f"byte 0x{chunk.data[error.start]:02x} is not UTF-8"
            raise DataFileError(path, line, message) from None
        names += [line.strip() for line in text.split("\n")[:-1]]
    if "" in names:
        raise DataFileError(path, names.index("") + 1, "a line without a name; expected one label name a line")
    if not names:
        raise DataFileError(path, 1, "empty file; expected one label name a line")
    return names
