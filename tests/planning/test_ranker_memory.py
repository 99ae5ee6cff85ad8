"""The memory of a second stage: by hand, and against the peaks of real processes."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest
from benchmarks import memory as bench
from benchmarks import memory_cases as cases

from xmach.errors import ParameterError
from xmach.planning import (
    DataSize,
    RankerSize,
    Request,
    Shape,
    expected_ranker,
    held_out_size,
    negative_step,
    prediction_bytes,
    propose,
    training_memory,
    workers_within,
)
from xmach.planning.ranker_memory import BEAM_BYTES, RANKING_BYTES, ranker_steps, trial_size

linux_only = pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc")
RANKER = RankerSize(profile_entries=3000, weights=5000, tried_weights=8000, listed=20)
SHAPE = Shape(n_labels=700, n_features=1000, hidden=(), n_buckets=512, n_repetitions=4, weights=6000, ranker=RANKER)
DATA = DataSize(n_rows=500, nonzeros_per_row=2.5, labels_per_row=2)
MANY = DataSize(n_rows=300_000, nonzeros_per_row=10, labels_per_row=2)


def test_the_steps_by_hand() -> None:
    steps = ranker_steps(SHAPE, RANKER, DATA, stored=True)
    rows = 8 * 1250 + 8 * 500
    labels = 8 * 1000 + 8 * 700 + 8 * 1000 + 8 * 500  # by label, and as they are in the file
    profiles = RANKER.profile_bytes(700, 1000)
    assert steps.shard == 16 * 8000 + 12 * 1000  # one shard has all labels
    assert steps.profiles == rows + labels + 16 * 3000 + 12 * 1000
    assert steps.shortlists == rows + labels + profiles + 4 * 20 * 500 + 16 * 700
    assert steps.classifiers == rows + labels + profiles + 4 * 20 * 500 + 8 * 700 + steps.shard
    in_memory = ranker_steps(SHAPE, RANKER, DATA, stored=False)
    assert in_memory.shortlists - steps.shortlists == 4 * 20 * 500
    assert in_memory.classifiers - steps.classifiers == 8 * 8000


def test_a_ranker_counts_in_the_peak_of_training() -> None:
    without, with_ranker = (training_memory(replace(SHAPE, ranker=ranker), DATA, 8) for ranker in (None, RANKER))
    assert without.ranking == 0
    assert with_ranker.total == with_ranker.ranking > without.total + RANKING_BYTES
    assert replace(with_ranker, ranking=0) == without
    more = replace(SHAPE, ranker=replace(RANKER, listed=RANKER.listed + 20_000))
    assert training_memory(more, DATA, 8).ranking > with_ranker.ranking + 0.9 * 4 * 10**7


def test_of_many_rows_some_give_negatives() -> None:
    size = expected_ranker("linear", 700, 1000, MANY)
    assert (size.listed, negative_step(300_000, 700), negative_step(99_999, 700)) == (60, 6, 1)
    assert size.negatives(300_000, 700) == 60 * 50_000
    assert size.negatives(300_000, 200_000) == 60 * 300_000  # every label gets some
    assert size.negatives(100_001, 700) == 60 * 50_001


def test_term_weights_count_if_labels_have_texts() -> None:
    steps = ranker_steps(SHAPE, replace(RANKER, text_entries=10**6), DATA, stored=True)
    without = ranker_steps(SHAPE, RANKER, DATA, stored=True)
    lists = replace(RANKER, text_entries=10**6).text_bytes(700, 1000)
    learned = 17 * 10**6 + lists + 18 * 500 * 102 + 16 * 1250 + 44 * 1000
    assert steps.texts == without.texts + lists + learned
    assert steps.profiles == without.profiles + lists  # they stay


def test_a_trial_model_has_a_copy_of_most_rows() -> None:
    rows = trial_size(replace(DATA, n_rows=100_000))
    assert rows is not None
    assert (rows.n_rows, rows.n_validation, rows.copied) == (95_000, 5000, True)
    for size in (replace(DATA, n_validation=10), replace(DATA, n_rows=199), MANY):
        assert trial_size(size) is None


def test_of_many_rows_those_that_are_kept_are_copied() -> None:
    size = held_out_size(MANY)
    assert (size.n_rows, size.n_validation, size.copied) == (295_000, 5000, True)
    assert held_out_size(DATA) == DATA
    copied, mapped = (training_memory(SHAPE, replace(size, copied=copied), 8) for copied in (True, False))
    assert copied.data - mapped.data == size.mapped_bytes(1000)


def test_workers_make_shards_of_many_rows() -> None:
    size = held_out_size(MANY)
    one, two, three = (training_memory(SHAPE, size, 8, workers).ranking for workers in (1, 2, 3))
    assert one < two < three


def test_a_stored_ranker_is_mapped_while_predicting() -> None:
    without = prediction_bytes(replace(SHAPE, ranker=None), DATA, threads=1)
    more = replace(SHAPE, ranker=replace(RANKER, text_entries=10**7))
    grown = prediction_bytes(SHAPE, DATA, threads=1) - without
    assert SHAPE.ranker_bytes < grown < SHAPE.ranker_bytes + BEAM_BYTES
    assert more.ranker_bytes > SHAPE.ranker_bytes + 2 * 10**7
    assert prediction_bytes(more, DATA, threads=1) - without >= grown + more.ranker_bytes - SHAPE.ranker_bytes


def test_the_expected_ranker() -> None:
    data = DataSize(20_756, 19, 11.2)  # citeulike_t; docs/ranking.md has what came out
    found = expected_ranker("linear", 46_316, 20_000, data)
    assert found.profile_entries == pytest.approx(2.4e6, rel=0.3)
    assert found.weights == pytest.approx(3.0e6, rel=0.2)
    assert found.tried_weights > found.weights
    profiles = expected_ranker("profile", 46_316, 20_000, data)
    assert profiles == RankerSize(found.profile_entries)
    limited = expected_ranker("linear", 46_316, 20_000, data, most_bytes=10**6)
    assert limited.profile_entries + limited.dropped_entries == pytest.approx(found.profile_entries, abs=1)
    assert limited.stored_bytes(46_316, 20_000) < found.stored_bytes(46_316, 20_000)
    assert limited.tried_weights == found.tried_weights  # they are dropped when they are joined
    assert limited.tried_weights - limited.dropped_weights == 250_000


def test_a_budget_that_only_the_ranker_exceeds() -> None:
    needed = training_memory(SHAPE, DATA, 8)
    with pytest.raises(ParameterError, match=r"training the ranker takes .* or ranker none"):
        workers_within(needed.total - 1, SHAPE, DATA, 8, most=1)
    request = Request(700, 1000, data=DATA, learner="linear", ranker="linear")
    proposal = propose(request)
    assert proposal.shape.ranker is not None
    assert any("the ranker is expected to take" in reason for reason in proposal.reasons)
    assert propose(replace(request, ranker="none")).shape.ranker is None


@linux_only
def test_a_small_run_takes_what_was_planned(tmp_path: Path) -> None:
    bench.train(cases.SMALL_RANKED, tmp_path)  # compiles the kernels, where that was not done yet
    planned, measured = bench.train(cases.SMALL_RANKED, tmp_path)
    assert 0.9 <= measured / planned <= 1.1
