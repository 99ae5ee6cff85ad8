"""Queries as label rows: which products were bought, how often."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from xmach.synthetic.block import Query
from xmach.types import SparseRows


def purchase_rows(queries: Sequence[Query], n_products: int) -> SparseRows:
    """One row a query, the products bought with how often each, (n, K)."""
    pairs = [sorted(zip(query.products, query.purchases, strict=True)) for query in queries]
    indptr = np.concatenate([np.zeros(1, np.int64), np.cumsum([len(row) for row in pairs], dtype=np.int64)])
    flat = np.array([pair for row in pairs for pair in row], np.int64).reshape(-1, 2)
    return SparseRows(indptr, flat[:, 0].astype(np.int32), flat[:, 1].astype(np.float32), n_products)
