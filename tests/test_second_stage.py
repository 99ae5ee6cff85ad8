"""A predictor with a ranker: the shortlist is ranked anew, everything else follows in MACH's order."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.conftest import made_up

from xmach import MACHClassifier
from xmach.errors import InputError
from xmach.evaluation import evaluate
from xmach.predictor import Predictor, sketching
from xmach.ranking import Fusion, ShortlistSizes
from xmach.ranking.fusion import Line
from xmach.training import MachConfig, fit
from xmach.types import SparseRows

DATA = made_up(900, 120, 400)
ROWS = DATA.features.slice(0, 40)
N_LABELS, ON_SHORTLIST = 400, 30


@pytest.fixture(scope="module")
def predictor() -> Predictor:
    """Every part counts, shortlists are much shorter than the labels, and some labels have no row."""
    config = MachConfig(learner="linear", n_buckets=40, n_repetitions=4, cost=1.0, passes=3, ranker="linear")
    fitted = fit(DATA, config, executor="local").predictor
    assert fitted is not None
    assert fitted.ranking is not None
    weights = {"mach": 1.0, "profile": 0.5, "prior": 0.1}
    sizes = ShortlistSizes(mach=ON_SHORTLIST, profile=10)
    ranking = replace(fitted.ranking, fusion=Fusion(weights, 0.8, 2.0), sizes=sizes)
    assert (fitted.label_counts.dense() == 0).any()
    return replace(fitted, ranking=ranking)


def test_any_k_is_the_beginning_of_the_whole_ranking(predictor: Predictor) -> None:
    whole = predictor.top_k(ROWS, N_LABELS)
    assert np.sort(whole.ids, axis=1).tolist() == [list(range(N_LABELS))] * 40
    for k in (1, 5, 30, 60, 399):
        some = predictor.top_k(ROWS, k)
        assert some.ids.tolist() == whole.ids[:, :k].tolist()
        assert some.scores.tolist() == whole.scores[:, :k].tolist()


def test_scores_fall_and_lie_between_zero_and_one(predictor: Predictor) -> None:
    scores = predictor.top_k(ROWS, N_LABELS).scores
    assert (scores >= 0).all()
    assert (scores < 1).all()
    seen = int((predictor.label_counts.dense() > 0).sum())
    assert (np.diff(scores[:, :seen], axis=1) <= 0).all()


def test_labels_beyond_the_shortlist_follow_in_machs_order(predictor: Predictor) -> None:
    ranked, mach = predictor.top_k(ROWS, N_LABELS).ids, predictor.top_k(ROWS, N_LABELS, stage="mach").ids
    for one, other in zip(ranked.tolist(), mach.tolist(), strict=True):
        tail = one[ON_SHORTLIST + 10 :]  # shortlists have at most 40 labels
        assert tail == [label for label in other if label in set(tail)]


def test_labels_without_rows_come_last_unless_asked_for(predictor: Predictor) -> None:
    unseen = predictor.label_counts.dense() == 0
    ids = predictor.top_k(ROWS, N_LABELS).ids
    n_seen = int((~unseen).sum())
    assert unseen[ids[:, n_seen:]].all()
    asked = predictor.top_k(ROWS, N_LABELS, include_unseen=True).ids
    assert unseen[asked[:, :n_seen]].any()


@pytest.mark.parametrize("rows_at_a_time", [1, 7])
@pytest.mark.parametrize("threads", [1, 3])
def test_a_row_is_answered_alike_in_any_batch(
    predictor: Predictor, rows_at_a_time: int, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = predictor.top_k(ROWS, 60)
    monkeypatch.setattr(sketching, "SKETCH_BYTES", 4 * 4 * 40 * rows_at_a_time)
    found = predictor.top_k(ROWS, 60, threads=threads)
    assert found.ids.tolist() == expected.ids.tolist()
    assert found.scores.tolist() == expected.scores.tolist()


@pytest.mark.parametrize("n_candidates", [1, 20, 45, 300])
def test_only_candidates_are_ranked(predictor: Predictor, n_candidates: int) -> None:
    candidates = np.sort(np.random.default_rng(n_candidates).choice(N_LABELS, n_candidates, replace=False))
    best = predictor.top_k(ROWS, N_LABELS, candidates=candidates)
    assert np.sort(best.ids, axis=1).tolist() == [candidates.tolist()] * 40
    assert best.scores.shape == (40, n_candidates)


def test_few_candidates_have_the_scores_of_the_whole_ranking(predictor: Predictor) -> None:
    whole = predictor.top_k(ROWS, 20)
    for row in range(5):
        best = predictor.top_k(ROWS.slice(row, row + 1), 20, candidates=whole.ids[row])
        assert best.ids[0].tolist() == whole.ids[row].tolist()
        assert best.scores[0].tolist() == whole.scores[row].tolist()


def test_candidates_for_each_row(predictor: Predictor) -> None:
    rng = np.random.default_rng(0)
    candidates = [rng.choice(N_LABELS, size, replace=False) for size in rng.integers(0, 60, 40)]
    best = predictor.top_k(ROWS, 60, candidates=candidates)
    for ids, scores, own in zip(best.ids, best.scores, candidates, strict=True):
        assert sorted(ids[ids >= 0].tolist()) == sorted(own.tolist())
        assert np.isneginf(scores[ids < 0]).all()


@pytest.mark.parametrize("each_row", [False, True])
def test_candidates_without_rows_come_last_unless_asked_for(predictor: Predictor, each_row: bool) -> None:
    unseen = np.flatnonzero(predictor.label_counts.dense() == 0)[:2]
    candidates = np.sort(np.append(unseen, np.flatnonzero(predictor.label_counts.dense())[:9]))
    given = [candidates] * 40 if each_row else candidates
    best = predictor.top_k(ROWS, 11, candidates=given)
    assert np.isin(best.ids[:, 9:], unseen).all()
    assert np.sort(best.ids, axis=1).tolist() == [candidates.tolist()] * 40
    assert (np.diff(best.scores[:, :9], axis=1) <= 0).all()
    asked = predictor.top_k(ROWS, 11, candidates=given, include_unseen=True)
    assert np.isin(asked.ids[:, :9], unseen).any()


def test_an_estimator_orders_the_sketch(predictor: Predictor) -> None:
    for name in ("mean", "log", "min"):
        assert (
            predictor.top_k(ROWS, 9, estimator=name).ids.tolist()
            == predictor.top_k(ROWS, 9, estimator=name, stage="mach").ids.tolist()
        )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"stage": "second"}, "stage must be one of mach, rank, got 'second'"),
        ({"stage": "rank", "estimator": "mean"}, "an estimator orders the sketch"),
    ],
)
def test_stages_that_cannot_be(predictor: Predictor, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        predictor.top_k(ROWS, 3, **options)


def test_a_model_without_a_ranker_cannot_rank(predictor: Predictor) -> None:
    from dataclasses import replace

    plain = replace(predictor, ranking=None)
    with pytest.raises(InputError, match="this model has no ranker"):
        plain.top_k(ROWS, 3, stage="rank")
    assert plain.top_k(ROWS, 3, stage="mach").ids.tolist() == plain.top_k(ROWS, 3).ids.tolist()


def test_probabilities_of_all_labels(predictor: Predictor) -> None:
    chances = predictor.predict_proba(ROWS)
    assert chances.sum(axis=1) == pytest.approx(np.ones(40))
    assert chances.argmax(axis=1).tolist() == predictor.top_k(ROWS, 1).ids[:, 0].tolist()
    assert (chances[:, predictor.label_counts.dense() == 0] == 0).all()


@pytest.mark.parametrize("share", [0.0, 0.1])
def test_an_explanation_adds_up_to_the_score(predictor: Predictor, share: float) -> None:
    assert predictor.ranking is not None
    fusion = replace(predictor.ranking.fusion, share=share, sketch=Line(1.5, 2.0))
    predictor = replace(predictor, ranking=replace(predictor.ranking, fusion=fusion))
    best = predictor.top_k(ROWS, 3)
    explained = predictor.explain(ROWS.slice(0, 1), int(best.ids[0, 1]))
    assert explained.estimator == "rank"
    assert explained.score == pytest.approx(best.scores[0, 1], rel=1e-5)
    assert set(explained.parts) == {"mach", "profile", "prior", "intercept", *(["sketch"] if share else [])}
    assert 1 / (1 + np.exp(-sum(explained.parts.values()))) == pytest.approx(explained.score, rel=1e-5)
    assert "profile" in str(explained)


def test_an_empty_row(predictor: Predictor) -> None:
    empty = SparseRows(np.zeros(2, np.int64), np.empty(0, np.int32), np.empty(0, np.float32), 120)
    assert len(set(predictor.top_k(empty, 50).ids[0].tolist())) == 50


TITLES = {f"product {i}": f"{color} {thing}" for i, (color, thing) in enumerate(
    (color, thing) for color in ("red", "blue", "green", "black") for thing in ("shoe", "lamp", "pan", "rope", "hat")
)}  # fmt: skip


def test_labels_that_only_have_a_text_are_found() -> None:
    """Half of the products were never bought; their titles are all there is."""
    names = list(TITLES)
    rng = np.random.default_rng(0)
    bought = rng.choice(len(names) // 2, 400) * 2
    queries = [f"{TITLES[names[i]]} {rng.choice(['sale', 'cheap', 'new'])}" for i in bought]
    model = MACHClassifier(features="text", learner="linear", n_repetitions=4, ranker="linear", random_state=0)
    model.fit(queries, [names[i] for i in bought], label_text=TITLES)
    assert len(model.classes_) == len(names)
    found = model.top_k(list(TITLES.values()), 1).labels[:, 0]
    assert (found == np.array(names)).mean() > 0.9
    assert (model.top_k(list(TITLES.values()), 1, stage="mach").labels[:, 0] == np.array(names)).mean() < 0.6
    chances = model.predict_proba(list(TITLES.values()))
    assert model.classes_[chances.argmax(axis=1)].tolist() == found.tolist()


def test_an_evaluation_is_of_the_ranker_unless_an_estimator_is_given(predictor: Predictor) -> None:
    ranked, sketch = evaluate(predictor, DATA, (1,), (None, predictor.estimator))
    own = [DATA.labels.row(row)[0] for row in range(DATA.n_rows)]
    for found, stage in ((ranked, "rank"), (sketch, "mach")):
        best = predictor.top_k(DATA.features, 1, stage=stage).ids[:, 0]
        right = [label in labels for label, labels in zip(best, own, strict=True)]
        assert found.metrics["precision@1"] == pytest.approx(np.mean(right))
    assert ranked.metrics["precision@1"] != sketch.metrics["precision@1"]
    assert predictor.ranked_by == "rank"
