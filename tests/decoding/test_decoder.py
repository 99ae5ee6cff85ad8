"""The decoder against naive NumPy, for every estimator; what it promises beside the numbers; what it refuses."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest

from xmach.buckets import UniversalHashes, computed
from xmach.decoding import ESTIMATORS, Decoder, decode
from xmach.errors import InputError, ParameterError
from xmach.types import FloatArray

HASHES = UniversalHashes.draw(300, 16, 5, seed=4)


def random_sketch(n: int, hashes: UniversalHashes = HASHES, seed: int = 0) -> FloatArray:
    logits = np.random.default_rng(seed).normal(0, 2, (n, hashes.n_repetitions, hashes.n_buckets))
    cells = np.exp(logits)
    return (cells / cells.sum(axis=2, keepdims=True)).astype(np.float32)


def naive_scores(sketch: FloatArray, hashes: UniversalHashes, estimator: str) -> np.ndarray[Any, Any]:
    """(n, K) in float64."""
    columns = [hashes.buckets(np.arange(hashes.n_labels), r) for r in range(hashes.n_repetitions)]
    p = np.stack([sketch[:, r, column] for r, column in enumerate(columns)], axis=2).astype(np.float64)  # (n, K, R)
    if estimator == "log":
        return np.log(np.maximum(p, 1e-30)).mean(axis=2)
    merge = {"mean": np.mean, "min": np.min, "median": np.median}[estimator]
    return np.asarray(merge(p, axis=2))


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("n_repetitions", [1, 4, 5])
def test_scores_and_top_k_by_numpy(estimator: str, n_repetitions: int) -> None:
    hashes = UniversalHashes.draw(300, 16, n_repetitions, seed=4)
    sketch = random_sketch(6, hashes)
    expected = naive_scores(sketch, hashes, estimator)
    decoder = Decoder(hashes, estimator)
    scores = decoder.scores(sketch)
    assert scores.dtype == np.float32
    np.testing.assert_allclose(scores, expected, rtol=1e-5)
    best = decoder.top_k(sketch, 10)
    for i in range(6):
        order = np.lexsort((np.arange(300), -scores[i]))[:10]  # ties to the smaller id
        assert best.ids[i].tolist() == order.tolist()
        assert best.scores[i].tobytes() == scores[i, order].tobytes()
    assert best.labels is best.ids
    again = Decoder(hashes).top_k(sketch, 10, estimator=estimator)  # the estimator of one call
    np.testing.assert_array_equal(again.ids, best.ids)
    np.testing.assert_array_equal(Decoder(hashes).scores(sketch, estimator), scores)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_probabilities(estimator: str) -> None:
    sketch, decoder = random_sketch(4), Decoder(HASHES, estimator)
    naive, c = naive_scores(sketch, HASHES, estimator), HASHES.collision_probability
    expected = {"mean": (naive - c) / (1 - c), "log": np.exp(naive)}.get(estimator, naive)
    found = decoder.scores(sketch, probabilities=True)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-6)
    plain, best = decoder.top_k(sketch, 7), decoder.top_k(sketch, 7, probabilities=True)
    np.testing.assert_array_equal(plain.ids, best.ids)  # the order is the same
    np.testing.assert_array_equal(best.scores, np.take_along_axis(found, best.ids, axis=1))
    assert best.scores.dtype == np.float32


def test_a_table_of_buckets_assumes_theorem_1s_constant() -> None:
    sketch = random_sketch(2)
    best = Decoder(HASHES.signatures()).top_k(sketch, 3, probabilities=True)
    mean = Decoder(HASHES).top_k(sketch, 3).scores
    np.testing.assert_allclose(best.scores, 16 / 15 * (mean - 1 / 16), rtol=1e-5)


def test_log_floors_a_zero_so_that_one_repetition_has_no_veto() -> None:
    table = np.array([[0, 0], [1, 1], [0, 1]], np.uint8)
    sketch = np.array([[[0.0, 1.0], [1.0, 0.0]]], np.float32)
    scores = Decoder(table, "log").scores(sketch)
    np.testing.assert_allclose(scores, [[np.log(1e-30) / 2, np.log(1e-30) / 2, np.log(1e-30)]], rtol=1e-6)
    assert sketch.min() == 0.0  # the caller's sketch is left alone


def test_k_beyond_the_labels_gives_all() -> None:
    sketch = random_sketch(3)
    best = Decoder(HASHES).top_k(sketch, 1000)
    assert best.ids.shape == best.scores.shape == (3, 300)
    assert all(sorted(row) == list(range(300)) for row in best.ids.tolist())
    assert (np.diff(best.scores, axis=1) <= 0).all()
    np.testing.assert_array_equal(best.ids[:, :4], Decoder(HASHES).top_k(sketch, 4).ids)


def test_labels_without_a_training_row_rank_last() -> None:
    sketch = random_sketch(5)
    seen = np.random.default_rng(1).random(300) < 0.02
    n_seen = int(seen.sum())
    assert 2 <= n_seen <= 10
    decoder = Decoder(HASHES, seen=seen)
    everything = decoder.top_k(sketch, 300)
    for ids, scores in zip(everything.ids, everything.scores, strict=True):
        assert seen[ids].tolist() == [True] * n_seen + [False] * (300 - n_seen)
        assert sorted(ids.tolist()) == list(range(300))
        assert (np.diff(scores[:n_seen]) <= 0).all()
        assert (np.diff(scores[n_seen:]) <= 0).all()
    for k in (1, n_seen - 1, n_seen, n_seen + 1, n_seen + 20):
        np.testing.assert_array_equal(decoder.top_k(sketch, k).ids, everything.ids[:, :k])
    plain = Decoder(HASHES).top_k(sketch, 8)
    asked = decoder.top_k(sketch, 8, include_unseen=True)
    np.testing.assert_array_equal(asked.ids, plain.ids)
    np.testing.assert_array_equal(asked.scores, plain.scores)


@pytest.mark.parametrize("seen", [np.ones(300, bool), np.zeros(300, bool)])
def test_all_or_none_seen_is_no_restriction(seen: Any) -> None:
    sketch = random_sketch(3)
    np.testing.assert_array_equal(Decoder(HASHES, seen=seen).top_k(sketch, 9).ids, Decoder(HASHES).top_k(sketch, 9).ids)


@pytest.mark.parametrize("n", [0, 1, 2, 7])
def test_threads_change_nothing(n: int) -> None:
    sketch, seen = random_sketch(n), np.arange(300) % 40 == 0
    for estimator in ESTIMATORS:
        decoder = Decoder(HASHES, estimator, seen=seen)
        one = decoder.top_k(sketch, 12, threads=1)
        assert one.ids.shape == (n, 12)
        for threads in (2, 3, 64, None):
            other = decoder.top_k(sketch, 12, threads=threads)
            assert other.ids.tobytes() == one.ids.tobytes()
            assert other.scores.tobytes() == one.scores.tobytes()


def test_decode_in_one_call() -> None:
    sketch = random_sketch(3)
    for hashes in (HASHES, HASHES.signatures()):
        for estimator in ESTIMATORS:
            best, expected = decode(sketch, hashes, 6, estimator), Decoder(HASHES, estimator).top_k(sketch, 6)
            np.testing.assert_array_equal(best.ids, expected.ids)
            np.testing.assert_array_equal(best.scores, expected.scores)
    assert decode(sketch, HASHES).ids.shape == (3, 5)


def test_sketches_of_other_types_and_layouts() -> None:
    sketch = random_sketch(3)
    expected = Decoder(HASHES).top_k(sketch, 6)
    wide = np.zeros((6, 5, 16), np.float32)
    wide[::2] = sketch
    for other in (sketch.astype(np.float64), np.asfortranarray(sketch), wide[::2], sketch.tolist()):
        best = Decoder(HASHES).top_k(other, 6)  # type: ignore[arg-type]
        np.testing.assert_array_equal(best.ids, expected.ids)
    sketch.flags.writeable = False
    np.testing.assert_array_equal(Decoder(HASHES, "log").top_k(sketch, 6).ids, decode(sketch, HASHES, 6, "log").ids)


@pytest.mark.parametrize("search", ["exact", "pruned"])
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_every_search_and_index_gives_the_same(estimator: str, search: str) -> None:
    sketch, seen = random_sketch(4), np.arange(300) % 7 > 0
    expected = Decoder(HASHES.signatures(), estimator, "exact", seen=seen).top_k(sketch, 20)
    for hashes, index in (
        (HASHES, "stored"),
        (HASHES, "computed"),
        (HASHES, computed(HASHES)),
        (HASHES.signatures(), "auto"),
    ):
        decoder = Decoder(hashes, estimator, search, index, seen)
        best = decoder.top_k(sketch, 20)
        assert best.ids.tobytes() == expected.ids.tobytes()
        assert best.scores.tobytes() == expected.scores.tobytes()
        np.testing.assert_array_equal(decoder.scores(sketch), Decoder(HASHES, estimator).scores(sketch))


def test_which_index_it_keeps() -> None:
    assert Decoder(HASHES).index == Decoder(HASHES, index="stored").index == "stored"  # small tables
    assert Decoder(HASHES.signatures()).index == "stored"
    assert Decoder(HASHES, index="computed").index == Decoder(HASHES, index=computed(HASHES)).index == "computed"
    assert Decoder(UniversalHashes.draw(2**30, 20_000, 32)).index == "computed"  # tables of 200 GB
    pruned = Decoder(HASHES, search="pruned")
    pruned.top_k(random_sketch(1), 3)
    assert (pruned.index, pruned.n_labels) == ("stored", 300)


@pytest.mark.parametrize("search", ["exact", "pruned"])
def test_buckets_that_no_label_is_in_are_left_alone(search: str) -> None:
    sketch = random_sketch(3)
    wide = np.concatenate([sketch, np.full((3, 5, 4), 9.0, np.float32)], axis=2)  # higher than any
    for estimator in ESTIMATORS:
        decoder = Decoder(HASHES, estimator, search)
        np.testing.assert_array_equal(decoder.top_k(wide, 6).ids, decoder.top_k(sketch, 6).ids)


def test_memory_never_holds_a_score_for_every_row_and_label() -> None:
    n, n_labels = 64, 200_000
    hashes = UniversalHashes.draw(n_labels, 64, 2)
    decoder, sketch = Decoder(hashes, seen=np.arange(n_labels) % 3 > 0), random_sketch(n, hashes)
    decoder.top_k(sketch[:1], 10)  # compiled before the measurement
    tracemalloc.start()
    try:
        decoder.top_k(sketch, 10, estimator="log", threads=2)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 3_000_000  # n x K scores would be 51 MB; two threads have half a megabyte each to search in


@pytest.mark.parametrize("shape", [(5, 16), (2, 4, 16), (2, 5, 8), (1, 2, 5, 16), (2, 6, 16)])
def test_wrong_shapes(shape: tuple[int, ...]) -> None:
    with pytest.raises(InputError, match=r"must be \(rows, 5 repetitions, 16 buckets or more\), got shape"):
        Decoder(HASHES).top_k(np.zeros(shape, np.float32), 3)


@pytest.mark.parametrize(("value", "shown"), [(np.nan, "nan"), (np.inf, "inf"), (-np.inf, "-inf")])
def test_numbers_that_are_none(value: float, shown: str) -> None:
    sketch = random_sketch(3)
    sketch[1, 2, 7] = value
    with pytest.raises(InputError, match=rf"must be finite, got {shown} at row 1, \(2, 7\)"):
        Decoder(HASHES).top_k(sketch, 3)
    with pytest.raises(InputError, match="must be finite"):
        Decoder(HASHES).scores(sketch)


@pytest.mark.parametrize(
    ("k", "message"),
    [
        (0, "k must be at least 1, got 0"),
        (-3, "k must be at least 1, got -3"),
        (2.0, r"k must be a whole number of at least 1, got 2\.0"),
        (True, "k must be a whole number of at least 1, got True"),
    ],
)
def test_wrong_k(k: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Decoder(HASHES).top_k(random_sketch(1), k)


def test_other_refusals() -> None:
    with pytest.raises(ParameterError, match="estimator must be one of mean, min, median, log, got 'max'"):
        Decoder(HASHES, "max")
    with pytest.raises(ParameterError, match="estimator must be one of mean, min, median, log, got 'max'"):
        Decoder(HASHES).top_k(random_sketch(1), estimator="max")
    with pytest.raises(ParameterError, match="search must be one of auto, exact, pruned, beam, got 'guess'"):
        Decoder(HASHES, search="guess")
    with pytest.raises(ParameterError, match="index must be one of auto, stored, computed, got 'none'"):
        Decoder(HASHES, index="none")
    with pytest.raises(InputError, match=r"one entry for each of the 300 labels, got \(299,\)"):
        Decoder(HASHES, seen=np.ones(299, bool))
    with pytest.raises(InputError, match="signatures must be bucket numbers of at least 0, got -2"):
        Decoder(np.array([[0, 1], [-2, 1]]))
