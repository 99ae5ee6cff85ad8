"""docs/theory.md: its code prints what it shows, its tables are what is measured, its figures obey the theorems.

Every draw of hashes has a seed of its own, so these tests give the same numbers in every run.
"""

from __future__ import annotations

import io
import json
import re
import xml.etree.ElementTree as ET
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.paper import theory

from xmach.buckets import UniversalHashes
from xmach.planning import indistinguishable_bound

ROOT = Path(__file__).resolve().parent.parent
PAGE = (ROOT / "docs" / "theory.md").read_text(encoding="utf-8")
TRUTH = np.sort(theory.zipf())[::-1]


def rows_of(table: str) -> list[str]:
    """The body of a Markdown table."""
    return table.splitlines()[2:]


def numbers_of(row: str) -> list[float]:
    return [float(word.replace(",", "")) for word in re.findall(r"[\d.,]+", row)]


def test_code_prints_what_the_page_shows() -> None:
    blocks = re.findall(r"```python\n(.*?)```\n(?:```text\n(.*?)```\n)?", PAGE, re.DOTALL)
    assert len(blocks) >= 5
    namespace: dict[str, Any] = {"__name__": "page"}
    for code, shown in blocks:
        printed = io.StringIO()
        with redirect_stdout(printed):
            exec(code, namespace)
        assert printed.getvalue() == shown


# --- the tables


def test_promises_are_the_theorems() -> None:
    rows = rows_of(theory.promise_table())
    assert len(rows) == 11
    for row in rows:
        assert row in PAGE


@pytest.mark.parametrize("noise", [0.0, 1.0])
def test_recall_of_the_estimators_is_what_is_measured(noise: float) -> None:
    (measured,) = rows_of(theory.recall_table([theory.summarise(noise, 16)]))
    (shown,) = re.findall(rf"^\| {noise:g} \| 16 \|.*$", PAGE, re.MULTILINE)
    # NumPy does not promise its normal deviates across versions; a standard error is below one in a hundred
    np.testing.assert_allclose(numbers_of(shown), numbers_of(measured), atol=2)


def test_pairs_are_what_is_measured() -> None:
    rows = rows_of(theory.pair_table(theory.indistinguishable(32)))
    assert len(rows) == 3
    for row in rows:
        assert row in PAGE


def test_spread_is_what_is_measured() -> None:
    formula = [np.sqrt((TRUTH**2).sum() / (r * (theory.N_BUCKETS - 1))) for r in theory.REPETITIONS]
    measured = [theory.estimates(0.0, r)["mean"].std(axis=0).mean() for r in theory.REPETITIONS]
    for (four, sixteen, sixty_four), source in ((formula, "by the formula"), (measured, "measured")):
        assert f" {four:.4f}, {sixteen:.4f} and {sixty_four:.4f} {source}" in PAGE


# --- the theorems behind the figures


@pytest.fixture(scope="module")
def exact() -> dict[str, Any]:
    """Estimates from exact cells, R = 4, by falling probability: (draws, K) for each estimator."""
    return theory.estimates(0.0, 4, 400)


def test_the_mean_is_unbiased_and_no_other_is(exact: dict[str, Any]) -> None:
    ranks = np.unique(np.geomspace(1, theory.N_LABELS, 25).astype(int)) - 1
    # the spread that theory gives, not that of the sample: heavy collisions are few, and a sample that missed some
    # has a mean and a spread that are too small together
    error = theory.expected_spread(4) / np.sqrt(len(exact["mean"]))
    off = {name: (found[:, ranks].mean(axis=0) - TRUTH[ranks]) / error for name, found in exact.items()}
    assert np.abs(off["mean"]).max() < 4
    assert all(off[name].min() > 4 for name in ("min", "median", "log"))


@pytest.mark.parametrize("n_repetitions", [4, 16])
def test_the_means_spread_falls_as_the_root_of_repetitions(n_repetitions: int) -> None:
    row = theory.summarise(0.0, n_repetitions, 100)
    assert row["estimators"]["mean"]["spread"] == pytest.approx(row["expected_spread"], rel=0.1)


def test_min_is_a_count_min_sketchs(exact: dict[str, Any]) -> None:
    truth = TRUTH.astype(np.float32)
    c = UniversalHashes.draw(theory.N_LABELS, theory.N_BUCKETS, 1).collision_probability
    assert (exact["min"] >= truth).all()
    far = (exact["min"] > truth + 2 * c).mean(axis=0)  # for each label, over draws
    assert far.max() <= 2**-4 + 4 * np.sqrt(2**-4 / len(exact["min"]))


def test_log_is_between_min_and_the_plain_mean(exact: dict[str, Any]) -> None:
    c = UniversalHashes.draw(theory.N_LABELS, theory.N_BUCKETS, 1).collision_probability
    plain = c + (1 - c) * exact["mean"]
    assert (exact["log"] >= exact["min"] * (1 - 1e-5)).all()
    assert (exact["log"] <= plain * (1 + 1e-5)).all()


@pytest.mark.parametrize("n_buckets", theory.PAIR_BUCKETS)
def test_pairs_are_as_many_as_expected_and_as_rare_as_promised(n_buckets: int) -> None:
    rows = theory.indistinguishable(n_buckets, 400)
    common = [row for row in rows if row["share"] * row["draws"] >= 30]
    assert len(common) >= 3
    for row in common:
        assert abs(row["pairs"] - row["expected"]) < 4 * row["pairs_error"]
    for row in rows:
        assert row["bound"] == indistinguishable_bound(theory.N_LABELS, n_buckets, row["R"])
        assert row["expected"] < theory.N_LABELS**2 / n_buckets ** row["R"] / 2
        assert row["share"] <= row["bound"] + 4 * row["share_error"]
    # pairs come in lots: where there should be one or more on average, draws without any are the rule
    lots = [row["share"] for row in rows if row["expected"] > 1]
    assert lots[-1] < 0.2


# --- the figures


def test_figures_are_the_same_bytes_each_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("once", "again"):
        monkeypatch.setattr("benchmarks.places.OUT", tmp_path / name)
        theory.main(tmp_path / name, n_draws=3, n_pair_draws=20)
    files = sorted(path.name for path in (tmp_path / "once").iterdir())
    assert files == ["estimates.svg", "pairs.svg", "theory.json", "theory.md", "theory.svg"]
    for file in files:
        assert (tmp_path / "once" / file).read_bytes() == (tmp_path / "again" / file).read_bytes()
    results = json.loads((tmp_path / "once" / "theory.json").read_text(encoding="utf-8"))
    assert len(results["estimates"]) == len(theory.NOISES) * len(theory.REPETITIONS)
    assert len(results["pairs"]) == len(theory.PAIR_BUCKETS) * theory.MOST_REPETITIONS


@pytest.mark.parametrize("name", ["estimates", "pairs"])
def test_figures_of_the_page_are_small_and_whole(name: str) -> None:
    assert f"(figures/{name}.svg)" in PAGE
    text = (ROOT / "docs" / "figures" / f"{name}.svg").read_text(encoding="utf-8")
    assert len(text) < 150_000
    assert ET.fromstring(text).tag == "{http://www.w3.org/2000/svg}svg"
    assert "<text" not in text  # letters are paths: the same without any font
    assert "dc:date" not in text
