"""One plot a benchmark, as SVG: bars with whiskers for contests, lines for scaling.

White ground, so that a plot reads the same on a dark page; colours that colour-blind readers tell apart, and a marker
for each line besides; letters as paths, the same without any font.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullFormatter, NullLocator

from benchmarks.contest import Spread, figures

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00")  # Okabe and Ito
_MARKERS = "os^Dv*"
_DASHES = ("-", "--", ":")  # for lines beyond the last colour
_TICKS = 8  # more have no room
_COVER = {"facecolor": "#ffffff", "edgecolor": "none", "pad": 1}  # no line runs through a heading
_STYLE: dict[Any, Any] = {  # Any: matplotlib types its keys as one long literal
    "font.size": 9,
    "axes.titlesize": 9.5,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#e4e4e4",
    "grid.linewidth": 0.6,
    "axes.axisbelow": True,
    "legend.frameon": False,
    "svg.fonttype": "path",
    "svg.hashsalt": "xmach",  # ids within the file, which are random otherwise
}


_LEGEND = 105  # letters that fit beside each other under a plot


@dataclass(frozen=True)
class Panel:
    """Bars under headings: heading -> name of a bar -> what was measured; an empty heading is not drawn."""

    axis: str  # what the numbers are, with their unit
    groups: Mapping[str, Mapping[str, Spread]]
    log: bool = False  # bars then begin at 1: for ratios


@dataclass(frozen=True)
class Line:
    """One line of a scaling plot: what was measured at each x."""

    xs: list[float]
    values: list[Spread]


@contextmanager
def figure(path: Path, size: tuple[float, float]) -> Iterator[Figure]:
    """A figure in our style, saved when done; without date and version, which would change its bytes."""
    with mpl.rc_context(_STYLE):
        drawn = Figure(figsize=size, layout="constrained", facecolor="#ffffff")
        FigureCanvasAgg(drawn)
        yield drawn
        path.parent.mkdir(parents=True, exist_ok=True)
        drawn.savefig(path, format="svg", metadata={"Date": None, "Creator": None})


def bars(path: Path, title: str, panels: Sequence[Panel]) -> None:
    """Horizontal bars (medians) with whiskers (least to most), each with its number; one panel below the other."""
    heights = [_rows(panel) for panel in panels]
    with figure(path, (8.6, 0.9 + 0.21 * sum(heights) + 0.5 * len(panels))) as drawn:
        axes = drawn.subplots(len(panels), 1, squeeze=False, gridspec_kw={"height_ratios": heights})
        for panel, place in zip(panels, axes[:, 0], strict=True):
            _draw_bars(place, panel)
        drawn.suptitle(title, fontsize=10.5)


def lines(
    path: Path,
    title: str,
    series: Mapping[str, Line],
    axes: tuple[str, str],
    log: tuple[bool, bool] = (True, True),
    from_zero: bool = True,
) -> None:
    """A line a series with whiskers; `axes` names x and y with their units, both logarithmic unless told.

    A linear y begins at 0; `from_zero=False` is for lines that would all lie in one corner then.
    """
    longest = max((len(name) for name in series), default=1)
    columns = max(1, min(4, len(series), _LEGEND // (longest + 6)))  # a line's sample takes the room of 6 letters
    with figure(path, (8.6, 4.2 + 0.19 * -(-len(series) // columns))) as drawn:  # a long legend takes no room from it
        place = drawn.subplots()
        for i, (name, line) in enumerate(series.items()):
            medians = [value.median for value in line.values]
            errors = [[v.median - v.low for v in line.values], [v.high - v.median for v in line.values]]
            place.errorbar(
                line.xs, medians, errors, color=COLOURS[i % len(COLOURS)], marker=_MARKERS[i % len(_MARKERS)],
                linestyle=_DASHES[i // len(COLOURS) % len(_DASHES)], linewidth=1.6, markersize=5,
                capsize=2.5, elinewidth=1, label=name,
            )  # fmt: skip
        place.set_xlabel(axes[0])
        place.set_ylabel(axes[1])
        for axis, scale, logarithmic in (
            (place.xaxis, place.set_xscale, log[0]),
            (place.yaxis, place.set_yscale, log[1]),
        ):
            if logarithmic:
                scale("log")
                _plain_numbers(axis)
        where = sorted({x for line in series.values() for x in line.xs})
        if len(where) <= _TICKS:  # the values themselves, not powers of ten beside them
            place.xaxis.set_major_locator(FixedLocator(where))
            place.xaxis.set_minor_locator(NullLocator())
        if from_zero and not log[1]:
            place.set_ylim(bottom=0)
        drawn.legend(loc="outside lower center", ncols=columns)
        drawn.suptitle(title, fontsize=10.5)


def _rows(panel: Panel) -> int:
    return sum(len(group) + bool(heading) for heading, group in panel.groups.items())


def _draw_bars(place: Axes, panel: Panel) -> None:
    start = 1.0 if panel.log else 0.0
    at, places, names = 0.0, [], []
    most = max(value.high for group in panel.groups.values() for value in group.values())
    for heading, group in panel.groups.items():
        if heading:
            across = place.get_yaxis_transform()
            text = place.text(0.004, at, heading, transform=across, va="center", weight="bold", bbox=_COVER)
            text.set_in_layout(False)  # a long one would squeeze the bars
            at += 1
        for name, value in group.items():
            # a bar that falls short of parity is told by its colour, too
            colour = COLOURS[1] if panel.log and value.median < 1 else COLOURS[0]
            place.barh(at, value.median - start, left=start, height=0.62, color=colour, alpha=0.85)
            whisker = [[value.median - value.low], [value.high - value.median]]
            place.errorbar(value.median, at, xerr=whisker, color="#222222", elinewidth=1, capsize=2.5, fmt="none")
            beyond = max(value.high, start) * 1.08 if panel.log else value.high + 0.012 * most
            place.text(beyond, at, figures(value.median), va="center", fontsize=8)
            places.append(at)
            names.append(name)
            at += 1
    if panel.log:
        least = min(value.low for group in panel.groups.values() for value in group.values())
        place.set_xscale("log")
        place.set_xlim(min(0.7, 0.8 * least), most * 2)
        _plain_numbers(place.xaxis, (1, 2, 5) if most < 100 * least else (1,))
        place.axvline(1.0, color="#222222", linewidth=0.8)
    else:
        place.set_xlim(0, 1.1 * most)
    place.set_yticks(places, names)
    place.tick_params(axis="y", length=0)
    place.grid(visible=False, axis="y")
    place.set_ylim(at - 0.4, -0.7)
    place.set_xlabel(panel.axis)


def _plain_numbers(axis: Any, between: tuple[int, ...] = (1,)) -> None:
    """Powers of ten as 0.1, 1, 10, 1,000: not as exponents; millions as 1M; `between` are told multiples of them."""
    axis.set_major_locator(LogLocator(10, between))
    axis.set_major_formatter(FuncFormatter(lambda number, _: _plain(number)))
    axis.set_minor_formatter(NullFormatter())


def _plain(number: float) -> str:
    return f"{number / 1e6:g}M" if number >= 1e6 else f"{number:,.0f}" if number >= 1 else f"{number:g}"
