"""Searches label profiles for rows: the cosines of given candidates, and the best labels."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np

from xmach._kernels.rank.profile_search import SearchSums, make_search_sums, search_profiles
from xmach._kernels.train.weight_lists import WeightLists
from xmach.errors import InputError
from xmach.models.linear_arrays import read_only
from xmach.parameters import whole
from xmach.planning import usable_cores
from xmach.types import BoolArray, FloatArray, IntArray, SparseRows, row_batches


class Similarities(NamedTuple):
    """The cosines of n rows with label profiles."""

    own: FloatArray  # (len(ids),) of the given candidates
    ids: IntArray  # (n, m) the labels with the highest positive cosines, best first; -1 where there are fewer
    cosines: FloatArray  # (n, m) and their cosines; 0 where there are fewer


class ProfileSearch:
    """Searches one set of lists; keeps working memory for as many threads as search at a time."""

    def __init__(self, lists: WeightLists) -> None:
        self._lists = lists
        self._free: deque[SearchSums] = deque()

    def __call__(
        self, rows: SparseRows, indptr: IntArray, ids: IntArray, m: int, allowed: BoolArray | None, threads: int | None
    ) -> Similarities:
        """Return the similarities of all rows. Raises InputError if the arguments do not fit the profiles."""
        m = whole("m", m, 0)
        self._check(rows, indptr, ids, allowed)
        mask = read_only(np.zeros(0, np.bool_) if allowed is None else np.asarray(allowed, np.bool_))
        offsets, indices, values = (read_only(array) for array in (rows.indptr, rows.indices, rows.values))
        candidates = read_only(np.asarray(indptr, np.int64))
        labels = read_only(np.ascontiguousarray(ids, np.int64))
        own = np.empty(len(labels), np.float32)
        best, best_ids = np.empty((rows.n_rows, m), np.float32), np.empty((rows.n_rows, m), np.int64)

        def part(bounds: tuple[int, int]) -> None:
            start, stop = bounds
            with self._scratch() as scratch:
                search_profiles(
                    offsets[start : stop + 1], indices, values, self._lists, scratch, candidates[start : stop + 1],
                    labels, mask, own, best[start:stop], best_ids[start:stop],
                )  # fmt: skip

        threads = None if threads is None else whole("threads", threads, 1)
        # counting cores takes longer than searching for one row
        workers = 1 if rows.n_rows < 2 else min(rows.n_rows, usable_cores() if threads is None else threads)
        if workers <= 1:
            part((0, rows.n_rows))
        else:  # the kernel releases the GIL
            with ThreadPoolExecutor(workers) as pool:
                list(pool.map(part, row_batches(rows.n_rows, -(-rows.n_rows // workers))))
        return Similarities(own, best_ids, best)

    def _check(self, rows: SparseRows, indptr: IntArray, ids: IntArray, allowed: BoolArray | None) -> None:
        """Raise InputError unless every index that the kernel follows is within the profiles' arrays."""
        n_features, n_labels = len(self._lists.starts) - 1, len(self._lists.scales)
        if rows.n_columns != n_features:
            raise InputError(f"the profiles have {n_features} features, the rows have {rows.n_columns}")
        whole_lists = len(indptr) == rows.n_rows + 1 and indptr[0] == 0 and indptr[-1] == len(ids)
        if not whole_lists or (np.diff(indptr) < 0).any():
            raise InputError(f"indptr does not divide {len(ids):,} candidates among {rows.n_rows:,} rows")
        if len(ids) and not 0 <= ids.min() <= ids.max() < n_labels:
            raise InputError(f"candidates must be label ids from 0 to {n_labels - 1:,}, got {ids.min()} to {ids.max()}")
        if allowed is not None and np.shape(allowed) != (n_labels,):
            raise InputError(f"allowed must have one entry for each of {n_labels:,} labels, got {np.shape(allowed)}")

    @contextmanager
    def _scratch(self) -> Iterator[SearchSums]:
        """Working memory that no other thread uses meanwhile."""
        try:
            scratch = self._free.pop()
        except IndexError:
            scratch = make_search_sums(len(self._lists.scales))
        yield scratch
        self._free.append(scratch)  # not after an error: then it is not clean
