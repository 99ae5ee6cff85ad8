"""Hits: which ranked places hold a true label. All metrics are computed from these."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from xmach.errors import InputError
from xmach.metrics.labels import LabelPairs, TrueLabels, label_pairs, most_purchased, whole_numbers
from xmach.types import BoolArray, IntArray


@dataclass(frozen=True)
class Hits:
    """The hits of a batch of rows."""

    places: BoolArray  # (n, depth): whether the label ranked there is true
    n_true: IntArray  # (n,): the number of labels of the row, |Y|
    ids: IntArray  # (n, depth): the ranking itself
    true: LabelPairs  # the labels, each pair once, by ascending row and id

    @cached_property
    def most_purchased(self) -> Hits:
        """The same ranking with only the most purchased labels of each row; without counts, with all of them."""
        return self if self.true.counts is None else _match(most_purchased(self.true), self.ids)


def find_hits(true: TrueLabels, ranked: npt.ArrayLike, depth: int) -> Hits:
    """Find the hits in the first `depth` places of (n, m >= depth) ranked ids; id -1 is a place without an answer."""
    pairs = label_pairs(true)
    ids = _checked_ranking(ranked, pairs, depth)
    if pairs.n_rows * _width(pairs) >= 2**63:
        highest = _width(pairs) - 1
        raise InputError(f"true label ids go up to {highest}, too large for {pairs.n_rows} rows: number them from 0 up")
    return _match(distinct(pairs), ids[:, :depth])


def _match(pairs: LabelPairs, ids: IntArray) -> Hits:
    width, keys = _width(pairs), _keys(pairs)
    wanted = np.arange(pairs.n_rows)[:, None] * width + ids  # (n, depth)
    found = np.append(keys, -1)[np.searchsorted(keys, wanted)] == wanted  # -1 comes after the last key
    known = (ids >= 0) & (ids < width)  # other ids have the keys of neighbouring rows
    return Hits(found & known, pairs.per_row(), ids, pairs)


def _width(pairs: LabelPairs) -> int:
    return int(pairs.ids.max(initial=0)) + 1


def _keys(pairs: LabelPairs) -> IntArray:
    """Return a 64-bit key per pair, row * width + id, so that one binary search tests all memberships."""
    return pairs.rows * _width(pairs) + pairs.ids


def distinct(pairs: LabelPairs) -> LabelPairs:
    """Sort the pairs by row and id, and merge equal ones; their counts are added."""
    keys = _keys(pairs)
    if bool((keys[1:] > keys[:-1]).all()):  # most readers sort the ids within a row
        return pairs
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    counts = None if pairs.counts is None else np.bincount(inverse, pairs.counts, len(first))
    return replace(pairs.choose(first), counts=counts)


def _checked_ranking(ranked: npt.ArrayLike, pairs: LabelPairs, depth: int) -> IntArray:
    ids = whole_numbers(ranked, "ranked ids")
    if ids.ndim != 2:
        raise InputError(f"ranked ids must have shape (rows, places), got {ids.shape}")
    if len(ids) != pairs.n_rows:
        raise InputError(f"ranked ids have {len(ids)} rows, true labels have {pairs.n_rows}")
    if ids.shape[1] < depth:
        raise InputError(f"k = {depth} needs {depth} ranked places, got {ids.shape[1]}: rank more labels or lower k")
    low, high = int(ids.min(initial=-1)), int(ids.max(initial=-1))
    if low < -1:
        raise InputError(f"ranked ids must be at least 0, or -1 for no answer, got {low}")
    if pairs.n_labels is not None and high >= pairs.n_labels:
        raise InputError(f"ranked ids go up to {high}, true labels have only {pairs.n_labels} columns")
    in_order = np.sort(ids, axis=1)
    twice = (in_order[:, 1:] == in_order[:, :-1]) & (in_order[:, 1:] >= 0)
    if twice.any():
        row, place = np.argwhere(twice)[0]
        raise InputError(f"ranked ids must differ within a row: row {row} has {in_order[row, place]} more than once")
    return ids
