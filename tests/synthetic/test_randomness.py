"""Named randomness: golden numbers, and a shuffle that is one-to-one."""

from __future__ import annotations

import numpy as np
import pytest

from xmach.synthetic.randomness import Shuffle, key, mix, stream, uniform


def test_golden_numbers() -> None:
    """The same on every platform: shops rely on it."""
    assert key(7, "layout") == 1308071859424898654
    assert mix(np.arange(3), 5).tolist() == [13168350753275463132, 15093541023163888492, 1346066267577507604]
    assert stream(7, "queries", "train", 0).random(2).tolist() == [0.8949579107208452, 0.27960320631432845]


def test_names_give_different_streams() -> None:
    names = [(0, "a", 0), (0, "a", 1), (0, "b", 0), (1, "a", 0), (0, "a")]
    assert len({stream(*each).random() for each in names}) == len(names)


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 1000, 4097])
def test_a_shuffle_is_one_to_one(size: int) -> None:
    numbers = np.arange(size)
    shuffle = Shuffle(size, key("test"))
    there = shuffle.forward(numbers)
    assert sorted(there.tolist()) == numbers.tolist()
    np.testing.assert_array_equal(shuffle.backward(there), numbers)


def test_a_shuffle_takes_neighbours_apart() -> None:
    there = Shuffle(10_000, key("test")).forward(np.arange(10_000))
    assert np.median(np.abs(np.diff(there))) > 1000


def test_hashes_are_even() -> None:
    chances = uniform(mix(np.arange(20_000), 3))
    counts, _ = np.histogram(chances, bins=10, range=(0, 1))
    assert np.abs(counts - 2000).max() < 200  # more than four standard deviations
