"""The most frequent tokens: exact where they can be held, and how wrong they may be beyond."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from xmach._kernels.text.tokens import WORDS
from xmach.errors import ParameterError
from xmach.features import learning
from xmach.features.learning import TokenCounts, VocabularyLearner


def counted(keys: list[int] | np.ndarray, most: int) -> TokenCounts:
    counts = TokenCounts(WORDS, most)
    counts.add(np.asarray(keys, np.uint64))
    return counts


@settings(deadline=None, max_examples=60)
@given(st.lists(st.integers(0, 30), max_size=200), st.integers(0, 40))
def test_the_most_frequent_are_found_and_ties_go_to_the_lower_key(keys: list[int], n: int) -> None:
    expected = sorted(Counter(keys).items(), key=lambda pair: (-pair[1], pair[0]))
    found = counted(keys, 64)
    assert found.most_frequent(n).tolist() == [key for key, _ in expected[:n]]
    assert found.slack == 0


def test_a_table_grows_until_it_holds_them_all() -> None:
    keys = np.random.default_rng(0).integers(0, 2**50, 30_000)
    assert sorted(counted(keys, 40_000).most_frequent(40_000).tolist()) == sorted(set(keys.tolist()))


@settings(deadline=None, max_examples=60)
@given(st.lists(st.integers(0, 60), max_size=400), st.integers(1, 20))
def test_beyond_what_can_be_held_the_frequent_ones_stay(keys: list[int], most: int) -> None:
    """Misra and Gries: who occurs more often than the slack is there, and the slack is bounded by what was seen."""
    found = counted(keys, most)
    there = set(found.most_frequent(most).tolist())
    assert len(there) <= most
    assert {key for key, times in Counter(keys).items() if times > found.slack} <= there
    assert found.slack <= 2 * len(keys) / (most + 1)  # half of the counts lose as much as the slack gains


def test_what_stays_depends_on_the_order_of_the_stream_and_not_on_how_it_is_cut() -> None:
    keys = (np.random.default_rng(1).zipf(1.3, 20_000) % 5000).astype(np.uint64)
    whole, parts = counted(keys, 300), TokenCounts(WORDS, 300)
    for part in np.array_split(keys, 37):
        parts.add(part)
    assert whole.slack == parts.slack > 0
    assert whole.most_frequent(300).tolist() == parts.most_frequent(300).tolist()


def test_frequent_tokens_of_a_long_stream_are_the_true_ones() -> None:
    keys = (np.random.default_rng(2).zipf(1.2, 200_000) % 100_000).astype(np.uint64)
    true = [key for key, _ in Counter(keys.tolist()).most_common(100)]
    found = counted(keys, 4000)
    assert found.slack > 0
    assert len(set(true) & set(found.most_frequent(100).tolist())) >= 98


def test_tokens_are_held_four_times_as_many_as_are_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    monkeypatch.setattr(learning, "TokenCounts", lambda kind, most: seen.append((kind, most)))
    VocabularyLearner((1000, 5, 0), held=100)
    assert seen == [(0, 4000), (1, 100), (2, 100)]
    with pytest.raises(ParameterError, match="held must be a whole number of at least 1"):
        VocabularyLearner((1, 1, 1), held=0)
