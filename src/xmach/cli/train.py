"""`xmach train`: from a data file to a model folder."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from xmach.cli import columns as table
from xmach.cli import network as net
from xmach.cli.arguments import (
    CacheOption,
    DataFile,
    FormatOption,
    JsonOption,
    MemoryOption,
    OnErrorOption,
    repetitions,
)
from xmach.cli.choices import ExecutorName, Format, OnError
from xmach.cli.progress import say
from xmach.parameters import whole

if TYPE_CHECKING:
    from xmach.cli.reading import How
    from xmach.data import Dataset
    from xmach.features import HashedText


def train(
    file: DataFile,
    model: Annotated[Path, typer.Option("--model", metavar="DIR", help="Where the model goes.", show_default=False)],
    format: FormatOption = Format.auto,
    text: table.TextOption = None,
    labels: table.LabelsOption = None,
    label_separator: table.SeparatorOption = None,
    weight: table.WeightOption = None,
    numbers: table.NumbersOption = None,
    no_header: table.NoHeaderOption = False,
    label_file: table.LabelFileOption = None,
    label_names: table.LabelNamesOption = None,
    preset: net.PresetOption = None,
    buckets: net.BucketsOption = None,
    n_repetitions: net.RepetitionsOption = None,
    hidden: net.HiddenOption = None,
    loss: net.LossOption = None,
    epochs: net.EpochsOption = None,
    batch_size: net.BatchOption = None,
    learning_rate: net.RateOption = None,
    weight_decay: net.DecayOption = 0.0,
    dropout: net.DropoutOption = 0.0,
    scaling: net.ScalingOption = None,
    estimator: net.EstimatorOption = None,
    features: Annotated[
        int | None,
        typer.Option(min=1, help="Text: hashed columns (80,000). svmlight, vw: the width, where test files go beyond."),
    ] = None,
    validation: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Rows to stop early on, and to choose the estimator on.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Same seed, same bytes.")] = 0,
    only: Annotated[str | None, typer.Option(help="Train these repetitions only, such as 0-7.")] = None,
    executor: Annotated[ExecutorName, typer.Option(help="In this process, or in a pool of them.")] = ExecutorName.auto,
    workers: Annotated[int, typer.Option(help="Repetitions at a time; 0: one a core.")] = 0,
    memory: MemoryOption = None,
    on_error: OnErrorOption = OnError.stop,
    cache: CacheOption = None,
    as_json: JsonOption = False,
) -> None:
    """Train a model. The same command again goes on where it was stopped, and does nothing when all is done.

    With --only, jobs on machines that never meet train a part each; copy their files into one folder and run the
    command without --only there.
    """
    from xmach.cli.reading import How
    from xmach.cli.running import Run
    from xmach.planning import parse_bytes

    recipe = net.recipe(
        preset, buckets, n_repetitions, hidden, loss, epochs, batch_size, learning_rate, weight_decay, dropout,
        scaling, estimator,
    )  # fmt: skip
    run = Run(
        recipe=recipe,
        only=repetitions(only, recipe.repetitions),
        seed=whole("--seed", seed, 0, 2**63 - 1),
        executor=executor.value,
        workers=whole("--workers", workers, 0),
        memory=None if memory is None else parse_bytes(memory, "--memory"),
    )
    named = table.columns(text, labels, label_separator, weight, numbers, no_header)
    how = How(format, on_error, cache, named, label_file)
    begun = time.monotonic()
    data, held_out, hashed = _read(file, validation, how, features, label_names)
    facts = run.train(model, data, held_out, hashed) | {"seconds": round(time.monotonic() - begun, 1)}
    if facts["complete"]:
        done = f"complete, {facts['repetitions']} repetitions, estimator {facts['estimator']}"
    else:
        done = f"{facts['present']} of {facts['repetitions']} repetitions are there"
    say(f"{model}: {done}, {facts['seconds']} s")
    if as_json:
        typer.echo(json.dumps(facts))


def _read(
    file: Path, validation: Path | None, how: How, features: int | None, label_names: Path | None
) -> tuple[Dataset, Dataset | None, HashedText | None]:
    """The rows to train on, those to validate on, and how texts became rows."""
    from xmach.cli.reading import Fit, read
    from xmach.data import read_label_names
    from xmach.features import HashedText

    text = HashedText(features or HashedText.n_features) if how.columns.text else None
    names = None if label_names is None else read_label_names(label_names)
    data = read(file, how, Fit(None if text else features, names, text=text))
    held_out = None if validation is None else read(validation, replace(how, label_file=None), Fit.of_data(data, text))
    return data, held_out, text
