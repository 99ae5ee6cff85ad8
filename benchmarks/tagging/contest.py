"""MACH, Parabel, Bonsai and XR-Linear on the same rows: `python -m benchmarks tagging`, one table a set.

Every contestant trains in one process and predicts in another, one thread each. A run belongs to a contestant, its
settings, the data and the code; what is finished is kept in build/bench/tagging, and not run again.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import load_npz

from benchmarks.peers.harness import Contestant, mach_sources
from benchmarks.peers.runs import Limits, run_once
from benchmarks.peers.sources import digest_of
from benchmarks.places import OUT, ROOT, write_results
from benchmarks.tagging.environments import library_version, python_of
from benchmarks.tagging.report import QUALITY, result_table, summary
from benchmarks.tagging.sets import SETS, provide_set
from benchmarks.tagging.tagger import TAGGERS
from xmach.metrics import PropensityScored, RankingMetrics, RecallByFrequency, frequency_groups, propensities
from xmach.planning import parse_bytes
from xmach.types import IntArray

PLACE = OUT / "tagging"
DEPTH = 100  # labels predicted for each row


def main(*arguments: str) -> None:
    """Run what is not finished; write a table for each set."""
    asked = _parser().parse_args(arguments)
    limits = Limits(parse_bytes(asked.memory, "--memory"), 60 * asked.minutes)
    for name in asked.sets:
        contestants = [contestant_of(words) for words in asked.contestants]
        folder = provide_set(SETS[name])
        about = json.loads((folder / "about.json").read_text(encoding="utf-8"))
        rows = contest(folder, contestants, limits, asked.repeats)
        sizes = ", ".join(f"{about[part]:,} {part}" for part in ("train", "test", "features", "labels"))
        write_results(f"tagging-{name}", {"set": about, "rows": rows}, f"# {name}: {sizes}\n\n{result_table(rows)}")


def contestant_of(words: str) -> Contestant:
    """Parse `name` or `name:setting=value:...`; values are JSON, or else text."""
    name, *parts = words.split(":")
    if name not in TAGGERS:
        sys.exit(f"no contestant {name!r}; there are {', '.join(TAGGERS)}")
    settings: dict[str, Any] = {}
    for part in parts:
        setting, equals, value = part.partition("=")
        if not equals:
            sys.exit(f"a setting is written name=value, got {part!r}")
        try:
            settings[setting] = json.loads(value)
        except json.JSONDecodeError:
            settings[setting] = value
    return Contestant(name, settings)


def contest(
    data: Path, contestants: Sequence[Contestant], limits: Limits, repeats: int = 1, place: Path = PLACE
) -> list[dict[str, Any]]:
    """Return a row for each contestant, best P@1 first; a row without a result says why (`failed`).

    Contestants take turns, so that each round finds the machine about as busy for all of them.
    """
    rounds: dict[str, list[dict[str, Any]]] = {each.name: [] for each in contestants}
    for turn in range(repeats):
        for each in contestants:
            run = _measure(each, data, limits, turn, place)
            shown = run.get("failed") or f"P@1 {100 * run['quality']['precision@1']:.2f} %"
            print(f"{data.name}, {each.name}: {shown}", file=sys.stderr, flush=True)
            rounds[each.name].append(run)
    rows = [
        {"tagger": each.peer, "settings": dict(each.training), "version": library_version(each.peer)}
        | summary(rounds[each.name])
        | {"contestant": each.name, "rounds": rounds[each.name]}
        for each in contestants
    ]
    return sorted(rows, key=lambda row: -row["quality"]["precision@1"] if "quality" in row else 1.0)


def judge(data: Path, best: IntArray) -> dict[str, float]:
    """Return the quality of (n, 100) predicted labels: P@k, recall@100 of all labels and of three groups, PSP@k.

    Propensities and groups (head, torso, tail) are those of the training rows.
    """
    trained = load_npz(data / "train_y.npz")
    counts = np.bincount(trained.indices, minlength=trained.shape[1])
    scored, groups = PropensityScored(propensities(counts, trained.shape[0])), frequency_groups(counts)
    metrics = RankingMetrics((1, 3, 5, DEPTH), ["precision", "recall"], corpus=[scored, RecallByFrequency(groups)])
    metrics.update(load_npz(data / "test_y.npz"), best)
    found = metrics.result()
    return {name: found[name] for names in QUALITY.values() for name in names}


def _measure(contestant: Contestant, data: Path, limits: Limits, turn: int, place: Path) -> dict[str, Any]:
    name, settings = contestant.peer, dict(contestant.training)
    version = library_version(name)
    if version is None:
        return {"failed": f"{TAGGERS[name].library} is not installed (the `bench` extra)"}
    try:
        python = python_of(TAGGERS[name].environment)
    except OSError as error:
        return {"failed": f"its environment cannot be made: {error}"}
    about = json.loads((data / "about.json").read_text(encoding="utf-8"))
    facts = {"settings": settings, "version": version, "data": about["fingerprint"], "turn": turn}
    folder = place / "runs" / f"{data.name}-{name}-{digest_of(facts, _code(name))}"
    folder.mkdir(parents=True, exist_ok=True)
    model, best = folder / "model", folder / "best.npy"
    job = {"tagger": name, "settings": settings, "data": str(data), "model": str(model), "best": str(best), "k": DEPTH}
    results = {}
    for verb in ("train", "predict"):
        command = [python, "-m", "benchmarks.tagging.worker", verb]
        results[verb] = run_once(command, job, folder / f"{verb}.json", limits)
        if "failed" in results[verb]:
            return {"failed": results[verb]["failed"], "while": verb}
    return {
        "quality": judge(data, np.load(best)),
        "seconds": {f"{verb}: {part}": used for verb in results for part, used in results[verb]["seconds"].items()},
        "training memory": results["train"]["memory"],
        "predicting memory": results["predict"]["memory"],
        "bytes": sum(path.stat().st_size for path in model.rglob("*") if path.is_file()),
    }


def _code(name: str) -> list[Path]:
    """Return the files that decide what a contestant predicts and how it is measured."""
    entry, folder = TAGGERS[name], ROOT / "benchmarks"
    module = entry.place.partition(":")[0].rpartition(".")[2]
    files = [folder / "tagging" / "worker.py", folder / "tagging" / f"{module}.py", *(folder / f for f in entry.shared)]
    return files + (mach_sources() if name == "mach" else [])


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks tagging", description=__doc__)
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS), metavar="SET", help=", ".join(SETS))
    parser.add_argument(
        "--contestants",
        nargs="+",
        default=list(TAGGERS),
        metavar="NAME[:SETTING=VALUE...]",
        help=f"{', '.join(TAGGERS)}; settings as in mach:n_buckets=1000:hidden=[]",
    )
    parser.add_argument("--repeats", type=int, default=1, help="rounds in which contestants take turns")
    parser.add_argument("--memory", default="16GiB", help="of one process, at most (default: %(default)s)")
    parser.add_argument("--minutes", type=float, default=60.0, help="of one process, at most (default: %(default)s)")
    return parser
