"""The beam's kernels against their twins, and what they leave in their working memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.reference.beam import beam_top_k_slow, best_buckets_slow, ordinary_slow, partial_sums_slow

from xmach._kernels.decode import beam_lists
from xmach._kernels.decode.beam import beam_top_k, best_buckets
from xmach._kernels.decode.beam_lists import MOST_READ, make_beam_scratch
from xmach._kernels.decode.index import Index
from xmach._kernels.decode.lists import LISTS, SCANNED, SCORED, TOUCHED
from xmach._kernels.decode.scan import MEAN, MEDIAN, MIN
from xmach.buckets import UniversalHashes, computed, table_index
from xmach.types import BoolArray, FloatArray, IntArray

NO_MASK = np.zeros(0, np.bool_)


def search(
    cells: FloatArray, index: Index, mask: BoolArray, rule: int, m: int, c: int, k: int
) -> tuple[FloatArray, IntArray, IntArray]:
    """Scores, ids and statistics; the working memory must be left as it was found."""
    longest = index.prime // index.n_buckets + 1
    scratch = make_beam_scratch(index.n_labels, cells.shape[2], longest)
    scores, ids = np.full((len(cells), k), np.nan, np.float32), np.full((len(cells), k), 99, np.int64)
    statistics = np.full((len(cells), 4), -1, np.int64)
    beam_top_k(cells, index, mask, scratch, rule, m, c, scores, ids, statistics)
    assert not scratch.sums.any()
    assert (scratch.owners == -1).all()
    return scores, ids, statistics


def rows(draw: np.random.Generator, n: int, n_repetitions: int, n_buckets: int, steps: int) -> FloatArray:
    """Few high cells of either sign; with `steps` many cells and labels tie."""
    cells = draw.random((n, n_repetitions, n_buckets)) ** 8 - 0.2
    return (np.floor(cells * steps) / steps if steps else cells).astype(np.float32)


@pytest.mark.parametrize("steps", [0, 1, 4])
def test_best_buckets_are_those_of_a_sort(steps: int) -> None:
    draw = np.random.default_rng(steps)
    for _ in range(60):
        n_repetitions, n_buckets = (int(size) for size in draw.integers([1, 1], [5, 300]))
        m = int(draw.integers(1, n_buckets + 1))
        cells = rows(draw, 1, n_repetitions, n_buckets, steps)[0]
        scratch = make_beam_scratch(9, n_buckets, 1)
        values, buckets = np.empty((n_repetitions, m), np.float32), np.empty((n_repetitions, m), np.int64)
        ordinary = np.empty(n_repetitions, np.float32)
        best_buckets(cells, scratch, values, buckets, ordinary)
        np.testing.assert_array_equal(buckets, np.sort(best_buckets_slow(cells, m)))
        np.testing.assert_array_equal(values, np.take_along_axis(cells, buckets, axis=1))
        medians = np.array([ordinary_slow(row) for row in cells])
        np.testing.assert_array_equal(ordinary, np.minimum(medians, values.min(axis=1)))


@pytest.mark.parametrize("rule", [MEAN, MIN, MEDIAN])
@pytest.mark.parametrize("steps", [0, 1, 4])
def test_it_gives_the_answer_of_its_twin_with_every_index(steps: int, rule: int) -> None:
    draw, full = np.random.default_rng([steps, rule]), 0
    for seed in range(40):
        n_labels, n_repetitions, n_buckets = (int(size) for size in draw.integers([1, 1, 2], [700, 12, 90]))
        hashes = UniversalHashes.draw(n_labels, n_buckets, n_repetitions, seed)
        mask = NO_MASK if draw.random() < 0.5 else draw.random(n_labels) < 0.7
        m = int(draw.integers(1, 1 + n_buckets))
        k = int(draw.integers(1, 1 + min(30, n_labels)))
        c = k + int(draw.integers(0, 50))
        cells = rows(draw, 3, n_repetitions, n_buckets, steps)
        expected = beam_top_k_slow(cells, hashes.signatures(), mask, rule, m, c, k)
        table = table_index(hashes.signatures())
        for index in (table, computed(hashes)):
            narrow = np.ascontiguousarray(cells[:, :, : index.n_buckets])
            scores, ids, statistics = search(narrow, index, mask, rule, min(m, index.n_buckets), c, k)
            if index.n_buckets < n_buckets:  # the last bucket is empty: the table does not know of it
                continue
            np.testing.assert_array_equal(ids, expected[1])
            assert scores.tobytes() == expected[0].tobytes()
            np.testing.assert_array_equal(statistics[:, SCORED], expected[2])
            np.testing.assert_array_equal(statistics[:, SCANNED], expected[2] < k)
            full += int((expected[2] == c).sum())
    assert full > 20


def test_lists_and_labels_are_counted() -> None:
    index = table_index(np.arange(100, dtype=np.uint8)[:, None] % 10)  # one repetition, ten lists of ten labels
    cells = np.linspace(0, 1, 10, dtype=np.float32)[None, None]
    _, ids, statistics = search(cells, index, NO_MASK, MEAN, 3, 15, 2)
    assert ids.tolist() == [[9, 19]]
    assert statistics.tolist() == [[3, 30, 15, 0]]


@pytest.mark.parametrize("value", [0.0, 0.1, -3e38, 3e38, 1e-44])
def test_a_flat_row_costs_what_every_row_costs(value: float) -> None:
    hashes = UniversalHashes.draw(3000, 100, 6, seed=1)
    for index in (table_index(hashes.signatures()), computed(hashes)):
        cells = np.full((1, 6, 100), value, np.float32)
        _, ids, statistics = search(cells, index, NO_MASK, MEAN, 5, 40, 10)
        assert statistics[0, LISTS] == 30
        assert statistics[0, SCORED] == 40
        assert statistics[0, TOUCHED] == partial_sums_slow(cells[0], hashes.signatures(), 5)[1]
        assert len(set(ids[0].tolist())) == 10


def test_cells_of_any_size_are_told_apart() -> None:
    hashes = UniversalHashes.draw(2000, 50, 4, seed=1)
    draw = np.random.default_rng(0)
    cells = (draw.choice([-8e37, -1.0, 0.0, 1e-45, 8e37], (4, 4, 50))).astype(np.float32)
    index = table_index(hashes.signatures())
    found = search(cells, index, NO_MASK, MEAN, 9, 60, 20)
    expected = beam_top_k_slow(cells, hashes.signatures(), NO_MASK, MEAN, 9, 60, 20)
    np.testing.assert_array_equal(found[1], expected[1])
    np.testing.assert_array_equal(found[0], expected[0])


def test_what_is_read_is_bounded() -> None:
    signatures = np.zeros((2 * MOST_READ, 2), np.uint8)
    signatures[:5, 1] = 1
    cells = np.zeros((1, 2, 2), np.float32)
    cells[0, 1, 1] = 1.0
    scores, ids, statistics = search(cells, table_index(signatures), NO_MASK, MEAN, 2, 100, 9)
    assert ids.tolist() == [list(range(9))]
    assert scores[0, 4] > scores[0, 5]
    assert statistics.tolist() == [[3, MOST_READ, 100, 0]]


def test_more_labels_than_sums(monkeypatch: pytest.MonkeyPatch) -> None:
    hashes = UniversalHashes.draw(5000, 50, 5, seed=2)
    cells = rows(np.random.default_rng(0), 4, 5, 50, 0)
    for index in (table_index(hashes.signatures()), computed(hashes)):
        expected = search(cells, index, NO_MASK, MEAN, 6, 200, 30)
        with monkeypatch.context() as patch:
            patch.setattr(beam_lists, "_MOST_SUMS", 12)  # 2^12 sums for some 2,300 labels that are met
            found: Any = search(cells, index, NO_MASK, MEAN, 6, 200, 30)
        for one, other in zip(found, expected, strict=True):
            assert one.tobytes() == other.tobytes()


@pytest.mark.parametrize("n_labels", [1, 1000, 2**21, 2**21 + 1, 2**31 - 1])
def test_working_memory_is_bounded(n_labels: int) -> None:
    scratch = make_beam_scratch(n_labels, 100, 2**31)
    assert sum(part.nbytes for part in scratch) < 30_000_000
    assert len(scratch.sums) >= min(n_labels, 2 * MOST_READ)
    assert len(scratch.owners) == (2**21 if n_labels > 2**21 else 0)


@pytest.mark.parametrize("shared", [False, True])
def test_labels_beyond_the_last_in_a_damaged_table_are_left_out(shared: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if shared:
        monkeypatch.setattr(beam_lists, "_MOST_SUMS", 11)
    index = table_index(UniversalHashes.draw(3000, 50, 4, seed=1).signatures())
    cells = rows(np.random.default_rng(0), 6, 4, 50, 0)
    index.labels[:, ::7] += 1_000_000
    index.labels[:, 1::7] = -5
    index.labels[:, 2::7] = 7  # its sum has an end
    _, ids, statistics = search(cells, index, NO_MASK, MEAN, 5, 3000, 20)
    assert ids.min() >= 0
    assert ids.max() < 3000
    assert not statistics[:, SCANNED].any()
