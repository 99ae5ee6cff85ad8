"""Every metric against the independent implementation, over random cases with every oddity there is."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy import sparse
from tests.metrics import by_definition

from xmach import metrics
from xmach.metrics import Coverage, PropensityScored, RankingMetrics, RecallByFrequency, frequency_groups, propensities
from xmach.types import SparseRows

FUNCTIONS: dict[str, Callable[..., float]] = {
    "precision": metrics.precision_at_k,
    "precision_min": metrics.precision_at_min_k,
    "precision_most_rel": metrics.precision_most_rel_at_k,
    "recall": metrics.recall_at_k,
    "ndcg": metrics.ndcg_at_k,
    "ndcg_paper": metrics.ndcg_paper_at_k,
    "map": metrics.map_at_k,
    "map_paper": metrics.map_paper_at_k,
    "mrr": metrics.mrr_at_k,
    "mrr_paper": metrics.mrr_paper_at_k,
}


class Case(NamedTuple):
    """Labels with purchases (few values, so that they tie), rankings with gaps, training counts of the known labels."""

    labels: list[dict[int, float]]
    rankings: list[list[int]]
    n_labels: int
    ks: tuple[int, ...]
    weights: list[float] | None
    counts: list[int]  # of fewer labels than there are, now and then
    n_train: int

    @property
    def rows(self) -> list[by_definition.Row]:
        return list(zip(self.labels, self.rankings, strict=True))

    @property
    def plain(self) -> list[float]:
        return [1.0] * len(self.labels)

    @property
    def chances(self) -> list[float]:
        counts = self.counts + [0] * (self.n_labels - len(self.counts))
        return [by_definition.propensity(count, self.n_train, 0.55, 1.5) for count in counts]

    def matrix(self) -> sparse.csr_array:
        out = sparse.lil_array((len(self.labels), self.n_labels), dtype=np.float32)
        for row, counts in enumerate(self.labels):
            for label, count in counts.items():
                out[row, label] = count
        return out.tocsr()

    def sparse_rows(self) -> SparseRows:
        csr = self.matrix()
        return SparseRows(csr.indptr.astype(np.int64), csr.indices.astype(np.int32), csr.data, self.n_labels)

    def sums(self) -> RankingMetrics:
        counts = np.pad(self.counts, (0, self.n_labels - len(self.counts)))
        chances = PropensityScored(propensities(counts, self.n_train))
        corpus = [Coverage(), chances, RecallByFrequency(frequency_groups(self.counts))]
        return RankingMetrics(self.ks, corpus=corpus)


def random_case(rng: np.random.Generator) -> Case:
    n_labels, n_rows = int(rng.integers(1, 30)), int(rng.integers(1, 12))
    width = int(rng.integers(1, n_labels + 1))
    labels: list[dict[int, float]] = []
    for _ in range(n_rows):
        many = rng.integers(0, n_labels + 1) if rng.random() < 0.8 else 0
        chosen = rng.choice(n_labels, many, replace=False).tolist()
        labels.append({label: float(rng.integers(1, 4)) for label in chosen})
    rankings = [
        [-1 if rng.random() < 0.2 else int(label) for label in rng.permutation(n_labels)[:width]] for _ in range(n_rows)
    ]
    weights = (rng.integers(0, 3, n_rows) * rng.random(n_rows) + (np.arange(n_rows) == 0)).tolist()
    n_known = int(rng.integers(1, n_labels + 1)) if rng.random() < 0.3 else n_labels
    counts = (rng.integers(0, 5, n_known) ** rng.integers(1, 4)).tolist()
    return Case(
        labels=labels,
        rankings=rankings,
        n_labels=n_labels,
        ks=tuple(int(k) for k in rng.integers(1, n_labels + 4, 2)),  # also more than there are labels or places
        weights=weights if rng.random() < 0.5 else None,
        counts=counts,
        n_train=int(rng.integers(1, 200)),
    )


def test_a_thousand_random_cases_agree_with_the_independent_implementation() -> None:
    rng = np.random.default_rng(0)
    for _ in range(1000):
        case = random_case(rng)
        sums = case.sums()
        sums.update(case.sparse_rows(), case.rankings, case.weights, exhaustive=True)
        weights = case.plain if case.weights is None else case.weights
        expected = by_definition.everything(case.rows, case.ks, weights, case.counts, case.chances)
        assert sums.result() == pytest.approx(expected, rel=0, abs=1e-9)
        if case.weights is not None:
            expected = by_definition.everything(case.rows, case.ks, case.plain, case.counts, case.chances)
        assert sums.result(weighted=False) == pytest.approx(expected, rel=0, abs=1e-9)


def test_the_functions_agree_too_and_lists_have_no_purchases() -> None:
    rng = np.random.default_rng(1)
    for _ in range(200):
        case = random_case(rng)
        k = min(case.ks[0], len(case.rankings[0]))
        weights = case.plain if case.weights is None else case.weights
        alike = [(dict.fromkeys(labels, 1.0), ranking) for labels, ranking in case.rows]
        lists: list[Any] = [list(labels) for labels in case.labels]
        for name, function in FUNCTIONS.items():
            expected = by_definition.mean(name, case.rows, k, weights)
            assert function(case.matrix(), case.rankings, k, case.weights) == pytest.approx(expected, rel=0, abs=1e-9)
            expected = by_definition.mean(name, alike, k, weights)
            assert function(lists, case.rankings, k, case.weights) == pytest.approx(expected, rel=0, abs=1e-9)
        for name, function in {"psp": metrics.psp_at_k, "psndcg": metrics.psndcg_at_k}.items():
            expected = getattr(by_definition, name)(case.rows, k, weights, case.chances)
            value = function(case.matrix(), case.rankings, k, case.weights, propensities=case.chances)
            assert value == pytest.approx(expected, rel=0, abs=1e-9)
        expected = by_definition.coverage(case.rows, k)
        assert metrics.coverage_at_k(lists, case.rankings, k) == pytest.approx(expected, rel=0, abs=1e-9)


def test_rows_in_any_portions_give_the_same() -> None:
    rng = np.random.default_rng(2)
    for _ in range(100):
        case = random_case(rng)
        whole, parts = case.sums(), case.sums()
        labels, ranked, weights = case.sparse_rows(), np.array(case.rankings), np.array(case.weights or case.plain)
        whole.update(labels, ranked, weights, exhaustive=True)
        borders = [0, *sorted(rng.integers(0, len(ranked) + 1, 3).tolist()), len(ranked)]  # some portions are empty
        for start, stop in pairwise(borders):
            parts.update(labels.slice(start, stop), ranked[start:stop], weights[start:stop], exhaustive=True)
        for weighted in (True, False):
            assert parts.result(weighted) == pytest.approx(whole.result(weighted), rel=0, abs=1e-12)


def test_label_counts_of_zero_everywhere_and_labels_never_known_are_tail() -> None:
    assert by_definition.groups([0, 0]) == ["tail", "tail"]  # the yardstick itself
    case = Case([{0: 1.0, 2: 1.0}], [[2, 0]], 3, (1,), None, [0, 0], 10)
    sums = case.sums()
    sums.update(case.sparse_rows(), case.rankings)
    assert sums.result()["recall@1 tail"] == 0.5
    assert sums.result()["true share tail"] == 1.0
