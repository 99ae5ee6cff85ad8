"""The paper's two tables of metrics, matching and ranking: every figure weighted by sessions and not."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from xmach.errors import InputError
from xmach.metrics.sums import RankingMetrics

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
