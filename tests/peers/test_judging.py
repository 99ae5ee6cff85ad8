"""Rankings of candidates, and which queries have them."""

from __future__ import annotations

import numpy as np
from benchmarks.peers.judging import candidates_of, judge, judge_ranking, rank, ranked_rows, recalls
from benchmarks.peers.search_data import Questions, sparse_rows

ASKED = Questions(
    ["a", "b", "c"],
    sparse_rows([{3: 2.0, 1: 1.0}, {0: 1.0}, {2: 1.0}], 6),
    sparse_rows([{0: 1.0, 5: 1.0}, {}, {4: 1.0}], 6),
    np.array([3.0, 5.0, 1.0], np.float32),
)


def test_candidates_are_of_queries_that_have_both_kinds() -> None:
    assert ranked_rows(ASKED).tolist() == [0, 2]
    candidates = candidates_of(ASKED)
    assert candidates.indptr.tolist() == [0, 4, 6]
    assert candidates.indices.tolist() == [0, 1, 3, 5, 2, 4]


def test_ranking_by_score_then_by_number() -> None:
    scores = np.array([0.5, 0.1, 0.9, 0.5, 0.0, 2.0], np.float32)
    assert rank(candidates_of(ASKED), scores).tolist() == [[3, 0, 5, 1], [4, 2, -1, -1]]


def test_judgements_by_hand() -> None:
    found = judge_ranking(ASKED, np.array([0.5, 0.1, 0.9, 0.5, 0.0, 2.0], np.float32))
    assert found is not None
    assert found["unweighted"]["mrr@100"] == (1 + 0.5) / 2
    assert found["weighted"]["mrr@100"] == (3 * 1 + 1 * 0.5) / 4  # the query without candidates has no say
    assert found["unweighted"]["precision@1"] == 0.5
    matched = judge(ASKED, np.array([[3, 4], [1, 2], [2, -1]]))
    assert matched["weighted"]["recall@100"] == (3 * 0.5 + 0 + 1) / 9
    assert matched["unweighted"]["recall@100"] == 0.5
    assert recalls(ASKED, np.array([[3, 4], [1, 2], [2, -1]])).tolist() == [0.5, 0.0, 1.0]


def test_no_candidates_no_ranking() -> None:
    none = Questions(ASKED.queries, ASKED.bought, sparse_rows([{}, {}, {}], 6), ASKED.sessions)
    assert judge_ranking(none, np.zeros(0, np.float32)) is None
