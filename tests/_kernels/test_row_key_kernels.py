"""Keys of rows against their twin; what must change them, and what must not."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.reference.row_keys import row_keys_slow

from xmach._kernels.parse.row_keys import row_keys
from xmach.types import AnyArray

Row = dict[int, float]
ROWS = st.lists(
    st.dictionaries(st.integers(0, 2**31 - 2), st.floats(width=32, allow_nan=False), max_size=6), max_size=8
)


def keys(rows: list[Row]) -> AnyArray:
    indptr = np.cumsum([0, *map(len, rows)]).astype(np.int64)
    flat = [pair for row in rows for pair in sorted(row.items())]
    indices = np.array([column for column, _ in flat], np.int32)
    values = np.array([value for _, value in flat], np.float32)
    out = np.empty((len(rows), 2), np.uint64)
    row_keys(indptr, indices, values, out)
    assert out.tolist() == row_keys_slow(indptr, indices, values)
    return out


@settings(deadline=None, max_examples=100)
@given(ROWS)
def test_rows_have_equal_keys_just_where_they_are_equal(rows: list[Row]) -> None:
    found = list(map(tuple, keys(rows).tolist()))
    plain = [{column: value for column, value in row.items() if value} for row in rows]
    for i, one in enumerate(plain):
        for j, other in enumerate(plain):
            assert (found[i] == found[j]) == (one == other)


def test_a_stored_zero_is_no_feature_and_the_order_of_values_matters() -> None:
    found = keys([{1: 1.0}, {0: 0.0, 1: 1.0, 5: -0.0}, {1: 2.0, 2: 1.0}, {1: 1.0, 2: 2.0}, {}, {3: 0.0}])
    assert found[0].tolist() == found[1].tolist()
    assert found[4].tolist() == found[5].tolist()
    assert len({tuple(key) for key in found.tolist()}) == 4


def test_many_near_rows_differ_in_either_half() -> None:
    n = 200_000
    indptr, values = np.arange(n + 1) * 2, np.ones(2 * n, np.float32)
    indices = np.stack([np.arange(n) % 500, 500 + np.arange(n) // 500], axis=1).ravel().astype(np.int32)
    out = np.empty((n, 2), np.uint64)
    row_keys(indptr, indices, values, out)
    for half in np.ascontiguousarray(out.T):
        assert len(np.unique(half)) == n
        ones = np.unpackbits(half.view(np.uint8)).mean()
        assert abs(ones - 0.5) < 0.001
