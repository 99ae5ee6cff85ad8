"""Candidates: rank only some of the labels.

The result is the full ranking without the other labels, bit for bit: seen labels first, then by descending score, then
by ascending id.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from xmach._kernels.decode.candidates import gather_signatures, score_pairs
from xmach._kernels.decode.index import Index
from xmach.decoding.exact import Seen
from xmach.decoding.pruned import Statistics
from xmach.errors import InputError
from xmach.metrics.labels import whole_numbers
from xmach.types import BoolArray, FloatArray, IntArray, TopK

if TYPE_CHECKING:
    from xmach.decoding.decoder import Decoder

# Ids for all rows; a list of ids for each row; or either of them from `Decoder.prepare_candidates`.
Candidates: TypeAlias = "npt.ArrayLike | Sequence[npt.ArrayLike] | PreparedCandidates"
Found: TypeAlias = tuple[TopK, Statistics]


class PreparedCandidates(Protocol):
    """Candidates prepared once and used for every batch."""

    @property
    def max_answers(self) -> int:
        """The largest number of answers a row can have."""

    def slice(self, start: int, stop: int) -> PreparedCandidates:
        """The candidates of rows start..stop-1."""

    def search_top_k(self, sketch: FloatArray, k: int, options: dict[str, Any]) -> Found:
        """Like `Decoder.search_top_k`, with min(k, max_answers) columns."""


class CandidateTable(NamedTuple):
    """A small part of the labels, the same for every row: a decoder over a table of their signatures."""

    decoder: Decoder  # its labels are positions in `ids`, so ties still go to the smaller id
    ids: IntArray  # (m,) ascending

    @property
    def max_answers(self) -> int:
        """m."""
        return len(self.ids)

    def slice(self, start: int, stop: int) -> CandidateTable:
        """The same for all rows."""
        return self

    def search_top_k(self, sketch: FloatArray, k: int, options: dict[str, Any]) -> Found:
        """The k best of the m."""
        best, statistics = self.decoder.search_top_k(sketch, k, **options)
        ids = self.ids[best.ids]
        return TopK(ids, best.scores, ids), statistics


@dataclass(frozen=True)
class CandidateMask:
    """A large part of the labels, the same for every row: the whole index, with the other labels masked."""

    decoder: Decoder
    mask: BoolArray  # (K,) which labels are candidates
    seen: BoolArray  # (K,) the candidates with a training row; the same array if all have one

    @cached_property
    def max_answers(self) -> int:
        """m."""
        return int(np.count_nonzero(self.mask))

    @cached_property
    def _every(self) -> Decoder:
        return self.decoder.limited_to(self.mask)

    @cached_property
    def _of_seen(self) -> Decoder:
        return self._every if self.seen is self.mask else self.decoder.limited_to(self.seen)

    @cached_property
    def _of_others(self) -> Decoder:
        return self.decoder.limited_to(self.mask & ~self.seen)

    @cached_property
    def _n_seen(self) -> int:
        return int(np.count_nonzero(self.seen))

    def slice(self, start: int, stop: int) -> CandidateMask:
        """The same for all rows."""
        return self

    def search_top_k(self, sketch: FloatArray, k: int, options: dict[str, Any]) -> Found:
        """Seen candidates first, then unseen ones if the seen ones are fewer than k."""
        k = min(k, self.max_answers)
        masked = options | {"include_unseen": False}  # including unseen labels would lift the mask
        if options["include_unseen"]:
            return self._every.search_top_k(sketch, k, **masked)
        first = min(k, self._n_seen)
        parts = [self._of_seen.search_top_k(sketch, first, **masked)] if first else []
        parts += [self._of_others.search_top_k(sketch, k - first, **masked)] if k > first else []
        scores, ids = np.hstack([best.scores for best, _ in parts]), np.hstack([best.ids for best, _ in parts])
        lists, touched, scored, scanned = (
            np.sum(part, axis=0) for part in zip(*(part[1] for part in parts), strict=True)
        )
        return TopK(ids, scores, ids), Statistics(lists, touched, scored, scanned > 0)


class CandidatesPerRow(NamedTuple):
    """Different candidates for every row: a short list each."""

    decoder: Decoder
    indptr: IntArray  # (n + 1,)
    ids: IntArray  # ascending within a row
    max_answers: int  # of the longest row, also in a slice: all batches of a call have the same width

    @classmethod
    def of(cls, decoder: Decoder, candidates: Any, n_labels: int) -> CandidatesPerRow:
        """Build from the ids of each row. A row may have no candidates, but not every row."""
        rows = [checked_ids(row, n_labels, f"candidates of row {i}") for i, row in enumerate(candidates)]
        lengths = np.array([len(row) for row in rows], np.int64)
        if not lengths.any():
            raise InputError("no row has a candidate: there is no label to rank")
        return cls(decoder, np.append(0, np.cumsum(lengths)), np.concatenate(rows), int(lengths.max()))

    def checked(self, n_rows: int) -> CandidatesPerRow:
        """Return self. Raise `InputError` if these are not the candidates of `n_rows` rows."""
        if n_rows != len(self.indptr) - 1:
            raise InputError(f"there are candidates for {len(self.indptr) - 1} rows but {n_rows} rows to answer")
        return self

    def slice(self, start: int, stop: int) -> CandidatesPerRow:
        """The candidates of rows start..stop-1."""
        first, last = self.indptr[start], self.indptr[stop]
        return self._replace(indptr=self.indptr[start : stop + 1] - first, ids=self.ids[first:last])

    def search_top_k(self, sketch: FloatArray, k: int, options: dict[str, Any]) -> Found:
        """The k best candidates of each row. If a row has fewer, the remaining ids are -1 and scores -inf."""
        return self.decoder.rank_per_row(sketch, self.indptr, self.ids, min(k, self.max_answers), options)


def sub_index(index: Index, ids: IntArray) -> Index:
    """The index of some labels, renumbered from 0: a table of signatures; posting lists are built on first search."""
    signatures = np.empty((len(ids), len(index.a)), index.signatures.dtype)
    gather_signatures(index, ids, signatures)
    none = len(index.a), 0
    lists, offsets = np.empty(none, np.int32), np.empty(none, np.int64)
    # no hash: it applies to the original ids
    return index._replace(n_labels=len(ids), prime=0, signatures=signatures, offsets=offsets, labels=lists)


def rank_pairs(
    cells: FloatArray, index: Index, indptr: IntArray, ids: IntArray, seen: Seen, merge: int, k: int
) -> tuple[FloatArray, IntArray]:
    """Scores and ids (n, k) of each row's best candidates: seen ones first, then by score, then by id."""
    scores = np.empty(len(ids), np.float32)
    score_pairs(cells, index, indptr, ids, merge, scores)
    rows = np.repeat(np.arange(len(cells)), np.diff(indptr))
    unseen = ~seen.mask[ids] if len(seen.mask) else np.zeros(len(ids), np.bool_)
    order = np.lexsort((ids, -scores, unseen, rows))  # lexsort sorts by its last key first: rows keep their order
    places = np.arange(len(ids)) - indptr[rows]
    kept = places < k
    best_scores = np.full((len(cells), k), -np.inf, np.float32)
    best_ids = np.full((len(cells), k), -1, np.int64)
    best_scores[rows[kept], places[kept]] = scores[order[kept]]
    best_ids[rows[kept], places[kept]] = ids[order[kept]]
    return best_scores, best_ids


def checked_ids(candidates: Any, n_labels: int, what: str = "candidates") -> IntArray:
    """Return ids ascending and without repeats. Raise `InputError` if they are not label ids."""
    if getattr(candidates, "dtype", None) == np.bool_:
        raise InputError(f"{what} must be ids, got truth values: give numpy.flatnonzero(mask)")
    ids = whole_numbers(list(candidates) if isinstance(candidates, Set | Iterator) else candidates, what)
    if ids.ndim != 1:
        shape = f"an array of shape {ids.shape}"
        raise InputError(f"{what} must be ids in one dimension, or a list of such arrays, one a row; got {shape}")
    if not bool((ids[1:] > ids[:-1]).all()):  # checking a million sorted ids takes a millisecond
        ids = np.sort(ids)
        ids = ids[np.append(True, ids[1:] != ids[:-1])]
    if len(ids) and (ids[0] < 0 or ids[-1] >= n_labels):
        raise InputError(f"{what} must be label ids from 0 to {n_labels - 1}, got {ids[0] if ids[0] < 0 else ids[-1]}")
    return ids


def is_per_row(candidates: Any) -> bool:
    """Whether candidates are given for each row: a list of lists or arrays."""
    return (
        isinstance(candidates, list | tuple)
        and len(candidates) > 0
        and all(isinstance(row, Collection) and not isinstance(row, str | bytes) for row in candidates)
    )
