"""Batches that a second thread makes: in order, one ahead, and none left behind."""

from __future__ import annotations

import threading
from contextlib import closing

import pytest

from xmach.learners.ahead import one_ahead


def test_in_order_and_one_ahead() -> None:
    begun: list[int] = []
    second = threading.Event()

    def make(number: int) -> int:
        begun.append(number)
        if number == 1:
            second.set()
        return -number

    with closing(one_ahead(make, range(5))) as made:
        assert next(made) == 0
        assert second.wait(10)  # while the first is in use
        assert begun == [0, 1]
        assert list(made) == [-1, -2, -3, -4]
    assert begun == [0, 1, 2, 3, 4]


def test_nothing_to_make() -> None:
    assert list(one_ahead(abs, [])) == []


def test_made_by_a_thread_that_ends_with_it() -> None:
    names: list[str] = []
    made = one_ahead(lambda _: names.append(threading.current_thread().name), range(9))
    next(made)
    made.close()
    assert all(name.startswith("next batch") for name in names)
    assert 1 <= len(names) <= 2
    assert not any(thread.name.startswith("next batch") for thread in threading.enumerate())


def test_what_goes_wrong_is_told_where_it_is_used() -> None:
    made = one_ahead(lambda number: 1 // number, [1, 0, 1])
    assert next(made) == 1
    with pytest.raises(ZeroDivisionError, match="division"):
        next(made)
