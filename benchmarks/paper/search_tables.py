"""The tables and the figure of the product search, from the rows that the harness gives."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.contest import Spread
from benchmarks.peers.judging import MATCHING, RANKING
from benchmarks.places import table
from benchmarks.plots import Line, lines
from xmach.planning import human_bytes
from xmach.types import FloatArray

Row = dict[str, Any]
_TOLD = {"mach": ("n_features", "weights", "title_parts", "bucketing"), "dssm": ("learning_rate", "title_parts")}
QUALITY = ("recall@10", "recall@100", "ndcg@10", "precision@1")


def model_name(row: Row) -> str:
    """What a contestant is, without its epochs."""
    training, answering = row["training"], row["answering"]
    extra = [f"{name.replace('_', ' ')} {training[name]}" for name in _TOLD.get(row["peer"], ()) if name in training]
    if row["peer"] == "mach":
        kept = answering.get("repetitions", training["n_repetitions"])
        extra += [answering["estimator"]] if "estimator" in answering else []
        extra += ["titles as label text"] if "titles" in training else []
        return ", ".join([f"MACH, {_shape(training)}, R={kept}", *extra])
    if row["peer"] == "parabel":
        return f"Parabel, {training.get('trees', 2)} trees, leaf {training.get('leaf', 100):,}"
    if row["peer"] == "dssm":
        return ", ".join([f"DSSM, {training.get('dimensions', 256)} dimensions", *extra])
    if row["peer"] == "bm25":
        return f"BM25, {training.get('documents', 'titles')}"
    return "most bought" if row["peer"] == "popular" else str(row["contestant"])


def _shape(training: dict[str, Any]) -> str:
    if "n_buckets" not in training:
        return "default settings"
    hidden = "-".join(map(str, training.get("hidden", ()))) or "no hidden layer"
    return f"{hidden}, B={training['n_buckets']:,}"


def result_table(rows: Sequence[Row]) -> str:
    """The paper's table: weighted recall, time, memory, parameters. A row without a result says why."""
    header = ["model", "epochs", "wRecall@100, %", "training time", "memory, training", "memory, evaluation"]
    return table([*header, "parameters", "on disk"], [[model_name(row), _epochs(row), *_costs(row)] for row in rows])


def quality_table(rows: Sequence[Row], weights: str = "unweighted") -> str:
    """recall@10, recall@100, nDCG@10 and P@1, in percent."""
    header = ["model", "epochs", *QUALITY]
    cells = [
        [model_name(row), _epochs(row), *(_percent(row["matching"][weights][name]) for name in QUALITY)]
        for row in finished(rows)
    ]
    return table(header, cells)


def matching_table(rows: Sequence[Row]) -> str:
    """The paper's matching metrics, of the first 100 among all products; models that have a result side by side."""
    return _metric_table(rows, "matching", MATCHING)


def ranking_table(rows: Sequence[Row]) -> str:
    """The paper's ranking metrics: what was bought, ranked among what was bought or seen."""
    return _metric_table([row for row in rows if row.get("ranking")], "ranking", RANKING)


def chance_table(rows: Sequence[Row], sessions: FloatArray) -> str:
    """How far weighted recall differs from that of the best DSSM, and between what 95 % of it lies when the queries are
    drawn anew, the same for both."""
    shown = finished(rows)
    rivals = [row for row in best_of_each(shown) if row["peer"] == "dssm"]
    if not rivals:
        return ""
    draws = drawn_recalls([rivals[0]["recalls"], *(row["recalls"] for row in shown)], sessions)
    cells = []
    for row, drawn in zip(shown, draws[1:], strict=True):
        low, high = (f"{100 * x:+.1f}" for x in np.percentile(drawn - draws[0], (2.5, 97.5)))
        cells.append([model_name(row), _epochs(row), f"{100 * (_recall(row) - _recall(rivals[0])):+.1f}", low, high])
    return table(["model", "epochs", f"above {model_name(rivals[0])}", "from", "to"], cells)


def drawn_recalls(recalls: Sequence[Sequence[float]], sessions: FloatArray, times: int = 2000) -> FloatArray:
    """The weighted mean of each model's recalls (models, times), over queries drawn anew: the bootstrap, with a Poisson
    number of each query."""
    draw = np.random.default_rng(0)
    weights, values = sessions.astype(np.float64), np.array(recalls, np.float64)  # (n,), (models, n)
    means = []
    for _ in range(times):
        drawn = weights * draw.poisson(1.0, len(weights))
        means.append(values @ drawn / drawn.sum())
    return np.array(means).T


def effective_number(sessions: FloatArray) -> float:
    """So many queries of one weight would leave as much to chance as these do."""
    weights = sessions.astype(np.float64)
    return float(weights.sum() ** 2 / (weights**2).sum())


def finished(rows: Sequence[Row]) -> list[Row]:
    """The rows that have a result."""
    return [row for row in rows if "failed" not in row]


def best_of_each(rows: Sequence[Row]) -> list[Row]:
    """Of every kind of model the row with the best weighted recall: for tables with a column a model."""
    best: dict[str, Row] = {}
    for row in finished(rows):
        if row["peer"] not in best or _recall(row) > _recall(best[row["peer"]]):
            best[row["peer"]] = row
    return list(best.values())


def recall_figure(path: Path, title: str, rows: Sequence[Row]) -> None:
    """Weighted recall@100 against R, or trees; a level line for models that have neither."""
    growing: dict[str, dict[int, float]] = {}
    level: dict[str, float] = {}
    for row in finished(rows):
        training, recall = row["training"], 100 * _recall(row)
        if row["peer"] == "mach":
            kept = row["answering"].get("repetitions", training["n_repetitions"])
            name = model_name(row).rsplit(f", R={kept}", 1)
            growing.setdefault(f"{''.join(name)}, {_epochs(row)} epochs", {})[kept] = recall
        elif row["peer"] == "parabel":
            growing.setdefault(f"Parabel, leaf {training.get('leaf', 100):,}", {})[training.get("trees", 2)] = recall
        elif row["peer"] != "popular":
            level[f"{model_name(row)}, {_epochs(row)} epochs".removesuffix(", - epochs")] = recall
    most = max((r for points in growing.values() for r in points), default=2)
    series = {name: _line(points) for name, points in growing.items()}
    series |= {name: _line({1: recall, most: recall}) for name, recall in level.items()}
    lines(path, title, series, ("R (MACH), trees (Parabel)", "weighted recall@100, %"), (True, False), False)


def _line(points: dict[int, float]) -> Line:
    xs = sorted(points)
    return Line([float(x) for x in xs], [Spread(points[x], points[x], points[x]) for x in xs])


def _metric_table(rows: Sequence[Row], which: str, names: dict[str, str]) -> str:
    shown = best_of_each(rows)
    cells = [
        [f"{name}_{weights}", *(f"{row[which][weights][key]:.4f}" for row in shown)]
        for name, key in names.items()
        for weights in ("weighted", "unweighted")
    ]
    return table(["metric", *(model_name(row) for row in shown)], cells)


def _costs(row: Row) -> list[str]:
    if "failed" in row:
        return ["-", row["failed"], *["-"] * 4]
    parameters = "-" if row["parameters"] is None else f"{row['parameters'] / 1e6:,.1f} M"
    memory = (human_bytes(row[name]) for name in ("training memory", "answering memory"))
    return [_percent(_recall(row)), _time(row["training seconds"]), *memory, parameters, human_bytes(row["bytes"])]


def _recall(row: Row) -> float:
    return float(row["matching"]["weighted"]["recall@100"])


def _epochs(row: Row) -> str:
    usual = {"mach": 10, "dssm": 5, "parabel": 20}  # what each does where it is not told
    if row["peer"] == "mach" and "n_buckets" not in row["training"]:
        return "-"
    return str(row["training"].get("epochs", usual.get(row["peer"], "-")))


def _percent(share: float) -> str:
    return f"{100 * share:.1f}"


def _time(seconds: float) -> str:
    return (
        f"{seconds:.1f} s"
        if seconds < 120
        else f"{seconds / 60:.1f} min"
        if seconds < 7200
        else f"{seconds / 3600:.1f} h"
    )
