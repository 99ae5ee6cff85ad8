"""Batches that a second thread makes: in order, one ahead, and none left behind."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing

import pytest

from xmach.learners.session import made_ahead


def test_in_order_and_one_ahead() -> None:
    begun: list[int] = []
    second = threading.Event()

    def make(number: int) -> int:
        begun.append(number)
        if number == 1:
            second.set()
        return -number

    with closing(made_ahead(make, range(5))) as made:
        assert next(made) == 0
        assert second.wait(10)  # while the first is in use
        assert begun == [0, 1]
        assert list(made) == [-1, -2, -3, -4]
    assert begun == [0, 1, 2, 3, 4]


def test_nothing_to_make() -> None:
    assert list(made_ahead(abs, [])) == []


def test_made_by_a_thread_that_ends_with_it() -> None:
    names: list[str] = []
    made = made_ahead(lambda _: names.append(threading.current_thread().name), range(9))
    next(made)
    made.close()
    assert all(name.startswith("next batch") for name in names)
    assert 1 <= len(names) <= 2
    assert not any(thread.name.startswith("next batch") for thread in threading.enumerate())


def test_what_goes_wrong_is_told_where_it_is_used() -> None:
    made = made_ahead(lambda number: 1 // number, [1, 0, 1])
    assert next(made) == 1
    with pytest.raises(ZeroDivisionError, match="division"):
        next(made)


def test_where_no_thread_can_be_had_all_is_made_when_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = ThreadPoolExecutor.submit
    given: list[int] = []

    def submit(self: ThreadPoolExecutor, make: Callable[[int], int], number: int) -> Future[int]:
        if number >= 2:
            raise RuntimeError("cannot schedule new futures after interpreter shutdown")
        return whole(self, make, number)

    monkeypatch.setattr(ThreadPoolExecutor, "submit", submit)
    made = made_ahead(lambda number: given.append(number) or -number, range(5))  # type: ignore[func-returns-value]
    assert list(made) == [0, -1, -2, -3, -4]
    assert given == [0, 1, 2, 3, 4]


def test_training_goes_on_while_the_interpreter_waits_for_its_thread() -> None:
    code = """
import threading
import numpy as np
from xmach import MACHClassifier
X, y = np.eye(40, dtype=np.float32)[np.arange(400) % 40], np.arange(400) % 40
def fit():
    MACHClassifier(n_buckets=8, n_repetitions=2, epochs=30, hidden=(8,), n_jobs=1).fit(X, y)
    print("fitted")
threading.Thread(target=fit).start()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.stdout, done.returncode) == ("fitted\n", 0), done.stderr
