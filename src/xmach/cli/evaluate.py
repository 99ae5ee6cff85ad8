"""`xmach evaluate`: a model's metrics on a data file."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

from xmach.cli.arguments import (
    CacheOption,
    DataFile,
    FormatOption,
    JsonOption,
    ModelFolder,
    NoVerifyOption,
    OnErrorOption,
    PartialOption,
    whole_numbers,
)
from xmach.cli.choices import EstimatorName, Format, OnError
from xmach.cli.progress import Meter, say


def evaluate(
    model: ModelFolder,
    file: DataFile,
    k: Annotated[str, typer.Option("--k", help="Depths of the metrics.")] = "1,3,5",
    estimator: Annotated[EstimatorName, typer.Option(help="auto: the model's own.")] = EstimatorName.auto,
    format: FormatOption = Format.auto,
    on_error: OnErrorOption = OnError.stop,
    allow_partial: PartialOption = False,
    no_verify: NoVerifyOption = False,
    cache: CacheOption = None,
    as_json: JsonOption = False,
) -> None:
    """Print precision, recall and nDCG of a model's answers on a data file."""
    from xmach.cli.reading import Width, read
    from xmach.evaluation import evaluate as run
    from xmach.store import ModelStore, load

    ks, store = whole_numbers(k, "--k"), ModelStore(model)
    predictor = load(model, verify=not no_verify, allow_partial=allow_partial)
    data = read(file, format, on_error, cache, Width.of_model(store))
    name = predictor.estimator if estimator is EstimatorName.auto else estimator.value
    with Meter("evaluating", "rows") as meter:
        result = run(predictor, data, ks, (name,), meter.update)[0]
    facts = {
        "file": file.name,
        "estimator": name,
        "repetitions": len(predictor.models),
        "rows": result.rows,
        "rows_without_labels": result.rows_without_labels,
        "metrics": result.metrics,
    }
    if len(predictor.models) < store.plan().hashes.n_repetitions:
        say(f"{len(predictor.models)} of {store.plan().hashes.n_repetitions} repetitions answer: the model is partial")
    if result.rows_without_labels:
        say(f"{result.rows_without_labels} rows have no label: they score 0 and count")
    unknown = int((data.labels.indices >= predictor.n_labels).sum())
    if unknown:
        say(f"{unknown:,} of {data.labels.nnz:,} labels in {file} are unknown to the model: they count as missed")
    _show(facts, sorted(set(ks)), as_json)
    try:
        store.add_evaluation(facts)
    except OSError as error:
        say(f"warning: the evaluation is not kept beside the model: {error}")


def _show(facts: dict[str, Any], depths: list[int], as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps(facts))
        return
    metrics = facts["metrics"]
    typer.echo(f"{facts['rows']:,} rows, estimator {facts['estimator']}, {facts['repetitions']} repetitions")
    typer.echo(f"{'':15}" + "".join(f"{f'@{depth}':>9}" for depth in depths))
    for metric in dict.fromkeys(key.split("@")[0] for key in metrics):
        cells = "".join(f"{100 * metrics[f'{metric}@{depth}']:9.2f}" for depth in depths)
        typer.echo(f"{metric:15}{cells}")
