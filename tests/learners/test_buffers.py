"""Working memory of a step."""

from __future__ import annotations

import pytest

from xmach.learners.buffers import Buffers, aligned_zeros


@pytest.mark.parametrize("shape", [(1,), (3, 5), (100, 32), (1000, 500)])
def test_memory_begins_on_a_cache_line_and_has_all_its_numbers(shape: tuple[int, ...]) -> None:
    for array in (aligned_zeros(*shape), Buffers().array("some", *shape)):
        assert array.shape == shape
        assert array.ctypes.data % 64 == 0
        assert array.flags.c_contiguous
    assert not aligned_zeros(*shape).any()
