"""The paper's two tables of metrics, matching and ranking: every figure weighted by sessions and not."""

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

Figures = Mapping[str, tuple[str, str]]  # the paper's name: the row score as is usual, and as the appendix writes it

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
    rows: int  # that count
    rows_left_out: int = 0  # that could not be ranked: without a purchase, or without a product that was only seen

    def markdown(self, name: str = "model") -> str:
        """The table of this model alone."""
        return side_by_side({name: self})


def side_by_side(columns: Mapping[str, PaperTable]) -> str:
    """A Markdown table with a column for each model, by its name; the best figure of each row in bold, as printed."""
    if not columns:
        raise InputError("columns must have at least one table")
    first = next(iter(columns.values()))
    for name, table in columns.items():
        if (table.title, list(table.values), table.rows) != (first.title, list(first.values), first.rows):
            seen = f"{table.title} of {table.rows} rows beside {first.title} of {first.rows}"
            raise InputError(f"the table of {name!r} does not belong here: {seen}")
    lines = [f"| {first.title} | {' | '.join(columns)} |", f"| --- |{' ---: |' * len(columns)}"]
    for figure in first.values:
        cells = [f"{table.values[figure]:.4f}" for table in columns.values()]
        best = max(cells, key=float) if len(cells) > 1 else None
        lines.append(f"| {figure} | {' | '.join(f'**{cell}**' if cell == best else cell for cell in cells)} |")
    return "\n".join(lines)


def needed_scores(figures: Figures) -> tuple[str, ...]:
    """The row scores that a table is made of, in both ways of writing it."""
    return tuple(dict.fromkeys(score for both in figures.values() for score in both))


def paper_values(sums: RankingMetrics, figures: Figures, as_written: bool) -> dict[str, float]:
    """A table's figures from sums over rows: at the largest k, but for those that name one."""
    weighted, plain = sums.result(), sums.result(weighted=False)
    values: dict[str, float] = {}
    for name, scores in figures.items():
        depth = 1 if "@1" in name else sums.ks[-1]
        score = f"{scores[as_written]}@{depth}"
        values |= {f"{name}_weighted": weighted[score], f"{name}_unweighted": plain[score]}
    return values


def representative(purchased: TrueLabels, n_labels: int, size: int, seed: int = 0) -> IntArray:
    """(size,) label ids, ascending: every label that a row has, and as many of the others, drawn alike, as are missing.

    `n_labels` is the model's K: labels from K on, which it does not know, cannot be candidates. Same seed, same ids,
    on every platform and NumPy version. The paper took 1,000,000 of 49,460,000, of which 32,977 had been bought.
    """
    n_labels, seed = whole("n_labels", n_labels, 1), whole("seed", seed, 0, 2**64 - 1)
    kept = np.unique(label_pairs(purchased).ids)
    kept = kept[kept < n_labels]
    size = whole("size", size, 1, n_labels)
    if size < len(kept):
        raise InputError(f"size={size}, but {len(kept)} labels were purchased and all of them stay: make it larger")
    drawn = _sample(n_labels - len(kept), size - len(kept), seed)
    # the i-th label that was not bought: as many further as bought ones lie before it
    others = drawn + np.searchsorted(kept - np.arange(len(kept)), drawn, side="right")
    return np.sort(np.concatenate([kept, others]))


def _sample(n: int, size: int, seed: int) -> IntArray:
    """`size` of the numbers 0..n-1, each at most once, ascending."""
    if size > n // 2:  # those that are not drawn are fewer
        mask = np.ones(n, np.bool_)
        mask[_sample(n, n - size, seed)] = False
        return np.flatnonzero(mask)
    # Philox's raw bits are fixed by its definition; 'sample' in the high half of the key: apart from other streams
    bits = np.random.Philox(key=(int.from_bytes(b"sample", "big") << 64) | seed)
    numbers = np.zeros(0, np.int64)
    while True:
        distinct, first = np.unique(numbers, return_index=True)
        if len(distinct) >= size:  # those that came first
            return np.sort(distinct[np.argsort(first)[:size]])
        more = bits.random_raw(size - len(distinct) + 16)
        more = more[more <= np.uint64(2**64 - 1 - 2**64 % n)]  # up to there all of 0..n-1 are equally many
        numbers = np.append(numbers, (more % np.uint64(n)).astype(np.int64))
