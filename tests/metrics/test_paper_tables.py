"""The paper's two tables of a predictor against plain loops over its full ranking."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from tests.metrics import by_definition
from tests.test_evaluation import N_LABELS, a_predictor, some_data

from xmach.errors import InputError
from xmach.evaluation import matching_table, ranking_table
from xmach.metrics import PaperTable, representative, side_by_side
from xmach.predictor import sketching

Row = tuple[dict[int, float], list[int]]  # purchases, ranking


def rows_of(data: Any, rankings: list[list[int]]) -> list[Row]:
    labels = [dict(zip(*(part.tolist() for part in data.labels.row(i)), strict=True)) for i in range(data.n_rows)]
    return list(zip(labels, rankings, strict=True))


def both_ways(name: str, values: list[float], weights: list[float]) -> dict[str, float]:
    weighted = math.fsum(v * w for v, w in zip(values, weights, strict=True)) / math.fsum(weights)
    return {f"{name}_weighted": weighted, f"{name}_unweighted": math.fsum(values) / len(values)}


def matching_by_hand(rows: list[Row], weights: list[float], k: int, as_written: bool) -> dict[str, float]:
    """Map, MRR, nDCG and recall of the first k places, as usual or by the formulas of the appendix."""
    values: dict[str, float] = {}
    for name in ("map", "mrr", "ndcg", "recall"):
        score = by_definition.ROW[f"{name}_paper" if as_written and name != "recall" else name]
        values |= both_ways(name, [score(labels, ranking, k) for labels, ranking in rows], weights)
    return values


def ranking_by_hand(rows: list[Row], weights: list[float], as_written: bool) -> dict[str, float]:
    """Of whole lists: nDCG, MRR, and whether the first is bought; the same with the most bought product only."""
    every = max(len(ranking) for _, ranking in rows)
    first_hit, most = by_definition.reciprocal_rank, by_definition.most
    ndcg = by_definition.ndcg_paper if as_written else by_definition.ndcg
    columns = {
        "ndcg": [ndcg(labels, ranking, every) for labels, ranking in rows],
        "mrr": [first_hit(most(labels) if as_written else labels, ranking, every) for labels, ranking in rows],
        "mrr_most_rel": [first_hit(most(labels), ranking, every) for labels, ranking in rows],
        "prec@1": [float(ranking[0] in labels) if ranking else 0.0 for labels, ranking in rows],
        "prec@1_most_rel": [float(ranking[0] in most(labels)) if ranking else 0.0 for labels, ranking in rows],
    }
    values: dict[str, float] = {}
    for name, scores in columns.items():
        values |= both_ways(name, scores, weights)
    return values


def seen_after(n_rows: int) -> list[list[int]]:
    """Products seen after each query: none, some, some that were bought too, some that no model knows."""
    draw = np.random.default_rng(8)
    return [draw.choice(N_LABELS + 5, draw.integers(0, 9), replace=False).tolist() for _ in range(n_rows)]


@pytest.fixture(params=[64 * 2**20, 2000], ids=["all rows at once", "a few at a time"])
def batches(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sketching, "SKETCH_BYTES", request.param)


@pytest.mark.usefixtures("batches")
@pytest.mark.parametrize("as_written", [False, True])
@pytest.mark.parametrize("restricted", [False, True])
def test_matching(as_written: bool, restricted: bool) -> None:
    predictor, data, k = a_predictor(), some_data(), 8
    candidates = representative(data.labels.slice(0, 5), N_LABELS, 20) if restricted else None
    full = predictor.top_k(data.features, N_LABELS).ids.tolist()
    allowed = set(range(N_LABELS) if candidates is None else candidates.tolist())
    assert data.weights is not None
    rows = rows_of(data, [[label for label in ranking if label in allowed] for ranking in full])
    expected = matching_by_hand(rows, data.weights.astype(float).tolist(), k, as_written)
    table = matching_table(predictor, data, k, candidates=candidates, as_written=as_written)
    assert table.values == pytest.approx(expected, rel=0, abs=1e-9)
    assert list(table.values) == list(expected)
    assert (table.title, table.rows, table.rows_left_out) == ("matching @8", 60, 0)


@pytest.mark.usefixtures("batches")
@pytest.mark.parametrize("as_written", [False, True])
def test_ranking_with_seen_negatives(as_written: bool) -> None:
    predictor, data = a_predictor(), some_data()
    seen = seen_after(data.n_rows)
    some = int(np.argmax(np.diff(data.labels.indptr) > 0))
    seen[some] = data.labels.row(some)[0].tolist()  # all that was seen was bought: nothing to rank
    full = predictor.top_k(data.features, N_LABELS).ids.tolist()
    rows, weights = [], []
    assert data.weights is not None
    for (labels, ranking), others, weight in zip(rows_of(data, full), seen, data.weights.tolist(), strict=True):
        if labels and set(others) - set(labels):
            rows.append((labels, [label for label in ranking if label in {*labels, *others}]))
            weights.append(weight)
    expected = ranking_by_hand(rows, weights, as_written)
    table = ranking_table(predictor, data, seen, as_written=as_written)
    assert table.values == pytest.approx(expected, rel=0, abs=1e-9)
    assert list(table.values) == list(expected)
    assert 0 < table.rows == len(rows) == data.n_rows - table.rows_left_out < data.n_rows
    values = table.values
    assert values["mrr_most_rel_unweighted"] <= values["mrr_unweighted"] + 1e-12
    assert values["prec@1_most_rel_weighted"] != values["prec@1_weighted"]


def test_one_row_by_hand() -> None:
    """Three purchases and two negatives: the ranking alone decides the figures."""
    predictor, data = a_predictor(), some_data(n_columns=N_LABELS)
    order = predictor.top_k(data.features[:1], N_LABELS).ids[0].tolist()
    negative, most, other = (order[place] for place in (0, 1, 3))  # as ranked: seen, most bought, seen, bought
    labels = data.labels.slice(0, 1)
    indices = np.array(sorted([most, other]), np.int32)
    purchases = np.where(indices == most, 9, 2).astype(np.float32)
    labels = type(labels)(np.array([0, 2]), indices, purchases, N_LABELS)
    one = type(data)(data.features[:1], labels)
    values = ranking_table(predictor, one, [[negative, order[2], most]]).values
    gained, best = 1 / math.log2(3) + 1 / math.log2(5), 1 + 1 / math.log2(3)
    assert values["ndcg_unweighted"] == pytest.approx(gained / best)
    assert values["mrr_weighted"] == values["mrr_most_rel_weighted"] == 0.5
    assert values["prec@1_weighted"] == values["prec@1_most_rel_unweighted"] == 0.0


def test_an_estimator_of_ones_own() -> None:
    predictor, data, seen = a_predictor(), some_data(), seen_after(60)
    assert ranking_table(predictor, data, seen, estimator="min") != ranking_table(predictor, data, seen)
    assert matching_table(predictor, data, 5, estimator="min") != matching_table(predictor, data, 5)


def test_markdown_has_the_figures_and_marks_the_best() -> None:
    one = PaperTable("ranking", {"mrr_weighted": 0.51234, "mrr_unweighted": 0.25}, 7)
    two = PaperTable("ranking", {"mrr_weighted": 0.4, "mrr_unweighted": 0.25001}, 7)
    assert side_by_side({"MACH": one, "Parabel": two}).splitlines() == [
        "| ranking | MACH | Parabel |",
        "| --- | ---: | ---: |",
        "| mrr_weighted | **0.5123** | 0.4000 |",
        "| mrr_unweighted | **0.2500** | **0.2500** |",
    ]
    assert one.markdown("MACH").splitlines()[2] == "| mrr_weighted | 0.5123 |"


def test_refusals() -> None:
    predictor, data = a_predictor(), some_data()
    with pytest.raises(InputError, match="seen has 59 rows, data has 60"):
        ranking_table(predictor, data, seen_after(59))
    with pytest.raises(InputError, match="no row has both a purchase and a product that was seen and not bought"):
        ranking_table(predictor, data, [[]] * 60)
    with pytest.raises(InputError, match="columns must have at least one table"):
        side_by_side({})
    tables = {"a": PaperTable("ranking", {"x": 0.0}, 7), "b": PaperTable("ranking", {"x": 0.0}, 8)}
    with pytest.raises(InputError, match="'b' does not match the others: ranking of 8 rows beside ranking of 7"):
        side_by_side(tables)
