"""From a batch's sketch to ranked labels: MACH's shortlist, what profiles add to it, and the fused score."""

from __future__ import annotations

from typing import Any

import numpy as np

from xmach.decoding import Decoder
from xmach.decoding.candidates import CandidateMask, CandidatesPerRow, CandidateTable, PreparedCandidates
from xmach.predictor.sketching import Batch
from xmach.ranking import Ranking, Shortlist
from xmach.types import BoolArray, FloatArray, IntArray, TopK, slice_rows

ESTIMATOR = "log"  # what MACH contributes to a fused score is the mean log-probability of a label's buckets


class SecondStage:
    """Ranks the shortlist of each row anew; the other labels follow in MACH's order.

    `known` (K,): the labels that may be on a shortlist unless unseen labels are asked for; None: all.
    """

    def __init__(self, decoder: Decoder, ranking: Ranking, known: BoolArray | None) -> None:
        self._decoder, self._ranking, self.known = decoder, ranking, known

    def top_k(
        self, batch: Batch, k: int, candidates: PreparedCandidates | None, include_unseen: bool, threads: int | None
    ) -> TopK:
        """The k best labels of each row; a row with fewer candidates has -1 and -inf in the remaining places."""
        shortlist = self.shortlist(batch, candidates, include_unseen, threads)
        scores, ids = shortlist.best(self.scores(batch, shortlist), k)
        short = np.flatnonzero(ids[:, -1] < 0)
        if len(short):
            options: dict[str, Any] = {"include_unseen": include_unseen, "threads": threads}
            self._append_others(batch, short, shortlist, candidates, options, scores, ids)
        return TopK(ids, scores, ids)

    def shortlist(
        self,
        batch: Batch,
        candidates: PreparedCandidates | None = None,
        include_unseen: bool = False,
        threads: int | None = None,
    ) -> Shortlist:
        """The labels of each row to rank again: all candidates if they are few, but not unseen ones."""
        n_rows, size = len(batch.sketch), min(self._ranking.sizes.mach, self._decoder.n_labels)
        if isinstance(candidates, CandidatesPerRow) and candidates.max_answers <= size:
            return self._limited(Shortlist(candidates.indptr, candidates.ids), include_unseen)
        if isinstance(candidates, CandidateTable) and len(candidates.ids) <= size:
            every = Shortlist(np.arange(n_rows + 1) * len(candidates.ids), np.tile(candidates.ids, n_rows))
            return self._limited(every, include_unseen)
        options: dict[str, Any] = {"include_unseen": include_unseen, "threads": threads}
        best = self._decoder.top_k(
            batch.sketch, size, estimator=ESTIMATOR, candidates=candidates, search="beam", **options
        )
        ids = np.where(self._may_rank(best.ids, include_unseen), best.ids, -1)
        if isinstance(candidates, CandidatesPerRow):  # profiles add labels of one mask for all rows
            return Shortlist.of([ids])
        return self._ranking.shortlist(batch.rows, ids, self._allowed(candidates, include_unseen))

    def _limited(self, shortlist: Shortlist, include_unseen: bool) -> Shortlist:
        """The shortlist without the labels that may not be on it."""
        return shortlist.where(self._may_rank(shortlist.ids, include_unseen))

    def _may_rank(self, ids: IntArray, include_unseen: bool) -> BoolArray:
        """Which ids are labels that may be on a shortlist."""
        there: BoolArray = ids >= 0
        if include_unseen or self.known is None:
            return there
        seen: BoolArray = there & self.known[ids]
        return seen

    def _allowed(self, candidates: PreparedCandidates | None, include_unseen: bool) -> BoolArray | None:
        """The labels (K,) that profiles may add; None for all."""
        seen = None if include_unseen else self.known
        if candidates is None:
            return seen
        if isinstance(candidates, CandidateMask):
            mask = candidates.mask
        else:
            assert isinstance(candidates, CandidateTable)
            mask = np.zeros(self._decoder.n_labels, np.bool_)
            mask[candidates.ids] = True
        return mask if seen is None else mask & seen

    def parts(self, batch: Batch, shortlist: Shortlist) -> dict[str, FloatArray]:
        """The values of each part for the candidates of each row."""
        mach = self._decoder.pair_scores(batch.sketch, shortlist.indptr, shortlist.ids, estimator=ESTIMATOR)
        return self._ranking.parts(batch.rows, shortlist, mach)

    def scores(self, batch: Batch, shortlist: Shortlist) -> FloatArray:
        """The fused scores of the candidates of each row."""
        return self._ranking.fusion.scores(self.parts(batch, shortlist))

    def contributions(self, batch: Batch, ids: IntArray) -> dict[str, float]:
        """What each part adds to the logit of the score of one label (1,) for the first row; with the intercept.

        `sketch` is what the sketch's own estimate adds to the logit of the weighted sum.
        """
        shortlist, fusion = Shortlist(np.array([0, 1]), ids), self._ranking.fusion
        first = batch._replace(rows=slice_rows(batch.rows, 0, 1), sketch=batch.sketch[:1])
        values = self.parts(first, shortlist)
        terms = {name: fusion.slope * weight * float(values[name][0]) for name, weight in fusion.weights.items()}
        terms["intercept"] = fusion.intercept
        if fusion.share:
            terms["sketch"] = _logit(float(fusion.scores(values)[0])) - sum(terms.values())
        return terms

    def _append_others(
        self,
        batch: Batch,
        which: IntArray,
        shortlist: Shortlist,
        candidates: PreparedCandidates | None,
        options: dict[str, Any],
        scores: FloatArray,
        ids: IntArray,
    ) -> None:
        """Fill the last places of some rows with labels that are not on the shortlist, in MACH's order.

        Such a label's score is its probability by MACH, exp(mean log-probability), times the last score before it: so
        scores still fall.
        """
        k = ids.shape[1]
        longest = int(np.diff(shortlist.indptr).max(initial=0))
        asked = min(self._decoder.n_labels, k + longest)
        for start in range(0, len(which), 64):  # the answers of all rows at once could be large
            rows = which[start : start + 64]
            chosen = None if candidates is None else _taken(candidates, rows)
            most = asked if chosen is None else min(asked, chosen.max_answers)
            best = self._decoder.top_k(batch.sketch[rows], most, estimator=ESTIMATOR, candidates=chosen, **options)
            for i, row in enumerate(rows.tolist()):
                own = shortlist.ids[shortlist.indptr[row] : shortlist.indptr[row + 1]]
                others = np.flatnonzero((best.ids[i] >= 0) & ~np.isin(best.ids[i], own))[: k - min(k, len(own))]
                first, last = len(own), len(own) + len(others)
                floor = scores[row, first - 1] if first else np.float32(1.0)
                ids[row, first:last] = best.ids[i, others]
                scores[row, first:last] = floor * np.exp(best.scores[i, others])


def _taken(candidates: PreparedCandidates, rows: IntArray) -> PreparedCandidates:
    """The candidates of the given rows."""
    if not isinstance(candidates, CandidatesPerRow):
        return candidates
    parts = [candidates.slice(int(row), int(row) + 1) for row in rows]
    indptr = np.append(0, np.cumsum([len(part.ids) for part in parts]))
    return candidates._replace(indptr=indptr, ids=np.concatenate([part.ids for part in parts]))


def _logit(probability: float) -> float:
    """The inverse of the sigmoid; finite for 0 and 1, too."""
    probability = min(max(probability, 1e-35), 1.0 - 1e-7)
    return float(np.log(probability / (1.0 - probability)))
