"""One battery that every executor passes, and what is special about the pool and the board."""

from __future__ import annotations

import math
import os
import pickle
import signal
import subprocess
import sys
import textwrap
import time
from contextlib import closing
from itertools import count, islice
from pathlib import Path

import pytest

from xmach.errors import WorkerDied
from xmach.executors import Board, Executor, LocalExecutor, PoolExecutor
from xmach.types import Progress

EXECUTORS = [LocalExecutor(), PoolExecutor(2)]


def double(number: int) -> int:
    return 2 * number


def fail(number: int) -> int:
    raise ValueError(f"number {number} is not to my taste")


def wait(seconds: float) -> float:
    time.sleep(seconds)
    return seconds


def die(number: int) -> int:
    os.kill(os.getpid(), signal.SIGKILL)
    return number


@pytest.mark.parametrize("executor", EXECUTORS, ids=lambda executor: type(executor).__name__)
class TestEveryExecutor:
    def test_gives_every_result(self, executor: Executor) -> None:
        assert sorted(executor.run(double, range(5))) == [0, 2, 4, 6, 8]

    def test_takes_no_spec(self, executor: Executor) -> None:
        assert list(executor.run(double, [])) == []

    def test_raises_what_the_task_raises(self, executor: Executor) -> None:
        with pytest.raises(ValueError, match="not to my taste"):
            list(executor.run(fail, [1]))


@pytest.mark.parametrize("executor", EXECUTORS, ids=lambda executor: type(executor).__name__)
class TestInOrder:
    def test_gives_results_in_the_order_of_specs(self, executor: LocalExecutor | PoolExecutor) -> None:
        assert list(executor.in_order(wait, [0.3, 0.0, 0.1])) == [0.3, 0.0, 0.1]
        assert list(executor.in_order(double, [])) == []

    def test_asks_for_few_specs_ahead(self, executor: LocalExecutor | PoolExecutor) -> None:
        asked = count()
        with closing(executor.in_order(double, asked)) as results:
            assert list(islice(results, 20)) == [2 * number for number in range(20)]
        assert next(asked) <= 20 + executor.workers + 1

    def test_raises_what_the_task_raises(self, executor: LocalExecutor | PoolExecutor) -> None:
        with pytest.raises(ValueError, match="not to my taste"):
            list(executor.in_order(fail, count()))


def test_pool_says_when_a_worker_dies() -> None:
    with pytest.raises(WorkerDied, match="What was finished is kept; run the same command again"):
        list(PoolExecutor(2).run(die, [1, 2]))
    with pytest.raises(WorkerDied, match=r"ran out of memory\. Run the same command again"):
        list(PoolExecutor(2).in_order(die, [1, 2]))


def test_pool_works_from_an_unguarded_script(tmp_path: Path) -> None:
    script = tmp_path / "unguarded.py"
    script.write_text(
        textwrap.dedent("""
        from xmach.executors import PoolExecutor
        def triple(number):  # a function of the script itself, as in a notebook
            return 3 * number
        print(sorted(PoolExecutor(2).run(triple, [1, 2, 3])))
        """)
    )
    result = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[3, 6, 9]"  # printed once: the script was not run again by the workers


def report(board: Board) -> bool:
    board.report(5, Progress(10, 20, 0.5))
    return board.should_stop()


def report_parts(board: Board) -> bool:
    board.report(3, Progress(4, 10, 0.25), part=1)
    for part, loss in enumerate((0.9, 0.7, 0.5)):
        board.report(5, Progress(20, 20, loss), part)
    return board.should_stop()


class TestBoard:
    def test_carries_progress_and_the_stop_sign_between_processes(self) -> None:
        board = Board.for_repetitions([3, 5])
        try:
            assert list(PoolExecutor(1).run(report, [board])) == [False]
            assert board.progress() == {3: Progress(0, 0, 0.0), 5: Progress(10, 20, 0.5)}
            board.stop()
            assert list(PoolExecutor(1).run(report, [board])) == [True]
        finally:
            board.close()

    def test_adds_up_the_parts_of_a_repetition(self) -> None:
        with closing(Board.for_repetitions([3, 5], parts=3)) as board:
            assert list(PoolExecutor(1).run(report_parts, [board])) == [False]
            assert board.progress() == {3: Progress(4, 10, 0.25), 5: Progress(60, 60, 0.5)}

    def test_a_part_that_does_not_tell_its_loss(self) -> None:
        with closing(Board.for_repetitions([0], parts=2)) as board:
            board.report(0, Progress(4, 10, math.nan), 1)
            assert math.isnan(board.progress()[0].loss)

    def test_pickles_as_its_path(self) -> None:
        board = Board.for_repetitions([0])
        pickle.loads(pickle.dumps(board)).stop()
        assert board.should_stop()
        board.close()


def test_pool_gives_results_as_they_come() -> None:
    assert next(iter(PoolExecutor(2).run(wait, [1.5, 0.0]))) == 0.0


def test_workers_end_with_their_parent(tmp_path: Path) -> None:
    script = tmp_path / "parent.py"
    script.write_text(
        textwrap.dedent(f"""
        import os, time
        from xmach.executors import PoolExecutor
        def work(number):
            open(r"{tmp_path}/pid-%d" % number, "w").write(str(os.getpid()))
            time.sleep(600)
        list(PoolExecutor(2).run(work, [1, 2]))
        """)
    )
    parent = subprocess.Popen([sys.executable, script])
    while len(list(tmp_path.glob("pid-*"))) < 2 or not all(path.read_text() for path in tmp_path.glob("pid-*")):
        time.sleep(0.05)
    workers = [int(path.read_text()) for path in tmp_path.glob("pid-*")]
    parent.kill()
    parent.wait()
    deadline = time.monotonic() + 60
    while any(Path(f"/proc/{pid}").exists() for pid in workers) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not any(Path(f"/proc/{pid}").exists() for pid in workers)
