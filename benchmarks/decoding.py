"""The pruned search against the full scan: the same labels and scores, and how many times faster."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from benchmarks.contest import Spread, alternate
from benchmarks.paper.multilabel import trained
from benchmarks.places import OUT, ROOT, data_folder, table, write_results
from benchmarks.plots import Panel, bars
from benchmarks.processes import high_water, resident
from benchmarks.sketches import DISTRIBUTIONS, sketch
from xmach import load, read_dataset
from xmach._kernels.decode.scan import MEAN, finish_top_k, scan_top_k, start_top_k
from xmach.buckets import Index, UniversalHashes, fill_tables, new_tables, stored
from xmach.cli.progress import say
from xmach.decoding import Decoder
from xmach.decoding.estimators import prepare_cells, rule_of
from xmach.planning import human_bytes
from xmach.types import AnyArray, FloatArray, TopK, take_rows

AMAZON = (670_000, 10_000, 32)  # K, B, R
FIFTY_MILLION = (50_000_000, 20_000, 32)
KS = (5, 100)
ESTIMATORS = ("mean", "log")


def main() -> None:
    """Each size in a process of its own, so that its peak of memory is its own."""
    results: dict[str, Any] = {}
    for part in ("670 thousand labels", "citeulike_t", "50 million labels", "50 million labels, no tables"):
        words = subprocess.run(
            [sys.executable, "-m", "benchmarks.decoding", part], cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True
        )
        results[part] = json.loads(words.stdout)
    report(results)


def report(results: dict[str, Any]) -> None:
    """Write the table, the plots and the raw numbers."""
    lines = [line for part, found in results.items() for line in _lines(part, found)]
    header = ["labels", "query", "estimator", "k", "index", "plain scan / pruned", "our scan / pruned"]
    header += ["pruned, ms", "labels touched", "scored"]
    facts = "".join(f"- {part}: {found['facts']}\n" for part, found in results.items())
    write_results("decoding", results, table(header, lines) + "\n" + facts)
    for k in KS:
        bars(
            OUT / f"decoding-{k}.svg",
            f"Pruned search: times as fast as a plain compiled scan, k = {k}",
            _panels(results, k),
        )


def _lines(part: str, found: dict[str, Any]) -> Iterator[list[str]]:
    for run in found["runs"]:
        ratios = [str(Spread(*run[name])) if name in run else "" for name in ("ratio", "scan_ratio")]
        given_up = f", {100 * run['scanned']:.0f} % scanned" if run["scanned"] else ""
        yield [
            part.split(",")[0],
            run["query"],
            run["estimator"],
            str(run["k"]),
            run["index"],
            *ratios,
            str(Spread(*run["seconds"]).times(1e3)),
            f"{run['touched']:,}",
            f"{run['scored']:,}{given_up}",
        ]


def _panels(results: dict[str, Any], k: int) -> list[Panel]:
    panels = []
    for estimator in ESTIMATORS:
        groups: dict[str, dict[str, Spread]] = {}
        for part, found in results.items():
            for run in found["runs"]:
                if run["estimator"] == estimator and run["k"] == k and "ratio" in run:
                    name = f"{run['query']}, {run['index']}"
                    groups.setdefault(part.split(",")[0], {})[name] = Spread(*run["ratio"])
        panels.append(Panel(f"{estimator}: plain scan / pruned", groups, log=True))
    return panels


def plain_scan(cells: FloatArray, signatures: AnyArray, estimator: str, k: int) -> TopK:
    """The obvious compiled scan: label by label, its R cells added, a heap of k."""
    scores, ids = np.empty((len(cells), k), np.float32), np.empty((len(cells), k), np.int64)
    start_top_k(scores, ids)
    everything = np.zeros(0, np.bool_)
    scan_top_k(prepare_cells(cells, rule_of(estimator)), signatures, 0, everything, True, MEAN, scores, ids)
    finish_top_k(scores, ids)
    return TopK(ids, scores, ids)


def contest(index: Index, pruned: Decoder, exact: Decoder, cells: FloatArray, k: int, rounds: int) -> dict[str, Any]:
    """Three ways on one batch, by turns, from bucket probabilities to labels; one thread each."""
    estimator = pruned.estimator
    times = alternate(
        {
            "plain": lambda: plain_scan(cells, index.signatures, estimator, k),
            "scan": lambda: exact.top_k(cells, k, estimator=estimator, threads=1),
            "pruned": lambda: pruned.top_k(cells, k, threads=1),
        },
        rounds,
        least=0.02 if index.n_labels < 10**7 else 0.0,  # no need to find out that a scan of 50 million takes longer
    )
    _, did = pruned.search_top_k(cells, k, threads=1)
    return {
        "estimator": estimator,
        "k": k,
        "index": pruned.index,
        "ratio": times.ratio("plain", "pruned"),
        "scan_ratio": times.ratio("scan", "pruned"),
        "seconds": times.spread("pruned").times(1 / len(cells)),
        "plain_seconds": times.spread("plain").times(1 / len(cells)),
        "touched": int(did.touched.mean()),
        "scored": int(did.scored.mean()),
        "scanned": float(did.scanned.mean()),
    }


def differences(exact: Decoder, pruned: Decoder, cells: FloatArray, k: int) -> int:
    """How many rows of a batch have another label or another bit of a score."""
    expected, found = exact.top_k(cells, k, estimator=pruned.estimator), pruned.top_k(cells, k)
    same = (expected.ids == found.ids) & (expected.scores.view(np.int32) == found.scores.view(np.int32))
    return int((~same.all(axis=1)).sum())


def made_up(size: tuple[int, int, int], queries: int, rounds: int, ks: tuple[int, ...]) -> dict[str, Any]:
    """One size on made-up sketches: the contests, and a comparison of many queries, half of them by each estimator."""
    n_labels, n_buckets, n_repetitions = size
    hashes = UniversalHashes.draw(n_labels, n_buckets, n_repetitions, 0)
    before = high_water()
    tables = new_tables(hashes)
    fill_tables(hashes, tables, threads=2)
    index = stored(hashes, tables)
    runs, different, compared = [], 0, 0
    exact = Decoder(hashes, search="exact", index=index)
    for estimator in ESTIMATORS:
        pruned = Decoder(hashes, estimator, "pruned", index)
        for k in ks:
            for distribution in DISTRIBUTIONS:
                cells = sketch(hashes, distribution, 0)[None]
                runs.append({"query": str(distribution)} | contest(index, pruned, exact, cells, k, rounds))
                say(f"{estimator}, k = {k}, {distribution}: {Spread(*runs[-1]['ratio'])} times")
        for distribution in DISTRIBUTIONS:
            for start in range(0, queries // len(DISTRIBUTIONS) // len(ESTIMATORS), 10):
                batch = np.stack([sketch(hashes, distribution, 1 + start + i) for i in range(10)])
                different += differences(exact, pruned, batch, KS[-1])
                compared += len(batch)
            say(f"{estimator}: {different} of {compared} differ")
    facts = (
        f"{different} of {compared:,} queries differ from the scan (ids and bits of scores, k = {KS[-1]}); "
        f"peak memory {human_bytes(high_water())}, of which {human_bytes(high_water() - before)} above libraries"
    )
    return {"runs": runs, "facts": facts, "different": different, "compared": compared, "peak": high_water()}


def without_tables() -> dict[str, Any]:
    """50 million labels answered from the hash alone: what it takes above libraries and the sketch."""
    hashes = UniversalHashes.draw(*FIFTY_MILLION[:2], FIFTY_MILLION[2], 0)
    small = UniversalHashes.draw(20_000, 100, 2, 0)  # compiles the kernels
    for estimator in ESTIMATORS:
        Decoder(small, estimator, "pruned", "computed").top_k(sketch(small, DISTRIBUTIONS[0], 0)[None], 5, threads=1)
    queries = [sketch(hashes, distribution, 0)[None] for distribution in DISTRIBUTIONS]
    before = resident()
    runs = []
    for estimator in ESTIMATORS:
        decoder = Decoder(hashes, estimator, "pruned", "computed")
        for distribution, cells in zip(DISTRIBUTIONS, queries, strict=True):
            answer = partial(decoder.top_k, cells, KS[-1], threads=1)
            seconds = alternate({"pruned": answer}, 2).spread("pruned")
            _, did = decoder.search_top_k(cells, KS[-1], threads=1)
            runs.append(
                {"query": str(distribution), "estimator": estimator, "k": KS[-1], "index": "computed"}
                | {"seconds": seconds, "touched": int(did.touched[0])}
                | {"scored": int(did.scored[0]), "scanned": float(did.scanned[0])}
            )
    extra = high_water() - before
    return {"runs": runs, "facts": f"{human_bytes(extra)} above libraries and bucket scores", "extra": extra}


def citeulike() -> dict[str, Any]:
    """A real model on real rows: citeulike_t, B = 2000, R = 16."""
    predictor = load(trained("citeulike_t", 2000))
    rows = read_dataset(data_folder() / "citeulike_t" / "test.txt.gz").features
    cells = predictor.bucket_probabilities(take_rows(rows, np.arange(0, rows.shape[0], rows.shape[0] // 500)))
    runs, different = [], 0
    tables = new_tables(predictor.hashes)
    fill_tables(predictor.hashes, tables)
    index = stored(predictor.hashes, tables)
    exact = Decoder(predictor.hashes, search="exact", index=index)
    for estimator in ESTIMATORS:
        for kind in (index, "computed"):
            pruned = Decoder(predictor.hashes, estimator, "pruned", kind)
            found = [contest(index, pruned, exact, cells[:100], k, 5) for k in KS]
            runs += [{"query": "100 test rows"} | run for run in found]
            different += differences(exact, pruned, cells, KS[-1])
    return {"runs": runs, "facts": f"{different} of {4 * len(cells):,} rows differ from the scan (k = {KS[-1]})"}


PARTS = {
    "670 thousand labels": lambda: made_up(AMAZON, 1000, 5, KS),
    "citeulike_t": citeulike,
    "50 million labels": lambda: made_up(FIFTY_MILLION, 100, 2, KS[-1:]),
    "50 million labels, no tables": without_tables,
}

if __name__ == "__main__":
    print(json.dumps(PARTS[sys.argv[1]]()))
