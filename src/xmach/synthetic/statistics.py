"""Statistics of a shop's queries, beside those of the paper."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
from math import isnan, nan

import numpy as np

from xmach.synthetic.block import Period, QueryBlock
from xmach.synthetic.tally import ProductTally, TextTally, words


@dataclass(frozen=True)
class ShopStatistics:
    """The figures that the paper gives for its search data (section 4.2), and a few more; nan if unknown."""

    queries: int
    different_texts: float  # of the queries; equal ones are merged within a chunk only
    products: int
    bought_products: float  # share of the products that were bought at all
    purchases_per_query: float  # different products bought after a query
    queries_per_product: float  # different queries after which a product was bought, of those that were bought
    purchases_per_pair: float  # how often a product was bought after a query, where it was
    purchases_of_top_products: float  # share of the purchases that the most bought 1 % of the products have
    sessions_per_query: float
    sessions_of_top_queries: float  # share of the sessions that the commonest 1 % of the queries have
    seen_per_query: float  # clicked and not bought
    words_per_query: float
    texts_known: float = nan  # share of the queries whose text was in the training period
    purchases_of_new_products: float = nan  # share of the pairs whose product was never bought in the training period

    @classmethod
    def of(cls, blocks: Iterable[QueryBlock], n_products: int) -> ShopStatistics:
        """Count blocks of queries, with one in memory at a time."""
        tally = ShopTally(n_products)
        for block in blocks:
            tally.add(block)
        return tally.statistics()

    def table(self, period: Period = "train") -> str:
        """Format the figures as lines of text, beside those of the paper for that period."""
        lines = [f"{'':<28}{'this shop':>14}{'the paper':>14}"]
        for each in fields(self):
            ours, theirs = getattr(self, each.name), getattr(_PAPER[period], each.name)
            if not isnan(ours):
                lines.append(f"{each.name.replace('_', ' '):<28}{_figure(ours):>14}{_figure(theirs):>14}")
        return "\n".join(lines)

    def to_dict(self) -> dict[str, float]:
        """Return the known figures by name."""
        return {name: value for name, value in asdict(self).items() if not isnan(value)}


class ShopTally:
    """Counts blocks of queries, in memory that grows only by one bit per product."""

    def __init__(self, n_products: int, before: ShopTally | None = None) -> None:
        self._n_products = n_products
        self._before = before  # of the training period
        self._products, self._texts = ProductTally(n_products), TextTally()
        self._totals = np.zeros(6, np.int64)  # queries, pairs, purchases, sessions, seen, words
        self._known = np.zeros(
            3, np.int64
        )  # texts that can be told, of these known; pairs with a product bought before

    def add(self, block: QueryBlock) -> None:
        """Count a block."""
        self._products.add(block.products, block.purchases)
        self._texts.add(block.text_hashes, block.sessions)
        purchases, sessions = int(block.purchases.sum()), int(block.sessions.sum())
        self._totals += (block.n_queries, len(block.products), purchases, sessions, len(block.seen), words(block))
        if self._before is not None:
            told, known = self._before._texts.known(block.text_hashes)
            self._known += (told, known, self._before._products.knows(block.products).sum())

    def statistics(self) -> ShopStatistics:
        """Return the statistics of the blocks so far."""
        queries, pairs, purchases, sessions, seen, words = self._totals.tolist()
        told, known, old = self._known.tolist()
        rows, different = max(queries, 1), self._products.different()
        return ShopStatistics(
            queries, min(1.0, self._texts.different() / rows), self._n_products, different / self._n_products,
            pairs / rows, pairs / max(different, 1), purchases / max(pairs, 1), self._products.top_share(),
            sessions / rows, self._texts.top_share(), seen / rows, words / rows,
            known / told if told else nan, 1 - old / max(pairs, 1) if self._before is not None else nan,
        )  # fmt: skip


# 70.3 M queries x 2.1 / 14.69 are 10 M products bought, 20 % of them all. In the test period 32,977 products were
# bought after 20,000 queries, "about 2" each of 14 that were seen.
_PAPER: dict[Period, ShopStatistics] = {
    "train": ShopStatistics(70_301_491, 1.0, 49_462_358, 0.20, 2.1, 14.69, nan, nan, nan, nan, nan, nan),
    "test": ShopStatistics(
        20_000, 1.0, 49_462_358, 32_977 / 49_462_358, 2.0, 40_000 / 32_977, nan, nan, nan, nan, 12.0, nan
    ),
}


def _figure(value: float) -> str:
    if isinstance(value, int):
        return f"{value:,}"
    return "-" if isnan(value) else f"{value:.2f}" if value >= 0.1 else f"{value:.2g}"
