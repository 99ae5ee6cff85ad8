"""How good answers are: the paper's matching metrics of the top 100, and its ranking metrics of given candidates."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from benchmarks.peers.search_data import Questions
from xmach.metrics import RankingMetrics
from xmach.types import FloatArray, IntArray, SparseRows

Judged: TypeAlias = dict[str, dict[str, float]]  # weighted by sessions or unweighted, then by metric

DEPTH = 100
MATCHING = {"map": "map@100", "mrr": "mrr@100", "ndcg": "ndcg@100", "recall": "recall@100"}
RANKING = {
    "ndcg": "ndcg@100",
    "mrr": "mrr@100",
    "mrr_most_rel": "mrr_paper@100",
    "prec@1": "precision@1",
    "prec@1_most_rel": "precision_most_rel@1",
}
_NAMES = ("precision", "precision_most_rel", "recall", "ndcg", "map", "mrr", "mrr_paper")


def judge(questions: Questions, best: IntArray) -> Judged:
    """Every metric at 1, 10 and 100 of (n, 100) answers, weighted by sessions and not."""
    return _judge(questions.bought, best, questions.sessions, (1, 10, DEPTH))


def recalls(questions: Questions, best: IntArray) -> FloatArray:
    """recall@100 of each query (n,): chance in a weighted mean is that of its few heavy queries."""
    parts = []
    for i in range(len(best)):
        bought = questions.bought.row(i)[0]
        parts.append(np.isin(bought, best[i]).sum() / min(len(bought), best.shape[1]))
    return np.array(parts, np.float32)


def judge_ranking(questions: Questions, scores: FloatArray) -> Judged | None:
    """The same of the candidates of `candidates_of`, ranked by their scores; None where no query has both kinds."""
    rows = ranked_rows(questions)
    if not len(rows):
        return None
    best = rank(candidates_of(questions), scores)
    return _judge(questions.bought.take(rows), best, questions.sessions[rows], (1, DEPTH))


def ranked_rows(questions: Questions) -> IntArray:
    """The queries that have products which were bought and others which were only seen."""
    counts = [np.diff(rows.indptr) for rows in (questions.bought, questions.seen)]
    return np.flatnonzero((counts[0] > 0) & (counts[1] > 0))


def candidates_of(questions: Questions) -> SparseRows:
    """What was bought or seen, (n, K), of the queries that have both; products rise in a row, so that ties say nothing
    of who was bought."""
    rows = ranked_rows(questions)
    parts = [np.union1d(questions.bought.row(i)[0], questions.seen.row(i)[0]).astype(np.int32) for i in rows.tolist()]
    indptr = np.concatenate([[0], np.cumsum([len(part) for part in parts])]).astype(np.int64)
    indices = np.concatenate([np.zeros(0, np.int32), *parts])
    return SparseRows(indptr, indices, np.ones(len(indices), np.float32), questions.bought.n_columns)


def rank(candidates: SparseRows, scores: FloatArray) -> IntArray:
    """(n, most) candidates of each row by falling score, of those that tie the smaller number first; then -1."""
    lengths = np.diff(candidates.indptr)
    best = np.full((candidates.n_rows, int(lengths.max(initial=1))), -1, np.int64)
    rows = np.repeat(np.arange(candidates.n_rows), lengths)
    order = np.lexsort((candidates.indices, -scores, rows))
    places = np.arange(candidates.nnz) - candidates.indptr[rows]
    best[rows, places] = candidates.indices[order]
    return best


def _judge(bought: SparseRows, best: IntArray, sessions: FloatArray, ks: tuple[int, ...]) -> Judged:
    metrics = RankingMetrics(ks, _NAMES)
    metrics.update(bought, best, sessions, exhaustive=True)
    return {"weighted": metrics.result(), "unweighted": metrics.result(weighted=False)}
