"""Compiled kernels are kept on disk, and forgotten when any kernel's source changes."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import xmach

INNER = "from xmach._kernels._compile import kernel\n\n\n@kernel\ndef inner(x: int) -> int:\n    return x + {}\n"
OUTER = (
    "from xmach._kernels._compile import kernel\nfrom xmach._kernels.inner import inner\n\n\n"
    "@kernel\ndef outer(x: int) -> int:\n    return inner(x)\n"
)


def answer(folder: Path) -> str:
    """What the outer kernel gives in a process of its own, and how often it came from disk."""
    code = "from xmach._kernels.outer import outer; print(outer(1), sum(outer.stats.cache_hits.values()))"
    found = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"PYTHONPATH": str(folder)},
        check=True,
        capture_output=True,
        text=True,
    )
    return found.stdout.strip()


def test_a_change_in_one_file_reaches_kernels_of_others(tmp_path: Path) -> None:
    package = tmp_path / "xmach"
    source = Path(xmach.__file__).parent
    (package / "_kernels").mkdir(parents=True)
    shutil.copy(source / "_kernels" / "_compile.py", package / "_kernels")
    for name in ("__init__.py", "_kernels/__init__.py"):
        (package / name).touch()
    (package / "_kernels" / "outer.py").write_text(OUTER)
    inner = package / "_kernels" / "inner.py"
    inner.write_text(INNER.format(1))
    assert answer(tmp_path) == "2 0"
    assert answer(tmp_path) == "2 1"  # kept
    before = inner.stat()
    inner.write_text(INNER.format(5))
    os.utime(inner, ns=(before.st_atime_ns, before.st_mtime_ns))  # same size and time, as files of two wheels
    assert answer(tmp_path) == "6 0"
