"""Accuracy against size: `python -m benchmarks sizes`, a table and a figure for each set.

MACH with 1 to 16 repetitions, linear buckets in two numbers and a network, beside the trees of the tagging contest.
Runs that are finished are kept in build/bench/tagging, and not run again.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from benchmarks.contest import figures
from benchmarks.peers.harness import Contestant, mach_sources
from benchmarks.peers.runs import Limits, run_once
from benchmarks.peers.sources import digest_of
from benchmarks.places import table, write_results
from benchmarks.tagging.contest import PLACE, contest
from benchmarks.tagging.sets import SETS, provide_set
from xmach.planning import human_bytes

REPETITIONS = (1, 2, 4, 8, 16)
TREES = ("parabel", "bonsai", "xr-linear")
# linear buckets by default, and half as many; a network with what earlier versions chose for such sets
MODELS: dict[str, dict[str, dict[str, Any]]] = {
    "bibtex": {
        "linear, B = 106": {"learner": "linear", "n_buckets": 106},
        "linear, B = 53": {"learner": "linear", "n_buckets": 53},
        "network, B = 100": {"learner": "network", "n_buckets": 100},
    },
    **{
        name: {
            "linear, B = 1,000": {"learner": "linear", "n_buckets": 1000},
            "linear, B = 500": {"learner": "linear", "n_buckets": 500},
            "network, B = 1,000": {"learner": "network", "n_buckets": 1000},
        }
        for name in ("citeulike_t", "tate")
    },
}
_LIMITS = Limits(16 * 2**30, 2 * 3600.0)
_ROOM = Path(__file__).parent


def main() -> None:
    """Run what is not finished; write a table and a figure for each set."""
    for name, models in MODELS.items():
        data = provide_set(SETS[name])
        results = {words: prefixes(data, settings) for words, settings in models.items()}
        trees = {row["contestant"]: row for row in contest(data, [Contestant(tree) for tree in TREES], _LIMITS)}
        write_results(f"sizes-{name}", {"models": results, "trees": trees}, f"# {name}\n\n{size_table(results, trees)}")


def prefixes(data: Path, settings: dict[str, Any], place: Path = PLACE) -> list[dict[str, Any]]:
    """Return what the first 1, 2, 4, 8 and 16 repetitions of a model reach, from a process of its own."""
    about = json.loads((data / "about.json").read_text(encoding="utf-8"))
    facts = {"settings": settings, "data": about["fingerprint"], "repetitions": REPETITIONS}
    code = [_ROOM / "prefixes.py", _ROOM / "mach.py", *mach_sources()]
    folder = place / "runs" / f"{data.name}-prefixes-{digest_of(facts, code)}"
    folder.mkdir(parents=True, exist_ok=True)
    job = {"settings": settings, "repetitions": REPETITIONS, "data": str(data), "model": str(folder / "model")}
    found: Any = run_once([sys.executable, "-m", "benchmarks.tagging.prefixes"], job, folder / "result.json", _LIMITS)
    if "failed" in found:
        sys.exit(f"{data.name}, {settings}: {found['failed']}")
    print(f"{data.name}, {settings}: {found[-1]['seconds']:.0f} s", file=sys.stderr, flush=True)
    return list(found)


def size_table(models: dict[str, list[dict[str, Any]]], trees: dict[str, dict[str, Any]]) -> str:
    """Format the results as Markdown, each model with its numbers of repetitions."""
    header = ["model", "R", "P@1", "P@3", "P@5", "recall@100", "on disk", "training, CPU s"]
    lines = [
        [words, str(each["R"]), *_percent(each["quality"]), human_bytes(each["bytes"]), figures(each["seconds"])]
        for words, results in models.items()
        for each in results
    ]
    for name, row in trees.items():
        if "failed" in row:
            lines.append([name, "-", row["failed"], *["-"] * 5])
            continue
        seconds = row["training seconds"]["cpu"]["median"]
        lines.append([name, "-", *_percent(row["quality"]), human_bytes(row["bytes"]), figures(seconds)])
    return table(header, lines)


def _percent(quality: dict[str, float]) -> list[str]:
    return [f"{100 * quality[name]:.2f}" for name in ("precision@1", "precision@3", "precision@5", "recall@100")]
