"""The OpenAPI document against the real server: schemathesis makes up requests, valid and not."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.serving.test_running import serving

CHECKS = ("--checks", "all", "--exclude-checks", "positive_data_acceptance")  # a label can be well-formed and unknown


def made_up_requests(folder: Path, examples: int, tmp_path: Path) -> int:
    """How many requests were made; none may fail the server, or get an answer that the document does not have."""
    pytest.importorskip("schemathesis")
    with serving(folder) as server:
        address = f"http://127.0.0.1:{server.port}/openapi.json"
        command = [sys.executable, "-m", "schemathesis.cli", "run", address, "--max-examples", str(examples), *CHECKS]
        result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert result.returncode == 0, result.stdout[-5000:] + result.stderr[-2000:]
        assert server.ask("GET", "/readyz")[0] == 200
    assert not [line for line in server.said if '"status": 5' in line or "Traceback" in line]
    found = re.search(r"([\d,]+) generated", result.stdout)
    assert found, result.stdout
    return int(found.group(1).replace(",", ""))


def test_some_requests(folder: Path, tmp_path: Path) -> None:
    assert made_up_requests(folder, 10, tmp_path) > 50


@pytest.mark.slow
def test_five_thousand_requests(folder: Path, tmp_path: Path) -> None:
    assert made_up_requests(folder, 3000, tmp_path) >= 5000
