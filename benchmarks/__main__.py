"""`python -m benchmarks [NAME ...] [OPTION ...]`: run benchmarks; each leaves JSON, Markdown and a plot in build/bench.

Options go to the last benchmark named.
"""

from __future__ import annotations

import sys
import time
from importlib import import_module
from typing import NamedTuple


class Benchmark(NamedTuple):
    """Where a benchmark is, how long it takes here, and what it shows. Its module has a `main()`."""

    module: str
    minutes: float
    about: str
    arguments: tuple[str, ...] = ()  # of `main`
    asked_for: bool = False  # takes hours: runs only when it is named
    takes_options: bool = False  # of the command line, as texts


BENCHMARKS = {
    "limits": Benchmark("benchmarks.limits", 0.3, "what the machine can do: memory, GEMM, exp, remainders"),
    "micro": Benchmark(
        "benchmarks.micro.run", 1.5, "each kernel against its twin and the obvious way; share of its bound"
    ),
    "vectors": Benchmark(
        "benchmarks.micro.vectors", 1.5, "the hand-written LLVM against plain Numba loops; same bytes"
    ),
    "decoding": Benchmark(
        "benchmarks.decoding", 13, "pruned search against the scan, 670 thousand and 50 million labels"
    ),
    "beam": Benchmark("benchmarks.beam", 6, "beam search against the scan: what it finds, in what share of the time"),
    "training": Benchmark("benchmarks.training", 2, "a training step against the same network in PyTorch"),
    "text": Benchmark("benchmarks.text", 1, "text features against HashingVectorizer"),
    "vocabulary": Benchmark(
        "benchmarks.vocabulary", 1, "text by a learned vocabulary against plain hashing; what learning it takes"
    ),
    "opening": Benchmark("benchmarks.opening", 2, "opening a 2 GB model: first answer, verification, private memory"),
    "serving": Benchmark("benchmarks.serving", 6, "xmach serve under load: throughput, overload, recovery, start"),
    "scaling": Benchmark("benchmarks.scaling", 10, "time and memory against K, R, B, rows and workers"),
    "executors": Benchmark(
        "benchmarks.executors", 18, "two workers against one, and against two processes: ratio of times, same bytes"
    ),
    "reading": Benchmark("benchmarks.reading", 1, "XMC text to arrays against scikit-learn's svmlight loader"),
    "memory": Benchmark("benchmarks.memory", 4, "the memory that a plan tells against measured peaks"),
    "many-labels": Benchmark(
        "benchmarks.many_labels",
        30,
        "a million labels with default settings: time and memory of each stage; `many-labels --help` has its options",
        asked_for=True,
        takes_options=True,
    ),
    "ten-million": Benchmark(
        "benchmarks.ten_million",
        40,
        "profiles and a ranker of ten million labels: time and memory of each stage",
        asked_for=True,
        takes_options=True,
    ),
    "presets": Benchmark("benchmarks.paper.presets", 1, "what the paper's experiments would cost"),
    "learners": Benchmark("benchmarks.learners", 5, "scikit-learn classifiers as base learners"),
    "multilabel": Benchmark(
        "benchmarks.paper.multilabel", 14, "the paper's multilabel tables; models stay for the next run"
    ),
    "theory": Benchmark("benchmarks.paper.theory", 1, "theorems 1 and 2 on sketches of known probabilities"),
    **{
        name: Benchmark("benchmarks.paper.product_search", minutes, about, (name,), asked_for=True)
        for name, minutes, about in (
            ("home_depot", 60, "MACH, Parabel, DSSM and BM25 on Home Depot's queries; goes on where it stopped"),
            ("shop-20k", 70, "the same on a made-up shop of 20,000 products"),
            ("shop-200k", 120, "the same on 200,000 products: the paper's search tables"),
            ("shop-200k-first", 1500, "the same on the shop of 200,000 that settings were looked at on"),
            ("shop-1m", 600, "the same on 1,000,000 products"),
        )
    },
    "search-scale": Benchmark(
        "benchmarks.paper.search_scale", 240, "50 million products; the memory of rivals as products grow", (), True
    ),
    "tagging": Benchmark(
        "benchmarks.tagging.contest",
        240,
        "MACH, Parabel, Bonsai and XR-Linear on five tagging sets; `tagging --help` has its options",
        asked_for=True,
        takes_options=True,
    ),
    "profiles": Benchmark(
        "benchmarks.profiles",
        4,
        "shortlists by label profiles on three tagging sets: recall, bytes and time by pruning",
        asked_for=True,
    ),
    "sizes": Benchmark(
        "benchmarks.tagging.sizes",
        90,
        "accuracy, bytes and time of MACH with 1 to 16 repetitions, beside the trees, on three sets",
        asked_for=True,
    ),
}


def main(arguments: list[str]) -> None:
    """Run the benchmarks named, or all that take minutes; `--list` says what there is."""
    if arguments == ["--list"]:
        print(listing(list(BENCHMARKS)))
        return
    first_option = next((i for i, each in enumerate(arguments) if each.startswith("-")), len(arguments))
    asked, options = arguments[:first_option], arguments[first_option:]
    names = asked or [name for name, each in BENCHMARKS.items() if not each.asked_for]
    unknown = [name for name in names if name not in BENCHMARKS]
    if unknown:
        sys.exit(f"no benchmark {unknown[0]!r}; there are {', '.join(BENCHMARKS)}")
    if options and not BENCHMARKS[names[-1]].takes_options:
        sys.exit(f"{names[-1]} takes no options, got {options[0]}")
    print(listing(names), flush=True)
    for name in names:
        begun = time.monotonic()
        given = options if BENCHMARKS[name].takes_options else ()
        import_module(BENCHMARKS[name].module).main(*BENCHMARKS[name].arguments, *given)
        print(f"{name}: {(time.monotonic() - begun) / 60:.1f} minutes\n", flush=True)


def listing(names: list[str]) -> str:
    """A line a benchmark: name, minutes, what it shows; then the sum."""
    chosen = [(name, BENCHMARKS[name]) for name in names]
    lines = [f"{name:<12}{each.minutes:>5g} min  {each.about}" for name, each in chosen]
    return "\n".join([*lines, f"{'together':<12}{sum(each.minutes for _, each in chosen):>5g} min, about"])


if __name__ == "__main__":
    main(sys.argv[1:])
