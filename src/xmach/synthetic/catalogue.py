"""The product in a slot: brand, type, series, model number and attributes, computed for many slots at once."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import accumulate, chain
from typing import NamedTuple

import numpy as np

from xmach.synthetic.attributes import Value, attributes
from xmach.synthetic.departments import product_types
from xmach.synthetic.layout import lay_out
from xmach.synthetic.names import brand_names, series_names
from xmach.synthetic.randomness import below, key, mix, uniform
from xmach.types import DoubleArray, IntArray

N_ATTRIBUTES = 4  # of a type, at most
MODELS = 3  # lines of a series: Trail 1, Trail 2, Trail 3
_VARIANTS = (4, 2)  # siblings of a line: values of the first times values of the second attribute
_LATE_SHARE = 0.35  # of last models; they appear from 0.6 to 0.95 of the training period


class Facets(NamedTuple):
    """The description of products, one entry each; values index `attribute_values()`, -1 for none."""

    type: IntArray
    brand: IntArray
    series: IntArray  # numbers of `series_names()`
    model: IntArray  # from 1
    values: IntArray  # (n, N_ATTRIBUTES)


@cache
def attribute_values() -> tuple[Value, ...]:
    """Return every value of every attribute, concatenated."""
    return tuple(chain.from_iterable(attributes().values()))


class Catalogue:
    """The products of a shop, by slot."""

    def __init__(self, n_products: int, seed: int) -> None:
        self.layout = lay_out(n_products, seed)
        self._line_key = key(seed, "line")
        self._cell_key = key(seed, "cell")
        self._n_series = len(series_names())
        self._release_key = key(seed, "release")
        counts = {name: len(values) for name, values in attributes().items()}
        starts = dict(zip(counts, accumulate(counts.values(), initial=0), strict=False))  # one more: the end
        by_type = [each.variant_attributes + each.line_attributes for each in product_types()]
        self._value_first = _table(by_type, starts.__getitem__, -1)  # (types, N_ATTRIBUTES)
        self._value_count = _table(by_type, counts.__getitem__, 1)
        self._widths = np.minimum(self._value_count[:, :2], _VARIANTS)  # (types, 2)
        self.line_size: IntArray = self._widths.prod(axis=1)  # (types,) siblings of a full line

    def cells(self, slots: IntArray) -> IntArray:
        """Return the cell of each slot."""
        return np.searchsorted(self.layout.cell_first, slots, side="right").astype(np.int64) - 1

    def place(self, slots: IntArray, cells: IntArray | None = None) -> tuple[IntArray, IntArray, IntArray]:
        """Return the cell of each slot (which may be given), its line within the cell, and its place in the line."""
        cells = self.cells(slots) if cells is None else cells
        lines, places = np.divmod(slots - self.layout.cell_first[cells], self.line_size[self.layout.cell_type[cells]])
        return cells, lines, places

    def facets(self, slots: IntArray, cells: IntArray | None = None) -> Facets:
        """Return the description of the product in each slot; the cells of the slots may be given."""
        cells, lines, places = self.place(slots, cells)
        types = self.layout.cell_type[cells]
        line_hashes = mix(slots - places, self._line_key)
        widths = self._widths[types, 0]
        values = np.empty((len(slots), N_ATTRIBUTES), dtype=np.int64)
        for column in range(N_ATTRIBUTES):
            first, count = self._value_first[types, column], self._value_count[types, column]
            # Siblings of a line have neighbouring values of the first two attributes, and equal values of the others.
            step = places % widths if column == 0 else places // widths if column == 1 else 0
            values[:, column] = np.where(first < 0, -1, first + (below(line_hashes, count, column) + step) % count)
        series, model = np.divmod(lines, MODELS)
        rounds, series = np.divmod(series, self._n_series)  # out of names: higher model numbers
        series = (series + below(mix(cells, self._cell_key), self._n_series)) % self._n_series
        return Facets(types, self.layout.cell_brand[cells], series, 1 + model + MODELS * rounds, values)

    def released(self, line_slots: IntArray, lines: IntArray) -> DoubleArray:
        """Return when lines appear in the training period (0 to 1): at its start, except for some late last models."""
        chance = uniform(mix(line_slots, self._release_key))
        late = (lines % MODELS == MODELS - 1) & (chance < _LATE_SHARE)
        return np.where(late, 0.6 + chance, 0.0)

    def titles(self, slots: IntArray) -> list[str]:
        """Return the title of each product."""
        types, values, series_of = product_types(), attribute_values(), series_names()
        facets = self.facets(slots)
        brands = brand_names(facets.brand)
        columns = zip(*[column.tolist() for column in facets], strict=True)
        return [
            f"{brands[brand]} {series_of[series].capitalize()} {model} {types[kind].names[0].title()}"
            + "".join([", " + values[value][0] for value in described if value >= 0])
            for kind, brand, series, model, described in columns
        ]


def _table(by_type: list[tuple[str, ...]], number: Callable[[str], int], missing: int) -> IntArray:
    """Return a (types, N_ATTRIBUTES) table of numbers, padded for types with fewer attributes."""
    rows = [[number(name) for name in names] + [missing] * (N_ATTRIBUTES - len(names)) for names in by_type]
    return np.array(rows, dtype=np.int64)
