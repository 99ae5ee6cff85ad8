"""The memory of sparse linear buckets: by hand, and against the peaks of real processes."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from benchmarks import memory as bench
from benchmarks import memory_cases as cases

from xmach.planning import DataSize, Shape, prediction_bytes, training_bytes, training_memory
from xmach.planning.linear_memory import KERNEL_BYTES
from xmach.planning.memory import LIBRARY_BYTES, PARENT_BYTES, POOL_BYTES, WORKER_BYTES

linux_only = pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc")
SHAPE = Shape(n_labels=700, n_features=1000, hidden=(), n_buckets=512, n_repetitions=4, weights=6000)
DATA = DataSize(n_rows=500, nonzeros_per_row=2.5, labels_per_row=2)
PROCESS = LIBRARY_BYTES + PARENT_BYTES + KERNEL_BYTES


def test_training_by_hand() -> None:
    run = training_memory(SHAPE, DATA, batch_size=8)
    part = 8 * 6000 // 2  # 256 of 512 buckets
    assert run.state == 5 * 64 * 1000 + 4 * 64 * 500 + 35 * 500 + part
    assert (run.step, run.best, run.choosing) == (0, 0, 0)
    assert run.data == 500 * (8 * 2.5 + 8 * 2 + 16) + 4 * 1000
    assert run.joining == 8 * 6000 + 6000 + SHAPE.repetition_bytes + 32 * 1000
    assert run.copying == part
    assert run.training == PROCESS + run.data + run.state + part


def test_the_parent_joins_parts_while_workers_train() -> None:
    one, two = (training_memory(SHAPE, DATA, 8, workers) for workers in (1, 2))
    assert two.worker == WORKER_BYTES + KERNEL_BYTES
    both = one.parent + POOL_BYTES + one.data + 2 * (one.state + two.worker)
    assert two.training == both + two.joining - two.copying  # one of the two has just begun


def test_nothing_waits_if_there_are_workers_enough() -> None:
    few, many = (training_memory(SHAPE, DATA, 8, workers) for workers in (7, 8))  # 4 repetitions of 2 parts
    assert (few.queued, many.queued) == (True, False)
    assert few.working == 7 * few.repetition + few.joining - few.copying
    assert many.working == 8 * many.repetition + many.copying  # more than joining beside 7


def test_choosing_takes_a_pruned_copy_of_the_weights() -> None:
    wide = Shape(700, 2**18, (), 512, 4, weights=6000)
    given, chosen = (training_memory(wide, DataSize(20_000, choosing=choosing), 8) for choosing in (False, True))
    assert given.choosing == 0
    assert chosen.total == chosen.choosing > given.total + 4 * 64 * 2**18 - 2**22


def test_rows_that_were_read_and_scaled_are_in_memory_at_a_time() -> None:
    run = training_memory(SHAPE, DataSize(10**6, 50, 2), 8)
    assert run.preparing > PROCESS + 2 * 8 * 50 * 10**6
    assert training_bytes(SHAPE, DataSize(10**6, 50, 2), 8) == run.total


def test_prediction_maps_the_stored_weights() -> None:
    more = Shape(700, 1000, (), 512, 4, weights=60_000)
    assert prediction_bytes(more) - prediction_bytes(SHAPE) == more.model_bytes - SHAPE.model_bytes


@linux_only
def test_a_small_run_takes_what_was_planned(tmp_path: Path) -> None:
    bench.train(cases.SMALL_LINEAR, tmp_path)  # compiles the kernels, where that was not done yet
    planned, measured = bench.train(cases.SMALL_LINEAR, tmp_path)
    assert 0.9 <= measured / planned <= 1.1
