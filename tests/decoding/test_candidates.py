"""Answers among candidates are the full ranking with all other labels left out: same labels, same bits, same ties."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.decoding.kinds import quantised, relevant

from xmach.buckets import UniversalHashes, computed
from xmach.decoding import ESTIMATORS, Decoder, indexes
from xmach.decoding import decoder as decoder_module
from xmach.decoding.candidates import CandidateMask, CandidatesPerRow, CandidateTable
from xmach.errors import InputError, ParameterError
from xmach.types import FloatArray, TopK

K, B, R = 400, 16, 5
HASHES = UniversalHashes.draw(K, B, R, seed=4)
SEEN = np.random.default_rng(9).random(K) < 0.4
N = 6


def sketches(ties: bool) -> FloatArray:
    """Smooth ones, or of few values: then most scores tie."""
    draw, table = np.random.default_rng(1), HASHES.signatures()
    rows = [quantised(draw, table, B) if ties else relevant(draw, table, B, 20, 0.7, 0.5) for _ in range(N)]
    return np.stack(rows).astype(np.float32)


def filtered(full: TopK, candidates: list[Any], k: int) -> TopK:
    """The definition: walk down the full ranking, keep what is a candidate."""
    width = min(k, max(len(set(ids)) for ids in candidates))
    ids, scores = np.full((N, width), -1), np.full((N, width), -np.inf, np.float32)
    for i, wanted in enumerate(map(set, candidates)):
        kept = [place for place, label in enumerate(full.ids[i].tolist()) if label in wanted][:width]
        ids[i, : len(kept)], scores[i, : len(kept)] = full.ids[i, kept], full.scores[i, kept]
    return TopK(ids, scores, ids)


def assert_same(found: TopK, expected: TopK) -> None:
    np.testing.assert_array_equal(found.ids, expected.ids)
    np.testing.assert_array_equal(found.labels, expected.ids)
    assert found.scores.dtype == np.float32
    np.testing.assert_array_equal(found.scores.view(np.uint32), expected.scores.view(np.uint32))


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("kind", ["stored", "computed", "table"])
def test_candidates_are_the_filtered_ranking(estimator: str, ties: bool, kind: str) -> None:
    draw, sketch = np.random.default_rng(2), sketches(ties)
    decoder = Decoder(HASHES.signatures(), estimator, seen=SEEN)
    if kind != "table":
        decoder = Decoder(HASHES, estimator, index=kind, seen=SEEN)
    for include_unseen in (False, True):
        for probabilities in (False, True):
            options: dict[str, Any] = {"include_unseen": include_unseen, "probabilities": probabilities}
            full = decoder.top_k(sketch, K, **options)
            for size in (1, 3, 20, 49, 50, 200, K):  # as few, and from K / 8 on as many
                ids = draw.choice(K, size, replace=False)
                for k in (1, 7, size, K + 5):
                    assert_same(decoder.top_k(sketch, k, candidates=ids, **options), filtered(full, [ids] * N, k))
            each = [draw.choice(K, size, replace=False) for size in (3, 0, 1, 60, 3, 12)]
            for k in (1, 5, K):
                assert_same(decoder.top_k(sketch, k, candidates=each, **options), filtered(full, each, k))


def test_sets_are_candidates_too() -> None:
    decoder, sketch, ids = Decoder(HASHES), sketches(False), [3, 90, 7, 41]
    assert_same(
        decoder.top_k(sketch, 4, candidates=frozenset(ids)),  # type: ignore[arg-type]
        decoder.top_k(sketch, 4, candidates=ids),
    )
    assert_same(
        decoder.top_k(sketch, 4, candidates=iter(ids)),  # type: ignore[arg-type]
        decoder.top_k(sketch, 4, candidates=ids),
    )
    assert_same(decoder.top_k(sketch, 4, candidates=[set(ids)] * N), decoder.top_k(sketch, 4, candidates=[ids] * N))


def test_a_pruned_search_among_them_gives_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    hashes = UniversalHashes.draw(20_000, 64, 6, seed=1)
    draw, table = np.random.default_rng(3), hashes.signatures()
    sketch = np.stack([relevant(draw, table, 64, 5, 0.7, 0.5) for _ in range(N)])
    seen = draw.random(20_000) < 0.9
    for module in (decoder_module, indexes):
        monkeypatch.setattr(module, "SCANNED_LABELS", 500)
    monkeypatch.setattr(decoder_module, "_MANY_ROWS", N)
    for index in ("stored", "computed"):
        full = Decoder(hashes, search="exact", index=index, seen=seen).top_k(sketch, 20_000)
        decoder = Decoder(hashes, index=index, seen=seen)
        for size, form in ((2000, CandidateTable), (9000, CandidateMask)):
            ids = draw.choice(20_000, size, replace=False)
            assert isinstance(decoder.prepare_candidates(ids, N), form)
            best, statistics = decoder.search_top_k(sketch, 10, candidates=ids)
            assert_same(best, filtered(full, [ids] * N, 10))
            assert statistics.lists.any()  # it did search
            few_rows, scanned = decoder.search_top_k(sketch[: N - 1], 10, candidates=ids)
            np.testing.assert_array_equal(few_rows.ids, best.ids[: N - 1])
            assert scanned.lists.any() == (form is CandidateMask)  # of a few, lists are not worth making for a few rows


def test_the_work_goes_by_the_candidates_and_not_by_k_labels() -> None:
    """Among 2^31 - 1 labels: whatever went over all of them would not end."""
    hashes = UniversalHashes.draw(2**31 - 1, 50, 4, seed=2)
    decoder = Decoder(hashes, "mean", index=computed(hashes))
    ids = np.array([2**31 - 2, 0, 5, 123_456_789, 5])
    sketch = np.random.default_rng(0).random((3, 4, 50)).astype(np.float32)
    for candidates in (ids, [ids] * 3):
        best, statistics = decoder.search_top_k(sketch, 10, candidates=candidates)
        assert statistics.scored.tolist() == [4] * 3
        for i in range(3):
            cells = np.stack([sketch[i, r, hashes.buckets(ids, r)] for r in range(4)])  # (R, m)
            scores = dict(zip(ids.tolist(), cells.mean(axis=0).tolist(), strict=True))
            assert best.ids[i].tolist() == sorted(scores, key=lambda x: (-scores[x], x))


def test_order_and_repeats_do_not_matter_and_nothing_of_the_callers_is_changed() -> None:
    decoder, sketch = Decoder(HASHES, seen=SEEN), sketches(True)
    ids = np.array([7, 300, 7, 12, 12, 5])
    before = ids.copy()
    expected = decoder.top_k(sketch, 3, candidates=np.array([5, 7, 12, 300]))
    for same in (ids, ids[::-1], ids.tolist(), tuple(ids.tolist()), ids.astype(np.uint16), [ids] * N):
        assert_same(decoder.top_k(sketch, 3, candidates=same), expected)
    np.testing.assert_array_equal(ids, before)


def test_candidates_made_ready_serve_every_batch_and_thread() -> None:
    decoder, sketch = Decoder(HASHES, seen=SEEN), sketches(False)
    draw = np.random.default_rng(5)
    forms = (draw.choice(K, 20), draw.choice(K, 300), [draw.choice(K, size) for size in (9, 1, 0, 4, 4, 30)])
    for candidates, form in zip(forms, (CandidateTable, CandidateMask, CandidatesPerRow), strict=True):
        prepared = decoder.prepare_candidates(candidates, N)
        assert isinstance(prepared, form)
        assert isinstance(decoder.among(candidates, N), form)
        whole = decoder.top_k(sketch, 6, candidates=candidates)
        for threads in (1, 3, None):
            assert_same(decoder.top_k(sketch, 6, candidates=prepared, threads=threads), whole)
        parts = [decoder.top_k(sketch[s:t], 6, candidates=prepared.slice(s, t)) for s, t in ((0, 2), (2, 3), (3, 6))]
        assert_same(TopK(*(np.concatenate(part) for part in zip(*parts, strict=True))), whole)


@pytest.mark.parametrize(
    ("candidates", "message"),
    [
        ([], "candidates are empty: there is no label to rank"),
        (np.zeros(0, np.int64), "candidates are empty"),
        ([[], [], [], [], [], []], "no row has a candidate"),
        ([3, K], f"candidates must be label ids from 0 to {K - 1}, got {K}"),
        ([3, -1], f"candidates must be label ids from 0 to {K - 1}, got -1"),
        ([[1], [2], [K + 9], [1], [1], [1]], f"candidates of row 2 must be label ids from 0 to {K - 1}, got {K + 9}"),
        ([[1], [2]], "candidates for 2 rows but 6 rows to answer"),
        ([1.0, 2.0], "candidates must be whole numbers, got float64"),
        (["a", "b"], r"candidates must be whole numbers, got <U1: map label names to ids first \(Predictor.ids_of\)"),
        (np.ones(K, bool), r"candidates must be ids, got truth values: give numpy.flatnonzero\(mask\)"),
        (np.zeros((6, 2), np.int64), r"candidates must be ids in one dimension.*got an array of shape \(6, 2\)"),
        (3, r"candidates must be ids in one dimension.*got an array of shape \(\)"),
    ],
)
def test_what_are_no_candidates(candidates: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Decoder(HASHES).top_k(sketches(False), 3, candidates=candidates)


def test_other_arguments_are_checked_as_ever() -> None:
    decoder, sketch = Decoder(HASHES), sketches(False)
    for candidates in ([3, 4], list(range(100)), [[3]] * N):
        with pytest.raises(InputError, match="k must be at least 1, got 0"):
            decoder.top_k(sketch, 0, candidates=candidates)
        with pytest.raises(ParameterError, match="threads must be a whole number of at least 1, got 0"):
            decoder.top_k(sketch, 3, candidates=candidates, threads=0)
        with pytest.raises(InputError, match="estimator must be one of"):
            decoder.top_k(sketch, 3, candidates=candidates, estimator="best")
        with pytest.raises(InputError, match=r"must be \(rows, 5 repetitions, 16 buckets or more\)"):
            decoder.top_k(sketch[:, :4], 3, candidates=candidates)
        with pytest.raises(InputError, match="must be finite"):
            decoder.top_k(np.full_like(sketch, np.nan), 3, candidates=candidates)
