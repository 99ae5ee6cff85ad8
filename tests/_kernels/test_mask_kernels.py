"""Which of 64 buckets a row's labels are in: the kernel against its twin, by hashes and by tables."""

from __future__ import annotations

import numpy as np
import pytest
from tests.reference.descent import positive_masks_slow

from xmach._kernels.train.descent import positive_masks
from xmach.buckets import UniversalHashes


@pytest.mark.parametrize("tables", [False, True], ids=["hash", "table"])
@pytest.mark.parametrize(("n_buckets", "first"), [(10, 0), (64, 0), (150, 0), (150, 64), (150, 128), (70_000, 69_952)])
def test_masks_are_their_twins(tables: bool, n_buckets: int, first: int) -> None:
    draw, n_labels = np.random.default_rng(n_buckets + first), 80_000
    rule = UniversalHashes.draw(n_labels, n_buckets, 1).rule(0)
    if tables:
        rule = (draw.integers(0, n_buckets, n_labels).astype(rule[0].dtype), *rule[1:])
    indptr = np.append(0, np.cumsum(draw.integers(0, 600, 40) * (draw.random(40) < 0.8)))
    labels = draw.integers(0, n_labels, indptr[-1]).astype(np.int32)
    fast, slow = (np.full(40, 7, np.uint64) for _ in range(2))
    positive_masks(indptr, labels, *rule, first, fast)
    positive_masks_slow(indptr, labels, *rule, first, slow)
    np.testing.assert_array_equal(fast, slow)
    assert fast.any()
    assert not fast[np.diff(indptr) == 0].any()


def test_masks_have_the_first_and_the_last_of_64_buckets() -> None:
    table, masks = np.array([63, 64, 127, 128], np.uint16), np.empty(4, np.uint64)
    positive_masks(np.arange(5), np.arange(4, dtype=np.int32), table, 1, 0, 5, 200, 64, masks)
    assert masks.tolist() == [0, 1, 2**63, 0]
