"""Coverage, and head, torso and tail."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from xmach.errors import InputError
from xmach.metrics import GROUPS, Coverage, RankingMetrics, RecallByFrequency, coverage_at_k, frequency_groups


def test_coverage_by_hand() -> None:
    # labels 0, 1, 2, 9 occur; label 0 is found in row 0, label 2 at place 2 of row 1; 1 is ranked only where not true
    true, ranked = [[0, 1], [2], [9, 0], []], [[0, 3], [1, 2], [4, 0], [1, 9]]
    assert coverage_at_k(true, ranked, 1) == 1 / 4
    assert coverage_at_k(true, ranked, 2) == 2 / 4


def test_a_label_found_in_one_batch_stays_found() -> None:
    metrics = RankingMetrics([1], [], [Coverage()])
    for true, ranked in [([[0, 5]], [[0]]), ([[0], [1]], [[1], [0]]), ([[7]], [[7]])]:
        metrics.update(true, ranked)
    assert metrics.result() == {"coverage@1": 2 / 4}  # of 0, 1, 5 and 7


def test_coverage_without_a_label_is_zero_and_huge_ids_are_refused() -> None:
    assert coverage_at_k([[], []], [[0], [1]], 1) == 0
    with pytest.raises(InputError, match=r"go up to 2147483648; coverage needs them below 2\^31"):
        coverage_at_k([[2**31]], [[0]], 1)


@pytest.mark.parametrize(
    ("counts", "groups"),
    [
        # of 100 occurrences 60 | 30 | 6 + 4: label 0 crosses the half; 60 lie before label 1, 90 before label 2
        ([60, 30, 6, 4, 0], "head torso tail tail tail"),
        # 50 lie before label 1, so that the half is full; 89 before label 2
        ([50, 39, 11, 0], "head torso torso tail"),
        ([0, 4, 6, 30, 60], "tail tail tail torso head"),
        ([1] * 10, "head head head head head torso torso torso torso tail"),  # equal labels in the order of ids
        ([3], "head"),
        ([0, 0], "tail tail"),
        ([], ""),
    ],
)
def test_groups_by_hand(counts: list[int], groups: str) -> None:
    assert [GROUPS[group] for group in frequency_groups(counts)] == groups.split()


def test_recall_by_frequency_by_hand() -> None:
    metrics = RankingMetrics([1, 2], [], [RecallByFrequency(frequency_groups([60, 30, 6, 4]))])
    # head: label 0, in rows 0 and 1; torso: label 1, in row 1; tail: 2, 3 and the unknown 8
    metrics.update([[0, 3], [0, 1], [8]], [[0, 3], [1, 2], [2, 3]], weights=[1, 3, 1])
    assert metrics.result(weighted=False) == {
        "recall@1 head": 1 / 2,
        "recall@2 head": 1 / 2,
        "true share head": 2 / 5,
        "recall@1 torso": 1.0,
        "recall@2 torso": 1.0,
        "true share torso": 1 / 5,
        "recall@1 tail": 0.0,
        "recall@2 tail": 1 / 2,
        "true share tail": 2 / 5,
        "label share head": 1 / 4,
        "label share torso": 1 / 4,
        "label share tail": 2 / 4,
    }
    assert metrics.result()["recall@1 head"] == 1 / (1 + 3)
    assert metrics.result()["true share head"] == (1 + 3) / (2 * 1 + 2 * 3 + 1 * 1)


def test_counts_beyond_32_bits_are_added_exactly() -> None:
    assert frequency_groups(np.array([2**60, 2**60 - 1, 1], np.int64)).tolist() == [0, 1, 2]


@pytest.mark.parametrize("counts", [[-1], [0.5], [[1]], ["a"]])
def test_counts_that_are_refused(counts: Any) -> None:
    with pytest.raises(InputError, match="training rows of each label"):
        frequency_groups(counts)
