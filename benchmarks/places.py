"""Where benchmarks find data and leave results."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "build" / "bench"


def data_folder() -> Path:
    """The folder of real data sets: $XMACH_DATA, or ../shared/data beside the project."""
    folder = Path(os.environ.get("XMACH_DATA", ROOT.parent / "shared" / "data"))
    if not folder.is_dir():
        sys.exit(f"{folder}: no data sets there; set XMACH_DATA to their folder")
    return folder


def write_results(name: str, results: Any, markdown: str) -> None:
    """Leave results as JSON and Markdown, and the plot that is made of the JSON; print the Markdown."""
    from benchmarks.drawings import DRAWINGS  # matplotlib: not for those who only want a folder

    OUT.mkdir(parents=True, exist_ok=True)
    kept = json.dumps(results, indent=1)
    (OUT / f"{name}.json").write_text(kept + "\n", encoding="utf-8")
    draw = DRAWINGS.get(name) or DRAWINGS.get(name.partition("-")[0])  # `tagging-tate` is drawn as `tagging`
    if draw is not None:
        draw(json.loads(kept), OUT / f"{name}.svg")
    (OUT / f"{name}.md").write_text(markdown, encoding="utf-8")
    print(markdown)


def table(header: list[str], rows: list[list[str]]) -> str:
    """A Markdown table."""
    lines = [header, ["---"] * len(header), *rows]
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)
