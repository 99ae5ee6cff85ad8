"""Files of label names, one a line."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import pytest

from xmach.data import read_label_names
from xmach.errors import DataFileError


@pytest.mark.parametrize(
    "content",
    [b"red\nblau \nred\n", b"\xef\xbb\xbfred\r\nblau\r\nred", gzip.compress(b"red\nblau\nred\n")],
    ids=["plain", "bom and crlf", "gzip"],
)
def test_names_in_their_order(write: Callable[..., Path], content: bytes) -> None:
    assert read_label_names(write(content)) == ["red", "blau", "red"]


@pytest.mark.parametrize(
    ("content", "line", "message"),
    [
        (b"red\n\xff\n", 2, "0xff is not UTF-8"),
        (b"red\n\nblue\n", 2, "a line without a name"),
        (b"", 1, "empty file"),
    ],
)
def test_faults_name_their_line(write: Callable[..., Path], content: bytes, line: int, message: str) -> None:
    path = write(content)
    with pytest.raises(DataFileError, match=f"{path}:{line}: .*{message}"):
        read_label_names(path)


def test_the_names_of_real_labels(shared_data: Path) -> None:
    assert len(read_label_names(shared_data / "bibtex" / "labels.txt.gz")) == 159
