"""Label profiles alone: what a shortlist by cosine finds on held-out training rows, its bytes and its time.

A fifth of the training rows is held out, at most 20,000. Times are CPU seconds of one thread.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import load_npz

from benchmarks.places import table, write_results
from benchmarks.tagging.sets import SETS, provide_set
from xmach.ranking.label_rows import rows_of_labels
from xmach.ranking.profile_search import Similarities
from xmach.ranking.profiles import Profiles, profile_part
from xmach.types import SparseRows

NAMES = ("citeulike_t", "tate", "geonames_100k")
EVERY = 2**31 - 1
SETTINGS = ((EVERY, 1.0), (512, 1.0), (512, 0.99), (512, 0.95), (512, 0.9), (512, 0.8), (128, 0.9), (64, 0.9))
MOST_HELD_OUT = 20_000
DEPTHS = (20, 50, 100)
ROUNDS = 3


class HeldOut(NamedTuple):
    """Rows to make profiles of, and rows to judge them on."""

    rows: SparseRows
    labels: SparseRows
    held_rows: SparseRows
    held_labels: SparseRows


def main() -> None:
    """Measure all settings on all sets."""
    results = [{"set": name} | each for name in NAMES for each in measure(held_out(provide_set(SETS[name])))]
    header = ["set", "most", "energy", "recall@20 / 50 / 100", "P@1", "MB", "ms per row", "s to build"]
    write_results("profiles", results, table(header, [[each["set"], *each["shown"]] for each in results]))


def held_out(folder: Path) -> HeldOut:
    """Split the training rows of a prepared set."""
    x, y = (load_npz(folder / f"train_{part}.npz") for part in "xy")
    order = np.random.default_rng(0).permutation(x.shape[0])
    n_held = x.shape[0] // 5
    kept, held = np.sort(order[n_held:]), np.sort(order[:n_held][:MOST_HELD_OUT])
    return HeldOut(*(_sparse_rows(rows) for rows in (x[kept], y[kept], x[held], y[held])))


def measure(data: HeldOut) -> list[dict[str, Any]]:
    """The figures of every setting."""
    n_features, n_labels = data.rows.n_columns, data.labels.n_columns
    profile_part(data.rows, rows_of_labels(data.labels, 0, 1))  # compiles
    results = []
    for most, energy in SETTINGS:
        begun = time.thread_time()
        part = profile_part(data.rows, rows_of_labels(data.labels, 0, n_labels), most, energy)
        profiles = Profiles.join([part], n_features, n_labels)
        built = time.thread_time() - begun
        found, seconds = _search(profiles, data.held_rows)
        recalls, precision = judge(found, data.held_labels)
        shown = ["all" if most == EVERY else f"{most}", f"{energy:g}", " / ".join(f"{each:.1f}" for each in recalls)]
        shown += [f"{precision:.1f}", f"{profiles.n_bytes / 1e6:.1f}"]
        shown += [f"{1e3 * seconds / data.held_rows.n_rows:.3f}", f"{built:.2f}"]
        results.append({"shown": shown, "recalls": recalls, "precision": precision, "bytes": profiles.n_bytes})
    return results


def judge(found: Similarities, labels: SparseRows) -> tuple[list[float], float]:
    """The mean recall at each depth and P@1, in %, over the rows that have labels."""
    lengths, n = np.diff(labels.indptr), np.arange(labels.n_rows)
    pairs = np.repeat(n, lengths) * labels.n_columns + labels.indices
    hits = np.isin(n[:, None] * labels.n_columns + found.ids, pairs) & (found.ids >= 0)
    hits, lengths = hits[lengths > 0], lengths[lengths > 0]
    recalls = [100 * float((hits[:, :depth].sum(axis=1) / lengths).mean()) for depth in DEPTHS]
    return recalls, 100 * float(hits[:, 0].mean())


def _search(profiles: Profiles, rows: SparseRows) -> tuple[Similarities, float]:
    """The best labels of all rows, and the CPU seconds of the fastest round after one that compiles."""
    nothing, seconds = np.zeros(rows.n_rows + 1, np.int64), []
    for _ in range(1 + ROUNDS):
        begun = time.thread_time()
        found = profiles.search(rows, nothing, nothing[:0], max(DEPTHS), threads=1)
        seconds.append(time.thread_time() - begun)
    return found, min(seconds[1:])


def _sparse_rows(matrix: Any) -> SparseRows:
    matrix.sort_indices()
    indptr, indices = matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32)
    return SparseRows(indptr, indices, matrix.data.astype(np.float32), matrix.shape[1])
