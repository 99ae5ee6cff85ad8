"""Each kernel against its slow twin and the obvious ways, by turns, one thread; and as a share of what bounds it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch

from benchmarks import limits
from benchmarks.contest import figures
from benchmarks.micro import batch, dense, descent, losses, parse, scan, scores, sparse, text
from benchmarks.micro.entry import Entry, Result, contest
from benchmarks.places import OUT, table, write_results
from benchmarks.plots import Panel, bars

ROUNDS = 7
PARTS: tuple[Callable[[], Iterator[Entry]], ...] = (
    batch.entries, sparse.entries, dense.entries, losses.entries, descent.entries, scan.entries, scores.entries,
    parse.entries, text.entries,
)  # fmt: skip


def main() -> None:
    """Measure the machine, then every kernel; write the table and the plot."""
    torch.set_num_threads(1)
    loops = limits.every()
    machine = limits.measure(loops)
    results = [contest(entry, loops, machine, ROUNDS) for part in PARTS for entry in part()]
    groups = {_heading(result): result.ratios for result in results}
    title = f"Each kernel against other ways, one thread: medians of {ROUNDS} rounds, least to most"
    bars(OUT / "micro.svg", title, [Panel("times as long as xmach took (logarithmic)", groups, log=True)])
    found = {name: limit.speed._asdict() for name, limit in machine.items()}
    write_results("micro", {"limits": found, "kernels": [result.to_dict() for result in results]}, _table(results))


def _heading(result: Result) -> str:
    return f"{result.entry.kernel}: {figures(100 * result.share.median)} % of its bound ({result.bound.about})"


def _table(results: list[Result]) -> str:
    """A line a kernel: what it costs, its share of the limit, how many times as long the others took."""
    rows = []
    for result in results:
        others = "<br>".join(f"{name}: {ratio}" for name, ratio in result.ratios.items())
        share = f"{result.share.times(100)} %, {result.bound.about}"
        cost = f"{result.cost} ns a {result.entry.unit}"
        rows.append([f"`{result.entry.kernel}`<br>{result.entry.shape}", cost, share, others])
    return table(["kernel", "cost", "share of its bound", "times as long took"], rows)
