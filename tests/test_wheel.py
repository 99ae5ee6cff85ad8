"""The wheel builds, installs into an empty environment with the base dependencies alone, and works there."""

from __future__ import annotations

import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.mark.slow
def test_wheel_works_in_an_empty_environment(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "build", "--wheel", "--outdir", tmp_path, ROOT], check=True)
    (wheel,) = tmp_path.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert "xmach/py.typed" in names
    assert all(name.startswith("xmach") for name in names)
    venv.create(tmp_path / "env", with_pip=True)
    python = tmp_path / "env" / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "--quiet", wheel], check=True)
    installed = subprocess.run([python, "-m", "pip", "list"], capture_output=True, text=True, check=True).stdout.lower()
    assert "torch" not in installed
    shop = [tmp_path / "env" / "bin" / "xmach", "synth", "shop", "--products", "1000", "--queries", "500"]
    subprocess.run([*shop, "--test-queries", "50", "--out", tmp_path / "shop"], check=True, cwd=tmp_path)
    train = [
        tmp_path / "env" / "bin" / "xmach",
        "train",
        tmp_path / "shop" / "train.xmc.txt",
        "--model",
        tmp_path / "m",
    ]
    options = ["--buckets", "50", "--repetitions", "2", "--hidden", "none", "--cache", tmp_path / "cache"]
    subprocess.run([*train, *options], check=True, cwd=tmp_path)
