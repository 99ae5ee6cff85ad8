"""The paper's evaluation: its tables of matching and ranking, weighted by sessions and not, and its label sample."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from xmach.errors import InputError
from xmach.metrics.labels import TrueLabels, label_pairs
from xmach.metrics.sums import RankingMetrics
from xmach.parameters import whole
from xmach.types import IntArray

Figures = Mapping[str, tuple[str, str]]  # by the paper's name: the usual row score, and the one of the appendix

MATCHING: Figures = MappingProxyType(
    {
        "map": ("map", "map_paper"),
        "mrr": ("mrr", "mrr_paper"),
        "ndcg": ("ndcg", "ndcg_paper"),
        "recall": ("recall", "recall"),
    }
)
RANKING: Figures = MappingProxyType(
    {
        "ndcg": ("ndcg", "ndcg_paper"),
        "mrr": ("mrr", "mrr_paper"),
        "mrr_most_rel": ("mrr_paper", "mrr_paper"),  # the most purchased product is the only true one
        "prec@1": ("precision", "precision"),
        "prec@1_most_rel": ("precision_most_rel", "precision_most_rel"),
    }
)


class PaperTable(NamedTuple):
    """One model's column of a table, under the paper's names."""

    title: str
    values: dict[str, float]  # such as `recall_weighted`, `recall_unweighted`
    rows: int  # rows evaluated
    rows_left_out: int = 0  # rows without a purchase, or without a product that was seen and not bought

    def markdown(self, name: str = "model") -> str:
        """Return the table of this model alone."""
        return side_by_side({name: self})


def side_by_side(columns: Mapping[str, PaperTable]) -> str:
    """Return a Markdown table with a column for each model, by name; the best figure of each row is bold."""
    if not columns:
        raise InputError("columns must have at least one table")
    first = next(iter(columns.values()))
    for name, table in columns.items():
        if (table.title, list(table.values), table.rows) != (first.title, list(first.values), first.rows):
            seen = f"{table.title} of {table.rows} rows beside {first.title} of {first.rows}"
            raise InputError(f"the table of {name!r} does not match the others: {seen}")
    lines = [f"| {first.title} | {' | '.join(columns)} |", f"| --- |{' ---: |' * len(columns)}"]
    for figure in first.values:
        cells = [f"{table.values[figure]:.4f}" for table in columns.values()]
        best = max(cells, key=float) if len(cells) > 1 else None
        lines.append(f"| {figure} | {' | '.join(f'**{cell}**' if cell == best else cell for cell in cells)} |")
    return "\n".join(lines)


def needed_scores(figures: Figures) -> tuple[str, ...]:
    """Return the row scores that a table needs, by either definition."""
    return tuple(dict.fromkeys(score for both in figures.values() for score in both))


def paper_values(sums: RankingMetrics, figures: Figures, as_written: bool) -> dict[str, float]:
    """Return the figures of a table from sums over rows: at the largest k, except for those that name a k."""
    weighted, plain = sums.result(), sums.result(weighted=False)
    values: dict[str, float] = {}
    for name, scores in figures.items():
        depth = 1 if "@1" in name else sums.ks[-1]
        score = f"{scores[as_written]}@{depth}"
        values |= {f"{name}_weighted": weighted[score], f"{name}_unweighted": plain[score]}
    return values


def representative(purchased: TrueLabels, n_labels: int, size: int, seed: int = 0) -> IntArray:
    """Return `size` label ids, ascending: every purchased label, and a uniform sample of the others.

    `n_labels` is the model's K: labels from K up are unknown to it and cannot be candidates. The same seed gives the
    same ids on every platform and NumPy version. The paper took 1,000,000 of 49,460,000, of which 32,977 had been
    bought.
    """
    n_labels, seed = whole("n_labels", n_labels, 1), whole("seed", seed, 0, 2**64 - 1)
    kept = np.unique(label_pairs(purchased).ids)
    kept = kept[kept < n_labels]
    size = whole("size", size, 1, n_labels)
    if size < len(kept):
        raise InputError(f"size={size}, but all {len(kept)} purchased labels must be included: make it larger")
    drawn = _sample(n_labels - len(kept), size - len(kept), seed)
    # the i-th label that was not bought is i plus the number of bought labels before it
    others = drawn + np.searchsorted(kept - np.arange(len(kept)), drawn, side="right")
    return np.sort(np.concatenate([kept, others]))


def _sample(n: int, size: int, seed: int) -> IntArray:
    """Draw `size` different numbers from 0..n-1, ascending."""
    if size > n // 2:  # drawing the complement is less work
        mask = np.ones(n, np.bool_)
        mask[_sample(n, n - size, seed)] = False
        return np.flatnonzero(mask)
    # Philox's raw bits are fixed by its definition; 'sample' in the key separates this stream from all others
    bits = np.random.Philox(key=(int.from_bytes(b"sample", "big") << 64) | seed)
    numbers = np.zeros(0, np.int64)
    while True:
        distinct, first = np.unique(numbers, return_index=True)
        if len(distinct) >= size:  # keep those drawn first
            return np.sort(distinct[np.argsort(first)[:size]])
        more = bits.random_raw(size - len(distinct) + 16)
        more = more[more <= np.uint64(2**64 - 1 - 2**64 % n)]  # rejected, so that 0..n-1 are equally likely
        numbers = np.append(numbers, (more % np.uint64(n)).astype(np.int64))
