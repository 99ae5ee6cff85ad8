"""`xmach train`: from a data file to a model folder."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Annotated

import typer

from xmach.cli.arguments import CacheOption, DataFile, FormatOption, JsonOption, OnErrorOption, layers, repetitions
from xmach.cli.choices import EstimatorName, ExecutorName, Format, Loss, OnError, Scaling
from xmach.cli.progress import say
from xmach.parameters import MOST_REPETITIONS, whole


def train(
    file: DataFile,
    model: Annotated[Path, typer.Option("--model", metavar="DIR", help="Where the model goes.", show_default=False)],
    format: FormatOption = Format.auto,
    buckets: Annotated[int, typer.Option(help="B: buckets that labels are hashed into.")] = 2000,
    n_repetitions: Annotated[int, typer.Option("--repetitions", help="R: hashes, and classifiers.")] = 16,
    hidden: Annotated[str, typer.Option(help="Hidden layers, such as 500,500; none: logistic regression.")] = "500",
    loss: Annotated[Loss, typer.Option(help="auto is softmax.")] = Loss.auto,
    epochs: Annotated[int, typer.Option(help="Passes over the rows.")] = 10,
    batch_size: Annotated[int, typer.Option(help="Rows a step; fewer where rows are few.")] = 256,
    learning_rate: Annotated[float, typer.Option(help="Adam's rate at the start; it decays to zero.")] = 2e-3,
    weight_decay: Annotated[float, typer.Option(help="Decoupled weight decay.")] = 0.0,
    dropout: Annotated[float, typer.Option(help="Share of hidden units dropped in training.")] = 0.0,
    features: Annotated[
        int | None, typer.Option(min=1, help="The width of svmlight rows, where test files go beyond this one.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Same seed, same bytes.")] = 0,
    workers: Annotated[int, typer.Option(help="Repetitions at a time; 0: one a core.")] = 0,
    only: Annotated[str | None, typer.Option(help="Train these repetitions only, such as 0-7.")] = None,
    executor: Annotated[ExecutorName, typer.Option(help="In this process, or in a pool of them.")] = ExecutorName.auto,
    validation: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Rows to stop early on, and to choose the estimator on.")
    ] = None,
    scaling: Annotated[Scaling, typer.Option(help="auto: tf-idf for rows without negative values.")] = Scaling.auto,
    estimator: Annotated[
        EstimatorName, typer.Option(help="auto: the best on validation rows, log without them.")
    ] = EstimatorName.auto,
    on_error: OnErrorOption = OnError.stop,
    cache: CacheOption = None,
    as_json: JsonOption = False,
) -> None:
    """Train a model. The same command again goes on where it was stopped, and does nothing when all is done.

    With --only, jobs on machines that never meet train a part each; copy their files into one folder and run the
    command without --only there.
    """
    from xmach.cli.reading import Width, read
    from xmach.cli.running import choose_executor, elapsed, finish, train_repetitions
    from xmach.features import fit_scaler
    from xmach.learners import NetworkSettings
    from xmach.store import ModelStore
    from xmach.training import plan_training

    begun = time.monotonic()
    wanted = repetitions(only, whole("--repetitions", n_repetitions, 1, MOST_REPETITIONS))
    whole("--workers", workers, 0)
    whole("--seed", seed, 0, 2**63 - 1)
    settings = NetworkSettings(
        hidden=layers(hidden),
        loss="bce" if loss is Loss.bce else "softmax",
        epochs=epochs,
        batch_size=batch_size,
        learning_rate=learning_rate,
        weight_decay=weight_decay,
        dropout=dropout,
    )
    whole("--buckets", buckets, 2, 2**31 - 1)
    data = read(file, format, on_error, cache, Width(features))
    held_out = None if validation is None else read(validation, format, on_error, cache, Width.of_data(data))
    job = plan_training(
        data, settings, buckets, n_repetitions, seed, fit_scaler(data.features, scaling.value), held_out
    )
    if buckets > data.n_labels:
        say(f"warning: {buckets} buckets are more than the {data.n_labels} labels: hashing saves nothing here")
    store = ModelStore(model)
    store.begin(job.plan, data.label_counts(), data.label_names, job.scaler)
    missing = [r for r in wanted if not store.has(r)]
    say(
        f"{data.n_rows:,} rows, {data.n_features:,} features, {data.n_labels:,} labels; {buckets:,} buckets; "
        f"{len(missing)} of {n_repetitions} repetitions to train"
    )
    if missing:
        train_repetitions(job, missing, choose_executor(executor.value, workers, len(missing)), store)
    facts = finish(store, job, estimator.value) | {"trained": len(missing), "seconds": elapsed(begun)}
    if facts["complete"]:
        say(f"{model}: complete, {n_repetitions} repetitions, estimator {facts['estimator']}, {facts['seconds']} s")
    else:
        say(f"{model}: {facts['present']} of {n_repetitions} repetitions are there, {facts['seconds']} s")
    if as_json:
        typer.echo(json.dumps(facts))
