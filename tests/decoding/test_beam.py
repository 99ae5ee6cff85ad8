"""The beam search: exact scores, the decoder's order, every option; what it misses is bounded here, too."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from tests.decoding.kinds import FACTS, KINDS, relevant
from tests.decoding.test_pruned import indexes_of

from xmach._kernels.decode.scan import MEAN
from xmach.buckets import LearnedBuckets, UniversalHashes
from xmach.decoding import ESTIMATORS, Decoder, decode
from xmach.decoding.beam import BeamSearch, BeamSize
from xmach.decoding.estimators import prepare_cells, rule_of
from xmach.decoding.exact import Seen, scan
from xmach.errors import ParameterError
from xmach.types import FloatArray, TopK

K, B, R = 20_000, 400, 8
HASHES = UniversalHashes.draw(K, B, R, seed=3)
N = 12


def sketches(n: int = N, hashes: UniversalHashes = HASHES) -> FloatArray:
    draw, table = np.random.default_rng(1), hashes.signatures()
    return np.stack([relevant(draw, table, hashes.n_buckets, *FACTS[i % len(FACTS)]) for i in range(n)])


def recall(found: TopK, exact: TopK) -> float:
    pairs = zip(found.ids.tolist(), exact.ids.tolist(), strict=True)
    return float(np.mean([len(set(one) & set(other)) / len(other) for one, other in pairs]))


def assert_same(found: TopK, expected: TopK) -> None:
    assert found.ids.tobytes() == expected.ids.tobytes()
    assert found.scores.tobytes() == expected.scores.tobytes()


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("kind", KINDS)
def test_scores_are_the_scans_and_the_order_is_the_decoders(kind: str, estimator: str) -> None:
    draw = np.random.default_rng([list(KINDS).index(kind), ESTIMATORS.index(estimator)])
    for _ in range(15):
        hashes = UniversalHashes.draw(int(2 ** draw.uniform(3, 11)), int(2 ** draw.uniform(1, 8)), 6, 1)
        seen = Seen.of(None if draw.random() < 0.5 else draw.random(hashes.n_labels) < 0.5)
        k = int(draw.integers(1, min(seen.n_labels, hashes.n_labels) + 1))
        wide = hashes.n_buckets + int(draw.choice([0, 3]))  # a sketch may be wider
        rule = rule_of(estimator)
        rows = np.stack([KINDS[kind][0](draw, hashes.signatures(), wide) for _ in range(3)]).astype(np.float32)
        cells = prepare_cells(rows, rule)
        every = scan(cells, indexes_of(hashes)["stored"], Seen.of(None), rule.merge, hashes.n_labels)
        score_of = [dict(zip(*row, strict=True)) for row in zip(every[1].tolist(), every[0].tolist(), strict=True)]
        for index in indexes_of(hashes).values():
            size = BeamSize(min(index.n_buckets, int(draw.integers(1, 9))), k + 10)
            scores, ids, statistics = BeamSearch(index, size)(cells, seen, rule.merge, k)
            for i in range(3):
                assert scores[i].tolist() == [score_of[i][label] for label in ids[i].tolist()]
                assert len(set(ids[i].tolist())) == k
                assert not len(seen.mask) or seen.mask[ids[i]].all()
                assert np.lexsort((ids[i], -scores[i])).tolist() == list(range(k))
            if statistics.scanned.any():  # few labels were met
                exact = scan(cells[statistics.scanned], index, seen, rule.merge, k)
                np.testing.assert_array_equal(ids[statistics.scanned], exact[1])


@pytest.mark.parametrize(("estimator", "least"), [("mean", 0.99), ("log", 0.95), ("min", 0.4), ("median", 0.4)])
@pytest.mark.parametrize("index", ["stored", "computed"])
def test_it_finds_nearly_all_and_looks_at_few(estimator: str, least: float, index: Any) -> None:
    decoder, sketch = Decoder(HASHES, estimator, "beam", index), sketches(20)
    for k in (5, 20):
        best, statistics = decoder.search_top_k(sketch, k)
        assert recall(best, decoder.top_k(sketch, k, search="exact")) >= least
        assert not statistics.scanned.any()
        assert statistics.touched.max() < K * R / 8
        assert statistics.scored.max() == BeamSize.of(decoder._index, k).n_scored


def test_an_override_for_one_call() -> None:
    sketch = sketches()
    exact, beam = Decoder(HASHES, search="exact"), Decoder(HASHES, search="beam")
    assert_same(exact.top_k(sketch, 9, search="beam"), beam.top_k(sketch, 9))
    for search in ("exact", "pruned", "auto"):
        assert_same(beam.top_k(sketch, 9, search=search), exact.top_k(sketch, 9))
    assert not exact.search_top_k(sketch, 9, search="beam")[1].scanned.any()
    assert_same(decode(sketch, HASHES, 9, search="beam"), beam.top_k(sketch, 9))
    with pytest.raises(ParameterError, match="search must be one of auto, exact, pruned, beam, got 'fast'"):
        beam.top_k(sketch, 9, search="fast")
    with pytest.raises(ParameterError, match="search must be one of auto, exact, pruned, beam, got 'fast'"):
        beam.top_k(sketch, 9, search="fast", candidates=[[1]] * N)


@pytest.mark.parametrize("n_labels", [1000, 100_000])
def test_auto_never_becomes_approximate(n_labels: int) -> None:
    hashes = UniversalHashes.draw(n_labels, 50, 2)
    sketch = sketches(4, hashes)
    for k in (5, 900):
        assert_same(Decoder(hashes).top_k(sketch, k), Decoder(hashes, search="exact").top_k(sketch, k))


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_any_k_up_to_all_labels(estimator: str) -> None:
    sketch, seen = sketches(3), np.arange(K) % 3 > 0
    decoder = Decoder(HASHES, estimator, "beam", seen=seen)
    for k in (1, 100, 3000, K - 1, K + 9):
        best, statistics = decoder.search_top_k(sketch, k)
        assert best.ids.shape == (3, min(k, K))
        assert all(len(set(row)) == min(k, K) for row in best.ids.tolist())
        if k >= 3000:
            assert statistics.scanned.all()
            assert_same(best, decoder.top_k(sketch, k, search="exact"))


def test_rows_with_few_labels_in_the_beam_are_scanned() -> None:
    seen = np.zeros(K, np.bool_)
    seen[:30] = True
    decoder, sketch = Decoder(HASHES, search="beam", seen=seen), sketches()
    best, statistics = decoder.search_top_k(sketch, 25)
    assert statistics.scanned.all()
    assert (statistics.lists > 0).all()
    assert (statistics.touched > K).all()
    assert_same(best, decoder.top_k(sketch, 25, search="exact"))
    assert_same(decoder.top_k(sketch, 60), decoder.top_k(sketch, 60, search="exact"))  # more than have been seen
    every = decoder.top_k(sketch, 25, include_unseen=True)
    assert_same(every, Decoder(HASHES, search="beam").top_k(sketch, 25))


def test_a_flat_sketch_is_answered_without_a_scan() -> None:
    flat = np.full((2, R, B), 1 / B, np.float32)
    for index in ("stored", "computed"):
        best, statistics = Decoder(HASHES, search="beam", index=index).search_top_k(flat, 10)
        assert not statistics.scanned.any()
        assert (statistics.touched < K * R / 8).all()
        assert len(set(best.ids[0].tolist())) == 10


def test_candidates_of_every_kind() -> None:
    draw, sketch = np.random.default_rng(0), sketches()
    exact, beam = Decoder(HASHES, search="exact"), Decoder(HASHES, search="beam")
    rows = [draw.choice(K, 30) for _ in range(N)]
    assert_same(beam.top_k(sketch, 7, candidates=rows), exact.top_k(sketch, 7, candidates=rows))
    for size in (2000, 15_000):
        ids = draw.choice(K, size, replace=False)
        best, statistics = beam.search_top_k(sketch, 7, candidates=ids)
        assert np.isin(best.ids, ids).all()
        assert statistics.scanned.all() == (size == 2000)  # a scan of so few is less work
        assert recall(best, exact.top_k(sketch, 7, candidates=ids)) > 0.9
        assert_same(best, exact.top_k(sketch, 7, candidates=ids, search="beam"))
        assert_same(beam.top_k(sketch, 7, candidates=ids, search="exact"), exact.top_k(sketch, 7, candidates=ids))


def test_tables_of_clusters() -> None:
    draw = np.random.default_rng(0)
    table = (draw.permutation(K) % B).astype(HASHES.dtype)
    buckets = LearnedBuckets(HASHES, {1: table, 4: table[::-1].copy()})
    sketch = sketches()
    expected = Decoder(buckets.signatures(), search="beam").top_k(sketch, 9)
    assert_same(Decoder(buckets, search="beam").top_k(sketch, 9), expected)


@pytest.mark.parametrize("index", ["stored", "computed"])
def test_any_number_of_threads_at_once(index: Any) -> None:
    sketch = sketches(23)
    expected, counts = Decoder(HASHES, "log", "beam", index).search_top_k(sketch, 7, threads=1)
    decoder = Decoder(HASHES, "log", index=index)
    with ThreadPoolExecutor(4) as pool:
        answers = list(
            pool.map(lambda threads: decoder.search_top_k(sketch, 7, threads=threads, search="beam"), [1, 2, 3, 50] * 4)
        )
    for best, statistics in answers:
        assert_same(best, expected)
        np.testing.assert_array_equal(np.array(statistics), np.array(counts))


def test_a_sketch_without_rows() -> None:
    best, statistics = Decoder(HASHES, search="beam").search_top_k(np.empty((0, R, B), np.float32), 5)
    assert best.ids.shape == (0, 5)
    assert len(statistics.lists) == 0


def test_a_wider_beam_finds_more() -> None:
    sketch, index = sketches(20), indexes_of(HASHES)["stored"]
    cells = prepare_cells(sketch, rule_of("log"))
    scores, ids = scan(cells, index, Seen.of(None), MEAN, 50)
    exact = TopK(ids, scores, ids)
    found = []
    for size in (BeamSize(4, 50), BeamSize(20, 100), BeamSize(100, 1000)):
        scores, ids, _ = BeamSearch(index, size)(cells, Seen.of(None), MEAN, 50)
        found.append(recall(TopK(ids, scores, ids), exact))
    assert found == sorted(found)
    assert found[0] < found[-1]
