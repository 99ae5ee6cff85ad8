"""Where the shared data files are, and small files made on the spot."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.conftest import SHARED_DATA

BAD_INPUTS = SHARED_DATA.parent / "bad_inputs"


@pytest.fixture
def bad_inputs() -> Path:
    if not BAD_INPUTS.is_dir():
        pytest.skip("the shared bad inputs are not here; set XMACH_DATA")
    return BAD_INPUTS


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    def write_file(content: str | bytes, name: str = "rows.txt") -> Path:
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write_file


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """`bad_input` runs over the rows of expected.tsv: (file, outcome, line or None)."""
    if "bad_input" not in metafunc.fixturenames:
        return
    table = BAD_INPUTS / "expected.tsv"
    rows = [line.split("\t") for line in table.read_text().splitlines()[1:]] if table.is_file() else []
    cases = [(row[0], row[1], int(row[2]) if row[2] else None) for row in rows]
    metafunc.parametrize("bad_input", cases, ids=[case[0] for case in cases])
