"""Searches label profiles for rows: the cosines of given candidates, and the best labels."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np

from xmach._kernels.rank.profile_search import make_search_sums, search_profiles
from xmach._kernels.scratch import ScratchPool
from xmach._kernels.train.weight_lists import WeightLists
from xmach.errors import InputError
from xmach.models.linear_arrays import read_only
from xmach.parameters import whole
from xmach.planning import by_rows
from xmach.ranking.pairs import checked_pairs
from xmach.types import BoolArray, FloatArray, IntArray, SparseRows


class Similarities(NamedTuple):
    """The cosines of n rows with label profiles."""

    own: FloatArray  # (len(ids),) of the given candidates
    ids: IntArray  # (n, m) the labels with the highest positive cosines, best first; -1 where there are fewer
    cosines: FloatArray  # (n, m) and their cosines; 0 where there are fewer


class ProfileSearch:
    """Searches one set of lists; keeps working memory for as many threads as search at a time."""

    def __init__(self, lists: WeightLists) -> None:
        self._lists = lists
        self._scratch = ScratchPool(partial(make_search_sums, len(lists.scales)))

    def __call__(
        self, rows: SparseRows, indptr: IntArray, ids: IntArray, m: int, allowed: BoolArray | None, threads: int | None
    ) -> Similarities:
        """Return the similarities of all rows. Raises InputError if the arguments do not fit the profiles."""
        m = whole("m", m, 0)
        self._check(rows, allowed)
        candidates, labels = checked_pairs(indptr, ids, rows.n_rows, len(self._lists.scales))
        mask = read_only(np.zeros(0, np.bool_) if allowed is None else np.asarray(allowed, np.bool_))
        offsets, indices, values = (read_only(array) for array in (rows.indptr, rows.indices, rows.values))
        own = np.empty(len(labels), np.float32)
        best, best_ids = np.empty((rows.n_rows, m), np.float32), np.empty((rows.n_rows, m), np.int64)

        def part(start: int, stop: int) -> None:
            with self._scratch.take() as scratch:
                search_profiles(
                    offsets[start : stop + 1], indices, values, self._lists, scratch, candidates[start : stop + 1],
                    labels, mask, own, best[start:stop], best_ids[start:stop],
                )  # fmt: skip

        threads = None if threads is None else whole("threads", threads, 1)
        by_rows(part, rows.n_rows, threads)
        return Similarities(own, best_ids, best)

    def _check(self, rows: SparseRows, allowed: BoolArray | None) -> None:
        """Raise InputError unless every index that the kernel follows is within the profiles' arrays."""
        n_features, n_labels = len(self._lists.starts) - 1, len(self._lists.scales)
        if rows.n_columns != n_features:
            raise InputError(f"the profiles have {n_features} features, the rows have {rows.n_columns}")
        if allowed is not None and np.shape(allowed) != (n_labels,):
            raise InputError(f"allowed must have one entry for each of {n_labels:,} labels, got {np.shape(allowed)}")
