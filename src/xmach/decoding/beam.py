"""The beam search: approximate top k from the best buckets of each repetition, in bounded work."""

from __future__ import annotations

import math
from functools import partial
from typing import NamedTuple

import numpy as np

from xmach._kernels.decode.beam import beam_top_k
from xmach._kernels.decode.beam_lists import MOST_READ, MOST_REPETITIONS, make_beam_scratch
from xmach._kernels.decode.index import Index
from xmach._kernels.decode.lists import LISTS, SCANNED, SCORED, TOUCHED
from xmach._kernels.scratch import ScratchPool
from xmach.decoding.exact import Seen, scan
from xmach.decoding.pruned import Statistics
from xmach.types import FloatArray, IntArray

# What reading a label, and a cell of a label that is scored in full, take in the time that a scan takes for a cell.
_READ, _SCORED = 8, 4


class BeamSize(NamedTuple):
    """How much a beam looks at."""

    n_buckets: int  # of each repetition, whose lists are read
    n_scored: int  # labels scored in full

    @classmethod
    def of(cls, index: Index, k: int) -> BeamSize:
        """The default for k answers, by measurement (docs/performance.md)."""
        return cls(min(index.n_buckets, math.ceil(6 * math.sqrt(k))), 20 * k + 200)

    def pays(self, index: Index) -> bool:
        """Whether this is less work than a scan."""
        n_repetitions, n_labels = len(index.a), index.n_labels
        read = min(MOST_READ, n_repetitions * self.n_buckets * n_labels / index.n_buckets)
        work = _READ * read + _SCORED * n_repetitions * self.n_scored
        return n_repetitions <= MOST_REPETITIONS and work < n_repetitions * n_labels


class BeamSearch:
    """Searches one index by any rule; keeps working memory for as many threads as search at a time.

    A row in which fewer than k labels are met is scanned, and so is every row if a scan is less work than a beam.
    `size`: how much it looks at; None: what suits k.
    """

    def __init__(self, index: Index, size: BeamSize | None = None) -> None:
        self.index, self.size = index, size
        longest = index.prime // index.n_buckets + 1
        self._scratch = ScratchPool(partial(make_beam_scratch, index.n_labels, index.n_buckets, longest))

    def __call__(self, cells: FloatArray, seen: Seen, merge: int, k: int) -> tuple[FloatArray, IntArray, Statistics]:
        """Scores and ids (n, k), and how they were found. The scores are those that `scan` gives."""
        n, index = len(cells), self.index
        size = self.size or BeamSize.of(index, k)
        if seen.n_labels < k or (self.size is None and not size.pays(index)):
            return *scan(cells, index, seen, merge, k), Statistics.of_scan(n, index.n_labels)
        scores, ids = np.empty((n, k), np.float32), np.empty((n, k), np.int64)
        counts = np.zeros((n, 4), np.int64)
        # a sketch may have more buckets than labels were put into
        narrow = np.ascontiguousarray(cells[:, :, : index.n_buckets])
        with self._scratch.take() as scratch:
            beam_top_k(narrow, index, seen.mask, scratch, merge, *size, scores, ids, counts)
        scanned = counts[:, SCANNED] == 1
        if scanned.any():
            scores[scanned], ids[scanned] = scan(cells[scanned], index, seen, merge, k)
            counts[scanned, TOUCHED] += index.n_labels
            counts[scanned, SCORED] += index.n_labels
        return scores, ids, Statistics(counts[:, LISTS], counts[:, TOUCHED], counts[:, SCORED], scanned)
