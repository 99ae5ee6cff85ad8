"""Training one label after the other against its slow twin, bit by bit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.ranking.label_problems import random_lists, unit_rows
from tests.reference.label_descent import OrderSlow, mixed_slow, train_label_slow

from xmach._kernels.rank.descent import mixed, shuffle
from xmach.ranking.label_training import RankerSettings, train_labels


@settings(deadline=None, max_examples=40)  # the first call compiles
@given(
    st.integers(0, 2**64 - 1),
    st.integers(1, 25),
    st.integers(1, 12),
    st.sampled_from([0.1, 1.0, 30.0]),
    st.integers(1, 25),
    st.sampled_from([0.0, 0.1]),
)
def test_trained_labels_are_their_twin(
    seed: int, n_rows: int, n_features: int, cost: float, passes: int, epsilon: float
) -> None:
    numbers = np.random.default_rng(seed).integers(2**31, size=3).tolist()
    rows = unit_rows(n_rows, n_features, seed=numbers[0])
    positives, negatives = (
        random_lists(6, n_rows, share, n, 40) for share, n in zip((0.2, 0.6), numbers[1:], strict=True)
    )
    chosen = RankerSettings(cost, passes, epsilon, prune_below=0.05)
    part = train_labels(rows, positives, negatives, chosen, seed)
    assert (part.first, part.stop) == (40, 46)
    for i in range(6):
        weights, bias = train_label_slow(rows, positives, negatives, chosen, seed, i)
        span, kept = slice(*part.starts[i : i + 2]), np.flatnonzero(np.abs(weights) >= np.float32(0.05))
        assert part.features[span].tolist() == kept.tolist()
        assert part.values[span].tobytes() == weights[kept].tobytes()
        assert part.biases[i] == bias


@given(st.integers(0, 2**64 - 1))
@settings(deadline=None)
def test_mixed_bits_are_their_twin(bits: int) -> None:
    assert int(mixed(np.uint64(bits))) == mixed_slow(bits)


@pytest.mark.parametrize("n", [0, 1, 2, 7, 100])
def test_shuffles_are_their_twin_and_leave_the_rest(n: int) -> None:
    order, slow, twin = np.arange(120, dtype=np.int32), list(range(120)), OrderSlow(7, 3)
    state = np.uint64(twin.state)
    for _ in range(3):
        state = np.uint64(shuffle(order, n, state))
        twin.shuffle(slow, n)
        assert int(state) == twin.state
    assert order.tolist() == slow
    assert sorted(slow[:n]) == list(range(n))


def test_every_place_is_as_likely() -> None:
    counts, state = np.zeros((5, 5)), np.uint64(1)
    for _ in range(5000):
        order = np.arange(5, dtype=np.int32)
        state = np.uint64(shuffle(order, 5, state))
        counts[np.arange(5), order] += 1
    assert np.abs(counts / 5000 - 0.2).max() < 0.03
