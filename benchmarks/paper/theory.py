"""What the paper proves, measured on sketches of known probabilities: the figures and tables of docs/theory.md.

No classifier is trained: the cells of a sketch are sums of given class probabilities, so that whatever an estimate is
off by comes from the hashes. Every draw of hashes has a seed of its own: same numbers, same bytes in every run.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.paper.theory_figures import draw_estimates, draw_pairs
from benchmarks.places import ROOT, table, write_results
from xmach.buckets import UniversalHashes, count_indistinguishable_pairs
from xmach.decoding import ESTIMATORS, Decoder
from xmach.planning import expected_indistinguishable_pairs, indistinguishable_bound, repetitions_needed
from xmach.planning.presets import PRESETS
from xmach.types import DoubleArray, FloatArray, IntArray

N_LABELS = 1000
N_BUCKETS = 50
REPETITIONS = (4, 16, 64)
NOISES = (0.0, 0.5, 1.0)  # standard deviation of the logarithm of a cell's error
DRAWS = 200
PAIR_BUCKETS = (8, 32)
MOST_REPETITIONS = 8
PAIR_DRAWS = 2000
TOP = 10  # labels that a good estimator should find
DELTA = 1e-3


def main(figures: Path = ROOT / "docs" / "figures", n_draws: int = DRAWS, n_pair_draws: int = PAIR_DRAWS) -> None:
    """Measure, draw both figures, write the tables."""
    read = [summarise(noise, r, n_draws) for noise in NOISES for r in REPETITIONS]
    pairs = [row for n_buckets in PAIR_BUCKETS for row in indistinguishable(n_buckets, n_pair_draws)]
    draw_estimates([row for row in read if row["noise"] == 0], figures / "estimates.svg")
    draw_pairs(pairs, figures / "pairs.svg")
    text = "\n".join([recall_table(read), pair_table(pairs), promise_table()])
    write_results("theory", {"estimates": read, "pairs": pairs}, text)


# --- Theorem 1: estimates against the truth


def zipf(n_labels: int = N_LABELS) -> DoubleArray:
    """Class probabilities 1/rank, normalised, in random order: label ids say nothing about ranks."""
    p = 1.0 / np.arange(1, n_labels + 1)
    return np.random.default_rng(0).permutation(p / p.sum())


def sketch_of(p: DoubleArray, hashes: UniversalHashes, noise: float, seed: int) -> FloatArray:
    """The (1, R, B) cells of perfect classifiers, the sums of their classes' p; with noise, of imperfect ones."""
    cells = np.array([np.bincount(column, weights=p, minlength=hashes.n_buckets) for column in hashes.signatures().T])
    cells *= np.exp(noise * np.random.default_rng([seed, 1]).standard_normal(cells.shape))
    return np.asarray([cells / cells.sum(axis=1, keepdims=True)], np.float32)


def estimates(noise: float, n_repetitions: int, n_draws: int = DRAWS) -> dict[str, DoubleArray]:
    """For each estimator the (draws, K) estimates, labels by falling probability."""
    p = zipf()
    by_rank = np.argsort(-p)
    found = {name: np.empty((n_draws, len(p))) for name in ESTIMATORS}
    for seed in range(n_draws):
        hashes = UniversalHashes.draw(len(p), N_BUCKETS, n_repetitions, seed)
        decoder, cells = Decoder(hashes), sketch_of(p, hashes, noise, seed)
        for name in ESTIMATORS:
            found[name][seed] = decoder.scores(cells, name, probabilities=True)[0][by_rank]
    return found


def summarise(noise: float, n_repetitions: int, n_draws: int = DRAWS) -> dict[str, Any]:
    """What one setting gives: estimates of labels of about one rank, and how many of the best labels are found."""
    edges = np.unique(np.geomspace(1, N_LABELS + 1, 26).astype(int)) - 1  # single labels first, then ever more together
    starts, sizes = edges[:-1], np.diff(edges)
    truth = np.add.reduceat(np.sort(zipf())[::-1], starts) / sizes
    rows: dict[str, Any] = {}
    for name, values in estimates(noise, n_repetitions, n_draws).items():
        means = np.add.reduceat(values, starts, axis=1) / sizes  # (draws, groups of labels)
        low, high = np.transpose(
            [np.quantile(values[:, i : i + n], (0.05, 0.95)) for i, n in zip(starts, sizes, strict=True)]
        )
        best = np.argsort(-values, axis=1, kind="stable")[:, :TOP]
        rows[name] = {
            "mean": means.mean(axis=0).tolist(),
            "error": (means.std(axis=0) / math.sqrt(n_draws)).tolist(),  # standard error of the mean
            "low": low.tolist(),
            "high": high.tolist(),
            "spread": float(values.std(axis=0).mean()),
            "found": float((best < TOP).mean()),
        }
    setting = {"noise": noise, "R": n_repetitions, "B": N_BUCKETS, "K": N_LABELS, "draws": n_draws}
    setting["expected_spread"] = expected_spread(n_repetitions)
    return {**setting, "truth": truth.tolist(), "estimators": rows}


def expected_spread(n_repetitions: int) -> float:
    """The standard deviation of the unbiased estimate, were collisions independent: sqrt(c / (1 - c) sum p^2 / R)."""
    c = UniversalHashes.draw(N_LABELS, N_BUCKETS, 1).collision_probability
    return math.sqrt(c / (1 - c) * float((zipf() ** 2).sum()) / n_repetitions)


# --- Theorem 2: indistinguishable pairs


def pair_counts(n_buckets: int, n_draws: int = PAIR_DRAWS) -> IntArray:
    """(draws, R): the pairs of labels that share their first 1, 2, ... buckets, for each draw of hashes."""
    counts = np.zeros((n_draws, MOST_REPETITIONS), np.int64)
    for seed in range(n_draws):
        signatures = UniversalHashes.draw(N_LABELS, n_buckets, MOST_REPETITIONS, seed).signatures()
        for r in range(MOST_REPETITIONS):
            counts[seed, r] = count_indistinguishable_pairs(signatures[:, : r + 1])
            if counts[seed, r] == 0:  # and none with more repetitions
                break
    return counts


def indistinguishable(n_buckets: int, n_draws: int = PAIR_DRAWS) -> list[dict[str, Any]]:
    """For R = 1, 2, ...: how often a pair was indistinguishable and how many were, beside what theory says."""
    counts = pair_counts(n_buckets, n_draws)
    rows = []
    for r in range(1, MOST_REPETITIONS + 1):
        column = counts[:, r - 1]
        share = float((column > 0).mean())
        rows.append(
            {
                "K": N_LABELS, "B": n_buckets, "R": r, "draws": n_draws,
                "share": share, "share_error": math.sqrt(share * (1 - share) / n_draws),
                "pairs": float(column.mean()), "pairs_error": float(column.std()) / math.sqrt(n_draws),
                "expected": expected_indistinguishable_pairs(N_LABELS, n_buckets, r),
                "bound": indistinguishable_bound(N_LABELS, n_buckets, r),
            }
        )  # fmt: skip
    return rows


# --- the tables of the page


def recall_table(rows: list[dict[str, Any]]) -> str:
    """How many of the 10 most probable labels each estimator has among its 10 best, in %."""
    lines = [
        [f"{row['noise']:g}", str(row["R"]), *(f"{100 * row['estimators'][name]['found']:.0f}" for name in ESTIMATORS)]
        for row in rows
    ]
    return table(["noise", "R", *ESTIMATORS], lines)


def pair_table(rows: list[dict[str, Any]]) -> str:
    """Indistinguishable pairs, expected and measured, for the R at which enough draws had any."""
    lines = [
        [
            str(row["B"]), str(row["R"]), _number(row["expected"]),
            f"{_number(row['pairs'])} ± {_number(row['pairs_error'])}", _number(row["bound"]), _number(row["share"]),
        ]
        for row in rows
        if row["R"] > 1 and row["share"] * row["draws"] >= 10
    ]  # fmt: skip
    return table(["B", "R", "pairs, expected", "pairs, measured", "bound on a pair", "draws with a pair"], lines)


def promise_table() -> str:
    """Theorem 2 for the paper's data sets: the R that it asks for, and the bound at the R that the paper took."""
    lines = [
        [
            preset.name, f"{preset.n_labels:,}", f"{n_buckets:,}",
            str(repetitions_needed(preset.n_labels, n_buckets, DELTA)), str(n_repetitions),
            f"{indistinguishable_bound(preset.n_labels, n_buckets, n_repetitions):.0e}",
        ]
        for preset in PRESETS.values()
        for n_buckets, n_repetitions in preset.repetitions.items()
    ]  # fmt: skip
    return table(["", "K", "B", f"R for δ = {DELTA:g}", "the paper's R", "bound at that R"], lines)


def _number(value: float) -> str:
    """Two or three digits that matter, without an exponent."""
    return f"{value:,.0f}" if value >= 100 else f"{float(f'{value:.2g}'):g}"
