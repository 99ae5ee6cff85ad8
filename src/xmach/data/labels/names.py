"""What labels are called: files with the name of label i on line i + 1, and the way back from names to ids."""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Iterable
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from xmach.data.read.lines import line_chunks
from xmach.errors import DataFileError, InputError
from xmach.types import AnyArray, IntArray, row_batches

_BLOCK = 1 << 16  # names looked at together


class LabelNames(Protocol):
    """What labels are called: an array, or names that lie in a file."""

    def __len__(self) -> int: ...

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


def find_names(
    names: LabelNames, wanted: Iterable[Hashable], written: Callable[[Any], Hashable] | None = None
) -> dict[Hashable, int]:
    """The ids of those wanted that are names, in one walk and memory that goes by the names wanted.

    `written` is how a name is compared: what it looks like in a file. A name of more than one label is refused.
    """
    left, found = set(wanted), dict[Hashable, int]()
    for start, stop in row_batches(len(names), _BLOCK):
        block = names[np.arange(start, stop)].tolist()
        for i, name in enumerate(block if written is None else map(written, block), start):
            if name in left:
                if name in found:
                    raise InputError(f"{name!r} is the name of labels {found[name]} and {i}: give ids instead")
                found[name] = i
    return found
