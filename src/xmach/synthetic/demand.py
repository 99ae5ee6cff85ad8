"""The demand of users: what they search for, and what they buy by relevance times popularity."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from xmach.synthetic.catalogue import N_ATTRIBUTES, Catalogue, Facets
from xmach.synthetic.kernels.wording import BRAND, MODEL, SERIES, TYPE, VALUES
from xmach.synthetic.popularity import Popularity, When
from xmach.synthetic.settings import ShopSettings
from xmach.types import BoolArray, DoubleArray, IntArray

# How often each column is mentioned in a broad, a middling and a narrow query.
_MENTION = np.array(
    [
        [1.00, 0.00, 0.00, 0.00, 0.18, 0.12, 0.20, 0.12],
        [1.00, 0.50, 0.12, 0.08, 0.40, 0.35, 0.35, 0.25],
        [0.75, 0.85, 0.90, 0.75, 0.50, 0.45, 0.25, 0.20],
    ]
)
_LEVELS = np.array([0.2, 0.65])  # chances of broad, and of broad or middling
_SESSIONS = np.array([12.0, 4.0, 1.0])  # broad queries come up more often

# The factor on a product's weight for a mentioned column in which it differs from the query.
_TOLERANCE = {BRAND: 0.08, SERIES: 0.1, MODEL: 0.3, VALUES: 0.15, VALUES + 1: 0.15, VALUES + 2: 0.25, VALUES + 3: 0.25}

_MOST_EXTRA = 8  # purchases of a query event beyond the first
_CANDIDATES = {"train": 24, "test": 48}  # more in the test period, where many are seen


class Events(NamedTuple):
    """Searches, one entry each; lists of slots are padded with -1."""

    wanted: Facets  # of the product that the user wants
    mentioned: BoolArray  # (n, VALUES + N_ATTRIBUTES)
    bought: IntArray  # (n, 1 + _MOST_EXTRA) slots, repeated if bought twice
    seen: IntArray  # (n, candidates) slots; in the test period only
    n_seen: IntArray
    sessions: IntArray


class Demand:
    """Draws searches and their purchases."""

    def __init__(self, catalogue: Catalogue, popularity: Popularity, settings: ShopSettings) -> None:
        self._catalogue = catalogue
        self._popularity = popularity
        self._settings = settings

    def events(self, rng: np.random.Generator, n: int, period: str) -> Events:
        """Draw n searches of a period."""
        late = period == "test"
        time = np.ones(n) if late else rng.random(n)
        when = When(time, rng.random(n) < (self._settings.drift if late else 0.0))
        slots = self._popularity.in_cell(self._popularity.any_cell(rng.random(n)), rng.random((n, 2)), when)
        wanted = self._catalogue.facets(slots)
        level = np.searchsorted(_LEVELS, rng.random(n), side="right")
        mentioned = _mention(wanted, level, rng)
        chances = rng.random((n, _CANDIDATES[period])), rng.random((n, _CANDIDATES[period], 2))
        extra = np.minimum((1 - rng.random(n)) ** -0.9 - 1, _MOST_EXTRA).astype(np.int64)  # a long tail
        drawn = rng.random((n, _MOST_EXTRA))
        # More than half of the searches have one purchase: their other candidates need not be computed.
        some = np.arange(n) if late else np.flatnonzero(extra)
        candidates, weights = self._found(
            slots[some], mentioned[some], when.at(some), *[each[some] for each in chances]
        )
        bought = np.full((n, 1 + _MOST_EXTRA), -1)
        bought[:, 0] = slots
        bought[some, 1:] = _buy(candidates, weights, extra[some], drawn[some])
        seen = _look(candidates, weights, rng) if late else np.empty((n, 0), np.int64)
        mean = self._settings.seen_per_query
        n_seen = mean // 3 + (rng.random(n) * (2 * (mean - mean // 3) + 1)).astype(np.int64)
        visits = _SESSIONS[level] * ((1 - rng.random(n)) ** -0.8 - 1)  # Zipf-like: most queries come up once or twice
        sessions = (bought >= 0).sum(axis=1) + np.minimum(visits, 1e6).astype(np.int64)
        return Events(wanted, mentioned, bought, seen, n_seen, sessions)

    def _found(
        self, slots: IntArray, mentioned: BoolArray, when: When, elsewhere: DoubleArray, chances: DoubleArray
    ) -> tuple[IntArray, DoubleArray]:
        """Draw (n, width) slots of the wanted type by popularity, and return them with their weights.

        The wanted one comes first, then others that are less and less similar to it.
        """
        n, width = elsewhere.shape
        row = np.repeat(np.arange(n), width)
        far = np.tile(np.arange(width) / width, n)
        pairs = chances.reshape(-1, 2)
        own = self._catalogue.cells(slots)
        cells = self._popularity.cell_of_type(self._catalogue.layout.cell_type[own[row]], elsewhere.ravel())
        cells = np.where(mentioned[row, BRAND] & (far < 0.7), own[row], cells)
        near = (far < 0.15) | (mentioned[row, SERIES] & (far < 0.35))
        cells[near] = own[row[near]]
        candidates = np.empty(n * width, np.int64)
        candidates[near] = self._popularity.in_series(slots[row[near]], pairs[near], when.at(row[near]))
        candidates[~near] = self._popularity.in_cell(cells[~near], pairs[~near], when.at(row[~near]))
        candidates[::width], cells[::width] = slots, own
        weights = self._relevance(slots, mentioned, candidates.reshape(n, width), cells.reshape(n, width))
        return candidates.reshape(n, width), weights

    def _relevance(self, slots: IntArray, mentioned: BoolArray, candidates: IntArray, cells: IntArray) -> DoubleArray:
        """Return the (n, candidates) weights: 1 if all mentioned columns agree."""
        n, width = candidates.shape
        wanted, found = self._catalogue.facets(slots), self._catalogue.facets(candidates.ravel(), cells.ravel())
        weights = np.ones((n, width))
        for column, tolerance in _TOLERANCE.items():
            one, other = _column(wanted, column), _column(found, column).reshape(n, width)
            weights[(other != one[:, None]) & mentioned[:, [column]]] *= tolerance
        return weights


def _column(facets: Facets, column: int) -> IntArray:
    return facets[column] if column < VALUES else facets.values[:, column - VALUES]


def _mention(wanted: Facets, level: IntArray, rng: np.random.Generator) -> BoolArray:
    """Draw the columns that each query mentions, (n, VALUES + N_ATTRIBUTES)."""
    mentioned: BoolArray = rng.random((len(level), VALUES + N_ATTRIBUTES)) < _MENTION[level]
    mentioned[:, VALUES:] &= wanted.values >= 0
    mentioned[:, MODEL] &= mentioned[:, SERIES]  # a number alone means nothing
    mentioned[:, TYPE] |= ~(mentioned[:, BRAND] & mentioned[:, SERIES])
    return mentioned


def _buy(candidates: IntArray, weights: DoubleArray, extra: IntArray, drawn: DoubleArray) -> IntArray:
    """Draw `extra` more purchases of each query by weight, (n, _MOST_EXTRA), padded with -1."""
    reached = np.cumsum(weights, axis=1)  # (n, candidates)
    row, place = np.nonzero(np.arange(_MOST_EXTRA) < extra[:, None])
    aims = drawn[row, place] * reached[row, -1]
    picks = (reached[row, :-1] <= aims[:, None]).sum(axis=1)
    more = np.full((len(candidates), _MOST_EXTRA), -1)
    more[row, place] = candidates[row, picks]
    return more


def _look(candidates: IntArray, weights: DoubleArray, rng: np.random.Generator) -> IntArray:
    """Return the candidates in the random order in which users see them, relevant ones first."""
    order = np.argsort(-np.log1p(-rng.random(weights.shape)) / weights, axis=1, kind="stable")
    return np.take_along_axis(candidates, order, axis=1)
