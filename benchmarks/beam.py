"""The beam search: how many of the scan's k best labels it finds, and in what share of the time.

Real rows are held-out training rows of models trained on the other four fifths. Seconds are those of the processor, in
one thread: other work on the machine counts only as far as it slows the caches down.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import load_npz

from benchmarks.contest import Spread, figures
from benchmarks.places import OUT, table, write_results
from benchmarks.sketches import DISTRIBUTIONS, sketch
from benchmarks.tagging.sets import SETS, provide_set
from xmach import MACHClassifier, load
from xmach.buckets import Index, UniversalHashes, fill_tables, new_tables, stored
from xmach.cli.progress import say
from xmach.decoding.beam import BeamSearch, BeamSize
from xmach.decoding.estimators import prepare_cells, rule_of
from xmach.decoding.exact import Seen, scan
from xmach.types import FloatArray, IntArray

KS = (5, 50, 100)
ESTIMATORS = ("mean", "log")
CURVE = ((8, 0.2), (16, 0.5), (24, 0.5), (32, 1.0), (48, 1.0), (64, 2.0))  # m, and c as a multiple of the default
ROWS, SYNTHETIC_ROWS, ROUNDS = 500, 20, 5
AMAZON = (670_000, 10_000, 32)  # K, B, R


class Queries(NamedTuple):
    """Bucket probabilities, and what they are asked of."""

    buckets: Index
    seen: Seen
    sketch: FloatArray  # (n, R, B)
    truth: Any  # (n, K) labels of the rows in CSR, or None


def main() -> None:
    """Measure every set of queries with every estimator, k and size."""
    rows: list[dict[str, Any]] = []
    for name, buckets in (("citeulike_t", {"n_buckets": 1000, "n_repetitions": 8}), ("tate", {})):
        rows += measured(name, held_out(name, buckets))
    hashes = UniversalHashes.draw(*AMAZON, 0)
    tables = new_tables(hashes)
    fill_tables(hashes, tables, threads=1)
    for distribution in DISTRIBUTIONS:
        cells = np.stack([sketch(hashes, distribution, seed) for seed in range(SYNTHETIC_ROWS)])
        rows += measured(f"670,000: {distribution}", Queries(stored(hashes, tables), Seen.of(None), cells, None), ())
    header = ["queries", "estimator", "k", "m", "c", "found, %", "right labels, % (scan)", "beam, ms", "scan, ms"]
    write_results("beam", rows, table(header, [_line(row) for row in rows]))


def held_out(name: str, buckets: dict[str, int]) -> Queries:
    """Held-out training rows of a tagging set, and a model of linear buckets trained on the others."""
    folder = provide_set(SETS[name])
    x, y = load_npz(folder / "train_x.npz"), load_npz(folder / "train_y.npz")
    order, place = np.random.default_rng(0).permutation(x.shape[0]), OUT / "beam" / folder.name
    cut = x.shape[0] * 4 // 5
    if not place.exists():
        clf = MACHClassifier(learner="linear", scaling="none", **buckets)  # type: ignore[arg-type]
        place.parent.mkdir(parents=True, exist_ok=True)
        clf.fit(x[order[:cut]], y[order[:cut]]).save(place)
    predictor = load(place)
    tables = new_tables(predictor.hashes)
    fill_tables(predictor.hashes, tables)
    held = order[cut : cut + ROWS]
    seen = Seen.of(predictor.label_counts.seen())
    return Queries(stored(predictor.hashes, tables), seen, predictor.bucket_probabilities(x[held]), y[held])


def measured(name: str, queries: Queries, curve: tuple[tuple[int, float], ...] = CURVE) -> Iterator[dict[str, Any]]:
    """The default sizes, and with `log` those of the curve, too."""
    for estimator in ESTIMATORS:
        cells = prepare_cells(queries.sketch, rule_of(estimator))
        for k in KS:
            usual = BeamSize.of(queries.buckets, k)
            sizes = [usual] + [BeamSize(m, int(c * usual.n_scored)) for m, c in curve if estimator == "log" and k > 5]
            for size in sizes:
                row = compared(queries, cells, estimator, k, size)
                say(f"{name}, {estimator}, k = {k}, {size}: {100 * row['found']:.2f} %")
                yield {"queries": name, "estimator": estimator, "k": k, "usual": size == usual, **row}


def compared(queries: Queries, cells: FloatArray, estimator: str, k: int, size: BeamSize) -> dict[str, Any]:
    """One size against the scan, by turns."""
    index, seen, merge = queries.buckets, queries.seen, rule_of(estimator).merge
    beam = BeamSearch(index, size)
    ids, exact = beam(cells, seen, merge, k)[1], scan(cells, index, seen, merge, k)[1]
    seconds: dict[str, list[float]] = {"beam": [], "scan": []}
    for _ in range(ROUNDS):
        seconds["beam"].append(_cpu(lambda: beam(cells, seen, merge, k)) / len(cells))
        seconds["scan"].append(_cpu(lambda: scan(cells, index, seen, merge, k)) / len(cells))
    found = np.mean([len(np.intersect1d(*pair)) / k for pair in zip(ids, exact, strict=True)])
    right = [] if queries.truth is None else [right_labels(queries.truth, each) for each in (ids, exact)]
    spreads = {name: Spread.of(each) for name, each in seconds.items()}
    return {"m": size.n_buckets, "c": size.n_scored, "found": float(found), "right": right, "seconds": spreads}


def right_labels(truth: Any, ids: IntArray) -> float:
    """The share of the rows' labels that are among their ids."""
    hits = sum(len(np.intersect1d(truth[i].indices, row)) for i, row in enumerate(ids))
    return float(hits / truth.nnz)


def _cpu(call: Callable[[], object]) -> float:
    begun = time.thread_time()
    call()
    return time.thread_time() - begun


def _line(row: dict[str, Any]) -> list[str]:
    sizes = [f"**{row[name]:,}**" if row["usual"] else f"{row[name]:,}" for name in ("m", "c")]
    right = "{:.1f} ({:.1f})".format(*(100 * each for each in row["right"])) if row["right"] else ""
    times = [figures(1e3 * row["seconds"][name].median) for name in ("beam", "scan")]
    return [row["queries"], row["estimator"], str(row["k"]), *sizes, f"{100 * row['found']:.2f}", right, *times]


if __name__ == "__main__":
    main()
