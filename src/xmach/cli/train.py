"""`xmach train`: from a data file to a model folder."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

import typer

from xmach.cli import columns as table
from xmach.cli import label_texts, texts
from xmach.cli.arguments import (
    CacheOption,
    DataFile,
    FormatOption,
    JsonOption,
    MemoryOption,
    MergeOption,
    OnErrorOption,
    ShareOption,
    repetitions,
    share,
)
from xmach.cli.model_options import config_of, with_model_options
from xmach.cli.progress import say, training_output

if TYPE_CHECKING:
    from xmach.cli.reading import ExpectedSchema, ReadRequest
    from xmach.config import MachConfig
    from xmach.data import Dataset, LabelTexts
    from xmach.training import Fitted

PresetName = Literal["paper", "odp", "imagenet", "wiki10-31k", "delicious-200k", "amazon-670k", "amazon-search"]
PresetOption = Annotated[
    PresetName | None,
    typer.Option(
        "--preset",
        help="Train as the paper did, or with its settings for one of its data sets; other options override it.",
    ),
]


@with_model_options(after="preset")
def train(
    file: DataFile,
    model: Annotated[Path, typer.Option("--model", metavar="DIR", help="Where the model goes.", show_default=False)],
    format: FormatOption = "auto",
    text: table.TextOption = None,
    labels: table.LabelsOption = None,
    label_separator: table.SeparatorOption = None,
    weight: table.WeightOption = None,
    numbers: table.NumbersOption = None,
    header: table.HeaderOption = None,
    label_file: table.LabelFileOption = None,
    label_names: table.LabelNamesOption = None,
    validation_label_file: table.ValidationLabelFileOption = None,
    preset: PresetOption = None,
    features: table.FeaturesOption = None,
    vocabulary: texts.VocabularyOption = None,
    values: texts.ValuesOption = None,
    label_text: label_texts.LabelTextOption = None,
    label_text_columns: label_texts.LabelTextColumnsOption = None,
    validation: table.ValidationOption = None,
    only: Annotated[str | None, typer.Option(help="Train these repetitions only, such as 0-7.")] = None,
    only_ranker: ShareOption = None,
    executor: Annotated[Literal["auto", "local", "pool"], typer.Option(help="In this process, or in a pool.")] = "auto",
    workers: Annotated[int, typer.Option(min=0, help="Repetitions trained at a time; 0: one per core.")] = 0,
    memory: MemoryOption = None,
    merge: MergeOption = False,
    on_error: OnErrorOption = "stop",
    cache: CacheOption = None,
    as_json: JsonOption = False,
    **given: Any,
) -> None:
    """Train a model. Run the same command again to resume a run that was stopped; a finished model stays as it is.

    With --only, machines that never meet train a part each; copy the files into one folder, run without --only there.
    With --only-ranker, they divide the ranker, once all repetitions are there; run without it to join the shares.
    """
    from xmach.cli.reading import ReadRequest, training_schema
    from xmach.training import fit

    begun = time.monotonic()
    given["scaling"] = texts.scaling_of(values, given["scaling"])
    config, wanted, ranker_share = config_of(given, preset), repetitions(only), share(only_ranker)
    budget = _budget(memory, config, text)
    texts.check_text_options(text, vocabulary, values)
    label_texts.check_options(text, label_text, label_text_columns)
    named = table.columns(text, labels, label_separator, weight, numbers, header)
    request = ReadRequest(format, on_error, cache, named, header, label_file, merge)
    vectorizer = texts.text_features(features, vocabulary, values) if named.text else None
    schema = training_schema(file, request, features, label_names, vectorizer)
    rows = _read(file, request, schema, label_text, label_text_columns, validation, validation_label_file)
    if preset is not None and preset != "paper":  # which has no data set of its own
        _show_preset(preset, rows.data)
    with training_output() as on_progress:
        fitted = fit(
            rows.data, config, model, wanted, executor=executor, validation=rows.held_out, on_progress=on_progress,
            text=schema.text, workers=workers or None, memory=budget, label_text=rows.label_text,
            only_ranker=ranker_share,
        )  # fmt: skip
    _report(model, fitted, round(time.monotonic() - begun, 1), as_json)


def _budget(memory: str | None, config: MachConfig, text: str | None) -> int | None:
    """The bytes of `--memory`, which reading alone must not exceed."""
    from xmach.planning import parse_bytes
    from xmach.training import check_budget

    budget = None if memory is None else parse_bytes(memory, "--memory")
    check_budget(budget, config, source="numbers" if text is None else "text", name="--memory")
    return budget


class _Rows(NamedTuple):
    """What is trained on."""

    data: Dataset
    label_text: LabelTexts | None
    held_out: Dataset | None


def _read(
    file: Path,
    request: ReadRequest,
    schema: ExpectedSchema,
    label_text: Path | None,
    label_text_columns: str | None,
    validation: Path | None,
    validation_label_file: Path | None,
) -> _Rows:
    """Read the training rows, the texts of labels, and the validation rows."""
    from xmach.cli.reading import ExpectedSchema, read

    data, texts_of_labels, held_out = read(file, request, schema), None, None
    if label_text is not None:
        data, texts_of_labels = label_texts.read(label_text, label_text_columns, data, schema.text, request)
    if validation is not None:
        request = replace(request, label_file=validation_label_file)
        held_out = read(validation, request, ExpectedSchema.of_data(data, schema.text))
    return _Rows(data, texts_of_labels, held_out)


def _show_preset(name: str, data: Dataset) -> None:
    """Say what the paper reached with a preset, and how these rows differ from the paper's."""
    from xmach.planning.presets import preset_named

    preset = preset_named(name)
    expected = {"features": preset.n_features, "labels": preset.n_labels, "rows": preset.train_rows}
    found = {"features": data.n_features, "labels": data.n_labels, "rows": data.n_rows}
    other = [f"{found[what]:,} {what}, not {expected[what]:,}" for what in expected if found[what] != expected[what]]
    ours = f"; not from the paper: {preset.ours}" if preset.ours else ""
    say(f"preset {name}: the paper reached {preset.reached}{ours}")
    if other:
        say(f"preset {name}: this file has {'; '.join(other)}")


def _report(model: Path, fitted: Fitted, seconds: float, as_json: bool) -> None:
    """Say what the model folder holds now."""
    facts = _facts(model, fitted) | {"seconds": seconds}
    say(f"{model}: {_state(facts)}, {seconds} s")
    if as_json:
        typer.echo(json.dumps(facts))


def _facts(model: Path, fitted: Fitted) -> dict[str, Any]:
    """What the model folder holds now, as JSON values."""
    facts: dict[str, Any] = {
        "model": str(model),
        "repetitions": fitted.plan.hashes.n_repetitions,
        "present": len(fitted.history),
        "complete": fitted.complete,
    }
    if fitted.predictor is not None:
        ranking = fitted.predictor.ranking
        facts |= {"estimator": fitted.predictor.estimator, "metrics": fitted.metrics}
        facts |= {"ranker": None if ranking is None else dict(ranking.fusion.weights)}
    return facts | {"trained": fitted.trained}


def _state(facts: dict[str, Any]) -> str:
    if facts["complete"]:
        by = f"estimator {facts['estimator']}" if facts["ranker"] is None else "with a ranker"
        return f"complete, {facts['repetitions']} repetitions, {by}"
    unfinished = ", the ranker is not finished" if facts["present"] == facts["repetitions"] else ""
    return f"{facts['present']} of {facts['repetitions']} repetitions are there{unfinished}"
