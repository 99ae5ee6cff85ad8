"""The plot of each benchmark that compares or measures: a function of its results, as its JSON file has them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from benchmarks.contest import Spread, Times
from benchmarks.paper.theory_figures import draw_estimates
from benchmarks.plots import Line, Panel, bars, lines

Results = Any  # JSON values
PARTS = ("imports", "verification", "opening", "answer")  # of a process that opens a model
SECONDS, RATIO = "seconds", "times as fast (logarithmic)"


def once(number: float) -> Spread:
    """What was measured or computed once: no whiskers."""
    return Spread(number, number, number)


def draw_training(results: Results, path: Path) -> None:
    """PyTorch's time as a multiple of ours, by shape."""
    groups = {
        result["shape"]["name"]: {
            f"{own} against {other}": Spread(**ratio)
            for own, against in result["ratios"].items()
            for other, ratio in against.items()
        }
        for result in results
    }
    title = "A training step, one thread each, by turns: median, least to most"
    bars(path, title, [Panel(RATIO, groups, log=True)])


def draw_text(results: Results, path: Path) -> None:
    """HashingVectorizer's time as a multiple of ours, by texts and tokens."""
    groups: dict[str, dict[str, Spread]] = {}
    for each in results:
        times = Times({name: part["seconds"] for name, part in each["times"].items()})
        groups.setdefault(each["texts"], {})[each["kinds"]] = times.ratio("sklearn", "xmach")
    title = "Text to rows against scikit-learn's HashingVectorizer, one thread: median, least to most"
    bars(path, title, [Panel(RATIO, groups, log=True)])


def draw_vocabulary(results: Results, path: Path) -> None:
    """The speed of text by a vocabulary, and of learning it, as a share of plain hashing's."""
    groups: dict[str, dict[str, Spread]] = {}
    for each in results:
        times = Times({name: part["seconds"] for name, part in each["times"].items()})
        groups[each["texts"]] = {name: times.ratio("hashed", name) for name in ("vocabulary", "learning")}
    title = "Text by the paper's vocabulary against plain hashing, one thread: median, least to most"
    bars(path, title, [Panel("times the speed of hashing", groups)])


def draw_opening(results: Results, path: Path) -> None:
    """Seconds from the start of a process to its first answer, and what a second process has for itself."""
    groups = {
        name: {part: Spread.of([run[part] for run in runs]) for part in runs[0] if part in PARTS}
        for name, runs in results["runs"].items()
    }
    commands = {"`xmach predict` of one row": {name: Spread.of(s) for name, s in results["commands"].items()}}
    share = {"": {"private, of the model": Spread.of([100 * n / results["bytes"] for n in results["second"]])}}
    title = f"Opening a model of {results['bytes'] / 2**30:.2f} GiB: median of processes, least to most"
    panels = [Panel(SECONDS, groups), Panel(SECONDS, commands), Panel("% of the model (second process)", share)]
    bars(path, title, panels)


def draw_scaling(results: Results, path: Path) -> None:
    """Milliseconds a row against the number of labels, by search; one run each."""
    searches = {search: Line([], []) for search in results["labels"][0]["decoding"]}
    for run in results["labels"]:
        for search, part in run["decoding"].items():
            if part is not None:
                searches[search].xs.append(run["n_labels"])
                searches[search].values.append(once(1e3 * part["row"]))
    title = "Top 10 by `mean`, B = 2000, R = 4, one thread, one run each"
    lines(path, title, searches, ("labels", "milliseconds a row"))


def draw_executors(results: Results, path: Path) -> None:
    """Seconds of each way to train each job."""
    groups = {each["job"]: {way: Spread.of(times) for way, times in each["seconds"].items()} for each in results}
    title = "One worker, two workers, two processes with half the repetitions each: median, least to most"
    bars(path, title, [Panel(SECONDS, groups)])


def draw_reading(results: Results, path: Path) -> None:
    """Speed of each reader on each file."""
    groups = {
        f"{file}, {result['bytes'] / 1e6:.0f} MB": {
            reader: Spread.of(result[f"{reader}, processor"]).into(result["bytes"] / 1e6)
            for reader in ("xmach", "scikit-learn")
        }
        for file, result in results.items()
    }
    bars(path, "Reading XMC text on one core: median, least to most", [Panel("MB a processor second", groups)])


def draw_memory(results: Results, path: Path) -> None:
    """The measured peak as a share of the plan, each case once."""
    groups: dict[str, dict[str, Spread]] = {}
    for run in results:
        name = f"{run['case']} (plan: {run['planned'] / 2**20:,.0f} MiB)"
        groups.setdefault(f"xmach {run['run']}", {})[name] = once(100 * run["ratio"])
    bars(path, "Peak memory against what the plan says, one run each", [Panel("measured peak, % of the plan", groups)])


def draw_stages(results: Results, path: Path) -> None:
    """The time and the memory of each stage of one run."""
    panels = [
        Panel(words, {"": {each["stage"]: once(each[name] / unit) for each in results["stages"]}})
        for words, name, unit in (("CPU seconds", "cpu", 1.0), ("GB of memory at its peak", "peak", 1e9))
    ]
    bars(path, f"{results['labels']:,} labels, {results['rows']:,} rows: each stage of one run", panels)


def draw_presets(results: Results, path: Path) -> None:
    """A training step and the memory of a repetition, by preset."""
    steps = {f"{each['preset']}, all R: {each['total_hours']:,.1f} h": Spread(**each["step"]) for each in results}
    memory = {each["preset"]: once(each["training_bytes"] / 2**30) for each in results}
    panels = [
        Panel("milliseconds a training step", {"": steps}),
        Panel("GiB of memory to train one repetition at a time, computed", {"": memory}),
    ]
    bars(path, "The paper's experiments on one core: median, least to most of the steps", panels)


def draw_learners(results: Results, path: Path) -> None:
    """Precision of each base learner by `log`, and what fitting took; one run each."""
    chosen = [row for row in results if row["estimator"] == "log"]
    precisions = {row["learner"]: {f"P@{k}": once(100 * row[f"precision@{k}"]) for k in (1, 3, 5)} for row in chosen}
    seconds = {"": {row["learner"]: once(row["seconds"]) for row in chosen}}
    panels = [Panel("precision, %", precisions), Panel("processor seconds to fit, one thread", seconds)]
    bars(path, "Base learners on bibtex, B = 100, R = 16, one run each", panels)


def draw_multilabel(results: Results, path: Path) -> None:
    """P@1 against R, by set and B; whiskers are the disjoint groups of R repetitions."""
    series: dict[str, Line] = {}
    for row in results:
        if row["estimator"] == "log":
            line = series.setdefault(f"{row['set']}, B = {row['B']:,}", Line([], []))
            line.xs.append(row["R"])
            line.values.append(Spread(row["precision@1"], *row["spread"]["precision@1"]).times(100))
    title = "Precision against repetitions: mean of groups of R among 16, least to most"
    lines(path, title, series, ("repetitions R", "P@1, %"), (True, False), from_zero=False)


def draw_theory(results: Results, path: Path) -> None:
    """Estimates against the truth, by estimator and R; the page on theory has this figure and another one."""
    draw_estimates([row for row in results["estimates"] if row["noise"] == 0], path)


def draw_serving(results: Results, path: Path) -> None:
    """Answers a second against callers, with and without batching."""
    series = {}
    for name, batching in (("batching", True), ("one at a time", False)):
        seen: dict[float, list[float]] = {}
        for loop in results["closed"]:
            if loop["batching"] == batching:
                seen.setdefault(loop["callers"], []).append(loop["rate"])
        series[name] = Line(list(seen), [Spread.of(rates) for rates in seen.values()])
    title = "xmach serve, 200,000 labels, callers in a second process: median, least to most"
    lines(path, title, series, ("callers", "answers a second"))


def draw_tagging(results: Results, path: Path) -> None:
    """Precision, size and training time of the contestants that finished, on one set."""
    rows = [row for row in results["rows"] if "failed" not in row]
    columns: dict[str, dict[str, Spread]] = {
        "P@1, %": {row["contestant"]: once(100 * row["quality"]["precision@1"]) for row in rows},
        "MB of model": {row["contestant"]: once(row["bytes"] / 1e6) for row in rows},
        "CPU seconds of training": {row["contestant"]: Spread(**row["training seconds"]["cpu"]) for row in rows},
    }
    title = f"The tagging contest: {path.stem.removeprefix('tagging-')}"
    bars(path, title, [Panel(axis, {"": values}) for axis, values in columns.items()])


def draw_sizes(results: Results, path: Path) -> None:
    """P@1 against bytes on one set: a line for each model of MACH, a point for each kind of tree."""
    trees = {name: [row] for name, row in results["trees"].items() if "failed" not in row}
    series = {
        words: Line(
            [each["bytes"] / 1e6 for each in rows], [once(100 * each["quality"]["precision@1"]) for each in rows]
        )
        for words, rows in {**results["models"], **trees}.items()
    }
    title = f"{path.stem.removeprefix('sizes-')}: accuracy against size, R = 1, 2, 4, 8 and 16 repetitions"
    lines(path, title, series, ("MB of model", "P@1, %"), (True, False), from_zero=False)


DRAWINGS: Mapping[str, Callable[[Results, Path], None]] = {
    "training": draw_training,
    "text": draw_text,
    "vocabulary": draw_vocabulary,
    "opening": draw_opening,
    "serving": draw_serving,
    "scaling": draw_scaling,
    "executors": draw_executors,
    "reading": draw_reading,
    "memory": draw_memory,
    "many-labels": draw_stages,
    "ten-million": draw_stages,
    "presets": draw_presets,
    "learners": draw_learners,
    "multilabel": draw_multilabel,
    "theory": draw_theory,
    "tagging": draw_tagging,  # of each set
    "sizes": draw_sizes,  # of each set
}
