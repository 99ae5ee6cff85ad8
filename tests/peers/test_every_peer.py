"""The battery that every contestant must pass: learn, save, open, answer, score; better than knowing nothing."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.peers.adapter import PEERS, Peer, library_version, peer_class
from benchmarks.peers.judging import candidates_of, judge, judge_ranking, ranked_rows
from benchmarks.peers.search_data import Questions, Training

from xmach.errors import ParameterError

SETTINGS: dict[str, dict[str, Any]] = {
    "mach": {"n_buckets": 60, "n_repetitions": 4, "hidden": [], "epochs": 4, "learning_rate": 0.02, "n_features": 4000},
    "parabel": {"trees": 1, "n_features": 4000},
    "dssm": {"epochs": 3, "n_features": 4000, "dimensions": 32, "batch_size": 128, "learning_rate": 0.01},
    "bm25": {},
    "popular": {},
}


@pytest.fixture(params=PEERS, scope="module")
def trained(
    request: pytest.FixtureRequest, training: Training, tmp_path_factory: pytest.TempPathFactory
) -> tuple[str, Path, dict[str, Any]]:
    name: str = request.param
    if library_version(name) is None:
        pytest.skip(f"{PEERS[name].library} comes with the `bench` extra")
    folder = tmp_path_factory.mktemp(name)
    peer = _made(name, folder)
    peer.warm_up()
    peer.prepare(training)
    peer.train()
    return name, folder, peer.save()


def _made(name: str, folder: Path) -> Peer:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # on import, of libraries that are not ours
        return peer_class(name)(SETTINGS[name], folder)


def _opened(trained: tuple[str, Path, dict[str, Any]], **answering: Any) -> Peer:
    peer = _made(trained[0], trained[1])
    peer.open(answering)
    return peer


def test_settings_are_there_for_every_peer() -> None:
    assert list(SETTINGS) == list(PEERS)


def test_a_fresh_object_answers_from_the_folder(trained: Any, questions: Questions) -> None:
    best = _opened(trained).top(questions.queries, 100)
    assert best.shape == (len(questions.queries), 100)
    assert best.max() < 300
    assert all(len(np.unique(row[row >= 0])) == (row >= 0).sum() for row in best)
    recall = judge(questions, best)["weighted"]["recall@100"]
    assert recall > {"popular": 0.5, "bm25": 0.75}.get(trained[0], 0.85)  # 100 of 300 by chance: 0.33


def test_scores_order_candidates_as_the_answers_do(trained: Any, questions: Questions) -> None:
    peer = _opened(trained)
    candidates, rows = candidates_of(questions), ranked_rows(questions)
    texts = [questions.queries[i] for i in rows]
    scores = peer.scores(texts, candidates)
    assert scores.shape == (candidates.nnz,)
    for i, answers in enumerate(peer.top(texts, 100)):
        place = {product: rank for rank, product in enumerate(answers.tolist()) if product >= 0}
        own = slice(*candidates.indptr[i : i + 2])
        ranked = [
            (place[p], s) for p, s in zip(candidates.indices[own].tolist(), scores[own], strict=True) if p in place
        ]
        by_place = [score for _, score in sorted(ranked)]
        assert np.all(np.diff(by_place) <= 1e-5), trained[0]  # equal but for rounding, or falling


def test_purchases_rank_above_chance(trained: Any, questions: Questions) -> None:
    candidates, rows = candidates_of(questions), ranked_rows(questions)
    draw = np.random.default_rng(0)
    chance = judge_ranking(questions, draw.random(candidates.nnz, dtype=np.float32))
    found = judge_ranking(questions, _opened(trained).scores([questions.queries[i] for i in rows], candidates))
    assert chance is not None
    assert found is not None
    assert found["unweighted"]["ndcg@100"] > chance["unweighted"]["ndcg@100"] + 0.05


def test_a_query_of_unknown_words_is_answered(trained: Any) -> None:
    assert _opened(trained).top(["zzqx", ""], 10).shape == (2, 10)


def test_mach_answers_with_some_of_its_repetitions(training: Training, questions: Questions, tmp_path: Path) -> None:
    peer = _made("mach", tmp_path)
    peer.prepare(training)
    peer.train()
    facts = peer.save()
    assert len(facts["seconds each"]) == 4
    assert facts["parameters"] == 4 * (4000 * 60 + 60)
    recalls = {}
    for repetitions in (1, 4):
        peer.open({"repetitions": repetitions})
        recalls[repetitions] = judge(questions, peer.top(questions.queries, 100))["unweighted"]["recall@10"]
    assert recalls[4] > recalls[1]


@pytest.mark.parametrize("titles", ["text", "both"])
def test_mach_with_titles_as_texts_of_labels(
    training: Training, questions: Questions, tmp_path: Path, titles: str
) -> None:
    settings = {"n_buckets": 60, "n_repetitions": 2, "learner": "linear", "titles": titles, "n_features": 4000}
    peer = peer_class("mach")(settings, tmp_path)
    peer.prepare(training)
    peer.train()
    assert peer.save()["parameters"] > 0
    peer.open({})
    best = peer.top(questions.queries, 100)
    assert judge(questions, best)["unweighted"]["recall@100"] > 0.85
    rows, candidates = ranked_rows(questions), candidates_of(questions)
    found = judge_ranking(questions, peer.scores([questions.queries[i] for i in rows], candidates))
    assert found is not None
    assert found["unweighted"]["ndcg@100"] > 0.5
    with pytest.raises(ParameterError, match="the ranker's weights are for all repetitions"):
        peer.open({"repetitions": 1})


def test_dssm_ends_after_so_many_steps(training: Training, tmp_path: Path) -> None:
    if library_version("dssm") is None:
        pytest.skip("torch comes with the `bench` extra")
    tables = {}
    for name, more in (("none", {"most_steps": 0}), ("two", {"most_steps": 2}), ("all", {})):
        (tmp_path / name).mkdir()
        peer = peer_class("dssm")(SETTINGS["dssm"] | {"epochs": 1} | more, tmp_path / name)
        peer.prepare(training)
        peer.train()
        peer.save()
        tables[name] = np.load(tmp_path / name / "table.npy")
    learnt = {name: np.abs(table - tables["none"]).sum() for name, table in tables.items()}
    assert 0 < learnt["two"] < learnt["all"]
