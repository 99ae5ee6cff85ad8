"""The hand-written LLVM of `xmach._kernels.llvm` against plain Numba, on one thread: times and bytes."""

from __future__ import annotations

from itertools import chain

from benchmarks.contest import Times, alternate, figures
from benchmarks.micro import lanes, walks
from benchmarks.micro.walks import LLVM, Entry
from benchmarks.places import table, write_results

ROUNDS = 25
NAMES = ["function", "shape", "ms with LLVM", "instead", "ms", "ratio", "of minima", "same bytes"]


def main() -> None:
    """Compare the bytes, measure the times, write the table."""
    results, rows = [], []
    for entry in chain(walks.entries(), lanes.entries()):
        equal = _same_bytes(entry)
        times = alternate(entry.contestants, ROUNDS, least=0.02)
        results.append({"walk": entry.walk, "shape": entry.shape, "equal": equal, "times": times.to_dict()})
        rows += [_line(entry, name, times, equal[name]) for name in entry.contestants if name != LLVM]
    write_results("vectors", results, table(NAMES, rows))


def _same_bytes(entry: Entry) -> dict[str, bool]:
    """Return whether the first result of each contestant has the bytes of the LLVM's."""
    answers = {name: [array.tobytes() for array in way()] for name, way in entry.contestants.items()}
    return {name: answer == answers[LLVM] for name, answer in answers.items()}


def _line(entry: Entry, name: str, times: Times, equal: bool) -> list[str]:
    ours, other = times.spread(LLVM).times(1e3), times.spread(name).times(1e3)
    ratios = [str(times.ratio(name, LLVM)), figures(other.low / ours.low)]
    return [entry.walk, entry.shape, str(ours), name, str(other), *ratios, "yes" if equal else "no"]
