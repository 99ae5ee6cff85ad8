"""The pruned search: the scan's answer, bit for bit, from a small part of the posting lists."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from xmach._kernels.decode.index import Index
from xmach._kernels.decode.lists import LISTS, SCANNED, SCORED, TOUCHED, make_scratch
from xmach._kernels.decode.pruned import pruned_top_k
from xmach._kernels.decode.scan import MEAN
from xmach._kernels.scratch import ScratchPool
from xmach.decoding.exact import Seen, scan
from xmach.types import BoolArray, FloatArray, IntArray


class Statistics(NamedTuple):
    """What a search did for each of n rows."""

    lists: IntArray  # (n,) posting lists read
    touched: IntArray  # (n,) labels met in them, with repeats, or in a scan
    scored: IntArray  # (n,) labels scored in full
    scanned: BoolArray  # (n,) rows in which all labels were scored, after what was read in vain

    @classmethod
    def joined(cls, parts: Sequence[Statistics]) -> Statistics:
        """Of consecutive rows."""
        lists, touched, scored, scanned = zip(*parts, strict=True)
        return cls(np.concatenate(lists), np.concatenate(touched), np.concatenate(scored), np.concatenate(scanned))

    @classmethod
    def of_scan(cls, n_rows: int, n_labels: int) -> Statistics:
        """Of rows that were scanned from the start."""
        nothing, every = np.zeros(n_rows, np.int64), np.full(n_rows, n_labels, np.int64)
        return cls(nothing, every, every, np.ones(n_rows, np.bool_))


class PrunedSearch:
    """Searches one index by `mean`; keeps working memory for as many threads as search at a time.

    A row is scanned if reading lists is expected to take longer than `patience` scans.
    """

    def __init__(self, index: Index, patience: float = 0.35) -> None:
        self.index, self.patience = index, patience
        longest = index.prime // index.n_buckets + 1
        if index.labels.shape[1]:
            longest = int(np.diff(index.offsets, axis=1).max())
        self._scratch = ScratchPool(partial(make_scratch, index.n_labels, len(index.a), index.n_buckets, longest))

    def __call__(self, cells: FloatArray, seen: Seen, k: int) -> tuple[FloatArray, IntArray, Statistics]:
        """Scores and ids (n, k) as `scan` gives them, and how they were found."""
        n, index = len(cells), self.index
        if seen.n_labels < k:
            return *scan(cells, index, seen, MEAN, k), Statistics.of_scan(n, index.n_labels)
        scores, ids = np.empty((n, k), np.float32), np.empty((n, k), np.int64)
        counts = np.zeros((n, 4), np.int64)
        # a sketch may have more buckets than labels were put into
        narrow = np.ascontiguousarray(cells[:, :, : index.n_buckets])
        with self._scratch.take() as scratch:
            pruned_top_k(narrow, index, seen.mask, scratch, self.patience, scores, ids, counts)
        scanned = counts[:, SCANNED] == 1
        if scanned.any():
            rows = cells if scanned.all() else cells[scanned]  # no copy of a sketch that is flat throughout
            scores[scanned], ids[scanned] = scan(rows, index, seen, MEAN, k)
            counts[scanned, TOUCHED] += index.n_labels
            counts[scanned, SCORED] += index.n_labels
        return scores, ids, Statistics(counts[:, LISTS], counts[:, TOUCHED], counts[:, SCORED], scanned)
