"""Runs contestants of the product search under limits; what is finished is kept, and not run again.

A result belongs to a contestant, its settings, the data and the code: change one, and there is another. One that ran
into a limit is kept, too, and tried again only when the limits are wider.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.peers.adapter import PEERS, library_version
from benchmarks.peers.runs import Limits, run_once
from benchmarks.peers.sources import Source, digest_of, provide
from benchmarks.places import OUT, ROOT

PLACE = OUT / "peers"
# The rooms of xmach that decide what MACH answers: an edit elsewhere makes no result old.
_ROOMS = ("_kernels", "buckets", "features", "models", "learners", "training", "decoding", "ranking", "predictor")


@dataclass(frozen=True)
class Contestant:
    """A peer with settings; `answering` are those that one trained model can be asked with in turn."""

    peer: str
    training: Mapping[str, Any] = field(default_factory=dict)
    answering: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """What it is, in one line."""
        parts = {**self.training, **self.answering}
        return ", ".join([self.peer, *(f"{name}={_shown(value)}" for name, value in parts.items())])


def contest(source: Source, contestants: list[Contestant], limits: Limits, place: Path = PLACE) -> list[dict[str, Any]]:
    """A row for each contestant, in order: what it reached and took, or why it has no result (`failed`)."""
    data = provide(source, place / "data")
    about = json.loads((data / "about.json").read_text(encoding="utf-8"))
    rows = []
    for contestant in contestants:
        row = _measure(contestant, data, about["fingerprint"], limits, place)
        shown = row.get("failed") or f"recall@100 {100 * row['matching']['weighted']['recall@100']:.2f} %"
        print(f"{contestant.name}: {shown}", file=sys.stderr, flush=True)
        rows.append({"contestant": contestant.name, **_facts(contestant), "data": about, **row})
    return rows


def _facts(contestant: Contestant) -> dict[str, Any]:
    parts = {"peer": contestant.peer, "training": dict(contestant.training), "answering": dict(contestant.answering)}
    return parts | {"version": library_version(contestant.peer)}


def _measure(contestant: Contestant, data: Path, fingerprint: str, limits: Limits, place: Path) -> dict[str, Any]:
    facts, code = _facts(contestant), _code(contestant.peer)
    if facts["version"] is None:
        return {"failed": f"{PEERS[contestant.peer].library} is not installed (the `bench` extra)"}
    facts["data"] = fingerprint
    asked = place / "answers" / f"{contestant.peer}-{digest_of(facts, code)}.json"
    del facts["answering"]
    folder = place / "models" / f"{contestant.peer}-{digest_of(facts, code)}"
    folder.mkdir(parents=True, exist_ok=True)
    asked.parent.mkdir(parents=True, exist_ok=True)
    job = {"peer": contestant.peer, "training": dict(contestant.training), "answering": dict(contestant.answering)}
    job |= {"folder": str(folder), "data": str(data)}
    command = [sys.executable, "-m", "benchmarks.peers.contestant"]
    trained = run_once([*command, "train"], job, folder / "trained.json", limits)
    if "failed" in trained:
        return {"failed": trained["failed"], "while": "training"}
    answered = run_once([*command, "answer"], job, asked, limits)
    if "failed" in answered:
        return {"failed": answered["failed"], "while": "answering"}
    return _row(contestant, folder, trained, answered)


def _row(contestant: Contestant, folder: Path, trained: dict[str, Any], answered: dict[str, Any]) -> dict[str, Any]:
    """What both processes said, as one; a part of the repetitions is answerable for its part of training only."""
    seconds, parameters = trained["seconds"], trained["parameters"]
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file() and path.suffix != ".json")
    each, used = trained.get("seconds each"), contestant.answering.get("repetitions")
    if each is not None:
        seconds["train"] = sum(each[:used])  # also where a run before had trained some of them
    if each is not None and used is not None:
        parameters, size = (number * used // len(each) for number in (parameters, size))
    return {
        "seconds": {f"training: {name}": value for name, value in seconds.items()}
        | {f"answering: {name}": value for name, value in answered["seconds"].items()},
        "training seconds": seconds["prepare"] + seconds["train"] + seconds["save"],
        "training memory": trained["memory"],
        "private training memory": trained["private"],
        "answering memory": answered["memory"],
        "parameters": parameters,
        "bytes": size,
        "matching": answered["matching"],
        "ranking": answered["ranking"],
        "recalls": answered["recalls"],
    }


def _code(peer: str) -> list[Path]:
    """The files that decide what a contestant answers and how it is measured."""
    files = [
        ROOT / "benchmarks" / "peers" / f"{name}.py"
        for name in (peer, "contestant", "judging", "search_data", "hashing")
    ]
    if peer == "parabel":
        files.append(ROOT / "benchmarks" / "peers" / "trees.py")
    return files + (mach_sources() if peer == "mach" else [])


def mach_sources() -> list[Path]:
    """Return the files of xmach that decide what MACH answers."""
    return [path for room in _ROOMS for path in _sources(ROOT / "src" / "xmach" / room)]


def _sources(path: Path) -> list[Path]:
    return [path] if path.is_file() else sorted(path.rglob("*.py"))


def _shown(value: Any) -> str:
    if isinstance(value, list | tuple):
        return "-".join(map(str, value)) or "none"
    return f"{value:,}" if isinstance(value, int) else str(value)
