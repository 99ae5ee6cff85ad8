"""Candidates: the best of some labels only, as the full ranking has them once all others are left out of it.

Seen labels first, then by falling score, then by rising id: what is left of a ranking keeps its order and its bits.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence, Set
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

# Ids for all rows; ids for each row; or either of them made ready by `Decoder.among`.
Candidates: TypeAlias = "npt.ArrayLike | Sequence[npt.ArrayLike] | Among"
Found: TypeAlias = tuple[TopK, Statistics]


class Among(Protocol):
    """Candidates made ready: they can be asked for batch after batch at no further cost."""

    @property
    def most(self) -> int:
        """The most answers that a row can have."""

    def slice(self, start: int, stop: int) -> Among:
        """Those of rows start..stop-1."""

    def search_top_k(self, sketch: FloatArray, k: int, options: dict[str, Any]) -> Found:
        """As `Decoder.search_top_k`, in min(k, most) columns."""


class Few(NamedTuple):
    """A small part of all labels, the same for every row: a decoder of their signatures alone."""

    decoder: Decoder  # its labels are places in `ids`: at equal scores the smaller place is the smaller id
    ids: IntArray  # (m,) ascending

    @property
    def most(self) -> int:
        """m."""
        return len(self.ids)

    def slice(self, start: int, stop: int) -> Few:
        """The same for all rows."""
        return self

    def search_top_k(self, sketch: FloatArray, k: int, options: dict[str, Any]) -> Found:
        """The k best of the m."""
        best, statistics = self.decoder.search_top_k(sketch, k, **options)
        ids = self.ids[best.ids]
        return TopK(ids, best.scores, ids), statistics


@dataclass(frozen=True)
class Many:
    """A large part of all labels, the same for every row: the whole index, with the others masked."""

    decoder: Decoder
    mask: BoolArray  # (K,) which labels are candidates
    seen: BoolArray  # (K,) those of them with a training row; the same array where all have one

    @cached_property
    def most(self) -> int:
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

    def slice(self, start: int, stop: int) -> Many:
        """The same for all rows."""
        return self

    def search_top_k(self, sketch: FloatArray, k: int, options: dict[str, Any]) -> Found:
        """Seen candidates first; the others where those are fewer than k."""
        k, masked = min(k, self.most), options | {"include_unseen": False}  # to include them would lift the mask
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


class Each(NamedTuple):
    """Labels of its own for every row; few, as those that a query's users saw."""

    decoder: Decoder
    indptr: IntArray  # (n + 1,)
    ids: IntArray  # ascending within a row
    most: int  # those of the longest row, also of a slice: all batches of a call are as wide

    @classmethod
    def of(cls, decoder: Decoder, candidates: Any, n_labels: int) -> Each:
        """From the ids of each row; a row may have none, but not all of them."""
        rows = [checked_ids(row, n_labels, f"candidates of row {i}") for i, row in enumerate(candidates)]
        lengths = np.array([len(row) for row in rows], np.int64)
        if not lengths.any():
            raise InputError("no row has a candidate: there is no label to rank")
        return cls(decoder, np.append(0, np.cumsum(lengths)), np.concatenate(rows), int(lengths.max()))

    def checked(self, n_rows: int) -> Each:
        """These, if they are those of so many rows."""
        if n_rows != len(self.indptr) - 1:
            raise InputError(f"there are candidates for {len(self.indptr) - 1} rows but {n_rows} rows to answer")
        return self

    def slice(self, start: int, stop: int) -> Each:
        """Those of some rows."""
        first, last = self.indptr[start], self.indptr[stop]
        return self._replace(indptr=self.indptr[start : stop + 1] - first, ids=self.ids[first:last])

    def search_top_k(self, sketch: FloatArray, k: int, options: dict[str, Any]) -> Found:
        """The k best of each row's own; where it has fewer, ids are -1 and scores -inf."""
        return self.decoder.rank_each(sketch, self.indptr, self.ids, min(k, self.most), options)


def sub_index(index: Index, ids: IntArray) -> Index:
    """The index of some labels, numbered anew: their signatures as a table, posting lists when first searched."""
    signatures = np.empty((len(ids), len(index.a)), index.signatures.dtype)
    gather_signatures(index, ids, signatures)
    none = len(index.a), 0
    lists, offsets = np.empty(none, np.int32), np.empty(none, np.int64)
    # no hash: it knows labels by their old numbers
    return index._replace(n_labels=len(ids), prime=0, signatures=signatures, offsets=offsets, labels=lists)


def rank_pairs(
    cells: FloatArray, index: Index, indptr: IntArray, ids: IntArray, seen: Seen, merge: int, k: int
) -> tuple[FloatArray, IntArray]:
    """Scores and ids (n, k) of each row's best candidates: seen ones first, then by score, then by id."""
    scores = np.empty(len(ids), np.float32)
    score_pairs(cells, index, indptr, ids, merge, scores)
    rows = np.repeat(np.arange(len(cells)), np.diff(indptr))
    unseen = ~seen.mask[ids] if len(seen.mask) else np.zeros(len(ids), np.bool_)
    order = np.lexsort((ids, -scores, unseen, rows))  # the last key comes first: rows stay where they are
    places = np.arange(len(ids)) - indptr[rows]
    kept = places < k
    best_scores = np.full((len(cells), k), -np.inf, np.float32)
    best_ids = np.full((len(cells), k), -1, np.int64)
    best_scores[rows[kept], places[kept]] = scores[order[kept]]
    best_ids[rows[kept], places[kept]] = ids[order[kept]]
    return best_scores, best_ids


def checked_ids(candidates: Any, n_labels: int, what: str = "candidates") -> IntArray:
    """Ids ascending, each once; anything but ids of labels is refused."""
    if getattr(candidates, "dtype", None) == np.bool_:
        raise InputError(f"{what} must be ids, got truth values: give numpy.flatnonzero(mask)")
    ids = whole_numbers(list(candidates) if isinstance(candidates, Set) else candidates, what)
    if ids.ndim != 1:
        shape = f"an array of shape {ids.shape}"
        raise InputError(f"{what} must be ids in one dimension, or a list of such arrays, one a row; got {shape}")
    if not bool((ids[1:] > ids[:-1]).all()):  # a million ids in order are checked in a millisecond
        ids = np.sort(ids)
        ids = ids[np.append(True, ids[1:] != ids[:-1])]
    if len(ids) and (ids[0] < 0 or ids[-1] >= n_labels):
        raise InputError(f"{what} must be label ids from 0 to {n_labels - 1}, got {ids[0] if ids[0] < 0 else ids[-1]}")
    return ids


def is_each(candidates: Any) -> bool:
    """Whether candidates are given row by row: a list of lists or arrays."""
    return (
        isinstance(candidates, list | tuple)
        and len(candidates) > 0
        and all(isinstance(row, Collection) and not isinstance(row, str | bytes) for row in candidates)
    )
