"""The formats by name, and telling them apart."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Protocol

from xmach.data.lines import ProgressHandler, first_line
from xmach.data.options import ReadOptions
from xmach.data.rows import Batch, FaultHandler
from xmach.data.svmlight import SvmlightReader, looks_like_svmlight
from xmach.data.xmc import XmcReader, looks_like_xmc
from xmach.errors import DataFileError, ParameterError
from xmach.types import Int32Array, IntArray


class Reader(Protocol):
    """Reads one file: first all batches, then what can be said of the whole."""

    def batches(self, path: Path, report: FaultHandler, progress: ProgressHandler | None = None) -> Iterator[Batch]:
        """The rows of the file; a fault is reported, and its row left out."""

    @property
    def n_features(self) -> int:
        """d."""

    @property
    def n_labels(self) -> int:
        """K."""

    @property
    def label_names(self) -> Sequence[str] | None:
        """K names, or None."""

    def label_ids(self, labels: IntArray) -> Int32Array:
        """The ids, below K, of labels as batches have them."""


READERS: dict[str, Callable[[ReadOptions], Reader]] = {"xmc": XmcReader, "svmlight": SvmlightReader}


def guess_format(path: str | os.PathLike[str]) -> str:
    """The format of a file, told by its first line."""
    first = first_line(Path(path))
    if first is None:
        raise DataFileError(os.fspath(path), 1, f"empty file; the formats are {_listed()}")
    line, content = first
    if looks_like_xmc(content):
        return "xmc"
    if looks_like_svmlight(content):
        return "svmlight"
    seen = content[:60].decode("utf-8", "replace")
    wanted = "expected a header 'N D K' (xmc) or a row such as '3 1:0.5 7:1.2' (svmlight)"
    raise DataFileError(os.fspath(path), line, f"cannot tell the format from {seen!r}: {wanted}")


def resolve_format(path: str | os.PathLike[str], name: str) -> str:
    """A format that was named, or the one that the file seems to be in."""
    if name == "auto":
        return guess_format(path)
    if name not in READERS:
        raise ParameterError(f"format must be one of auto, {_listed()}; got {name!r}")
    return name


def _listed() -> str:
    return ", ".join(READERS)
