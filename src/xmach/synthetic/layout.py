"""The number of products of each type and brand: a few thousand cells describe any number of products.

Products are in slots, ordered by type, by brand within a type (a cell), by line within a cell, and by sibling within a
line. So the product in a slot is computed and never stored, and 50 million products cost no memory.
"""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

import numpy as np

from xmach.synthetic.departments import product_types
from xmach.synthetic.names import N_BRAND_NAMES
from xmach.synthetic.randomness import key, stream
from xmach.types import DoubleArray, IntArray

_BRANDS_PER_ROOT = 0.6  # brands of a type = this times the square root of its products: both brands and lines grow


class Layout(NamedTuple):
    """The cells of a shop; a cell is one brand in one type."""

    type_first: IntArray  # (types + 1,) the first cell of each type
    cell_type: IntArray  # (cells,)
    cell_brand: IntArray  # (cells,) brand numbers
    cell_first: IntArray  # (cells + 1,) the first slot of each cell
    cell_demand: DoubleArray  # (cells + 1,) cumulative share of all purchases, from 0 to 1


def lay_out(n_products: int, seed: int) -> Layout:
    """Distribute the products over types and brands."""
    types = product_types()
    rng = stream(seed, "layout")
    rank = np.argsort(rng.random(len(types)), kind="stable")
    type_sizes = _apportion(n_products, _zipf(rank, 0.5))
    cell_types: list[IntArray] = []
    sizes: list[IntArray] = []
    brands: list[IntArray] = []
    pool = _brand_pool(type_sizes)
    departments = sorted({each.department for each in types})
    for number, (each, size) in enumerate(zip(types, type_sizes.tolist(), strict=True)):
        n_brands = _n_brands(size)
        sizes.append(1 + _apportion(size - n_brands, _zipf(np.arange(n_brands), 0.7)))
        cell_types.append(np.full(n_brands, number))
        # Types of a department share a pool, so that a brand sells several types.
        offset = key(seed, "brands of", number) % pool
        brands.append(departments.index(each.department) * pool + (offset + np.arange(n_brands)) % pool)
    cell_sizes = np.concatenate(sizes)
    demand = cell_sizes * np.exp2(
        4 * rng.random(len(cell_sizes))
    )  # a product of one brand sells up to 16 times another's
    return Layout(
        _starts(np.array([len(each) for each in sizes])),
        np.concatenate(cell_types),
        np.concatenate(brands) % N_BRAND_NAMES,
        _starts(cell_sizes),
        np.concatenate([np.zeros(1), np.cumsum(demand) / demand.sum()]),
    )


def _zipf(ranks: IntArray, exponent: float) -> DoubleArray:
    return np.exp(-exponent * np.log1p(ranks))


def _n_brands(size: int) -> int:
    """Return the number of brands of a type with `size` products."""
    return min(size, max(1, round(_BRANDS_PER_ROOT * sqrt(size))))


def _brand_pool(type_sizes: IntArray) -> int:
    """Return the number of brands of a department: slightly more than its largest type has."""
    return max(1, round(1.5 * _n_brands(int(type_sizes.max()))))


def _apportion(total: int, shares: DoubleArray) -> IntArray:
    """Return whole numbers in proportion to the shares, with sum `total`; the largest remainders are rounded up."""
    if len(shares) == 0:
        return np.zeros(0, dtype=np.int64)
    exact = total * shares / shares.sum()
    result: IntArray = np.floor(exact).astype(np.int64)
    most = np.argsort(result - exact, kind="stable")[: total - int(result.sum())]
    result[most] += 1
    return result


def _starts(sizes: IntArray) -> IntArray:
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes, dtype=np.int64)])
