"""The representative sample: what stays, how many, how evenly, and the same everywhere."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest
from scipy import sparse

from xmach.errors import InputError, ParameterError
from xmach.metrics import representative

BOUGHT = [[3, 9], [], [9, 50, 99], [0]]


@pytest.mark.parametrize("size", [5, 6, 40, 60, 99, 100])
def test_all_that_was_bought_stays_and_the_rest_is_drawn_once(size: int) -> None:
    ids = representative(BOUGHT, 100, size)
    assert len(ids) == size
    assert (np.diff(ids) > 0).all()
    assert {0, 3, 9, 50, 99} <= set(ids.tolist()) <= set(range(100))


def test_the_seed_decides_and_nothing_else() -> None:
    ids = representative(BOUGHT, 10**6, 1000, seed=1)
    np.testing.assert_array_equal(representative([[99, 50, 9, 3, 0, 3]], 10**6, 1000, seed=1), ids)
    assert len(np.intersect1d(representative(BOUGHT, 10**6, 1000, seed=2), ids)) < 20
    # these bytes on every platform and NumPy version
    assert hashlib.sha256(ids.astype("<i8").tobytes()).hexdigest()[:16] == "404363f7e114fbc2"


@pytest.mark.parametrize(("size", "share"), [(25, 0.2), (85, 0.8)])  # drawn, and drawn to be left out
def test_every_other_label_is_drawn_equally_often(size: int, share: float) -> None:
    kept = [[0, 1, 2, 50, 99]]
    counts = np.zeros(105)
    for seed in range(2000):
        counts[representative(kept, 105, size, seed)] += 1
    assert (counts[kept[0]] == 2000).all()
    others = np.delete(counts, kept[0]) / 2000
    expected = (size - 5) / 100
    assert expected == pytest.approx(share)
    assert np.abs(others - expected).max() < 4.5 * np.sqrt(expected * (1 - expected) / 2000)


def test_a_stored_zero_was_not_bought_and_unknown_labels_cannot_be_candidates() -> None:
    bought = sparse.csr_array(([1.0, 0.0, 2.0], [4, 5, 30], [0, 3]), shape=(1, 40))
    assert representative(bought, 20, 1).tolist() == [4]
    assert max(representative(bought, 20, 19)) < 20


def test_refusals() -> None:
    with pytest.raises(InputError, match="size=4, but all 5 purchased labels must be included"):
        representative(BOUGHT, 100, 4)
    with pytest.raises(ParameterError, match="size must be a whole number from 1 to 100, got 101"):
        representative(BOUGHT, 100, 101)
    with pytest.raises(ParameterError, match="seed must be a whole number"):
        representative(BOUGHT, 100, 10, seed=-1)
