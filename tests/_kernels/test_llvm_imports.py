"""Only `_kernels/llvm` may use the private interfaces of numba."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
HOME = ROOT / "src/xmach/_kernels/llvm"
PRIVATE = ("llvmlite", "numba.core", "numba.extending")


def imported(source: str) -> Iterator[str]:
    """The dotted names that a file imports: `from a import b` gives both a and a.b."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def private(source: str) -> list[str]:
    """The imported names that are private to numba."""
    return [name for name in imported(source) if any(f"{name}.".startswith(f"{each}.") for each in PRIVATE)]


@pytest.mark.parametrize("folder", ["src", "tests", "benchmarks", "examples"])
def test_only_one_folder_imports_the_private_parts_of_numba(folder: str) -> None:
    files = [path for path in (ROOT / folder).rglob("*.py") if HOME not in path.parents]
    assert files
    found = {str(path.relative_to(ROOT)): private(path.read_text(encoding="utf-8")) for path in files}
    assert {path: names for path, names in found.items() if names} == {}


def test_the_check_finds_the_imports_of_the_folder_itself() -> None:
    assert all(private(path.read_text(encoding="utf-8")) for path in HOME.glob("*.py") if path.name != "__init__.py")


@pytest.mark.parametrize(
    "line",
    [
        "import llvmlite",
        "import llvmlite.ir as ir",
        "import numba.core.types",
        "from numba import extending",
        "from numba.core import types",
        "def later():\n    from numba.extending import intrinsic",
    ],
)
def test_every_way_to_import_is_found(line: str) -> None:
    assert private(line)


@pytest.mark.parametrize("line", ["import numba", "from numba import njit", "from llvmlites import ir"])
def test_public_names_are_allowed(line: str) -> None:
    assert not private(line)
