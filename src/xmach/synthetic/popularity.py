"""The popularity of products: Zipf's law over the lines of a brand and over the siblings of a line, with drift."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from xmach.synthetic.catalogue import MODELS, Catalogue
from xmach.synthetic.randomness import key, mix
from xmach.types import BoolArray, DoubleArray, IntArray


class When(NamedTuple):
    """The times of searches, one entry each."""

    time: DoubleArray  # in the training period: 0 is its start, 1 its end and everything later
    drifted: BoolArray  # whether the popularity is the later one

    def at(self, rows: IntArray) -> When:
        """Return the times of some of them."""
        return When(self.time[rows], self.drifted[rows])


class Popularity:
    """Draws products by popularity in closed form: no table over products."""

    def __init__(self, catalogue: Catalogue, seed: int) -> None:
        self._catalogue = catalogue
        self._layout = catalogue.layout
        self._key = key(seed, "popularity")

    def any_cell(self, chance: DoubleArray) -> IntArray:
        """Return a cell of the whole shop for each number in [0, 1)."""
        found = np.searchsorted(self._layout.cell_demand, chance, side="right").astype(np.int64) - 1
        return np.minimum(found, len(self._layout.cell_type) - 1)

    def cell_of_type(self, types: IntArray, chance: DoubleArray) -> IntArray:
        """Return a cell of the given type for each number in [0, 1)."""
        first, last = self._layout.type_first[types], self._layout.type_first[types + 1]
        low, high = self._layout.cell_demand[first], self._layout.cell_demand[last]
        return np.clip(self.any_cell(low + chance * (high - low)), first, last - 1)

    def in_cell(self, cells: IntArray, chances: DoubleArray, when: When) -> IntArray:
        """Return a slot of each cell, given two numbers in [0, 1) each, among the products released by then."""
        lines = self._ranked(cells, self._n_lines(cells), chances[:, 0], when.drifted)
        return self.in_line(cells, lines, chances[:, 1], when)

    def in_series(self, slots: IntArray, chances: DoubleArray, when: When) -> IntArray:
        """Return a slot of the same series as each slot: possibly of another model or another sibling."""
        cells, lines, _ = self._catalogue.place(slots)
        models = (chances[:, 0] * MODELS).astype(np.int64)
        lines = np.minimum(lines - lines % MODELS + models, self._n_lines(cells) - 1)
        return self.in_line(cells, lines, chances[:, 1], when)

    def in_line(self, cells: IntArray, lines: IntArray, chance: DoubleArray, when: When) -> IntArray:
        """Return a slot of each line; if the line has not been released yet, of the model before it."""
        width = self._catalogue.line_size[self._layout.cell_type[cells]]
        first = self._layout.cell_first[cells] + lines * width
        first -= width * (
            self._catalogue.released(first, lines) > when.time
        )  # only third models come late: two are before
        siblings = np.minimum(width, self._layout.cell_first[cells + 1] - first)  # the last line may be short
        return first + self._ranked(first, siblings, chance, when.drifted)

    def share(self, slots: IntArray) -> DoubleArray:
        """Return the share of each product in the purchases of the training period, ignoring late releases."""
        cells, lines, places = self._catalogue.place(slots)
        width = self._catalogue.line_size[self._layout.cell_type[cells]]
        siblings = np.minimum(width, self._layout.cell_first[cells + 1] - (slots - places))
        of_cell = np.diff(self._layout.cell_demand)[cells]
        return (
            of_cell * self._chance(cells, self._n_lines(cells), lines) * self._chance(slots - places, siblings, places)
        )

    def _n_lines(self, cells: IntArray) -> IntArray:
        size = self._layout.cell_first[cells + 1] - self._layout.cell_first[cells]
        lines: IntArray = -(-size // self._catalogue.line_size[self._layout.cell_type[cells]])
        return lines

    def _ranked(self, groups: IntArray, sizes: IntArray, chance: DoubleArray, drifted: BoolArray) -> IntArray:
        """Return a member of each group; rank r has probability log((r + 2) / (r + 1)) / log(size + 1), Zipf's law."""
        ranks = np.minimum(np.power(sizes + 1.0, chance) - 1, sizes - 1).astype(np.int64)
        members: IntArray = (ranks + self._most_popular(groups, sizes, drifted)) % sizes
        return members

    def _chance(self, groups: IntArray, sizes: IntArray, members: IntArray) -> DoubleArray:
        """Return the probability of each member of `_ranked` without drift."""
        ranks = (members - self._most_popular(groups, sizes, np.zeros(len(groups), np.bool_))) % sizes
        chance: DoubleArray = np.log((ranks + 2) / (ranks + 1)) / np.log(sizes + 1)
        return chance

    def _most_popular(self, groups: IntArray, sizes: IntArray, drifted: BoolArray) -> IntArray:
        """Return the member of each group with rank 0, which changes with the drift."""
        result: IntArray = (mix(2 * groups + drifted, self._key) >> np.uint64(1)).astype(np.int64) % sizes
        return result
