"""Sizes as people write them, and back."""

from __future__ import annotations

import pytest

from xmach.errors import ParameterError
from xmach.planning import human_bytes, parse_bytes


@pytest.mark.parametrize(
    ("n", "text"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (1024, "1.00 KiB"),
        (2**20 - 1, "1.00 MiB"),
        (1_352_681_600, "1.26 GiB"),
        (5 * 2**40, "5.00 TiB"),
        (5000 * 2**40, "5000.00 TiB"),
    ],
)
def test_human_bytes(n: int, text: str) -> None:
    assert human_bytes(n) == text


@pytest.mark.parametrize(
    ("text", "n"),
    [
        ("4GB", 4 * 10**9),
        ("4GiB", 4 * 2**30),
        ("512MB", 512 * 10**6),
        ("1.5 gib", 3 * 2**29),
        ("0.1GB", 10**8),  # a float's 0.1 would be a byte off at larger units
        ("12345", 12_345),
        ("7B", 7),
        ("2TiB", 2 * 2**40),
        ("64kb", 64_000),
    ],
)
def test_parse_bytes(text: str, n: int) -> None:
    assert parse_bytes(text) == n


@pytest.mark.parametrize("text", ["", "GB", "4XB", "-4GB", "4 G B", "1e9", "nan", "4,5GB", "4G"])
def test_no_size(text: str) -> None:
    with pytest.raises(ParameterError, match="--memory takes a size such as 4GB, 4GiB, 512MB or a number of bytes"):
        parse_bytes(text, "--memory")


@pytest.mark.parametrize("text", ["0", "0GB", "0.4B"])
def test_less_than_a_byte(text: str) -> None:
    with pytest.raises(ParameterError, match="a size must be at least one byte"):
        parse_bytes(text)
