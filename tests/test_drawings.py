"""Plots of benchmarks: each is made of the results that its JSON file has, and shows those numbers."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest
from benchmarks import drawings, places
from benchmarks.__main__ import BENCHMARKS
from benchmarks.contest import Spread, Times
from benchmarks.drawings import DRAWINGS, once
from benchmarks.plots import Line, Panel

# draw by themselves what is not in their results, or several plots; `vectors`, `beam` and `profiles` have only a table
OWN = {
    "limits",
    "micro",
    "vectors",
    "beam",
    "profiles",
    "decoding",
    "home_depot",
    "shop-20k",
    "shop-200k",
    "shop-200k-first",
    "shop-1m",
    "search-scale",
}
RATIO = {"median": 2.0, "low": 1.5, "high": 3.0}
PROCESS = {"imports": 0.7, "verification": 2.0, "opening": 0.01, "answer": 0.5, "private": 1, "ids": [[1]]}
STAGES = {"labels": 9, "rows": 20, "stages": [{"stage": "label profiles", "wall": 2.0, "cpu": 1.5, "peak": 3e9}]}
RESULTS: dict[str, Any] = {
    "training": [
        {"shape": {"name": name}, "ratios": {"xmach": {"PyTorch": RATIO, "PyTorch fused": RATIO}}} for name in "ab"
    ],
    "text": [
        {"texts": "queries", "kinds": kind, "times": Times({"xmach": [1, 2], "sklearn": [4, 6]}).to_dict()}
        for kind in ("words", "pairs")
    ],
    "vocabulary": [
        {"texts": "titles"} | {"times": Times({"hashed": [2, 3], "vocabulary": [4, 4], "learning": [8, 8]}).to_dict()}
    ],
    "opening": {
        "bytes": 2 * 2**30,
        "runs": {name: [PROCESS, PROCESS | {"answer": 0.9}] for name in ("pages in memory", "pages on disk")},
        "commands": {"imports alone": [1.0, 1.2], "pages on disk": [2.0, 2.5]},
        "second": [2**26, 2**27],
    },
    "serving": {
        "closed": [
            {"batching": batching, "callers": callers, "rate": 100.0 * callers}
            for batching in (True, False)
            for callers in (1, 8, 8)
        ],
    },
    "scaling": {
        "labels": [
            {"n_labels": n, "decoding": {"exact, stored": {"row": n / 1e8}, "pruned, computed": pruned}}
            for n, pruned in ((100_000, None), (1_000_000, {"row": 0.002}), (50_000_000, {"row": 0.01}))
        ],
    },
    "executors": [{"job": "network", "seconds": {"one worker": [30, 32], "two workers": [17, 20]}, "same_bytes": True}],
    "reading": {"made-up": {"bytes": 10**8, "xmach, processor": [0.5, 1.0], "scikit-learn, processor": [5.0, 10.0]}},
    "memory": [
        {"run": run, "case": "small", "planned": 2**28, "measured": 2**28, "ratio": 0.98}
        for run in ("train", "predict")
    ],
    "many-labels": STAGES,
    "ten-million": STAGES,
    "presets": [{"preset": "odp", "total_hours": 12.5, "step": RATIO, "training_bytes": 3 * 2**30}],
    "learners": [
        {"learner": "network", "estimator": name, "seconds": 20.0}
        | {"precision@1": 0.64, "precision@3": 0.4, "precision@5": 0.3}
        for name in ("mean", "log")
    ],
    "multilabel": [
        {"set": "bibtex", "B": 100, "R": r, "estimator": name, "precision@1": p}
        | {"spread": {"precision@1": [p - 0.02, p + 0.01]}}
        for r, p in ((2, 0.5), (4, 0.6))
        for name in ("log", "mean")
    ],
    "tagging": {
        "rows": [
            {"contestant": "parabel", "bytes": 2e8, "quality": {"precision@1": 0.6}}
            | {"training seconds": {"cpu": RATIO}},
            {"contestant": "bonsai", "failed": "out of memory"},
        ]
    },
    "sizes": {
        "models": {
            "linear, B = 9": [{"R": r, "bytes": r * 10**6, "quality": {"precision@1": 0.6 + r}} for r in (1, 2, 4)]
        },
        "trees": {
            "parabel": {"bytes": 3e6, "quality": {"precision@1": 0.62}},
            "bonsai": {"failed": "out of memory"},
        },
    },
}  # fmt: skip


def test_every_benchmark_leaves_a_plot() -> None:
    assert DRAWINGS.keys() | OWN == BENCHMARKS.keys()
    assert RESULTS.keys() | {"theory"} == DRAWINGS.keys()  # that one is drawn in test_theory_page.py


@pytest.mark.parametrize("name", RESULTS)
def test_results_leave_json_and_a_plot(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(places, "OUT", tmp_path)
    places.write_results(name, RESULTS[name], "words\n")
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"{name}.json", f"{name}.md", f"{name}.svg"]
    assert json.loads((tmp_path / f"{name}.json").read_text()) == RESULTS[name]
    assert ET.parse(tmp_path / f"{name}.svg").getroot().tag == "{http://www.w3.org/2000/svg}svg"


class Shown:
    """Takes the place of `bars` and `lines`, and keeps what they were to draw."""

    panels: list[Panel]
    series: dict[str, Line]

    def bars(self, path: Path, title: str, panels: list[Panel]) -> None:
        self.panels = panels

    def lines(
        self, path: Path, title: str, series: dict[str, Line], axes: tuple[str, str], *how: Any, **more: Any
    ) -> None:
        self.series = series
        assert all(axes)


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> Shown:
    instead = Shown()
    monkeypatch.setattr(drawings, "bars", instead.bars)
    monkeypatch.setattr(drawings, "lines", instead.lines)
    return instead


def bar(shown: Shown, panel: int, heading: str, name: str) -> Spread:
    return shown.panels[panel].groups[heading][name]


def test_ratios_are_of_one_round(shown: Shown, tmp_path: Path) -> None:
    DRAWINGS["text"](RESULTS["text"], tmp_path)
    assert bar(shown, 0, "queries", "words") == Spread(3.5, 3.0, 4.0)
    DRAWINGS["training"](RESULTS["training"], tmp_path)
    assert bar(shown, 0, "b", "xmach against PyTorch fused") == Spread(2.0, 1.5, 3.0)
    assert all(panel.log for panel in shown.panels)  # bars begin at parity
    DRAWINGS["vocabulary"](RESULTS["vocabulary"], tmp_path)
    assert bar(shown, 0, "titles", "vocabulary") == Spread(0.625, 0.5, 0.75)


def test_opening_shows_each_part_the_commands_and_the_share(shown: Shown, tmp_path: Path) -> None:
    DRAWINGS["opening"](RESULTS["opening"], tmp_path)
    assert list(shown.panels[0].groups["pages on disk"]) == ["imports", "verification", "opening", "answer"]
    assert bar(shown, 0, "pages on disk", "answer") == Spread(0.7, 0.5, 0.9)
    assert bar(shown, 1, "`xmach predict` of one row", "pages on disk") == Spread(2.25, 2.0, 2.5)
    assert bar(shown, 2, "", "private, of the model") == Spread(4.6875, 3.125, 6.25)


def test_the_longest_time_is_the_lowest_speed(shown: Shown, tmp_path: Path) -> None:
    DRAWINGS["reading"](RESULTS["reading"], tmp_path)
    assert bar(shown, 0, "made-up, 100 MB", "scikit-learn") == Spread(100 / 7.5, 10.0, 20.0)


def test_a_search_that_there_is_not_has_no_point(shown: Shown, tmp_path: Path) -> None:
    DRAWINGS["scaling"](RESULTS["scaling"], tmp_path)
    assert [line.xs for line in shown.series.values()] == [[100_000, 1_000_000, 50_000_000], [1_000_000, 50_000_000]]
    assert shown.series["pruned, computed"].values[0] == once(2.0)


def test_precision_is_that_of_the_default_estimator(shown: Shown, tmp_path: Path) -> None:
    DRAWINGS["multilabel"](RESULTS["multilabel"], tmp_path)
    (line,) = shown.series.values()
    assert line.xs == [2, 4]
    assert line.values[1] == pytest.approx(Spread(60.0, 58.0, 61.0))
    DRAWINGS["learners"](RESULTS["learners"], tmp_path)
    assert list(shown.panels[0].groups["network"].values()) == [once(64.0), once(40.0), once(30.0)]
