"""A chunk of queries as arrays: the searches for each text, aggregated."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from xmach.types import AnyArray, IntArray, SparseRows

Period: TypeAlias = Literal["train", "test"]


class Query(NamedTuple):
    """A query text with its purchases, clicks and sessions in a period."""

    text: str
    products: tuple[int, ...]  # bought, the most bought first
    purchases: tuple[int, ...]  # how often each
    sessions: int  # with this query; at least the sum of the purchases
    seen: tuple[int, ...]  # clicked and not bought; in the test period only


class QueryBlock(NamedTuple):
    """n queries with concatenated lists; the list of query i is `first[i]:first[i + 1]`."""

    text_data: AnyArray  # (bytes,) uint8, ASCII
    text_first: IntArray  # (n + 1,)
    text_hashes: AnyArray  # (n,) uint64: the same for equal texts of other blocks
    bought_first: IntArray  # (n + 1,)
    products: IntArray  # the most bought of a query first, ties by id
    purchases: IntArray
    sessions: IntArray  # (n,)
    seen_first: IntArray  # (n + 1,)
    seen: IntArray

    @property
    def n_queries(self) -> int:
        """n."""
        return len(self.sessions)

    @classmethod
    def empty(cls) -> QueryBlock:
        """Return a block without queries."""
        none, zero = np.empty(0, np.int64), np.zeros(1, np.int64)
        return cls(np.empty(0, np.uint8), zero, np.empty(0, np.uint64), zero, none, none, none, zero, none)

    def texts(self) -> list[str]:
        """Return the text of each query."""
        whole = self.text_data.tobytes().decode("ascii")
        return [whole[start:stop] for start, stop in pairwise(self.text_first.tolist())]

    def queries(self) -> list[Query]:
        """Return the queries as a list."""
        products, purchases = _tuples(self.bought_first, self.products), _tuples(self.bought_first, self.purchases)
        columns = self.texts(), products, purchases, self.sessions.tolist(), _tuples(self.seen_first, self.seen)
        return [Query(*each) for each in zip(*columns, strict=True)]

    def labels(self, n_products: int) -> SparseRows:
        """Return one row per query, the products bought with the number of purchases, (n, K)."""
        row = np.repeat(np.arange(self.n_queries), np.diff(self.bought_first))
        order = np.argsort(row * n_products + self.products, kind="stable")
        values = self.purchases[order].astype(np.float32)
        return SparseRows(self.bought_first, self.products[order].astype(np.int32), values, n_products)


def purchase_rows(queries: Sequence[Query], n_products: int) -> SparseRows:
    """Return one row per query, the products bought with the number of purchases, (n, K)."""
    pairs = [sorted(zip(query.products, query.purchases, strict=True)) for query in queries]
    indptr = np.concatenate([np.zeros(1, np.int64), np.cumsum([len(row) for row in pairs], dtype=np.int64)])
    flat = np.array([pair for row in pairs for pair in row], np.int64).reshape(-1, 2)
    return SparseRows(indptr, flat[:, 0].astype(np.int32), flat[:, 1].astype(np.float32), n_products)


class Searches(NamedTuple):
    """Searches with the row of their query; lists are (n, m) products, padded with -1."""

    row: IntArray
    bought: IntArray
    seen: IntArray
    n_seen: IntArray
    sessions: IntArray


def add_up(texts: tuple[AnyArray, IntArray, AnyArray], searches: Searches) -> QueryBlock:
    """Aggregate searches to the queries of these texts (bytes, ends, hashes); searches of later rows are dropped."""
    data, ends, hashes = texts
    n = len(ends)
    searches = Searches(*[column[searches.row < n] for column in searches])
    bought, count = np.unique(_pairs(searches.row, searches.bought), return_counts=True)
    owner, product = np.divmod(bought, _WIDE)
    most = int(count.max(initial=0)) + 1
    order = np.argsort(owner * most + most - count, kind="stable")
    seen = _first_seen(searches, n, bought)
    sessions = np.bincount(searches.row, searches.sessions, n).astype(np.int64)  # exact below 2^53
    return QueryBlock(
        data, np.concatenate([np.zeros(1, np.int64), ends]), hashes, _firsts(owner, n), product[order], count[order],
        sessions, _firsts(seen // _WIDE, n), seen % _WIDE,
    )  # fmt: skip


_WIDE = 1 << 32  # a pair of row and product is one number: row * _WIDE + product


def _pairs(row: IntArray, products: IntArray) -> IntArray:
    """Return row and product of each entry of (n, m) products that is not padding."""
    there = products >= 0
    return np.repeat(row, there.sum(axis=1)) * _WIDE + products[there]


def _first_seen(searches: Searches, n: int, bought: IntArray) -> IntArray:
    """Return row and product of clicks without purchase, in order, as many per row as its first search allows."""
    pairs = _pairs(searches.row, searches.seen)
    distinct, first = np.unique(pairs, return_index=True)
    first = first[~np.isin(distinct, bought, assume_unique=True)]
    pairs = pairs[np.sort(first)]
    pairs = pairs[np.argsort(pairs // _WIDE, kind="stable")]
    owner = pairs // _WIDE
    says = np.flatnonzero(searches.n_seen)
    rows, of_row = np.unique(searches.row[says], return_index=True)
    most = np.zeros(n, np.int64)
    most[rows] = searches.n_seen[says[of_row]]
    rank = np.arange(len(pairs)) - _firsts(owner, n)[owner]
    kept: IntArray = pairs[rank < most[owner]]
    return kept


def _firsts(owner: IntArray, n: int) -> IntArray:
    """Return where the entries of each row begin (n + 1,); entries are ordered by row."""
    return np.searchsorted(owner, np.arange(n + 1)).astype(np.int64)


def _tuples(first: IntArray, values: IntArray) -> list[tuple[int, ...]]:
    flat = values.tolist()
    return [tuple(flat[start:stop]) for start, stop in pairwise(first.tolist())]
