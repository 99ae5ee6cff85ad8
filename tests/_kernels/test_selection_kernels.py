"""The highest of many numbers against a sort."""

from __future__ import annotations

import numpy as np
import pytest

from xmach._kernels.decode.selection import keep_best, level_of_best, median

WIDTHS = [1, 3, 1000, 2**31 - 1]  # values from -width - 1 to width - 1: few of them tie much


def test_the_level_that_some_values_reach() -> None:
    draw = np.random.default_rng(0)
    for width in WIDTHS:
        for size in (1, 2, 50, 400):
            values = draw.integers(-width - 1, width, size).astype(np.int32)
            for count in {1, size // 2 + 1, size}:
                level = level_of_best(values, count)
                assert np.count_nonzero(values >= level) >= count > np.count_nonzero(values > level) or (
                    np.count_nonzero(values >= level) == count
                )


@pytest.mark.parametrize("width", WIDTHS)
def test_the_median_is_one_of_the_values(width: int) -> None:
    draw = np.random.default_rng(0)
    for size in (1, 2, 3, 126, 127):
        values = draw.integers(-width - 1, width, size).astype(np.int32)
        assert median(values) == np.sort(values)[::-1][(size + 1) // 2 - 1]


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("order", ["drawn", "rising", "falling", "highest where nothing is sampled"])
def test_the_best_are_those_of_a_sort(width: int, order: str) -> None:
    draw = np.random.default_rng(0)
    for count in (1, 5, 300, 5000):
        for wanted in {1, 4, count // 3 + 1, count - 1, count, count + 5} - {0}:
            values = draw.integers(-width - 1, width, count).astype(np.int32)
            if order != "drawn":
                values.sort()
            if order == "falling":
                values = values[::-1].copy()
            if order == "highest where nothing is sampled":
                values = np.concatenate([values[np.arange(count) % 16 == 0], values[np.arange(count) % 16 > 0]])
                values = values.reshape(-1)[np.argsort(np.arange(count) % 16 > 0, kind="stable").argsort()]
            ids = draw.permutation(2 * count)[:count].astype(np.int32)
            expected = set(ids[np.lexsort((ids, -values.astype(np.int64)))[:wanted]].tolist())
            order_before = ids.tolist()
            kept = keep_best(count, wanted, ids, values.copy(), np.empty(count, np.int32))
            assert kept == min(count, wanted)
            assert set(ids[:kept].tolist()) == expected
            assert ids[:kept].tolist() == [label for label in order_before if label in expected]
