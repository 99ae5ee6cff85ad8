"""The pruned search against the scan: the same labels and bits, whatever the shape, cells, index or threads."""

from __future__ import annotations

import threading
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
import pytest
from tests.decoding.kinds import FACTS, KINDS, Draw, all_equal, far_from_zero, quantised, relevant

from xmach._kernels.decode.scan import MEAN
from xmach.buckets import Index, UniversalHashes, computed, fill_tables, new_tables, stored, table_index
from xmach.decoding import Decoder
from xmach.decoding.estimators import prepare_cells, rule_of
from xmach.decoding.exact import Seen, scan
from xmach.decoding.pruned import PrunedSearch, Statistics
from xmach.errors import ParameterError
from xmach.types import AnyArray, FloatArray, TopK

CASES = 100  # shapes a kind and estimator
STUBBORN = 1e9  # the patience that never takes a scan for the cheaper way
ALL = Seen.of(None)


class Case(NamedTuple):
    """A drawn shape: its hashes as three indexes, k and the labels seen."""

    indexes: dict[str, Index]
    k: int
    seen: Seen

    @classmethod
    def draw(cls, draw: Draw) -> Case:
        n_labels = int(2 ** draw.uniform(0, 12))
        n_buckets, n_repetitions = int(2 ** draw.uniform(1, 9)), int(2 ** draw.uniform(0, 5.1))
        capacity = n_labels * int(draw.choice([1, 1, 1, 2, 20]))
        hashes = UniversalHashes.draw(n_labels, n_buckets, n_repetitions, int(draw.integers(2**32)), capacity)
        any_k = draw.integers(1, n_labels + 1)
        k = int(draw.choice([1, 1, 2, 3, 5, 5, 10, 20, 100, 1000, n_labels, n_labels + 3, any_k]))
        seen = None if draw.random() < 0.6 else draw.random(n_labels) < draw.choice([0.03, 0.5, 0.97])
        return cls(indexes_of(hashes), k, Seen.of(seen))


def stored_index(hashes: UniversalHashes) -> Index:
    tables = new_tables(hashes)
    fill_tables(hashes, tables)
    return stored(hashes, tables)


def indexes_of(hashes: UniversalHashes) -> dict[str, Index]:
    """A table is narrower than its hashes where no label is in the last bucket."""
    return {
        "stored": stored_index(hashes),
        "computed": computed(hashes),
        "table": table_index(hashes.signatures()),
    }


def checked(search: PrunedSearch, cells: FloatArray, seen: Seen, k: int) -> Statistics:
    """The search's statistics, once its ids and bits are the scan's."""
    scores, ids, statistics = search(cells, seen, k)
    expected_scores, expected_ids = scan(cells, search.index, seen, MEAN, k)
    np.testing.assert_array_equal(ids, expected_ids)
    assert scores.tobytes() == expected_scores.tobytes()
    return statistics


@pytest.mark.parametrize("estimator", ["mean", "log"])
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_cells_in_every_shape(kind: str, estimator: str) -> None:
    make, least = KINDS[kind]
    draw = np.random.default_rng([list(KINDS).index(kind), estimator == "log"])
    scanned = []
    for _ in range(CASES):
        case = Case.draw(draw)
        index = case.indexes["stored"]
        n_buckets = index.n_buckets + int(draw.choice([0, 0, 5]))  # a sketch may be wider
        rows = np.stack([make(draw, index.signatures, n_buckets) for _ in range(2)]).astype(np.float32)
        cells = prepare_cells(rows, rule_of(estimator))
        for index in case.indexes.values():
            scanned.append(checked(PrunedSearch(index, STUBBORN), cells, case.seen, case.k).scanned)
        checked(PrunedSearch(index), cells, case.seen, case.k)
    assert 1 - np.concatenate(scanned).mean() >= least


@pytest.mark.parametrize("kind", KINDS)
def test_labels_that_share_all_their_buckets(kind: str) -> None:
    draw, scanned = np.random.default_rng(list(KINDS).index(kind)), []
    for _ in range(CASES // 2):
        different, n_repetitions = int(2 ** draw.uniform(0, 8)), int(draw.integers(1, 20))
        rows = draw.integers(0, draw.integers(1, 250), (different, n_repetitions)).astype(np.uint8)
        index = table_index(rows[draw.integers(0, different, int(2 ** draw.uniform(0, 11)))])
        cells = KINDS[kind][0](draw, index.signatures, index.n_buckets + 1)[None].astype(np.float32)
        k = int(draw.integers(1, min(60, index.n_labels) + 1))
        scanned.append(checked(PrunedSearch(index, STUBBORN), cells, ALL, k).scanned[0])
        checked(PrunedSearch(index), cells, ALL, k)
    assert 1 - np.mean(scanned) >= KINDS[kind][1] / 2


def test_rounding_that_decides_who_is_among_the_best() -> None:
    # cells of 1000 and a bit: the float32 sum rounds by more than labels at the bar differ, and often makes them tie
    draw, scanned = np.random.default_rng(5), []
    for seed in range(150):
        hashes = UniversalHashes.draw(3000, 300, 32, seed)
        index = computed(hashes)
        base = 1000 + relevant(draw, hashes.signatures(), 300, 20, 0.7, 0.5) + 0.05 * draw.random((32, 300))
        scanned.append(checked(PrunedSearch(index, STUBBORN), base[None].astype(np.float32), ALL, 40).scanned[0])
    assert np.mean(scanned) < 0.5


def test_more_labels_reach_the_bar_than_are_written_down_at_a_time() -> None:
    index = table_index(np.random.default_rng(0).integers(0, 40, (200_000, 1)).astype(np.uint8))
    cells = (np.arange(40) % 2).astype(np.float32)[None, None]  # half of all labels tie
    statistics = checked(PrunedSearch(index, STUBBORN), cells, ALL, 100)
    assert not statistics.scanned[0]
    assert statistics.scored[0] > 100_000 - 2000


def test_it_ends_where_one_repetition_does_not_stand_for_all() -> None:
    # repetition 0 has many high cells, the others few, and far below there is nothing for millions of floats
    draw, (n_repetitions, n_buckets) = np.random.default_rng(0), (8, 640)
    cells = 0.01 * draw.random((1, n_repetitions, n_buckets), np.float32)
    cells[0, 0, :192] += 0.9
    cells[0, 1:, ::70] += 0.9
    for patience in (0.5, STUBBORN):
        search = PrunedSearch(computed(UniversalHashes.draw(20_000, n_buckets, n_repetitions)), patience)
        done = threading.Event()
        ask = threading.Thread(target=lambda: checked(search, cells, ALL, 5) and done.set(), daemon=True)  # noqa: B023
        ask.start()
        assert done.wait(120), "still searching"  # it takes a millisecond, once compiled


# K = 20,000 labels of which each bucket has exactly 100
BALANCED = np.stack([np.random.default_rng(r).permutation(20_000) % 200 for r in range(8)], axis=1).astype(np.uint8)


def clear_winner(label: int, signatures: AnyArray = BALANCED, n_buckets: int = 200) -> FloatArray:
    """A row whose best label has cells of 1, all others less than 0.001: (1, R, B)."""
    n_repetitions = signatures.shape[1]
    cells = 1e-3 * np.random.default_rng(label).random((1, n_repetitions, n_buckets), np.float32)
    cells[0, np.arange(n_repetitions), signatures[label]] = 1
    return cells


def test_statistics_of_a_clear_winner() -> None:
    search = PrunedSearch(table_index(BALANCED))
    statistics = checked(search, clear_winner(777), ALL, 1)
    assert not statistics.scanned[0]
    assert 8 <= statistics.lists[0] <= 200  # of 1600
    assert statistics.touched[0] == 100 * statistics.lists[0]
    assert 1 <= statistics.scored[0] <= statistics.touched[0]
    other = checked(search, clear_winner(5), ALL, 1)
    again = checked(search, clear_winner(777), ALL, 1)  # the search leaves no trace of a row to the next
    assert again == statistics
    both = checked(search, np.concatenate([clear_winner(777), clear_winner(5)]), ALL, 1)
    np.testing.assert_array_equal(both, np.concatenate([statistics, other], axis=1))


def test_statistics_of_rows_that_cannot_be_pruned() -> None:
    rows = np.concatenate([np.full((1, 8, 200), 0.1, np.float32), clear_winner(3), np.ones((1, 8, 200), np.float32)])
    assert checked(PrunedSearch(table_index(BALANCED)), rows, ALL, 3).scanned.tolist() == [True, False, True]
    few_seen = Seen.of(np.arange(20_000) < 2)
    assert checked(PrunedSearch(table_index(BALANCED)), rows, few_seen, 3).scanned.all()


@pytest.mark.parametrize("numbers", FACTS)
def test_stored_and_computed_read_the_same_lists(numbers: tuple[int, float, float]) -> None:
    draw, hashes = np.random.default_rng(1), UniversalHashes.draw(30_000, 500, 16, seed=3)
    table = hashes.signatures()
    cells = np.stack([relevant(draw, table, 500, *numbers) for _ in range(6)])
    first, second = (PrunedSearch(index) for index in (stored_index(hashes), computed(hashes)))
    of_stored, of_computed = checked(first, cells, ALL, 10), checked(second, cells, ALL, 10)
    np.testing.assert_array_equal(of_stored.lists, of_computed.lists)
    np.testing.assert_array_equal(of_stored.touched, of_computed.touched)
    np.testing.assert_array_equal(of_stored.scanned, of_computed.scanned)
    assert first(cells, ALL, 10)[1].tobytes() == second(cells, ALL, 10)[1].tobytes()
    assert not of_computed.scanned.all()


def test_computed_keeps_nothing_for_each_label() -> None:
    hashes = UniversalHashes.draw(20_000_000, 20_000, 3)
    table = np.stack([hashes.buckets(np.arange(99), r) for r in range(3)], axis=1)
    cells = clear_winner(77, table, 20_000)
    Decoder(UniversalHashes.draw(20_000, 20_000, 3), search="pruned", index="computed").top_k(cells, 5)  # compiled
    decoder = Decoder(hashes, search="pruned", index="computed")
    tracemalloc.start()
    try:
        top, statistics = decoder.search_top_k(cells, 5)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert top.ids[0, 0] == 77
    assert not statistics.scanned[0]
    assert peak < 12_000_000  # a byte a label would be 20 MB; at most 2^22 sums of 16 bits are 8
    assert sum(np.asarray(part).nbytes for part in computed(hashes)) < 200


def test_more_labels_than_sums() -> None:
    hashes = UniversalHashes.draw(5_000_000, 5000, 4, seed=1)
    draw, index = np.random.default_rng(0), computed(hashes)
    sample = np.stack([hashes.buckets(np.arange(4000), r) for r in range(4)], axis=1)
    cells = np.stack([relevant(draw, sample, 5000, count, 0.9, 0.3) for count in (3, 10, 30)])
    assert not checked(PrunedSearch(index), cells, ALL, 20).scanned.all()


def test_a_sum_that_is_full_stays_full_for_the_labels_that_share_it() -> None:
    # y has half of its sum when x fills it; with the other half y must still be found
    hashes = UniversalHashes.draw(5_000_000, 5000, 4, seed=1)
    search, won = PrunedSearch(computed(hashes), STUBBORN), 0
    for y in range(6):
        x = y + 2**22  # the same sum
        cells = 1e-4 * np.random.default_rng(y).random((1, 4, 5000), np.float32)
        for label, r, value in ((y, 0, 1.0), (x, 1, 1.3), (y, 2, 1.0)):
            cells[0, r, hashes.buckets(np.array([label]), r)] = value
        checked(search, cells, ALL, 1)
        won += search(cells, ALL, 1)[1][0, 0] == y
    assert won


def same(one: TopK, other: TopK) -> bool:
    return one.ids.tobytes() == other.ids.tobytes() and one.scores.tobytes() == other.scores.tobytes()


@pytest.mark.parametrize("index", ["stored", "computed"])
def test_any_number_of_threads_at_once(index: str) -> None:
    draw, hashes = np.random.default_rng(1), UniversalHashes.draw(20_000, 400, 8, seed=3)
    table = hashes.signatures()
    kinds = [lambda *a: relevant(*a, 5, 0.7, 0.5), all_equal, quantised, far_from_zero]
    sketch = np.stack([kinds[i % 4](draw, table, 400) for i in range(23)]).astype(np.float32)
    expected = Decoder(hashes, search="exact", index=index).top_k(sketch, 7, threads=1)
    decoder = Decoder(hashes, search="pruned", index=index)
    with ThreadPoolExecutor(4) as pool:  # the first calls make the tables, all at once
        answers = list(
            pool.map(lambda threads: decoder.search_top_k(sketch, 7, threads=threads), [1, 2, 3, 50, None] * 4)
        )
    assert all(same(top, expected) for top, _ in answers)
    for column in range(4):
        assert len({statistics[column].tobytes() for _, statistics in answers}) == 1
    assert {True, False} == set(answers[0][1].scanned.tolist())


def test_auto_prunes_where_labels_are_many() -> None:
    few = UniversalHashes.draw(30_000, 500, 8)
    many = UniversalHashes.draw(100_000, 500, 8)
    for hashes, k, scanned in ((few, 5, True), (many, 5, False), (many, 2000, True)):
        cells = clear_winner(9, hashes.signatures(), 500)
        top, statistics = Decoder(hashes).search_top_k(cells, k)
        assert top.ids[0, 0] == 9
        assert statistics.scanned.tolist() == [scanned]
        if scanned:
            assert (statistics.lists[0], statistics.touched[0], statistics.scored[0]) == (
                0,
                hashes.n_labels,
                hashes.n_labels,
            )
        assert same(top, Decoder(hashes, search="exact").top_k(cells, k))


@pytest.mark.parametrize("estimator", ["min", "median"])
def test_other_estimators_are_scanned(estimator: str) -> None:
    decoder = Decoder(BALANCED, estimator, search="pruned")
    top, statistics = decoder.search_top_k(clear_winner(6), 4)
    assert statistics.scanned.tolist() == [True]
    assert same(top, Decoder(BALANCED, estimator, search="exact").top_k(clear_winner(6), 4))


def test_computed_needs_the_hashes() -> None:
    with pytest.raises(ParameterError, match="index='computed' needs the hashes"):
        Decoder(BALANCED, index="computed")


@pytest.mark.slow
@pytest.mark.parametrize("numbers", FACTS)
def test_no_difference_at_the_size_of_amazon_670k(numbers: tuple[int, float, float]) -> None:
    draw, hashes = np.random.default_rng(2), UniversalHashes.draw(670_000, 10_000, 32)
    index = stored_index(hashes)
    searches = PrunedSearch(index), PrunedSearch(computed(hashes))
    for i in range(100):
        cells = relevant(draw, index.signatures, 10_000, *numbers)[None]
        checked(searches[i % 2], prepare_cells(cells, rule_of(("mean", "log")[i // 2 % 2])), ALL, (5, 100)[i % 3 == 0])
