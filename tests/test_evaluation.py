"""A predictor's evaluation against the independent metrics, what `settle` chooses, and how it is printed."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.metrics import by_definition

from xmach.buckets import UniversalHashes
from xmach.cli.evaluate import show
from xmach.data import Dataset, LabelCounts
from xmach.decoding import ESTIMATORS
from xmach.errors import InputError, ParameterError
from xmach.evaluation import Evaluation, evaluate, settle
from xmach.features import Scaler
from xmach.predictor import Predictor, sketching
from xmach.types import FloatArray, SparseRows

N_LABELS, N_BUCKETS, N_TRAIN = 40, 12, 500
COUNTS = np.random.default_rng(7).zipf(1.5, N_LABELS).clip(0, 300) - 1  # a few are 0


class Rolled:
    """A bucket model whose probabilities are the row itself, rolled: a sketch that a test can make up."""

    kind, n_features, n_buckets = "rolled", N_BUCKETS, N_BUCKETS

    def __init__(self, by: int) -> None:
        self.by = by

    def probabilities(self, rows: Any) -> FloatArray:
        return np.roll(rows, self.by, axis=1)

    def arrays(self) -> dict[str, FloatArray]:
        return {}


def a_predictor(**changes: Any) -> Predictor:
    hashes = UniversalHashes.draw(N_LABELS, N_BUCKETS, 3, 0)
    models, scaler = tuple(Rolled(r) for r in range(3)), Scaler("none", N_BUCKETS)
    mean_labels = float(COUNTS.sum() / N_TRAIN)
    counts = LabelCounts.of(COUNTS)
    return replace(Predictor(models, hashes, scaler, counts, mean_labels=mean_labels, multilabel=True), **changes)


def some_data(weights: bool = True, n_columns: int = N_LABELS + 5, n_rows: int = 60) -> Dataset:
    """Rows with purchases, some without labels, and with labels that the predictor does not know."""
    rng = np.random.default_rng(3)
    chosen = [np.sort(rng.choice(n_columns, rng.integers(0, 6), replace=False)) for _ in range(n_rows)]
    indptr = np.concatenate([[0], np.cumsum([len(ids) for ids in chosen])]).astype(np.int64)
    purchases = rng.integers(1, 4, indptr[-1]).astype(np.float32)
    labels = SparseRows(indptr, np.concatenate(chosen).astype(np.int32), purchases, n_columns)
    features = rng.dirichlet(np.ones(N_BUCKETS), n_rows).astype(np.float32)
    return Dataset(features, labels, weights=rng.random(n_rows).astype(np.float32) if weights else None)


def by_hand(predictor: Predictor, data: Dataset, ks: tuple[int, ...], weights: list[float]) -> dict[str, float]:
    ranked = predictor.top_k(data.features, max(ks)).ids.tolist()
    rows = [(dict(zip(*(part.tolist() for part in data.labels.row(i)), strict=True)), ranked[i]) for i in range(60)]
    counts = COUNTS.tolist()
    padded = counts + [0] * (data.n_labels - N_LABELS)
    chances = [by_definition.propensity(count, N_TRAIN, 0.55, 1.5) for count in padded]
    return by_definition.everything(rows, ks, weights, counts, chances)


@pytest.mark.parametrize("batch_bytes", [2**20, 4 * 3 * N_BUCKETS * 7])  # all rows at once; seven rows at a time
def test_every_metric_of_a_predictor(monkeypatch: pytest.MonkeyPatch, batch_bytes: int) -> None:
    monkeypatch.setattr(sketching, "SKETCH_BYTES", batch_bytes)
    predictor, data, ks = a_predictor(), some_data(), (1, 3, 10)
    seen: list[tuple[int, int]] = []
    (result,) = evaluate(predictor, data, ks, on_progress=lambda done, total: seen.append((done, total)))
    assert data.weights is not None
    expected = by_hand(predictor, data, ks, data.weights.astype(float).tolist())
    assert result.metrics == pytest.approx(expected, rel=0, abs=1e-9)
    assert result.unweighted == pytest.approx(by_hand(predictor, data, ks, [1.0] * 60), rel=0, abs=1e-9)
    assert (result.rows, seen[-1]) == (60, (60, 60))
    assert result.rows_without_labels == int((np.diff(data.labels.indptr) == 0).sum()) > 0


def test_without_weights_both_results_are_the_same() -> None:
    (result,) = evaluate(a_predictor(), some_data(weights=False))
    assert result.metrics == result.unweighted
    assert all(type(value) is float for value in result.metrics.values())


def test_more_places_than_labels_will_do() -> None:
    (result,) = evaluate(a_predictor(), some_data(n_columns=N_LABELS), (1, 10**8))
    assert result.unweighted["recall@100000000"] == pytest.approx(1 - result.rows_without_labels / result.rows)
    assert result.metrics["coverage@100000000"] == 1.0


def test_estimators_share_one_pass() -> None:
    data, predictor = some_data(), a_predictor()
    together = evaluate(predictor, data, (1, 5), ESTIMATORS)
    for name, result in zip(ESTIMATORS, together, strict=True):
        assert result == evaluate(replace(predictor, estimator=name), data, (1, 5))[0]
    assert len({result.metrics["precision@5"] for result in together}) > 1


@pytest.mark.parametrize("batch_bytes", [64 * 2**20, 1])
def test_labels_left_out_are_neither_answers_nor_true(monkeypatch: pytest.MonkeyPatch, batch_bytes: int) -> None:
    monkeypatch.setattr(sketching, "SKETCH_BYTES", batch_bytes)  # all rows at once, and one by one
    predictor, data, k = a_predictor(), some_data(weights=False), 4
    ranked = predictor.top_k(data.features, N_LABELS).ids.tolist()
    true = [data.labels.row(i)[0].tolist() for i in range(data.n_rows)]
    # of every third row the best answer and a true label, where there are any
    left_out = [{ranked[i][0], *true[i][:1]} if i % 3 == 0 else set() for i in range(data.n_rows)]
    expected = []
    for answers, labels, out in zip(ranked, true, left_out, strict=True):
        best = [label for label in answers if label not in out][:k]
        kept = set(labels) - out
        expected.append(len(kept & set(best)) / k)
    indptr = np.concatenate([[0], np.cumsum([len(out) for out in left_out])]).astype(np.int64)
    indices = np.array([label for out in left_out for label in sorted(out)], np.int32)
    pairs = SparseRows(indptr, indices, np.ones(len(indices), np.float32), data.n_labels)
    found = evaluate(predictor, data, (k,), left_out=pairs)[0].metrics
    assert found["precision@4"] == pytest.approx(np.mean(expected), abs=1e-12)
    assert found != evaluate(predictor, data, (k,))[0].metrics


def test_no_rows_and_no_depths_are_refused() -> None:
    with pytest.raises(InputError, match="there are no rows to evaluate on"):
        evaluate(a_predictor(), some_data().slice(0, 0))
    with pytest.raises(ParameterError, match="ks must not be empty"):
        evaluate(a_predictor(), some_data(), ())


def test_settle_takes_the_estimator_with_the_best_precision_and_no_other_metric(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    data, predictor = some_data(n_columns=N_LABELS), a_predictor()
    results = dict(zip(ESTIMATORS, evaluate(predictor, data, (1, 5), ESTIMATORS), strict=True))
    for name in ("propensities", "frequency_groups"):  # would cost a pass over all labels
        monkeypatch.delattr(f"xmach.evaluation.{name}")
    settled, metrics = settle(predictor, data, "auto")
    assert metrics == {f"validation precision@1 {name}": r.metrics["precision@1"] for name, r in results.items()}
    best = max((r.metrics["precision@1"], r.metrics["precision@5"]) for r in results.values())
    chosen = results[settled.estimator].metrics
    assert (chosen["precision@1"], chosen["precision@5"]) == best
    assert settled.threshold is not None
    assert settle(predictor, None, "auto")[0].estimator == "log"
    assert list(settle(predictor, data, "min")[1]) == ["validation precision@1 min"]


def facts_of(result: Evaluation, weighted: bool) -> dict[str, Any]:
    facts = {"rows": result.rows, "estimator": "log", "repetitions": 3, "weighted": weighted, "metrics": result.metrics}
    return facts | ({"unweighted": result.unweighted} if weighted else {})


def test_the_printed_table_has_the_figures(capsys: pytest.CaptureFixture[str]) -> None:
    (result,) = evaluate(a_predictor(), some_data(weights=False), (1, 3, 5))
    show(facts_of(result, weighted=False), [1, 3, 5], as_json=False)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "60 rows, estimator log, 3 repetitions"
    assert lines[1].split() == ["in", "%", "@1", "@3", "@5"]
    printed = {line.split()[0]: line.split()[1:] for line in lines if line.startswith("  ")}
    for name in ("precision", "recall", "ndcg", "map", "mrr", "coverage", "psp", "psndcg", "mrr_paper", "map_paper"):
        assert printed[name][:3] == [f"{100 * result.metrics[f'{name}@{k}']:.2f}" for k in (1, 3, 5)]
    for group in ("head", "torso", "tail"):
        names = [*(f"recall@{k} {group}" for k in (1, 3, 5)), f"label share {group}", f"true share {group}"]
        assert printed[group] == [f"{100 * result.metrics[name]:.2f}" for name in names]
    assert "docs/metrics.md" in lines[-1]
    assert len(lines) < 30


def test_a_group_without_true_labels_has_no_recall(capsys: pytest.CaptureFixture[str]) -> None:
    predictor = a_predictor(label_counts=LabelCounts.of(np.ones(N_LABELS, np.int64)))
    (result,) = evaluate(predictor, some_data().slice(0, 1), (1,))
    show(facts_of(result, weighted=False), [1], as_json=False)
    dashes = [line.split()[0] for line in capsys.readouterr().out.splitlines() if line.split()[1:2] == ["-"]]
    missing = [group for group in ("head", "torso", "tail") if result.metrics[f"true share {group}"] == 0]
    assert dashes == missing != []


def test_weighted_rows_print_both_ways_and_json_has_everything(capsys: pytest.CaptureFixture[str]) -> None:
    (result,) = evaluate(a_predictor(), some_data(), (1, 3))
    show(facts_of(result, weighted=True), [1, 3], as_json=False)
    recalls = [line.split()[1:3] for line in capsys.readouterr().out.splitlines() if line.startswith("  recall ")]
    expected = [
        [f"{100 * values[f'recall@{k}']:.2f}" for k in (1, 3)] for values in (result.metrics, result.unweighted)
    ]
    assert recalls == expected
    show(facts_of(result, weighted=True), [1, 3], as_json=True)
    assert json.loads(capsys.readouterr().out)["unweighted"] == result.unweighted
