"""The decoder: from bucket probabilities (n, R, B) to the k best labels, reading the count-min sketch back."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from xmach._kernels.decode.candidates import score_pairs
from xmach._kernels.decode.scan import MEAN, score_labels
from xmach.block_sizes import SCANNED_LABELS
from xmach.buckets import Buckets, Index, LearnedBuckets, UniversalHashes, table_index
from xmach.decoding.beam import BeamSearch
from xmach.decoding.candidates import (
    CandidateMask,
    Candidates,
    CandidatesPerRow,
    CandidateTable,
    PreparedCandidates,
    checked_ids,
    is_per_row,
    rank_pairs,
    sub_index,
)
from xmach.decoding.estimators import RULES, Rule, as_probabilities, checked_cells, prepare_cells, rule_of
from xmach.decoding.exact import Seen, scan, signature_blocks
from xmach.decoding.indexes import check_index, first_index
from xmach.decoding.pruned import PrunedSearch, Statistics
from xmach.errors import InputError, ParameterError
from xmach.parameters import whole
from xmach.planning import by_rows, usable_cores
from xmach.types import AnyArray, BoolArray, FloatArray, IntArray, TopK, check_k

SEARCHES = ("exact", "pruned", "beam")
_MASKED_SHARE = 8  # if candidates are at least 1/8 of the labels, masking the others beats a table of the candidates
_MANY_ROWS = 16  # posting lists of some labels are made in the time of six scans, but not every search is pruned
Answer: TypeAlias = tuple[FloatArray, IntArray, Statistics]  # scores and ids (n, k), and how they were found


def check_search(search: str) -> None:
    """Raise `ParameterError` if a search is not known."""
    if search not in ("auto", *SEARCHES):
        raise ParameterError(f"search must be one of auto, {', '.join(SEARCHES)}, got {search!r}")


class Decoder:
    """Finds the k best of K labels from bucket probabilities; ties go to the smaller id.

    `search`: `exact` scores every label; `pruned` finds the same answer, bit for bit, from few labels; `auto` prunes
    if there are many labels. `min` and `median` are never pruned. `beam` is approximate: it looks only at labels in
    the best buckets of each repetition, so its work is bounded; the labels that it finds have their exact scores. A
    row in which it finds fewer than k labels is answered by `exact`, and so are all rows if that is less work.
    `index`: `stored` keeps tables of signatures and posting lists (about 6 bytes per label and repetition); `computed`
    computes them from the hash and keeps nothing; `auto` stores small tables if memory allows. An `Index` is used as
    it is.
    `seen` (K,) tells which labels had a training row. The others rank behind all of those unless asked for, because
    their buckets' probability belongs to their neighbours.
    """

    def __init__(
        self,
        hashes: Buckets | AnyArray,
        estimator: str = "mean",
        search: str = "auto",
        index: str | Index = "auto",
        seen: BoolArray | None = None,
    ) -> None:
        rule_of(estimator)
        check_search(search)
        check_index(index)
        self.estimator, self.search = estimator, search
        self._hashes = hashes if isinstance(hashes, UniversalHashes) else None
        if self._hashes is None and index == "computed":
            given = "buckets made from rows" if isinstance(hashes, LearnedBuckets) else "a table of buckets"
            raise ParameterError(f"index='computed' needs the hashes (UniversalHashes), got {given}")
        self._index = first_index(hashes, index, search)
        if seen is not None and np.shape(seen) != (self.n_labels,):
            raise InputError(f"seen must have one entry for each of the {self.n_labels} labels, got {np.shape(seen)}")
        self._seen = Seen.of(seen)

    def __repr__(self) -> str:
        sizes = f"{self.n_labels:,} labels, {len(self._index.a)} repetitions of {self._index.n_buckets:,} buckets"
        how = f"estimator={self.estimator!r}, search={self.search!r}, index={self.index!r}"
        return f"<Decoder: {sizes}, {how}>"

    @property
    def n_labels(self) -> int:
        """K."""
        return self._index.n_labels

    @property
    def index(self) -> str:
        """Whether tables are `stored` or everything is `computed`."""
        return "stored" if len(self._index.signatures) else "computed"

    def _index_with_lists(self) -> Index:
        if len(self._index.signatures) and not self._index.labels.shape[1]:
            self._index = table_index(self._index.signatures, usable_cores())
        return self._index

    @cached_property
    def _pruned(self) -> PrunedSearch:
        return PrunedSearch(self._index_with_lists())

    @cached_property
    def _beam(self) -> BeamSearch:
        return BeamSearch(self._index_with_lists())

    def _search(self, search: str | None, rule: Rule, seen: Seen, k: int) -> Callable[[FloatArray], Answer]:
        """The search of a call, as a function of cells."""
        search = search or self.search
        if search == "auto":  # where pruning is expected to be faster
            search = "pruned" if self.n_labels > SCANNED_LABELS and k <= self.n_labels // 64 else "exact"
        if search == "beam":
            beam = self._beam
            return lambda cells: beam(cells, seen, rule.merge, k)
        if search == "pruned" and rule.merge == MEAN:
            pruned = self._pruned
            return lambda cells: pruned(cells, seen, k)
        index, of_scan = self._index, Statistics.of_scan
        return lambda cells: (*scan(cells, index, seen, rule.merge, k), of_scan(len(cells), index.n_labels))

    def top_k(
        self,
        sketch: FloatArray,
        k: int = 5,
        *,
        estimator: str | None = None,
        probabilities: bool = False,
        include_unseen: bool = False,
        threads: int | None = None,
        candidates: Candidates | None = None,
        search: str | None = None,
    ) -> TopK:
        """The k best labels of each row; with k beyond K, all labels.

        `probabilities=True` turns scores into estimates of the probability (for `mean`, the unbiased one of Theorem 1).
        `candidates`: only these label ids, an array for all rows or a list of arrays, one per row. The answer is the
        full ranking without the other labels, and the cost depends on the candidates only. Order and repeats do not
        matter. There are at most as many answers as candidates; if a row has fewer, ids are -1 and scores -inf.
        `search`: another one than the decoder's own. If each row has its own candidates, all of them are scored.
        Memory beyond the arguments is O(n k) and, for `log`, a copy of the sketch; never n x K.
        """
        options: dict[str, Any] = {"estimator": estimator, "include_unseen": include_unseen, "threads": threads}
        options |= {"search": search}
        return self.search_top_k(sketch, k, probabilities=probabilities, candidates=candidates, **options)[0]

    def search_top_k(
        self,
        sketch: FloatArray,
        k: int = 5,
        *,
        estimator: str | None = None,
        probabilities: bool = False,
        include_unseen: bool = False,
        threads: int | None = None,
        candidates: Candidates | None = None,
        search: str | None = None,
    ) -> tuple[TopK, Statistics]:
        """`top_k`, and for each row what the search did: lists read, labels touched and scored, whether it scanned."""
        if threads is not None:
            threads = whole("threads", threads, 1)
        if search is not None:
            check_search(search)
        if candidates is not None:
            options: dict[str, Any] = {"estimator": estimator, "probabilities": probabilities}
            options |= {"include_unseen": include_unseen, "threads": threads, "search": search}
            return self.prepare_candidates(candidates, len(sketch)).search_top_k(sketch, check_k(k), options)
        name = self.estimator if estimator is None else estimator
        rule, k = rule_of(name), min(check_k(k), self.n_labels)
        cells = self._cells(sketch, rule)
        seen = Seen.of(None) if include_unseen else self._seen
        answer = self._search(search, rule, seen, k)

        parts = by_rows(lambda start, stop: answer(cells[start:stop]), len(cells), threads)
        scores, ids = np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts])
        if probabilities:
            scores = as_probabilities(scores, name, self._collision_of(cells))
        return TopK(ids, scores, ids), Statistics.joined([part[2] for part in parts])

    def prepare_candidates(self, candidates: Candidates, n_rows: int) -> PreparedCandidates:
        """Prepare candidates for `top_k`, once for all batches of the `n_rows` rows."""
        if isinstance(candidates, CandidateTable | CandidateMask):
            return candidates
        if is_per_row(candidates):
            candidates = CandidatesPerRow.of(self, candidates, self.n_labels)
        if isinstance(candidates, CandidatesPerRow):
            return candidates.checked(n_rows)
        ids = checked_ids(candidates, self.n_labels)
        if not len(ids):
            raise InputError("candidates are empty: there is no label to rank")
        seen = self._seen.mask
        if len(ids) * _MASKED_SHARE >= self.n_labels:
            mask = np.zeros(self.n_labels, np.bool_)
            mask[ids] = True
            return CandidateMask(self, mask, mask & seen if len(seen) else mask)
        search = "exact" if self.search == "auto" and n_rows < _MANY_ROWS else self.search
        index = sub_index(self._index, ids)
        hashes = index.signatures if self._hashes is None else self._hashes
        return CandidateTable(Decoder(hashes, self.estimator, search, index, seen[ids] if len(seen) else None), ids)

    among = prepare_candidates  # the former name, which the docs used

    def limited_to(self, mask: BoolArray) -> Decoder:
        """This decoder with the labels outside the mask (K,) ranked last, as if they had no training rows."""
        other = copy(self)
        other._seen = Seen.of(mask)
        return other

    def rank_per_row(
        self, sketch: FloatArray, indptr: IntArray, ids: IntArray, k: int, options: dict[str, Any]
    ) -> tuple[TopK, Statistics]:
        """The k best of each row's own candidates, ids[indptr[i]:indptr[i + 1]]."""
        name = self.estimator if options["estimator"] is None else options["estimator"]
        rule = rule_of(name)
        cells = self._cells(sketch, rule)
        seen = Seen.of(None) if options["include_unseen"] else self._seen
        scores, best = rank_pairs(cells, self._index, indptr, ids, seen, rule.merge, k)
        if options["probabilities"]:
            scores = as_probabilities(scores, name, self._collision_of(cells))
            scores[best < 0] = -np.inf
        lengths = np.diff(indptr)
        statistics = Statistics.of_scan(len(best), 0)._replace(touched=lengths, scored=lengths)
        return TopK(best, scores, best), statistics

    def pair_scores(
        self, sketch: FloatArray, indptr: IntArray, ids: IntArray, *, estimator: str | None = None
    ) -> FloatArray:
        """The scores (len(ids),) of the labels ids[indptr[i]:indptr[i + 1]] of each row i, as in a full ranking."""
        rule = rule_of(self.estimator if estimator is None else estimator)
        out = np.empty(len(ids), np.float32)
        score_pairs(self._cells(sketch, rule), self._index, indptr, ids, rule.merge, out)
        return out

    def scores(self, sketch: FloatArray, estimator: str | None = None, probabilities: bool = False) -> FloatArray:
        """The (n, K) scores of all labels: for few labels, or few rows."""
        name = self.estimator if estimator is None else estimator
        cells = self._cells(sketch, rule_of(name))
        out = np.empty((len(cells), self.n_labels), np.float32)
        for start, signatures in signature_blocks(self._index):
            score_labels(cells, signatures, RULES[name].merge, out[:, start : start + len(signatures)])
        return as_probabilities(out, name, self._collision_of(cells)) if probabilities else out

    def _collision_of(self, sketch: FloatArray) -> float:
        """The hashes' collision probability; 1/B for a table of buckets whose hash is not known."""
        return 1.0 / sketch.shape[2] if self._hashes is None else self._hashes.collision_probability

    def _cells(self, sketch: FloatArray, rule: Rule) -> FloatArray:
        """The cells that the kernels merge, (n, R, B). Raise `InputError` if the sketch does not fit the index."""
        return prepare_cells(checked_cells(sketch, len(self._index.a), self._index.n_buckets), rule)


def decode(
    sketch: FloatArray,
    signatures: Buckets | AnyArray,
    k: int = 5,
    estimator: str = "mean",
    search: str = "auto",
) -> TopK:
    """The k best labels of each row, in one call; for more than one call, make a `Decoder`."""
    # tables for one answer would cost more than they save
    if isinstance(signatures, UniversalHashes):
        return Decoder(signatures, estimator, search, "computed").top_k(sketch, k)
    return Decoder(signatures, estimator, "exact" if search == "auto" else search).top_k(sketch, k)
