"""The pruned search's kernel against the slow scan, and what it leaves in its working memory."""

from __future__ import annotations

import numpy as np
import pytest
from tests.reference.index import sort_into_buckets_slow
from tests.reference.scan import scan_top_k_slow

from xmach._kernels.decode.index import Index
from xmach._kernels.decode.lists import LISTS, SCANNED, SCORED, TOUCHED, make_scratch
from xmach._kernels.decode.pruned import pruned_top_k
from xmach._kernels.decode.scan import MEAN
from xmach.types import AnyArray, BoolArray, FloatArray, IntArray

NO_MASK = np.zeros(0, np.bool_)
STUBBORN = 1e9


def index_of(signatures: AnyArray, n_buckets: int) -> Index:
    """Tables made by the slow twins."""
    lists = [sort_into_buckets_slow(column, n_buckets) for column in signatures.T]
    offsets, labels = np.stack([o for o, _ in lists]), np.stack([x for _, x in lists]).astype(np.int32)
    nothing = np.zeros(signatures.shape[1], np.int64)
    return Index(len(signatures), n_buckets, 0, nothing, nothing, nothing, signatures, offsets, labels)


def search(
    cells: FloatArray, index: Index, mask: BoolArray, k: int, patience: float
) -> tuple[FloatArray, IntArray, IntArray]:
    """Scores, ids and statistics; the working memory must be left as it was found."""
    longest = int(np.diff(index.offsets, axis=1).max())
    scratch = make_scratch(index.n_labels, cells.shape[1], cells.shape[2], longest)
    scores, ids = np.full((len(cells), k), np.nan, np.float32), np.full((len(cells), k), 99, np.int64)
    statistics = np.full((len(cells), 4), -1, np.int64)
    pruned_top_k(cells, index, mask, scratch, patience, scores, ids, statistics)
    assert not scratch.sums.any()
    assert (scratch.recent == -1).all()
    return scores, ids, statistics


def peaked_rows(draw: np.random.Generator, n: int, n_repetitions: int, n_buckets: int, steps: int) -> FloatArray:
    """Few high cells; with `steps` many cells and labels tie."""
    cells = draw.random((n, n_repetitions, n_buckets)) ** 8
    return (np.floor(cells * steps) / steps if steps else cells).astype(np.float32)


@pytest.mark.parametrize("steps", [0, 4, 64])
@pytest.mark.parametrize("patience", [5.0, STUBBORN])
def test_it_gives_the_slow_scans_answer_or_none(steps: int, patience: float) -> None:
    draw, pruned = np.random.default_rng(steps), 0
    for _ in range(80):
        n_labels, n_repetitions, n_buckets = (int(size) for size in draw.integers([1, 1, 2], [700, 12, 90]))
        signatures = draw.integers(0, n_buckets, (n_labels, n_repetitions)).astype(np.uint8)
        mask = NO_MASK if draw.random() < 0.5 else draw.random(n_labels) < 0.7
        mask[:1] = True  # as long as there is a mask, somebody is in it
        k = int(draw.integers(1, 1 + min(30, np.count_nonzero(mask) if len(mask) else n_labels)))
        cells = peaked_rows(draw, 3, n_repetitions, n_buckets, steps)
        scores, ids, statistics = search(cells, index_of(signatures, n_buckets), mask, k, patience)
        expected_scores, expected_ids = scan_top_k_slow(cells, signatures, mask, True, MEAN, k)
        found = statistics[:, SCANNED] == 0
        np.testing.assert_array_equal(ids[found], expected_ids[found])
        assert scores[found].tobytes() == expected_scores[found].tobytes()
        assert (statistics >= 0).all()
        pruned += int(found.sum())
    assert pruned >= 20


def test_patience_is_what_decides_to_give_up() -> None:
    draw = np.random.default_rng(0)
    signatures = draw.integers(0, 50, (5000, 8)).astype(np.uint8)
    index, cells = index_of(signatures, 50), peaked_rows(draw, 4, 8, 50, 0)
    assert (search(cells, index, NO_MASK, 3, 0.0)[2][:, SCANNED] == 1).all()
    assert (search(cells, index, NO_MASK, 3, STUBBORN)[2][:, SCANNED] == 0).all()


def test_cells_too_large_for_bounds_are_given_up_at_once() -> None:
    index = index_of(np.arange(100, dtype=np.uint8)[:, None] % 10, 10)
    cells = np.zeros((2, 1, 10), np.float32)
    cells[0, 0, 3], cells[1, 0, 3] = 2e30, 1.0
    statistics = search(cells, index, NO_MASK, 2, STUBBORN)[2]
    assert statistics[0].tolist() == [0, 0, 0, 1]
    assert statistics[1, SCANNED] == 0


def test_each_list_and_label_is_counted() -> None:
    index = index_of(np.arange(100, dtype=np.uint8)[:, None] % 10, 10)  # one repetition, ten lists of ten labels
    cells = np.linspace(0, 1, 10, dtype=np.float32)[None, None]
    _, ids, statistics = search(cells, index, NO_MASK, 2, STUBBORN)
    assert ids.tolist() == [[9, 19]]
    assert statistics[0, TOUCHED] == 10 * statistics[0, LISTS]
    assert 10 <= statistics[0, SCORED] <= statistics[0, TOUCHED]


@pytest.mark.parametrize(("n_labels", "sums"), [(1, 64), (65, 128), (2**22, 2**22), (2**22 + 1, 2**22)])
def test_working_memory_is_bounded(n_labels: int, sums: int) -> None:
    scratch = make_scratch(n_labels, 4, 100, 50)
    assert len(scratch.sums) == sums
    assert sum(part.nbytes for part in scratch) < 9_500_000
    assert scratch.members.shape == (1, 50)
    assert len(scratch.found) >= 100  # a list more than the longest, when it is almost full
