"""The experiment: tables and figure from rows, a row that could not run says why; scale carried on from two points."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks import places
from benchmarks.paper import product_search, search_scale
from benchmarks.paper import search_tables as tables
from benchmarks.peers import harness, sources
from benchmarks.peers.adapter import PEERS
from benchmarks.peers.harness import Contestant
from benchmarks.peers.runs import Limits
from benchmarks.peers.sources import ShopSource


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Results go to a folder of the test's own."""
    for module in (places, product_search, search_scale):
        monkeypatch.setattr(module, "OUT", tmp_path)
    monkeypatch.setattr(harness.contest, "__defaults__", (tmp_path / "peers",))
    monkeypatch.setattr(sources.provide, "__defaults__", (tmp_path / "peers" / "data",))
    return tmp_path


def test_one_command_writes_tables_and_figure(elsewhere: Path, source: ShopSource) -> None:
    settings = {"n_features": 4000, "learning_rate": 0.02, "hidden": ()}
    contestants = [Contestant("popular"), *product_search.mach(4, 60, 4, **settings)]
    limits = Limits(2 * 2**30, 120)
    rows = product_search.report("toy", product_search.Experiment("A toy", source, contestants, limits))
    assert [row["answering"].get("repetitions") for row in rows[1:3]] == [2, 4]
    two, four = rows[1:3]
    assert two["parameters"] * 2 == four["parameters"] == 4 * (4000 * 60 + 60)
    assert two["training seconds"] < four["training seconds"]  # its share
    assert two["training memory"] == four["training memory"]  # one after the other
    assert four["matching"]["unweighted"]["recall@10"] > two["matching"]["unweighted"]["recall@10"]
    assert rows[0]["matching"]["weighted"]["recall@100"] < four["matching"]["weighted"]["recall@100"]
    text = (elsewhere / "product-search-toy.md").read_text()
    assert "| MACH, no hidden layer, B=60, R=4, n features 4000 | 4 | " in text
    assert "recall_weighted" in text
    assert "mrr_most_rel_unweighted" in text
    assert json.loads((elsewhere / "product-search-toy.json").read_text()) == json.loads(json.dumps(rows))
    assert (elsewhere / "product-search-toy.svg").read_text().startswith("<?xml")


@pytest.mark.parametrize("name", product_search.EXPERIMENTS)
def test_every_experiment_is_of_known_peers_and_repeats_nothing(name: str) -> None:
    contestants = product_search.EXPERIMENTS[name].contestants
    assert {each.peer for each in contestants} == set(PEERS)
    names = [each.name for each in contestants]
    assert len(set(names)) == len(names)


def test_repetitions_double() -> None:
    counts = [each.answering["repetitions"] for each in product_search.mach(32, 2000, 1)]
    assert counts == [2, 4, 8, 16, 32]


def _row(peer: str, recall: float, training: dict[str, Any], **answering: Any) -> dict[str, Any]:
    measured = {"weighted": {"recall@100": recall}}
    return {"peer": peer, "contestant": peer, "training": training, "answering": answering, "matching": measured}


def test_a_row_without_a_result_says_why() -> None:
    row = {**_row("parabel", 0.0, {"trees": 16}), "failed": "out of memory after 9 s"}
    assert tables.result_table([row]).endswith(
        "| Parabel, 16 trees, leaf 100 | 20 | - | out of memory after 9 s | - | - | - | - |\n"
    )
    assert "Parabel" not in tables.quality_table([row])


def test_rows_with_default_settings_have_names() -> None:
    for contestant, name in (
        (product_search.default_mach()[0], "MACH, default settings, R=2"),
        (product_search.ranked_mach()[0], "MACH, default settings, R=8, titles as label text"),
    ):
        row = _row("mach", 0.5, dict(contestant.training), **contestant.answering) | {"failed": "no"}
        assert tables.result_table([row]).splitlines()[-1].startswith(f"| {name} | - |")


def test_the_best_of_each_kind_is_shown() -> None:
    rows = [_row("dssm", 0.5, {}), _row("dssm", 0.7, {"epochs": 9}), {**_row("bm25", 0.9, {}), "failed": "no"}]
    assert tables.best_of_each(rows) == [rows[1]]


def test_a_difference_has_the_chance_of_its_heavy_queries() -> None:
    draw = np.random.default_rng(0)
    sessions = np.ones(1000, np.float32)
    rival, better = draw.random((2, 1000)) < [[0.5], [0.7]]
    rows = [
        {**_row("dssm", rival.mean(), {}), "recalls": rival.astype(float).tolist()},
        {**_row("bm25", better.mean(), {}), "recalls": better.astype(float).tolist()},
    ]
    last = tables.chance_table(rows, sessions).splitlines()[-1].split("|")
    shown, low, high = (float(cell) for cell in last[3:6])
    # the standard error of a difference of two shares, and 1.96 of it on either side
    error = 100 * math.sqrt(0.5 * 0.5 / 1000 + 0.7 * 0.3 / 1000)
    assert math.isclose(high - low, 2 * 1.96 * error, rel_tol=0.15)
    assert low < shown < high
    sessions[0] = 10_000
    assert tables.effective_number(sessions) < 1.3
    own = tables.chance_table(rows, sessions).splitlines()[2].split("|")
    assert [float(cell) for cell in own[3:6]] == [0.0, 0.0, 0.0]  # a model and itself are drawn alike
    assert tables.chance_table(rows[1:], sessions) == ""


# --- scale

GROWTH = {
    "rival": [
        {"products": 10, "training memory": 150, "answering memory": 50},
        {"products": 100, "training memory": 1050, "answering memory": 50},
        {"products": 1000, "failed": "out of memory after 3 s"},
    ]
}


def test_memory_is_carried_on_along_its_last_slope() -> None:
    assert math.isclose(search_scale.carried_on(GROWTH["rival"], "training memory", 10_000), 100_050)
    assert math.isclose(search_scale.carried_on(GROWTH["rival"], "answering memory", 10_000), 50)
    text = search_scale.growth_table(GROWTH)
    assert "| rival | 1,000 | out of memory after 3 s | - |" in text
    assert "carried on" in text
    whole = search_scale.at_scale({"training memory": 5, "answering memory": 4, "seconds": 1.0})
    assert "carried on" not in search_scale.growth_table({"own": [*GROWTH["rival"][:2], whole]})


def test_the_curve_is_drawn(tmp_path: Path) -> None:
    search_scale.draw(tmp_path / "curve.svg", GROWTH)
    assert (tmp_path / "curve.svg").read_text().startswith("<?xml")


def test_the_cost_of_a_million_queries_is_a_slope() -> None:
    costs = [{"seconds": 12.0, "queries": 100_000}, {"seconds": 16.0, "queries": 300_000}]
    assert search_scale.per_million(costs) == 20.0
    assert "A million queries take 20 s" in search_scale.paper_cost(costs)


def test_a_sample_of_a_shop_is_trained_and_answers() -> None:
    found = search_scale.sample(400, 50_000, hidden=[8], n_buckets=100, questions=5)
    assert found["queries"] == 400 < found["bought"]
    assert all(found[name] > 0 for name in ("seconds", "training memory", "answering memory", "answer, mean"))
    assert "| 400 | " in search_scale.cost_table([found])


def test_growth_stops_for_whoever_failed(elsewhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[int, list[str]]] = []

    def answer(source: ShopSource, contestants: list[Contestant], limits: Limits) -> list[dict[str, Any]]:
        asked.append((source.n_products, [each.peer for each in contestants]))
        fails = {"dssm": 100, "parabel": 10}
        measured = {"training memory": 9, "private training memory": 1, "answering memory": 2, "bytes": 3}
        return [
            {"failed": "no", "while": "training"} if source.n_products >= fails.get(each.peer, 10**9) else measured
            for each in contestants
        ]

    monkeypatch.setattr(search_scale, "contest", answer)
    found = search_scale.grow((10, 100, 1000, 10_000_000))  # MACH is not asked with ten million
    assert asked == [(10, ["mach", "parabel", "dssm"]), (100, ["mach", "dssm"]), (1000, ["mach"])]
    assert [len(rows) for rows in found.values()] == [3, 1, 2]
    assert found[search_scale.MACH][0] == {"products": 10, "training memory": 1, "answering memory": 2, "bytes": 3}
