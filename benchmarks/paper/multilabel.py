"""The paper's multilabel experiment and its estimator table, on the data sets that can be had here.

Trains with the defaults of `xmach train` and R = 16, for two values of B each. Precision at a smaller R is the mean
over the disjoint groups of R among the 16 repetitions, so that it does not hang on the luck of one group. Models stay
in build/bench: a second run goes on where the first one ended.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import mean
from typing import Any

from benchmarks.places import OUT, data_folder, table, write_results
from xmach import Dataset, Predictor, load, read_dataset
from xmach.decoding import ESTIMATORS, Decoder
from xmach.metrics import RankingMetrics

SETS = {"delicious": (300, 150), "bibtex": (100, 50), "citeulike_t": (2000, 1000)}  # values of B
REPETITIONS = (2, 4, 8, 16)
COMPARED = (4, 16)  # repetitions at which all estimators are compared, on the first value of B
KS = (1, 3, 5)


def main() -> None:
    """Train what is not trained yet, evaluate, write the tables."""
    rows: list[dict[str, Any]] = []
    for name, buckets in SETS.items():
        for n_buckets in buckets:
            test = read_dataset(data_folder() / name / "test.txt.gz")
            results = _evaluate(load(trained(name, n_buckets)), test, n_buckets == buckets[0])
            rows += [{"set": name, "B": n_buckets, **result} for result in results]
    write_results("multilabel", rows, _precision_table(rows) + "\n" + _estimator_table(rows))


def trained(name: str, n_buckets: int) -> Path:
    """The model of a set; trained now, unless a run before has."""
    file, model = data_folder() / name / "train.txt.gz", OUT / "models" / f"{name}-{n_buckets}"
    command = [sys.executable, "-m", "xmach", "train", str(file), "--model", str(model), "--buckets", str(n_buckets)]
    subprocess.run([*command, "--repetitions", str(max(REPETITIONS))], check=True, stdout=sys.stderr)
    return model


def _evaluate(predictor: Predictor, test: Dataset, compare: bool) -> Iterator[dict[str, Any]]:
    """Precision for every R and estimator wanted, from one pass over the test rows."""
    names = {r: ESTIMATORS if compare and r in COMPARED else ("log",) for r in REPETITIONS}
    wanted = [(r, first, name) for r in REPETITIONS for first in range(0, max(REPETITIONS), r) for name in names[r]]
    signatures, seen = predictor.hashes.signatures(), predictor.label_counts.seen()
    decoders = {(r, first): Decoder(signatures[:, first : first + r], seen=seen) for r, first, _ in wanted}
    sums = {key: RankingMetrics(KS, ["precision"]) for key in wanted}
    for batch in predictor.batches(predictor.rows(test.features)):
        for r, first, name in wanted:
            best = decoders[r, first].top_k(batch.sketch[:, first : first + r], max(KS), estimator=name)
            sums[r, first, name].update(test.labels.slice(batch.start, batch.stop), best.ids)
    for r in REPETITIONS:
        for name in names[r]:
            groups = [sums[key].result() for key in wanted if (key[0], key[2]) == (r, name)]
            figures = {metric: mean(group[metric] for group in groups) for metric in groups[0]}
            spread = {metric: [f(group[metric] for group in groups) for f in (min, max)] for metric in groups[0]}
            yield {"R": r, "estimator": name, "groups": len(groups), "spread": spread, **figures}


def _figures(row: dict[str, Any]) -> str:
    return " / ".join(f"{100 * row[f'precision@{k}']:.1f}" for k in KS)


def _precision_table(rows: list[dict[str, Any]]) -> str:
    """P@1/3/5 by R, with the default estimator."""
    lines = []
    for name, buckets in SETS.items():
        for n_buckets in buckets:
            chosen = [row for row in rows if (row["set"], row["B"], row["estimator"]) == (name, n_buckets, "log")]
            lines.append([name, str(n_buckets), *(_figures(row) for row in chosen)])
    return table(["set", "B", *(f"R = {r}" for r in REPETITIONS)], lines)


def _estimator_table(rows: list[dict[str, Any]]) -> str:
    """P@1/3/5 by estimator."""
    lines = []
    for name, buckets in SETS.items():
        for r in COMPARED:
            chosen = [row for row in rows if (row["set"], row["B"], row["R"]) == (name, buckets[0], r)]
            lines.append([name, str(buckets[0]), str(r), *(_figures(row) for row in chosen)])
    return table(["set", "B", "R", *ESTIMATORS], lines)
