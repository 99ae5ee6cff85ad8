"""`xmach train`: from a data file to a model folder."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from xmach.cli import columns as table
from xmach.cli import network as net
from xmach.cli import texts
from xmach.cli.arguments import (
    CacheOption,
    DataFile,
    FormatOption,
    JsonOption,
    MemoryOption,
    MergeOption,
    OnErrorOption,
)
from xmach.cli.choices import Bucketing, ExecutorName, Format, OnError
from xmach.cli.progress import say


def train(
    file: DataFile,
    model: Annotated[Path, typer.Option("--model", metavar="DIR", help="Where the model goes.", show_default=False)],
    format: FormatOption = Format.auto,
    text: table.TextOption = None,
    labels: table.LabelsOption = None,
    label_separator: table.SeparatorOption = None,
    weight: table.WeightOption = None,
    numbers: table.NumbersOption = None,
    header: table.HeaderOption = None,
    label_file: table.LabelFileOption = None,
    label_names: table.LabelNamesOption = None,
    validation_label_file: table.ValidationLabelFileOption = None,
    preset: net.PresetOption = None,
    buckets: net.BucketsOption = None,
    n_repetitions: net.RepetitionsOption = None,
    bucketing: net.BucketingOption = Bucketing.random,
    hidden: net.HiddenOption = None,
    loss: net.LossOption = None,
    epochs: net.EpochsOption = None,
    batch_size: net.BatchOption = None,
    learning_rate: net.RateOption = None,
    weight_decay: net.DecayOption = 0.0,
    dropout: net.DropoutOption = 0.0,
    skip_below: net.SkipOption = 0.0,
    scaling: net.ScalingOption = None,
    estimator: net.EstimatorOption = None,
    features: table.FeaturesOption = None,
    vocabulary: texts.VocabularyOption = None,
    values: texts.ValuesOption = None,
    validation: table.ValidationOption = None,
    seed: Annotated[int, typer.Option(help="Same seed, same bytes.")] = 0,
    only: Annotated[str | None, typer.Option(help="Train these repetitions only, such as 0-7.")] = None,
    executor: Annotated[ExecutorName, typer.Option(help="In this process, or in a pool of them.")] = ExecutorName.auto,
    workers: Annotated[int, typer.Option(help="Repetitions at a time; 0: one a core.")] = 0,
    memory: MemoryOption = None,
    merge: MergeOption = False,
    on_error: OnErrorOption = OnError.stop,
    cache: CacheOption = None,
    as_json: JsonOption = False,
) -> None:
    """Train a model. The same command again goes on where it was stopped, and does nothing when all is done.

    With --only, machines that never meet train a part each; copy the files into one folder, run without --only there.
    """
    from xmach.cli.reading import How, training_rows, validation_rows
    from xmach.cli.running import Run, outcome

    recipe = net.recipe(
        preset, buckets, n_repetitions, hidden, loss, epochs, batch_size, learning_rate, weight_decay, dropout,
        skip_below, texts.scaling_of(values, scaling), estimator, bucketing,
    )  # fmt: skip
    run = Run.checked(recipe, only, seed, executor.value, workers, memory)
    texts.check_text_options(text, vocabulary, values)
    named = table.columns(text, labels, label_separator, weight, numbers, header)
    begun = time.monotonic()
    how = How(format, on_error, cache, named, header, label_file, merge)
    run.check_reading(how)
    wanted = texts.text_features(features, vocabulary, values) if named.text else None
    data, hashed = training_rows(file, how, features, label_names, wanted)
    held_out = validation_rows(validation, replace(how, label_file=validation_label_file), data, hashed)
    facts = run.train(model, data, held_out, hashed) | {"seconds": round(time.monotonic() - begun, 1)}
    say(f"{model}: {outcome(facts)}, {facts['seconds']} s")
    if as_json:
        typer.echo(json.dumps(facts))
