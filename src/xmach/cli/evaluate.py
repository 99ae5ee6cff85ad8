"""`xmach evaluate`: a model's metrics on a data file, as a table or as JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from xmach.cli import columns as table
from xmach.cli.arguments import (
    CacheOption,
    CandidatesOption,
    DataFile,
    EstimatorOption,
    FormatOption,
    JsonOption,
    MergeOption,
    ModelFolder,
    NoVerifyOption,
    OnErrorOption,
    PartialOption,
    whole_numbers,
)
from xmach.cli.progress import Meter, say

if TYPE_CHECKING:
    from xmach.evaluation import Evaluation
    from xmach.types import Int32Array, IntArray

# Title of a block: its metrics, and for those that need it what is said beside the figures.
_USUAL = ""
_PROPENSITY = "propensity-scored: rare labels count more (A = 0.55, B = 1.5)"
_PAPER = "as the paper defines them"
_TABLE: dict[str, dict[str, str]] = {
    _USUAL: dict.fromkeys(("precision", "recall", "ndcg", "map", "mrr", "coverage"), ""),
    _PROPENSITY: {"psp": "", "psndcg": ""},
    _PAPER: {
        "precision_min": "hits / min(|Y|, k), in its table",
        "precision_most_rel": "only the most purchased label is true",
        "ndcg_paper": "over its largest term; can exceed 100",
        "map_paper": "over k, not min(|Y|, k)",
        "mrr_paper": "rank of the most purchased label",
    },
}


def evaluate(
    model: ModelFolder,
    file: DataFile,
    k: Annotated[str, typer.Option("--k", help="Depths of the metrics.")] = "1,3,5",
    estimator: EstimatorOption = "auto",
    format: FormatOption = "auto",
    text: table.TextOption = None,
    labels: table.LabelsOption = None,
    label_separator: table.SeparatorOption = None,
    weight: table.WeightOption = None,
    numbers: table.NumbersOption = None,
    header: table.HeaderOption = None,
    label_file: table.LabelFileOption = None,
    filter_labels: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Pairs of row and label to leave out: filter_labels_test.txt.")
    ] = None,
    candidates: CandidatesOption = None,
    merge: MergeOption = False,
    on_error: OnErrorOption = "stop",
    allow_partial: PartialOption = False,
    no_verify: NoVerifyOption = False,
    cache: CacheOption = None,
    as_json: JsonOption = False,
) -> None:
    """Print how good a model's answers are on a data file: usual, propensity-scored and the paper's metrics."""
    from xmach.cli.candidates import read_candidates
    from xmach.cli.reading import ExpectedSchema, ReadRequest, labels_to_leave_out, read
    from xmach.evaluation import evaluate as run
    from xmach.store import ModelStore, load

    ks, store = whole_numbers(k, "--k"), ModelStore(model)
    predictor = load(model, verify=not no_verify, allow_partial=allow_partial)
    named = table.columns(text, labels, label_separator, weight, numbers, header)
    chosen = None if candidates is None else read_candidates(candidates, predictor)
    data = read(
        file, ReadRequest(format, on_error, cache, named, header, label_file, merge), ExpectedSchema.of_model(store)
    )
    left_out = None if filter_labels is None else labels_to_leave_out(filter_labels, file, format, data, merge)
    name = None if estimator == "auto" else estimator  # of the sketch: a model with a ranker is not asked for one
    with Meter("evaluating", "rows") as meter:
        result = run(predictor, data, ks, (name,), meter.update, left_out, chosen)[0]
    facts = facts_of(file.name, name or predictor.ranked_by, len(predictor.models), result, data.weights is not None)
    facts |= {} if chosen is None else {"candidates": len(chosen)}
    expected = store.plan().hashes.n_repetitions
    if len(predictor.models) < expected:
        say(f"{len(predictor.models)} of {expected} repetitions answer: the model is partial")
    if result.rows_without_labels:
        say(f"{result.rows_without_labels} rows have no label: they score 0 and count")
    _say_missed(file, data.labels.indices, predictor.n_labels, chosen)
    show(facts, sorted(set(ks)), as_json)
    try:
        store.add_evaluation(facts)
    except OSError as error:
        say(f"warning: the evaluation is not kept beside the model: {error}")


def _say_missed(file: Path, true: Int32Array, n_labels: int, candidates: IntArray | None) -> None:
    """Say how many true labels no answer can be."""
    import numpy as np

    unknown = int((true >= n_labels).sum())
    if unknown:
        say(f"{unknown:,} of {len(true):,} labels in {file} are unknown to the model: they count as missed")
    if candidates is not None:
        others = int(np.isin(true, candidates, invert=True).sum()) - unknown
        say(f"{others:,} of {len(true):,} labels in {file} are known but not candidates: they count as missed")


def facts_of(file: str, estimator: str, repetitions: int, result: Evaluation, weighted: bool) -> dict[str, Any]:
    """An evaluation as plain values."""
    facts: dict[str, Any] = {
        "file": file,
        "estimator": estimator,
        "repetitions": repetitions,
        "rows": result.rows,
        "rows_without_labels": result.rows_without_labels,
        "weighted": weighted,
        "metrics": result.metrics,
    }
    return facts | {"unweighted": result.unweighted} if weighted else facts


def show(facts: dict[str, Any], depths: list[int], as_json: bool) -> None:
    """Print an evaluation: JSON, or tables with metrics as rows and depths as columns."""
    from xmach.predictor import RANK

    if as_json:
        typer.echo(json.dumps(facts))
        return
    among = f", among {facts['candidates']:,} candidates" if "candidates" in facts else ""
    by = "with the ranker" if facts["estimator"] == RANK else f"estimator {facts['estimator']}"
    typer.echo(f"{facts['rows']:,} rows, {by}, {facts['repetitions']} repetitions{among}")
    typer.echo(_table(facts["metrics"], depths, [*_TABLE], "in %, weighted" if facts["weighted"] else "in %"))
    typer.echo("\n" + _groups(facts["metrics"], depths))
    if facts["weighted"]:  # the paper gives its own metrics and the usual ones both ways
        typer.echo("\n" + _table(facts["unweighted"], depths, [_USUAL, _PAPER], "in %, every row alike"))
    typer.echo("\ndefinitions: docs/metrics.md, or help(xmach.metrics) in Python")


def _table(metrics: dict[str, float], depths: list[int], blocks: list[str], title: str) -> str:
    """Metrics as rows, depths as columns."""
    lines = [f"{title:24}" + _heads(depths)]
    for block in blocks:
        lines += ["", block] if block else []
        for name, note in _TABLE[block].items():
            cells = _cells([metrics[f"{name}@{depth}"] for depth in depths], depths)
            lines.append(f"  {name:22}{cells}" + (f"   {note}" if note else ""))
    return "\n".join(lines)


def _groups(metrics: dict[str, float], depths: list[int]) -> str:
    """Recall of frequent and rare labels, and how many of the labels those are."""
    from xmach.metrics import GROUPS

    lines = ["recall by label frequency in training", f"{'':24}{_heads(depths)}   of labels   of true labels"]
    for name in GROUPS:
        there = metrics[f"true share {name}"] > 0
        recalls = [metrics[f"recall@{depth} {name}"] if there else None for depth in depths]
        shares = f"{100 * metrics[f'label share {name}']:12.2f}{100 * metrics[f'true share {name}']:17.2f}"
        lines.append(f"  {name:22}{_cells(recalls, depths)}{shares}")
    return "\n".join(lines)


def _heads(depths: list[int]) -> str:
    return "".join(f"{f'@{depth}':>{_width(depths)}}" for depth in depths)


def _cells(values: Sequence[float | None], depths: list[int]) -> str:
    cells = ["-" if value is None else f"{100 * value:.2f}" for value in values]
    return "".join(f"{cell:>{_width(depths)}}" for cell in cells)


def _width(depths: list[int]) -> int:
    return max(9, len(str(depths[-1])) + 2)
