"""The shop: products and queries by the chunk, the same for a seed on every platform, in bounded memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, TypeAlias, get_args

import numpy as np

from xmach.errors import InputError, ParameterError
from xmach.synthetic.catalogue import Catalogue, attribute_values
from xmach.synthetic.demand import Demand, Events
from xmach.synthetic.departments import product_types
from xmach.synthetic.names import brand_names
from xmach.synthetic.popularity import Popularity
from xmach.synthetic.randomness import Shuffle, key, stream
from xmach.synthetic.settings import ShopSettings
from xmach.synthetic.wording import Wording
from xmach.types import IntArray, row_batches

Period: TypeAlias = Literal["train", "test"]

_EVENTS = 4096  # searches drawn at a time
_FEW_NEW = _EVENTS // 10  # where a draw adds fewer new texts than these, the shop has no more to give
_MOST_PRODUCTS = 10**9


class Query(NamedTuple):
    """A query text with all that happened after it in a period."""

    text: str
    products: tuple[int, ...]  # bought, the most bought first
    purchases: tuple[int, ...]  # how often each
    sessions: int  # in which the query came up; at least the sum of the purchases
    seen: tuple[int, ...]  # clicked and not bought; in the test period only


class Product(NamedTuple):
    """A product as the shop knows it."""

    id: int
    title: str
    brand: str
    type: str
    department: str
    attributes: dict[str, str]
    popularity: float  # share of the training period's purchases, late releases aside
    released: float  # when it appears: 0 is the start of the training period, 1 its end


@dataclass
class _Row:
    """A query text while its searches are added up."""

    bought: Counter[int] = field(default_factory=Counter)
    seen: dict[int, None] = field(default_factory=dict)  # in order of first sight
    n_seen: int = 0
    sessions: int = 0


class Shop:
    """A product search: products 0..n_products-1, and queries of a training and a later test period."""

    def __init__(self, n_products: int, seed: int = 0, settings: ShopSettings | None = None) -> None:
        if not isinstance(n_products, int | np.integer) or not 1 <= n_products <= _MOST_PRODUCTS:
            raise ParameterError(f"n_products must be a whole number from 1 to {_MOST_PRODUCTS}, got {n_products!r}")
        self.n_products = n_products = int(n_products)
        self.seed = seed = int(seed)  # NumPy's integers would name other streams
        self.settings = settings or ShopSettings()
        self._catalogue = Catalogue(n_products, seed)
        self._popularity = Popularity(self._catalogue, seed)
        self._demand = Demand(self._catalogue, self._popularity, self.settings)
        self._shuffle = Shuffle(n_products, key(seed, "products"))  # slot -> product id, so that siblings are far apart

    def titles(self, start: int = 0, stop: int | None = None) -> list[str]:
        """The titles of products start..stop-1; ask in chunks where there are many."""
        stop = self.n_products if stop is None else stop
        if not 0 <= start <= stop <= self.n_products:
            raise InputError(f"products {start} to {stop} are not within 0 to {self.n_products}")
        return self._catalogue.titles(self._slots(start, stop))

    def product(self, product: int) -> Product:
        """All about one product."""
        title = self.titles(product, product + 1)[0]
        slot = self._slots(product, product + 1)
        _, lines, places = self._catalogue.place(slot)
        facets = self._catalogue.facets(slot)
        kind = product_types()[int(facets.type[0])]
        values = [attribute_values()[value][0] for value in facets.values[0].tolist() if value >= 0]
        return Product(
            product, title, brand_names(facets.brand)[int(facets.brand[0])], kind.names[0], kind.department,
            dict(zip(kind.variant_attributes + kind.line_attributes, values, strict=True)),
            float(self._popularity.share(slot)[0]), float(self._catalogue.released(slot - places, lines)[0]),
        )  # fmt: skip

    def queries(self, n_queries: int | None = None, period: Period = "train") -> Iterator[list[Query]]:
        """The queries of a period, in chunks of `settings.chunk_rows`, in no order of time.

        Texts are unique within a chunk: equal ones are merged, their purchases and sessions added. Chunks do not know
        of each other, so that the commonest broad queries come up again in the next one.
        """
        if period not in get_args(Period):
            raise ParameterError(f"period must be one of {', '.join(get_args(Period))}; got {period!r}")
        if n_queries is None:
            of_train = round(self.n_products * self.settings.queries_per_product)
            n_queries = max(1, of_train) if period == "train" else self.settings.test_queries
        if n_queries < 0:
            raise ParameterError(f"n_queries must be at least 0, got {n_queries}")
        for start, stop in row_batches(n_queries, self.settings.chunk_rows):
            yield self._chunk(start // self.settings.chunk_rows, stop - start, period)

    def _slots(self, start: int, stop: int) -> IntArray:
        return self._shuffle.backward(np.arange(start, stop, dtype=np.int64))

    def _chunk(self, number: int, size: int, period: Period) -> list[Query]:
        """One chunk: searches are drawn until there are enough different texts."""
        rng = stream(self.seed, "queries", period, number)
        wording = Wording(self.settings.typos)
        rows: dict[str, _Row] = {}
        while (before := len(rows)) < size:
            events = self._demand.events(rng, _EVENTS, period)
            self._merge(rows, wording.texts(events.wanted, events.mentioned, rng), events)
            if len(rows) < min(size, before + _FEW_NEW):
                raise ParameterError(
                    f"a shop of {self.n_products} products has hardly more than {len(rows)} different queries; "
                    f"ask for fewer than {size} at a time, or for more products"
                )
        return [_query(text, row) for text, row in list(rows.items())[:size]]

    def _merge(self, rows: dict[str, _Row], texts: list[str], events: Events) -> None:
        """Add searches to the rows of their texts."""
        bought, seen = self._ids(events.bought), self._ids(events.seen)
        for text, products, others, n_seen, sessions in zip(
            texts, bought, seen, events.n_seen.tolist(), events.sessions.tolist(), strict=True
        ):
            row = rows.setdefault(text, _Row())
            row.bought.update(products)
            row.seen.update(dict.fromkeys(others))
            row.n_seen = row.n_seen or n_seen
            row.sessions += sessions

    def _ids(self, slots: IntArray) -> list[list[int]]:
        """Product ids of (n, m) slots, without the empty ones."""
        there = slots >= 0
        ids = self._shuffle.forward(slots[there]).tolist()
        ends = np.cumsum(there.sum(axis=1)).tolist()
        return [ids[start:stop] for start, stop in zip([0, *ends[:-1]], ends, strict=True)]


def _query(text: str, row: _Row) -> Query:
    ranked = sorted(row.bought.items(), key=lambda item: (-item[1], item[0]))
    seen = [product for product in row.seen if product not in row.bought][: row.n_seen]
    return Query(text, tuple(p for p, _ in ranked), tuple(n for _, n in ranked), row.sessions, tuple(seen))
