"""The two figures of docs/theory.md as SVG: the same bytes for the same numbers, light ground, letters as paths."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from benchmarks.plots import figure as drawing

COLOURS = ("#d55e00", "#0072b2", "#009e73")  # told apart by colour-blind readers, too
_FINDINGS = {
    "mean": "mean, made unbiased: right on average",
    "min": "min: never below the truth",
    "median": "median: blind to one heavy neighbour",
    "log": "log: the geometric mean of the cells",
}


def draw_estimates(rows: list[dict[str, Any]], path: Path) -> None:
    """Estimate against truth, a panel an estimator: mean over draws, and the middle 90 % of them, for each R."""
    with drawing(path, (8.6, 6.4)) as figure:
        axes = figure.subplots(2, 2, sharex=True, sharey=True)
        for panel, (name, finding) in zip(axes.flat, _FINDINGS.items(), strict=True):
            for row, colour in zip(rows, COLOURS, strict=True):
                truth, values = row["truth"], row["estimators"][name]
                panel.fill_between(truth, values["low"], values["high"], color=colour, alpha=0.13, linewidth=0)
                for edge in (values["low"], values["high"]):
                    panel.plot(truth, edge, color=colour, linewidth=0.6, alpha=0.7)
                panel.plot(truth, values["mean"], color=colour, linewidth=1.7, label=f"R = {row['R']}")
            panel.plot(truth, truth, color="#222222", linewidth=1, linestyle=(0, (4, 3)), label="the truth")
            panel.set_title(finding)
            panel.set_xscale("log")
            panel.set_yscale("symlog", linthresh=1e-3, linscale=0.5)
            panel.set_yticks([-1e-2, -1e-3, 0, 1e-3, 1e-2, 1e-1], ["-0.01", "-0.001", "0", "0.001", "0.01", "0.1"])
            panel.set_xticks([1e-3, 1e-2, 1e-1], ["0.001", "0.01", "0.1"])
            panel.tick_params(which="minor", bottom=False, left=False)
            panel.set_ylim(-0.016, 0.25)
        for panel in axes[1]:
            panel.set_xlabel("true probability of the label")
        for panel in axes[:, 0]:
            panel.set_ylabel("estimate (linear within ±0.001)")
        figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
        first = rows[0]
        figure.suptitle(
            "More repetitions lift more labels out of the noise of collisions\n"
            f"{first['K']:,} labels, p ~ 1/rank, B = {first['B']}, exact cells; "
            f"lines: means of {first['draws']} draws of hashes, bands: the middle 90 %",
            fontsize=10.5,
        )


def draw_pairs(rows: list[dict[str, Any]], path: Path) -> None:
    """Indistinguishable pairs against R: how often there is one, and how many, beside the bound and the expectation."""
    with drawing(path, (8.6, 4.2)) as figure:
        left, right = figure.subplots(1, 2, sharex=True)
        for n_buckets, colour, marker in zip(sorted({row["B"] for row in rows}), COLOURS, "os", strict=False):
            chosen = [row for row in rows if row["B"] == n_buckets]
            for panel, theory, measured in ((left, "bound", "share"), (right, "expected", "pairs")):
                _line_and_points(panel, chosen, theory, measured, colour, marker)
        draws, n_labels = rows[0]["draws"], rows[0]["K"]
        left.set_title("Some pair is indistinguishable: below the bound $K^2/B^R$")
        left.set_ylabel("probability")
        left.set_ylim(0.2 / draws, 2)
        right.set_title("How many pairs: $c^R\\,K(K-1)/2$, as expected")
        right.set_ylabel("pairs of labels, mean")
        right.set_ylim(0.2 / draws, n_labels**2 / 5)
        for panel in (left, right):
            panel.set_yscale("log")
            panel.set_xlabel("repetitions R")
            panel.set_xticks(range(1, max(row["R"] for row in rows) + 1))
            panel.tick_params(which="minor", left=False)
        figure.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=4)
        figure.suptitle(
            "Each repetition divides the indistinguishable pairs by B\n"
            f"{n_labels:,} labels, {draws:,} draws of hashes; bars: two standard errors",
            fontsize=10.5,
        )


def _line_and_points(panel: Axes, rows: list[dict[str, Any]], line: str, points: str, colour: str, marker: str) -> None:
    """Theory as a line, what was measured as points with bars; a logarithmic axis has no place for none."""
    name = f"B = {rows[0]['B']}"
    panel.plot([row["R"] for row in rows], [row[line] for row in rows], color=colour, label=f"{name}, theory")
    seen = [row for row in rows if row[points] > 0]
    values, errors = (np.array([row[key] for row in seen]) for key in (points, f"{points}_error"))
    bars = [np.minimum(2 * errors, 0.95 * values), 2 * errors]
    panel.errorbar(
        [row["R"] for row in seen], values, bars, color=colour, fmt=marker, markersize=4.5, capsize=2.5,
        elinewidth=1, label=f"{name}, measured",
    )  # fmt: skip
