"""`python -m benchmarks [NAME ...]`: run benchmarks; each writes JSON and Markdown into build/bench."""

from __future__ import annotations

import sys

from benchmarks import executors, learners, memory, reading
from benchmarks.paper import multilabel, presets, theory

BENCHMARKS = {
    "multilabel": multilabel.main,
    "executors": executors.main,
    "learners": learners.main,
    "memory": memory.main,
    "presets": presets.main,
    "reading": reading.main,
    "theory": theory.main,
}


def main() -> None:
    """Run the benchmarks named on the command line, or all of them."""
    names = sys.argv[1:] or list(BENCHMARKS)
    unknown = [name for name in names if name not in BENCHMARKS]
    if unknown:
        sys.exit(f"no benchmark {unknown[0]!r}; there are {', '.join(BENCHMARKS)}")
    for name in names:
        BENCHMARKS[name]()


main()
