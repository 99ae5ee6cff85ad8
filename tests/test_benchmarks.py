"""The benchmarks' own parts: turns are taken, limits are speeds, plots are SVG, every name leads to a module."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from benchmarks import limits
from benchmarks.__main__ import BENCHMARKS, listing, main
from benchmarks.contest import Spread, Times, alternate, figures
from benchmarks.plots import Line, Panel, bars, lines
from benchmarks.profiles import judge

from xmach.data.arrays import as_sparse_rows
from xmach.ranking.profile_search import Similarities

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "performance.md"


# --- contests


def test_contestants_take_turns() -> None:
    calls: list[str] = []
    times = alternate({name: lambda name=name: calls.append(name) for name in "ab"}, rounds=3)
    assert calls == [*"ab", *"ab" * 3]
    assert [len(seconds) for seconds in times.seconds.values()] == [3, 3]
    assert all(second > 0 for seconds in times.seconds.values() for second in seconds)


def test_short_calls_are_repeated_within_a_turn() -> None:
    calls: list[int] = []
    times = alternate({"short": lambda: calls.append(0)}, rounds=2, least=1e-3)
    assert len(calls) > 20
    assert times.spread("short").high < 1e-3  # of one call


def test_ratios_are_of_one_round() -> None:
    times = Times({"slow": [2.0, 8.0, 30.0], "fast": [1.0, 2.0, 10.0]})
    assert times.ratio("slow", "fast") == Spread(3.0, 2.0, 4.0)
    assert times.spread("slow") == Spread(8.0, 2.0, 30.0)
    assert times.to_dict()["fast"] == {"seconds": [1.0, 2.0, 10.0], "median": 2.0, "low": 1.0, "high": 10.0}


def test_seconds_become_speeds() -> None:
    assert Spread(2.0, 1.0, 4.0).into(8.0) == Spread(4.0, 2.0, 8.0)
    assert Spread(2.0, 1.0, 4.0).times(10) == Spread(20.0, 10.0, 40.0)


@pytest.mark.parametrize(("number", "shown"), [(0.01234, "0.0123"), (1.5, "1.5"), (99.96, "100"), (12_345.6, "12,346")])
def test_figures_have_no_exponent(number: float, shown: str) -> None:
    assert figures(number) == shown


# --- profiles


def test_shortlists_are_judged_by_recall_and_precision() -> None:
    labels = as_sparse_rows(np.array([[1, 0, 1, 0], [0, 0, 0, 0], [0, 1, 0, 0]], np.float32))
    ids = np.array([[3, 2, -1], [0, 1, 2], [1, -1, -1]])
    recalls, precision = judge(Similarities(np.zeros(0, np.float32), ids, np.zeros((3, 3), np.float32)), labels)
    assert recalls == [75.0] * 3
    assert precision == 50.0


# --- limits


def test_limits_are_speeds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "FLOATS", 2**12)
    monkeypatch.setattr(limits, "TABLE", 2**10)
    loops = limits.streams() | limits.chance()
    found = limits.measure(loops, rounds=1)
    assert list(found) == ["read", "update", "copy", "triad", "lines", "cells"]
    assert all(0 < limit.speed.low <= limit.speed.median <= limit.speed.high < np.inf for limit in found.values())


def test_limits_count_what_they_do() -> None:
    loops = limits.arithmetic()
    assert loops["gemm"].amount == 2 * np.prod(limits.GEMMS["gemm"])
    assert all(loop.unit in limits.SCALES for loop in loops.values())


# --- plots


def svg(path: Path) -> str:
    text = path.read_text(encoding="utf-8")
    assert ET.fromstring(text).tag == "{http://www.w3.org/2000/svg}svg"
    return text


def test_plots_are_svg_and_the_same_bytes_each_time(tmp_path: Path) -> None:
    ratios = {"some kernel": {"one way": Spread(3.0, 2.0, 4.0), "another": Spread(0.5, 0.4, 0.6)}}
    speeds = {"": {"read": Spread(20.0, 18.0, 22.0)}}
    growth = {"exact": Line([1e5, 1e6], [Spread(1.0, 0.9, 1.2), Spread(9.0, 8.0, 12.0)])}
    for name in ("once", "again"):
        bars(tmp_path / name / "bars.svg", "a contest", [Panel("times", ratios, log=True), Panel("GB/s", speeds)])
        lines(tmp_path / name / "lines.svg", "growth", growth, ("labels", "milliseconds"))
        lines(tmp_path / name / "linear.svg", "growth", growth, ("labels", "milliseconds"), (True, False))
    for file in ("bars.svg", "lines.svg", "linear.svg"):
        assert svg(tmp_path / "once" / file) == svg(tmp_path / "again" / file)
        assert "<text" not in svg(tmp_path / "once" / file)  # letters are paths: the same without any font


@pytest.mark.parametrize("name", ["limits", "micro"])
def test_plots_of_the_page_are_small_and_whole(name: str) -> None:
    assert f"(figures/{name}.svg)" in PAGE.read_text(encoding="utf-8")
    assert len(svg(ROOT / "docs" / "figures" / f"{name}.svg")) < 200_000


# --- the command


@pytest.mark.parametrize("name", BENCHMARKS)
def test_every_benchmark_has_a_main(name: str) -> None:
    try:
        module = import_module(BENCHMARKS[name].module)
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        pytest.skip("PyTorch comes with the `bench` extra")
    assert callable(module.main)


def test_the_list_says_what_there_is_and_how_long_it_takes(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--list"])
    shown = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in shown] == [*BENCHMARKS, "together"]
    assert listing(["limits"]).splitlines()[0] == shown[0]


def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(SystemExit, match="no benchmark 'speed'; there are limits, micro"):
        main(["speed"])


def test_options_go_to_the_last_benchmark_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SystemExit, match="limits takes no options, got --sets"):
        main(["limits", "--sets", "tate"])
    with pytest.raises(SystemExit, match="0"):
        main(["tagging", "--help"])
    given: list[tuple[str, ...]] = []
    monkeypatch.setattr("benchmarks.tagging.contest.main", lambda *options: given.append(options))
    main(["tagging", "--sets", "tate"])
    assert given == [("--sets", "tate")]
