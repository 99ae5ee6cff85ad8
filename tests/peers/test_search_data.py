"""Data of a product search: what is written reads back, sources are made once, held-out queries are not learnt from."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.peers import hashing
from benchmarks.peers.search_data import Questions, Training, some_words, sparse_rows
from benchmarks.peers.sources import HomeDepotSource, ShopSource, provide

from xmach.features import HashedText
from xmach.types import SparseRows


def _equal(a: SparseRows, b: SparseRows) -> bool:
    parts = [(a.indptr, b.indptr), (a.indices, b.indices), (a.values, b.values)]
    return a.shape == b.shape and all(np.array_equal(one, other) for one, other in parts)


def test_what_is_written_reads_back(source: ShopSource, shop: Path, training: Training, questions: Questions) -> None:
    made, asked = source.make()
    assert (training.titles, training.queries) == (made.titles, made.queries)
    assert questions.queries == asked.queries
    pairs = [(training.bought, made.bought), (questions.bought, asked.bought), (questions.seen, asked.seen)]
    assert all(_equal(*pair) for pair in pairs)
    assert np.array_equal(questions.sessions, asked.sessions)
    about = json.loads((shop / "about.json").read_text())
    assert (about["products"], about["queries"], about["questions"]) == (300, 600, 120)


def test_a_source_is_made_once(source: ShopSource, shop: Path) -> None:
    before = (shop / "about.json").stat().st_mtime_ns
    assert provide(source, shop.parent) == shop
    assert (shop / "about.json").stat().st_mtime_ns == before
    assert provide(ShopSource(300, 600, 121), shop.parent) != shop


def test_titles_are_rows_for_their_own_product(training: Training) -> None:
    texts, bought, sessions = training.rows()
    assert texts[600:] == training.titles
    assert len(sessions) == bought.n_rows == 900
    for row in (0, 599):
        assert np.array_equal(bought.row(row)[0], training.bought.row(row)[0])
    assert [bought.row(600 + product)[0].tolist() for product in (0, 1, 299)] == [[0], [1], [299]]


def test_parts_of_titles_are_rows_for_the_same_product(training: Training) -> None:
    texts, bought, sessions = training.rows(parts=2, seed=3)
    assert texts[:900] == training.rows()[0]
    assert len(texts) == len(sessions) == bought.n_rows == 1500
    assert texts[900:1200] != texts[1200:]
    lengths = set()
    for row in range(900, 1500):
        product = row % 300
        assert bought.row(row)[0].tolist() == [product]
        words, part = training.titles[product].split(), texts[row].split()
        rest = iter(words)
        assert all(word in rest for word in part)  # in their order
        assert 1 <= len(part) < len(words)
        lengths.add(len(part))
    assert lengths >= {1, 2, 3, 4}
    assert training.rows(parts=2, seed=3)[0] == texts
    assert some_words(["lamp"], np.random.default_rng(0)) == ["lamp"]


def test_held_out_queries_are_of_the_training_period_and_not_in_it() -> None:
    whole, _ = ShopSource(300, 700, 100).make()
    part, asked = ShopSource(300, 600, 100, held_out=True).make()
    assert part.queries + asked.queries == whole.queries
    assert asked.seen.nnz == 0


def test_home_depot_joins_queries_and_judgements(shared_data: Path) -> None:
    training, questions = HomeDepotSource().make()
    assert (len(training.titles), len(training.queries), len(questions.queries)) == (54_667, 8_848, 2_212)
    assert questions.queries[0] == "pc woody"
    assert questions.bought.row(0)[0].tolist() == [32638]
    assert not set(training.queries) & set(questions.queries)
    for i in range(0, 2_212, 100):
        assert not set(questions.bought.row(i)[0]) & set(questions.seen.row(i)[0])
    assert np.count_nonzero(np.diff(questions.seen.indptr)) > 1400
    fewer, held = HomeDepotSource(1000).make()
    assert fewer.queries + held.queries == training.queries


def test_hashed_rows_lie_in_files_that_have_no_name(training: Training, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(hashing, "_TEXTS", 7)
    text = HashedText(1000)
    rows = hashing.hashed_rows(text, [*training.titles[:20], ""], tmp_path)
    assert _equal(rows, text.transform([*training.titles[:20], ""]))
    assert list(tmp_path.iterdir()) == []


def test_mappings_become_rows() -> None:
    rows = sparse_rows([{5: 1.0, 2: 3.0}, {}, {0: 1.0}], 7)
    assert rows.indptr.tolist() == [0, 2, 2, 3]
    assert rows.indices.tolist() == [2, 5, 0]
    assert rows.values.tolist() == [3.0, 1.0, 1.0]
