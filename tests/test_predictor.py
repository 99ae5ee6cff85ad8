"""Batches of a predictor: what they promise, and how much is in memory at a time."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from benchmarks.processes import peak_bytes
from tests.conftest import Run

from xmach.buckets import UniversalHashes
from xmach.data import LabelCounts
from xmach.errors import InputError
from xmach.features import Scaler
from xmach.models import NetworkModel
from xmach.predictor import Predictor, sketching

N_FEATURES, HIDDEN, N_BUCKETS, N_LABELS = 20, 16, 50, 300


def a_predictor(n_repetitions: int = 5) -> Predictor:
    draw = np.random.default_rng(0)
    models = []
    for _ in range(n_repetitions):
        shapes = ((N_FEATURES, HIDDEN), (HIDDEN, N_BUCKETS))
        weights = tuple(draw.standard_normal(shape).astype(np.float32) for shape in shapes)
        models.append(NetworkModel(weights, tuple(np.zeros(w.shape[1], np.float32) for w in weights), "softmax"))
    hashes = UniversalHashes.draw(N_LABELS, N_BUCKETS, n_repetitions, 0)
    return Predictor(tuple(models), hashes, Scaler("l2", N_FEATURES), LabelCounts.of(np.ones(N_LABELS, np.int64)))


ROWS = np.random.default_rng(1).random((100, N_FEATURES)).astype(np.float32)


def test_the_sketch_is_every_models_output_in_its_place() -> None:
    predictor = a_predictor()
    scaled = predictor.scaler.apply(ROWS)
    expected = np.stack([model.probabilities(scaled) for model in predictor.models], axis=1)
    np.testing.assert_array_equal(predictor.bucket_probabilities(ROWS), expected)


@pytest.mark.parametrize("cores", [1, 2, 7])
def test_the_bits_do_not_depend_on_the_number_of_threads(monkeypatch: pytest.MonkeyPatch, cores: int) -> None:
    expected = a_predictor().top_k(ROWS, 5)
    monkeypatch.setattr(sketching, "usable_cores", lambda: cores)
    best = a_predictor().top_k(ROWS, 5)
    np.testing.assert_array_equal(best.ids, expected.ids)
    np.testing.assert_array_equal(best.scores, expected.scores)


@pytest.mark.parametrize("rows_at_a_time", [1, 7, 64])
def test_a_row_is_answered_alike_in_any_batch(monkeypatch: pytest.MonkeyPatch, rows_at_a_time: int) -> None:
    """To the last digits: a matrix product of few rows adds in another order than one of many."""
    predictor = a_predictor()
    expected = predictor.top_k(ROWS, 5)
    monkeypatch.setattr(sketching, "SKETCH_BYTES", 4 * 5 * N_BUCKETS * rows_at_a_time)
    assert next(iter(predictor.batches(ROWS))).stop == rows_at_a_time
    best = predictor.top_k(ROWS, 5)
    np.testing.assert_array_equal(best.ids, expected.ids)
    np.testing.assert_allclose(best.scores, expected.scores, rtol=1e-5)


def test_an_error_in_a_thread_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(self: NetworkModel, rows: object) -> None:
        raise ValueError("no such row")

    monkeypatch.setattr(NetworkModel, "probabilities", fail)
    with pytest.raises(ValueError, match="no such row"):
        a_predictor().top_k(ROWS)


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/smaps_rollup").exists(), reason="memory is read from /proc")
def test_predict_takes_the_same_memory_for_any_file(xmach: Run, tmp_path: Path) -> None:
    """16 times the rows: the file is 60 MB more, the peak hardly moves."""
    line = "1 " + " ".join(f"{i}:1.5" for i in range(60)) + "\n"
    environment = os.environ | {"XMACH_CACHE": str(tmp_path / "cache")}
    peaks = []
    for n_rows in (10_000, 160_000):
        (tmp_path / "rows.txt").write_text(f"{n_rows} 60 30\n" + line * n_rows)
        if not peaks:
            options = ["--buckets", 8, "--repetitions", 2, "--hidden", 4, "--epochs", 1, "--executor", "local"]
            xmach("train", tmp_path / "rows.txt", "--model", tmp_path / "model", *options)
        command = [sys.executable, "-m", "xmach", "predict", str(tmp_path / "model"), str(tmp_path / "rows.txt")]
        peaks.append(peak_bytes([*command, "--k", "2", "--out", str(tmp_path / "a.jsonl")], environment))
        rows = [json.loads(line)["row"] for line in (tmp_path / "a.jsonl").read_text().splitlines()]
        assert rows == list(range(n_rows))
    assert peaks[1] - peaks[0] < 16 * 2**20


@pytest.mark.parametrize("rows_at_a_time", [7, 4096])
def test_candidates_are_the_filtered_ranking_in_any_batches(
    monkeypatch: pytest.MonkeyPatch, rows_at_a_time: int
) -> None:
    monkeypatch.setattr(sketching, "SKETCH_BYTES", 4 * 5 * N_BUCKETS * rows_at_a_time)
    names = np.array([f"label {i}" for i in range(N_LABELS)])
    predictor = replace(a_predictor(), label_names=names)
    draw, full = np.random.default_rng(2), predictor.top_k(ROWS, N_LABELS)
    few, many = draw.choice(N_LABELS, 20, replace=False), draw.choice(N_LABELS, 200, replace=False)
    each = [draw.choice(N_LABELS, 1 + i % 9, replace=False) for i in range(len(ROWS))]
    for candidates, of_row in ((few, [few] * 100), (many, [many] * 100), (each, each)):
        best = predictor.top_k(ROWS, 9, candidates=candidates)
        assert best.ids.shape == (100, 9)
        for i, wanted in enumerate(of_row):
            kept = np.flatnonzero(np.isin(full.ids[i], wanted))[:9]
            np.testing.assert_array_equal(best.ids[i, : len(kept)], full.ids[i, kept])
            np.testing.assert_array_equal(best.scores[i, : len(kept)], full.scores[i, kept])
            np.testing.assert_array_equal(best.labels[i, : len(kept)], names[full.ids[i, kept]])
            assert set(best.ids[i, len(kept) :].tolist()) <= {-1}
            assert set(best.labels[i, len(kept) :].tolist()) <= {None}  # not a name that no candidate has
    with pytest.raises(InputError, match="there are candidates for 99 rows but 100 rows to answer"):
        predictor.top_k(ROWS, 9, candidates=each[:99])


def test_names_have_ids() -> None:
    plain = a_predictor()
    assert plain.ids_of([3, 0, 3]).tolist() == [3, 0, 3]
    with pytest.raises(InputError, match="a label's name must be a whole number from 0 to 299, got 300"):
        plain.ids_of([300])
    draw = np.random.default_rng(0)
    for names in (np.array([f"label {i}" for i in range(N_LABELS)]), 7 * np.arange(N_LABELS), np.arange(N_LABELS) / 2):
        named, ids = replace(plain, label_names=names), draw.integers(0, N_LABELS, 40)
        np.testing.assert_array_equal(named.ids_of(names[ids]), ids)
        np.testing.assert_array_equal(named.ids_of(names[ids].tolist()), ids)
        for alone in ("label 3", 7):  # a text would be taken letter by letter
            with pytest.raises(InputError, match=f"takes a list of label names, got {alone!r}: put it in a list"):
                named.ids_of(alone)  # type: ignore[arg-type]
        with pytest.raises(InputError, match="2 of 3 names are not labels; the first is 'spoon'"):
            named.ids_of(np.array(["spoon", "fork", names[0]], object))
    mixed = replace(plain, label_names=np.array(["a", *range(1, N_LABELS)], object))
    assert mixed.ids_of([7, "a"]).tolist() == [7, 0]
    with pytest.raises(InputError, match="not of lists of them"):
        mixed.ids_of([["a"]])
    twice = replace(plain, label_names=np.array(["a", "b"] * (N_LABELS // 2)))
    with pytest.raises(InputError, match="'b' is the name of labels 1 and 3: give ids instead"):
        twice.ids_of(["b"])
