"""Every Python and bash block in README and docs runs, top to bottom, in a folder of its own."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```(python|bash)\n(.*?)^```", re.DOTALL | re.MULTILINE)
EXAMPLES = [page for page in PAGES if BLOCK.search(page.read_text(encoding="utf-8"))]
COMMAND = f'xmach() {{ {shlex.quote(sys.executable)} -W error -m xmach "$@"; }}\n'  # these sources, installed or not


def as_python(kind: str, code: str) -> str:
    """A block as Python; all blocks of a page are one script, so that names and files last from one to the next."""
    if kind == "python":
        return code
    return f"__import__('subprocess').run(['bash', '-euo', 'pipefail', '-c', {COMMAND + code!r}], check=True)\n"


@pytest.mark.parametrize("page", EXAMPLES, ids=lambda page: page.name)
def test_examples_run(page: Path, tmp_path: Path) -> None:
    script = "\n".join(as_python(*block) for block in BLOCK.findall(page.read_text(encoding="utf-8")))
    environment = os.environ | {"XMACH_CACHE": str(tmp_path / "cache")}
    command = [sys.executable, "-W", "error", "-c", script]
    result = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_rows_of_a_table_are_as_wide_as_its_head(page: Path) -> None:
    lines = page.read_text(encoding="utf-8").split("\n")
    for above, line in pairwise(lines):
        if above.startswith("|") and line.startswith("|"):  # a bar within a cell, also in code, is written \|
            assert len(re.findall(r"(?<!\\)\|", line)) == len(re.findall(r"(?<!\\)\|", above)), line
