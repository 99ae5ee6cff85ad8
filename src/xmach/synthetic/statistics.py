"""What a shop's queries look like in numbers, beside those of the paper."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import astuple, dataclass, fields

import numpy as np

from xmach.synthetic.shop import Query


@dataclass(frozen=True)
class ShopStatistics:
    """The figures that the paper gives of its search set (section 4.2), and a few more."""

    queries: int
    products: int
    purchases_per_query: float  # different products bought after a query
    queries_per_product: float  # different queries after which a product was bought, of those that were bought
    bought_products: float  # share of the products that were bought at all
    sessions_per_query: float
    seen_per_query: float  # clicked and not bought
    words_per_query: float

    @classmethod
    def of(cls, chunks: Iterable[list[Query]], n_products: int) -> ShopStatistics:
        """Count chunks of queries; a chunk at a time is in memory, and a bit map of the products."""
        bought = np.zeros(n_products, dtype=np.bool_)
        totals = np.zeros(5, dtype=np.int64)
        for chunk in chunks:
            for query in chunk:
                bought[list(query.products)] = True
                totals += (1, len(query.products), query.sessions, len(query.seen), len(query.text.split()))
        queries, purchases, sessions, seen, words = totals.tolist()
        rows, sold = max(queries, 1), int(bought.sum())
        return cls(
            queries, n_products, purchases / rows, purchases / max(sold, 1), sold / n_products,
            sessions / rows, seen / rows, words / rows,
        )  # fmt: skip

    def table(self) -> str:
        """The figures as lines of text, with the paper's beside them where it gives them."""
        lines = [f"{'':<22}{'this shop':>14}{'the paper':>14}"]
        for each, ours, theirs in zip(fields(self), astuple(self), astuple(_PAPER), strict=True):
            lines.append(f"{each.name.replace('_', ' '):<22}{_figure(ours):>14}{_figure(theirs):>14}")
        return "\n".join(lines)


_UNKNOWN = float("nan")
_PAPER = ShopStatistics(70_301_491, 49_462_358, 2.1, 14.69, _UNKNOWN, _UNKNOWN, 12.0, _UNKNOWN)


def _figure(value: float) -> str:
    if isinstance(value, int):
        return f"{value:,}"
    return "-" if np.isnan(value) else f"{value:.2f}"
