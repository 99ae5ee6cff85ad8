"""Propensities and what is scored by them, computed by hand."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from xmach.errors import InputError, ParameterError
from xmach.metrics import PropensityScored, RankingMetrics, propensities, psndcg_at_k, psp_at_k

CHANCES = np.array([1.0, 0.5, 0.25])  # a hit on label 0, 1, 2 gains 1, 2, 4


def test_propensities_by_hand() -> None:
    # N = e^3: C = (3 - 1) 2.5^0.55; a label with 1 training row has exp(-0.55 log 2.5) = 2.5^-0.55, so 1 / (1 + 2)
    n_rows = round(math.e**3)
    c = (math.log(n_rows) - 1) * 2.5**0.55
    values = propensities([1, 0, 98], n_rows)
    assert values[0] == pytest.approx(1 / (1 + math.log(n_rows) - 1), abs=1e-12)
    assert values[0] == pytest.approx(1 / 3, abs=1e-3)
    assert values[1] == pytest.approx(1 / (1 + c * 1.5**-0.55), abs=1e-12)
    assert values[2] == pytest.approx(1 / (1 + c * 99.5**-0.55), abs=1e-12)


def test_propensities_with_other_constants() -> None:
    # those of Amazon-670K: (log 1000 - 1) 3.6^0.6 / (10 + 2.6)^0.6
    expected = 1 / (1 + (math.log(1000) - 1) * (3.6 / 12.6) ** 0.6)
    assert propensities([10], 1000, a=0.6, b=2.6) == pytest.approx([expected], abs=1e-12)


def test_frequent_labels_have_larger_propensities_and_few_rows_give_none_beyond_1() -> None:
    assert (np.diff(propensities(np.arange(50), 1000)) > 0).all()
    assert propensities([0, 1], 2).tolist() == [1.0, 1.0]  # log 2 - 1 < 0


def test_psp_by_hand() -> None:
    true, ranked = [[0, 1], [2], []], [[0, 2], [1, 2], [0, 1]]
    # at 1: gained 1 + 0 + 0; the best would be 2 (label 1 first) + 4 + 0
    assert psp_at_k(true, ranked, 1, propensities=CHANCES) == pytest.approx(1 / 6)
    # at 2: gained 1 + 4; the best 1 + 2 + 4
    assert psp_at_k(true, ranked, 2, propensities=CHANCES) == pytest.approx(5 / 7)
    # a row of weight 3
    assert psp_at_k(true, ranked, 2, [1, 3, 1], propensities=CHANCES) == pytest.approx((1 + 3 * 4) / (3 + 3 * 4))


def test_psndcg_by_hand() -> None:
    true, ranked = [[0, 1], [2]], [[0, 2], [1, 2]]
    second = 1 / math.log2(3)
    # row 0: label 0 at place 1, at best 1 then 0, over 1 + 1/log2(3); row 1: label 2 at place 2, at best at 1, over 1
    gained = 1 / (1 + second) + 4 * second / 1
    possible = (2 + 1 * second) / (1 + second) + 4 / 1
    assert psndcg_at_k(true, ranked, 2, propensities=CHANCES) == pytest.approx(gained / possible)


def test_equal_propensities_make_them_the_plain_metrics_of_rows_with_k_labels() -> None:
    true, ranked, same = [[0, 1], [1, 2]], [[0, 2], [2, 1]], np.full(3, 0.2)
    assert psp_at_k(true, ranked, 2, propensities=same) == pytest.approx(3 / 4)
    assert psndcg_at_k(true, ranked, 2, propensities=same) == pytest.approx((1 / (1 + 1 / math.log2(3)) + 1) / 2)


@pytest.mark.parametrize("measure", [psp_at_k, psndcg_at_k])
def test_propensities_not_given_are_those_of_the_labels_themselves(measure: Any) -> None:
    true, ranked = [[0, 1], [0], [0, 3, 3], []], [[0, 1], [1, 0], [3, 2], [0, 1]]
    own = propensities([3, 1, 0, 1], 4)  # rows of each label: the one that comes twice in a row counts once
    for k in (1, 2):
        assert measure(true, ranked, k) == pytest.approx(measure(true, ranked, k, propensities=own), abs=1e-12)
    assert measure(true, ranked, 1, [1, 2, 3, 4]) == measure(true, ranked, 1, [1, 2, 3, 4], propensities=own)
    assert measure(true, ranked, 1) != measure(true, ranked, 1, propensities=np.ones(4))
    assert measure([[], []], [[0], [1]], 1) == 0


def test_rows_without_any_label_score_zero() -> None:
    assert psp_at_k([[], []], [[0], [1]], 1, propensities=CHANCES) == 0
    assert psndcg_at_k([[], []], [[0], [1]], 1, propensities=CHANCES) == 0


def test_a_label_without_a_propensity_is_refused_before_anything_is_added() -> None:
    metrics = RankingMetrics([1], ["precision"], [PropensityScored(CHANCES)])
    metrics.update([[1]], [[1]])
    with pytest.raises(InputError, match="go up to 3, but there are 3 propensities"):
        metrics.update([[3]], [[1]])
    assert metrics.result() == {"precision@1": 1.0, "psp@1": 1.0, "psndcg@1": 1.0}


def test_a_ranked_label_without_a_propensity_is_merely_no_hit() -> None:
    assert psp_at_k([[1]], [[7, 1]], 2, propensities=CHANCES) == 1


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([0.5, 0.0], "above 0 and at most 1"),
        ([0.5, 1.5], "above 0 and at most 1"),
        ([0.5, np.nan], "above 0 and at most 1"),
        (0.5, "one number per label, got shape"),
    ],
)
def test_propensities_that_are_refused(values: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        psp_at_k([[0]], [[0]], 1, propensities=values)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([-1], 10), "label_counts must be the number of training rows"),
        ((["a"], 10), "label_counts must be the number of training rows"),
        (([[1]], 10), "label_counts must be the number of training rows"),
        (([1], 0), "n_rows must be a whole number of at least 1, got 0"),
        (([1], 10, -1.0), "a must be a number in"),
        (([1], 10, 0.5, 0.0), "b must be a number in"),
    ],
)
def test_counts_and_constants_that_are_refused(arguments: Any, message: str) -> None:
    with pytest.raises((InputError, ParameterError), match=message):
        propensities(*arguments)
