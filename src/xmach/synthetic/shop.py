"""The shop: products and queries in chunks, the same for a seed on every platform, in bounded memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, get_args

import numpy as np

from xmach.errors import InputError, ParameterError
from xmach.synthetic.block import Period, Query, QueryBlock, Searches, add_up
from xmach.synthetic.catalogue import Catalogue, attribute_values
from xmach.synthetic.demand import Demand
from xmach.synthetic.departments import product_types
from xmach.synthetic.kernels.grouping import TextGroups
from xmach.synthetic.names import brand_names
from xmach.synthetic.popularity import Popularity
from xmach.synthetic.randomness import Shuffle, key, stream
from xmach.synthetic.settings import ShopSettings
from xmach.synthetic.wording import Wording
from xmach.types import IntArray, row_batches

_EVENTS = 4096  # searches drawn at a time
_FEW_NEW = _EVENTS // 10  # if a draw adds fewer new texts, the shop has hardly any more
_MOST_PRODUCTS = 10**9


class Product(NamedTuple):
    """A product of the shop."""

    id: int
    title: str
    brand: str
    type: str
    department: str
    attributes: dict[str, str]
    popularity: float  # share of the training period's purchases, ignoring late releases
    released: float  # when it appears: 0 is the start of the training period, 1 its end


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
        """Return the titles of products start..stop-1; use chunks if there are many."""
        stop = self.n_products if stop is None else stop
        if not 0 <= start <= stop <= self.n_products:
            raise InputError(f"products {start} to {stop} are not within 0 to {self.n_products}")
        return self._catalogue.titles(self._slots(start, stop))

    def product(self, product: int) -> Product:
        """Return a product by its id."""
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
        """Yield the queries of a period in chunks of `settings.chunk_rows`, not ordered by time.

        Texts are unique within a chunk: equal ones are merged, and their purchases and sessions added. Chunks are
        independent, so the most common queries occur in several of them.
        """
        for block in self.blocks(n_queries, period):
            yield block.queries()

    def blocks(self, n_queries: int | None = None, period: Period = "train") -> Iterator[QueryBlock]:
        """Yield the same chunks as arrays, which is faster."""
        for number, size in self.chunks(n_queries, period):
            yield self.block(number, size, period)

    def chunks(self, n_queries: int | None = None, period: Period = "train") -> Iterator[tuple[int, int]]:
        """Yield the number and the size of each chunk."""
        _check_period(period)
        if n_queries is None:
            of_train = round(self.n_products * self.settings.queries_per_product)
            n_queries = max(1, of_train) if period == "train" else self.settings.test_queries
        if n_queries < 0:
            raise ParameterError(f"n_queries must be at least 0, got {n_queries}")
        for start, stop in row_batches(n_queries, self.settings.chunk_rows):
            yield start // self.settings.chunk_rows, stop - start

    def block(self, number: int, size: int, period: Period = "train") -> QueryBlock:
        """Return one chunk as arrays, the same in every process; draws until there are enough distinct texts."""
        _check_period(period)
        if size < 1:
            raise ParameterError(f"size must be at least 1, got {size}")
        rng = stream(self.seed, "queries", period, number)
        wording = Wording(self.settings.typos)
        groups = TextGroups(size + _EVENTS)
        drawn: list[Searches] = []
        while (before := len(groups)) < size:
            events = self._demand.events(rng, _EVENTS, period)
            rows = groups.rows(*wording.texts(events.wanted, events.mentioned, rng))
            bought, seen = self._ids(events.bought), self._ids(events.seen)
            drawn.append(Searches(rows, bought, seen, events.n_seen, events.sessions))
            if len(groups) < min(size, before + _FEW_NEW):
                raise ParameterError(
                    f"a shop of {self.n_products} products has hardly more than {len(groups)} different queries; "
                    f"use chunks of fewer than {size}, or more products"
                )
        return add_up(groups.first(size), Searches(*[np.concatenate(column) for column in zip(*drawn, strict=True)]))

    def _slots(self, start: int, stop: int) -> IntArray:
        return self._shuffle.backward(np.arange(start, stop, dtype=np.int64))

    def _ids(self, slots: IntArray) -> IntArray:
        """Return the product in each slot; -1 stays -1."""
        products = slots.copy()
        products[slots >= 0] = self._shuffle.forward(slots[slots >= 0])
        return products


def _check_period(period: str) -> None:
    if period not in get_args(Period):
        raise ParameterError(f"period must be one of {', '.join(get_args(Period))}; got {period!r}")
