"""Memory by hand, and against the peaks of real processes."""

from __future__ import annotations

import ast
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from benchmarks import memory as bench
from benchmarks import memory_cases as cases

import xmach
from xmach import block_sizes
from xmach._kernels.decode.lists import make_scratch
from xmach._kernels.text.lookup import table_places
from xmach.block_sizes import COUNTED_TOKENS
from xmach.errors import ParameterError
from xmach.features import VocabularyText
from xmach.planning import DataSize, Shape, prediction_bytes, training_bytes, training_memory
from xmach.planning import memory as module
from xmach.planning.memory import DECODER_BYTES, LIBRARY_BYTES, PARENT_BYTES, POOL_BYTES, WORKER_BYTES, WRITER_BYTES

linux_only = pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc")
SHAPE = Shape(n_labels=700, n_features=1000, hidden=(20,), n_buckets=30, n_repetitions=4)
FIRST, REST = 1000 * 20, 20 + 20 * 30 + 30  # the first layer's weights; biases and the last layer
PROCESS = LIBRARY_BYTES + PARENT_BYTES


def test_training_by_hand() -> None:
    data = DataSize(n_rows=500, nonzeros_per_row=2.5, labels_per_row=2)
    run = training_memory(SHAPE, data, batch_size=8)
    assert run.state == 12 * (FIRST + REST)
    assert run.step == 4 * REST + 4 * 2 * 8 * (20 + 30) + (40 + 24) * 20 + 8 * 1000 + 8 * 500
    assert run.data == 500 * (8 * 2.5 + 8 * 2 + 16)
    assert run.total == run.training == PROCESS + run.data + run.state + run.step
    assert training_bytes(SHAPE, data, 8) == run.total


def test_dense_rows_have_a_gradient_of_the_first_layer() -> None:
    run = training_memory(SHAPE, DataSize(n_rows=500, sparse=False), batch_size=8)
    assert run.step == 4 * (FIRST + REST) + 4 * 2 * 8 * (20 + 30) + (16 + 4) * 8 * 1000 + 8 * 500
    assert run.data == 500 * (4 * 1000 + 8 + 16)


def test_workers_share_the_data() -> None:
    data = DataSize(n_rows=500)
    one, three = (training_memory(SHAPE, data, 8, workers) for workers in (1, 3))
    assert three.total == one.parent + POOL_BYTES + one.data + 3 * (one.repetition + WORKER_BYTES)
    assert training_memory(SHAPE, data, 8, pool=True).worker == WORKER_BYTES  # a pool of one is a process of its own


def test_validation_rows_cost_a_copy_and_all_models_in_the_end() -> None:
    without, with_rows = (training_memory(SHAPE, DataSize(500, n_validation=n), 8) for n in (0, 50))
    assert (without.best, without.settling) == (0, 0)
    assert with_rows.best == SHAPE.repetition_bytes
    many = Shape(700, 1000, (2000,), 30, 100)
    run = training_memory(many, DataSize(500, n_validation=50), 8)
    assert run.total == run.settling > many.model_bytes


def test_a_vocabulary_is_kept_and_learning_it_is_a_peak() -> None:
    plain, known = (DataSize(500, 20.0, source="text", vocabulary=n) for n in (0, 215_000))
    kept = 8 * (215_000 + 2**19)  # keys, and a table that is at most half full
    assert (known.vocabulary_bytes, plain.vocabulary_bytes, plain.learning_bytes) == (kept, 0, 0)
    assert known.vocabulary_bytes == 8 * (215_000 + table_places(215_000))
    assert training_bytes(SHAPE, known, 8) - training_bytes(SHAPE, plain, 8) == kept
    assert prediction_bytes(SHAPE, known) - prediction_bytes(SHAPE, plain) == kept
    assert known.learning_bytes == 80 * 500  # a distinct token in 20 values
    many = DataSize(10**9, 20.0, source="text", vocabulary=215_000)
    assert many.learning_bytes == 144 * COUNTED_TOKENS
    with pytest.raises(ParameterError, match="a vocabulary is of text, but source is 'numbers'"):
        DataSize(vocabulary=5)


def test_learning_a_vocabulary_stays_within_what_is_planned() -> None:
    """A thousandth of the tokens that can be held, of a thousandth of the size; many times as many distinct ones."""
    held, rng = 1 << 12, np.random.default_rng(0)
    warm, learner = (VocabularyText(words=100, bigrams=100, trigrams=100).learner(held) for _ in range(2))
    texts = [" ".join(map(str, rng.integers(0, 2**60, 200))) for _ in range(50)]
    warm.add(texts)  # loads every kernel
    tracemalloc.start()
    try:
        for start in range(0, 50, 5):
            learner.add(texts[start : start + 5])
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert min(learner.slack[:2]) > 0
    block = 40 * sum(len(text) for text in texts[:5])  # the tokens of a block: counted with the reading of text
    assert peak < 144 * held + block


def test_models_that_no_store_takes_are_held() -> None:
    run = training_memory(SHAPE, DataSize(), 8, models_held=4)
    assert run.total - training_bytes(SHAPE, DataSize(), 8) == SHAPE.model_bytes


def test_training_a_large_network_is_mostly_adam() -> None:
    # Wiki10-31K's network: the sparse first layer keeps no gradient, so three copies and little more
    wiki = Shape(30_938, 101_938, (500, 500), 2000, 32)
    assert training_bytes(wiki, DataSize(), 100) - PROCESS == pytest.approx(3 * wiki.repetition_bytes, rel=0.03)


def test_reading_can_take_more_than_training() -> None:
    run = training_memory(Shape(10, 50, (), 2, 1), DataSize(n_rows=100_000, nonzeros_per_row=50), 8)
    assert run.total == run.preparing > run.training


def test_prediction_by_hand() -> None:
    data = DataSize(nonzeros_per_row=10)
    sketch, layers = 8 * 4 * 4 * 30, 4 * 8 * (20 + 30)
    file = 8 * (8 * 10 + 8 + 16)
    kept = SHAPE.model_bytes + 4 * 1000 + 5 * 700 + 700 * 4  # counts and a mask of labels; one byte a bucket
    plain = PROCESS + DECODER_BYTES + WRITER_BYTES + file + kept + 2.25 * sketch + 40 * 80
    assert prediction_bytes(SHAPE, data, rows=8, threads=1) == plain + layers
    assert prediction_bytes(SHAPE, data, rows=8, threads=3) == plain + 3 * layers
    assert prediction_bytes(SHAPE, data, rows=8, threads=9) == plain + 4 * layers  # no more than repetitions


def test_a_single_batch_is_let_go_before_its_answers_are_written() -> None:
    several, one = (prediction_bytes(Shape(700, 1000, (20,), 5000, 4), DataSize(n), rows=900) for n in (901, 900))
    assert several - one == WRITER_BYTES - 24 * 700  # then the moment when the table is made is the peak


def test_a_decoder_of_many_labels_has_lists_and_searches_them() -> None:
    few, many = (Shape(n, 1000, (20,), 30, 4) for n in (30_000, 30_001))
    grown = prediction_bytes(many, rows=8, threads=1) - prediction_bytes(few, rows=8, threads=1)
    lists = 4 * (4 * 30_001 + 8 * 31)
    scratch = 2 * 2**15 + 8 * 4 * 30 + 8 * (2 * 30_001 // 30) + 9 * 2**14
    assert grown == 5 + 4 + lists + scratch + 0.75 * 8 * 4 * 4 * 30  # one label more; rows that are scanned after all


def test_large_tables_are_not_made() -> None:
    """Beside the counts of labels nothing grows with their number: the hash computes the tables."""
    stored, computed = Shape(5_000_000, 1000, (20,), 1000, 8), Shape(6_000_000, 1000, (20,), 1000, 8)
    bare = [
        prediction_bytes(shape, rows=8, threads=1) - 5 * shape.n_labels - 8 * (2 * shape.n_labels // 1000)
        for shape in (stored, computed)
    ]
    tables = 5_000_000 * 8 * 6 + 8 * 8 * 1001
    making = 5_000_000 * 8 * 2 + 5_000_000 * 2  # all signatures for a second time, and one column of them
    scratch = 2 * 2**22 + 8 * 8 * 1000 + 9 * 2**14
    hidden = 8 * (2 * 5_000_000 // 1000)  # lists of the stored shape: no scratch at the moment of its peak
    assert bare[0] - bare[1] == tables + making - scratch - WRITER_BYTES - hidden
    large, larger = (prediction_bytes(Shape(n, 1000, (20,), 1000, 8), rows=8) for n in (50_000_000, 100_000_000))
    assert 5 * 50_000_000 < larger - large < 5.1 * 50_000_000 + 2**20 * 8


def test_a_sketch_of_many_buckets_is_cut_to_its_bytes() -> None:
    wide = Shape(700, 10, (), 50_000, 32)
    most = 64 * 2**20 // (4 * 32 * 50_000)
    file = (4096 - most) * (8 * 100 + 8 + 16)
    assert prediction_bytes(wide, rows=4096) == prediction_bytes(wide, rows=most) + file


def test_every_block_size_is_used_by_its_owner_and_by_the_planner() -> None:
    """One definition each: whoever works in blocks and the planner import the same name."""
    root = Path(xmach.__file__).parent
    users: dict[str, set[str]] = {name: set() for name in vars(block_sizes) if name.isupper()}
    for path in root.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and node.module == "xmach.block_sizes":
                for each in node.names:
                    users[each.name].add(str(path.relative_to(root)))
    for name, files in users.items():
        assert any(file.startswith("planning/") for file in files), name
        assert len(files) >= 2, name


@pytest.mark.parametrize(("n_labels", "n_buckets"), [(20_000, 300), (10_000_000, 5000)])
def test_a_search_has_the_scratch_that_is_planned(n_labels: int, n_buckets: int) -> None:
    scratch = make_scratch(n_labels, 8, n_buckets, 2 * n_labels // n_buckets)
    assert sum(array.nbytes for array in scratch) == pytest.approx(
        module._scratch_bytes(Shape(n_labels, 10, (), n_buckets, 8)), rel=0.01
    )


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: training_bytes(SHAPE, DataSize(), 0), "batch_size must be a whole number of at least 1, got 0"),
        (lambda: training_bytes(SHAPE, DataSize(), 8, 0), "workers must be a whole number of at least 1, got 0"),
        (lambda: DataSize(source="tape"), "source must be one of numbers, table, text; got 'tape'"),
        (lambda: DataSize(n_rows=-1), "n_rows must be a whole number of at least 0, got -1"),
        (lambda: DataSize(nonzeros_per_row=-1), r"nonzeros_per_row must be a number in \[0, inf\), got -1"),
        (lambda: DataSize(labels_per_row=float("nan")), r"labels_per_row must be a number in \[0, inf\), got nan"),
    ],
)
def test_parameters_refused(call: Callable[[], object], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        call()


@linux_only
def test_a_small_run_takes_what_was_planned(tmp_path: Path) -> None:
    bench.train(cases.SMALL, tmp_path)  # compiles the kernels, where that was not done yet
    planned, measured = bench.train(cases.SMALL, tmp_path)
    assert 0.9 <= measured / planned <= 1.1


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder to work in, once every kernel has been compiled."""
    folder = tmp_path_factory.mktemp("memory")
    bench.warm_up(folder)
    return folder


@linux_only
@pytest.mark.slow
@pytest.mark.parametrize("name", cases.TRAINING)
def test_training_takes_what_was_planned(name: str, compiled: Path) -> None:
    planned, measured = bench.train(cases.TRAINING[name], compiled)
    assert 0.9 <= measured / planned <= 1.1


@linux_only
@pytest.mark.slow
@pytest.mark.parametrize("name", cases.PREDICTION)
def test_predicting_takes_what_was_planned(name: str, compiled: Path) -> None:
    planned, measured = bench.predict(cases.PREDICTION[name], compiled)
    assert 0.9 <= measured / planned <= 1.1
