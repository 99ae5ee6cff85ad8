"""`xmach plan`: what a model would take, and which one fits into a budget."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from xmach.cli.arguments import JsonOption
from xmach.cli.model_options import config_of, with_model_options
from xmach.cli.texts import VocabularyOption, vocabulary_sizes
from xmach.config import AUTO, LINEAR, NETWORK, NONE, SOFTMAX, MachConfig
from xmach.errors import ParameterError
from xmach.parameters import whole

if TYPE_CHECKING:
    from xmach.planning import Costs, Odds, Proposal, Request, Shape, TrainingMemory

_NO_ROWS = "a network is planned; `xmach train` would use linear buckets, which can be planned with --rows"
_EXACT_LABELS = 300_000  # up to here the pairs of a draw are counted without being asked for: below 2 s


_OPTIONS = ("learner", "hidden", "n_buckets", "n_repetitions", "bucketing", "batch_size", "ranker", "ranker_bytes")
_PROPOSED = ("hidden", "n_buckets", "n_repetitions")
_LINEAR_OPTIONS = ("linear_loss", "cost", "passes", "prune_below", "store_bits")


@with_model_options(
    (*_OPTIONS, *_LINEAR_OPTIONS, "seed"),
    after="features",
    proposed=_PROPOSED,
)
def plan(
    classes: Annotated[int, typer.Option(help="K: labels.", show_default=False)],
    features: Annotated[int | None, typer.Option(help="d: columns of a row.", show_default=False)] = None,
    delta: Annotated[float, typer.Option(help="Probability that some pair of labels may be alike (Theorem 2).")] = 1e-3,
    memory: Annotated[
        str | None, typer.Option(help="What training and predicting may take: 4GB, 4GiB.", show_default="no limit")
    ] = None,
    rows: Annotated[int, typer.Option(help="Training rows; 0: not known, not counted.")] = 0,
    nonzeros: Annotated[float | None, typer.Option(help="Values of a sparse row.", show_default="100")] = None,
    labels_per_row: Annotated[float, typer.Option(help="Labels of a row.")] = 1.0,
    source: Annotated[str, typer.Option(help="What is read: numbers, a table of numbers, or text.")] = "numbers",
    vocabulary: VocabularyOption = None,
    workers: Annotated[int, typer.Option(help="Repetitions at a time; 0: one, or with --memory as many as fit.")] = 0,
    exact: Annotated[
        bool | None, typer.Option(help="Count the draw's indistinguishable pairs.", show_default="up to 300,000 labels")
    ] = None,
    as_json: JsonOption = False,
    **given: Any,
) -> None:
    """Print what K, B and R can tell apart and cost; propose what is not given, such that it fits into --memory."""
    from xmach.planning import (
        Request,
        RowFacts,
        costs,
        decide,
        drawn_pairs,
        odds,
        parse_bytes,
        prefers_linear,
        propose,
        usable_cores,
    )

    config = config_of(given)
    budget = None if memory is None else parse_bytes(memory, "--memory")
    values = float(min(100, features or 100)) if nonzeros is None else nonzeros
    n_labels = whole("--classes", classes, 1, 2**31 - 1)
    n_features = whole("--features", 1 if features is None else features, 1, 2**31 - 1)
    proposed = [name for name in _PROPOSED if getattr(config, name) == AUTO]
    facts = RowFacts(n_labels, n_features, values, labels_per_row, rows * labels_per_row / n_labels)
    learner = config.implied_learner
    # without rows, the weights of linear buckets cannot be estimated
    config = decide(config, facts, better=None if rows else NETWORK)
    fixed = {name: None if name in proposed else getattr(config, name) for name in _PROPOSED}
    request = Request(
        n_labels=n_labels,
        n_features=n_features,
        **fixed,
        delta=delta,
        batch_size=_batch_size(config.batch_size, rows),
        data=_data_size(rows, values, labels_per_row, source, vocabulary, config),
        memory=budget,
        workers=whole("--workers", workers, 0) or (1 if budget is None else usable_cores()),
        bucketing=config.bucketing,
        learner=config.learner,
        linear_loss=config.linear_loss,
        cost=None if config.cost == AUTO else config.cost,
        prune_below=config.prune_below,
        ranker=config.ranker,
        ranker_bytes=config.ranker_bytes,
        weight_bits=8 if config.store_bits == AUTO else int(config.store_bits),
    )
    seed = config.seed
    _check_features(features, nonzeros, budget)
    if config.learner == LINEAR:
        _check_linear(features, rows)
    proposal = propose(request)
    if learner == AUTO and not rows and features is not None and prefers_linear(facts):
        proposal = replace(proposal, network=(_NO_ROWS, *proposal.network))
    shape = proposal.shape
    key = (shape.n_labels, shape.n_buckets, shape.n_repetitions)
    pairs = drawn_pairs(*key, seed) if exact or (exact is None and shape.n_labels <= _EXACT_LABELS) else None
    bill = None if features is None else costs(shape, values)
    chances = odds(*key, delta)
    if as_json:
        typer.echo(json.dumps(_facts(request, proposal, chances, bill, pairs, seed)))
        return
    for line in _lines(request, proposal, chances, bill, pairs, seed):
        typer.echo(line)


def _check_features(features: int | None, nonzeros: float | None, budget: int | None) -> None:
    if nonzeros is not None and features is not None and nonzeros > features:
        raise ParameterError(f"--nonzeros {nonzeros:g}: a row has {features} features")
    if features is None and budget is not None:
        raise ParameterError("--memory needs --features: nearly all of a model is its input layers")


def _check_linear(features: int | None, rows: int) -> None:
    if features is not None and not rows:
        raise ParameterError("--learner linear needs --rows: the rows decide how many weights are kept")


def _data_size(
    rows: int, nonzeros: float, labels_per_row: float, source: str, vocabulary: str | None, config: MachConfig
) -> Any:
    from xmach.planning import DataSize, held_out_size

    if vocabulary is not None and source != "text":
        raise ParameterError("--vocabulary is for text; say --source text")
    known = 0 if vocabulary is None else sum(vocabulary_sizes(vocabulary)[:3])
    n_rows = whole("--rows", rows, 0)
    chosen = config.learner == LINEAR and config.linear_loss != SOFTMAX
    choosing = chosen and AUTO in (config.cost, config.passes)
    size = DataSize(
        n_rows, nonzeros, labels_per_row, source != "table", source=source, vocabulary=known, choosing=choosing
    )
    return size if config.learner != LINEAR or config.ranker == NONE else held_out_size(size)


def _batch_size(batch_size: int, rows: int) -> int:
    from xmach.learners.session import effective_batch_size

    return effective_batch_size(batch_size, rows) if rows else batch_size


def _facts(
    request: Request, proposal: Proposal, chances: Odds, bill: Costs | None, pairs: int | None, seed: int
) -> dict[str, Any]:
    """Everything as plain values."""
    shape, training = proposal.shape, proposal.training
    facts: dict[str, Any] = {
        "labels": shape.n_labels,
        "buckets": shape.n_buckets,
        "repetitions": shape.n_repetitions,
        "bucketing": request.bucketing,
        "delta": request.delta,
        **asdict(chances),
        "indistinguishable_pairs": pairs,
        "seed": seed,
        "reasons": list(proposal.hashing if bill is None else proposal.reasons),
    }
    if bill is None:
        return facts
    memory = {**asdict(training), "repetition": training.repetition, "total": training.total}
    return facts | {
        "features": shape.n_features,
        "learner": request.learner,
        **({"hidden": list(shape.hidden)} if shape.weights is None else _linear_facts(request, shape)),
        **asdict(bill),
        "reduction": bill.reduction,
        "operations_reduction": bill.operations_reduction,
        "workers": training.workers,
        "training_bytes": training.total,
        "training_parts": memory,
        "prediction_bytes": proposal.prediction,
        "memory": request.memory,
    }


def _linear_facts(request: Request, shape: Shape) -> dict[str, Any]:
    from xmach.planning import pruned_one_vs_all

    return {
        "expected_weights": shape.weights,
        "repetition_bytes": shape.repetition_bytes,
        "weight_bits": shape.weight_bits,
        "pruned_one_vs_all_bytes": pruned_one_vs_all(request).model_bytes,
        "ranker": request.ranker,
        "ranker_bytes": shape.ranker_bytes,
    }


def _lines(
    request: Request, proposal: Proposal, chances: Odds, bill: Costs | None, pairs: int | None, seed: int
) -> Iterator[str]:
    """The table, then the reasons."""
    shape = proposal.shape
    yield f"labels               K = {shape.n_labels:,}"
    yield f"buckets              B = {shape.n_buckets:,}, {_number(chances.labels_a_bucket)} labels each"
    yield (
        f"repetitions          R = {shape.n_repetitions}; Theorem 2 asks for {chances.repetitions_needed} "
        f"(delta = {request.delta:g})"
    )
    anywhere = _number(chances.rivals_in_any_bucket)
    yield f"rivals of a label    {_number(chances.rivals_in_a_bucket)} in a bucket, {anywhere} in any of R"
    found = "not counted: many labels, ask with --exact" if pairs is None else f"{pairs:,} in the draw of seed {seed}"
    yield f"alike everywhere     {_number(chances.expected_indistinguishable_pairs)} pairs expected, {found}"
    yield f"                     some pair with probability <= {chances.indistinguishable_bound:.2g} (union bound)"
    if bill is not None:
        yield from _cost_lines(request, proposal, bill)
    yield ""
    if shape.n_buckets > shape.n_labels:
        yield "- B is more than the labels: hashing saves nothing here"
    yield from (f"- {reason}" for reason in (proposal.hashing if bill is None else proposal.reasons))


def _cost_lines(request: Request, proposal: Proposal, bill: Costs) -> Iterator[str]:
    from xmach.planning import human_bytes, pruned_one_vs_all

    shape, training = proposal.shape, proposal.training
    widths = "-".join(str(width) for width in shape.widths)
    if shape.weights is None:
        yield f"network              {widths}, {shape.parameters:,} parameters, R times"
    else:
        yield f"linear buckets       {widths}, about {shape.weights:,} weights of {shape.weight_bits} bits, R times"
    yield (
        f"model                {_gib(bill.bytes)} against {_gib(bill.one_vs_all_bytes)} one-vs-all: "
        f"{_times(bill.reduction, 'smaller', 'larger')}"
    )
    if shape.weights is not None:
        pruned = pruned_one_vs_all(request).model_bytes
        yield f"  pruned, too        {_gib(pruned)} one-vs-all: {_times(pruned / bill.bytes, 'smaller', 'larger')}"
    if shape.ranker is not None:
        yield f"ranker               {request.ranker}, about {human_bytes(shape.ranker_bytes)}, beside the model"
    most = "" if shape.weights is None else "at most "
    yield (
        f"operations a query   {most}{bill.operations:,} against {bill.one_vs_all_operations:,}: "
        f"{_times(bill.operations_reduction, 'fewer', 'more')}"
    )
    yield (
        f"  of a sparse row    {most}{bill.sparse_operations:,} against {bill.one_vs_all_sparse_operations:,} "
        f"({request.data.nonzeros_per_row:g} nonzeros)"
    )
    at_a_time = f"{training.workers} repetition{'s' if training.workers > 1 else ''} at a time"
    yield f"training             {human_bytes(training.total)}, {at_a_time}"
    yield f"  of these           {human_bytes(training.repetition)} a repetition, {human_bytes(training.data)} data"
    if shape.weights is not None:
        yield from _phase_lines(training)
    yield f"predicting           {human_bytes(proposal.prediction)}"


def _phase_lines(training: TrainingMemory) -> Iterator[str]:
    """The peak of each phase of a run with linear buckets."""
    from xmach.planning import human_bytes

    choosing = f", {human_bytes(training.choosing)} while the cost is chosen" if training.choosing else ""
    yield f"  by phase           {human_bytes(training.preparing)} while rows are scaled{choosing},"
    joining = human_bytes(training.joining)
    ranking = f", {human_bytes(training.ranking)} for the ranker" if training.ranking else ""
    yield f"                     {human_bytes(training.training)} in training, with {joining} to join parts{ranking}"


def _gib(size: int) -> str:
    """A model's size beside another's, in the same unit: 1.26 GiB, 165 GiB, 0.31 GiB."""
    from xmach.planning import human_bytes

    amount = size / 2**30
    if not 0.005 <= amount < 2**20:
        return human_bytes(size)
    return f"{amount:,.0f} GiB" if amount >= 100 else f"{amount:.2f} GiB"


def _times(reduction: float, less: str, more: str) -> str:
    """`131 times smaller`; few labels and wide input layers can also make a model larger than one-vs-all."""
    return f"{_number(reduction)} times {less}" if reduction >= 1 else f"{_number(1 / reduction)} times {more}"


def _number(value: float) -> str:
    """Three digits that matter: 3,282, 102, 0.031, 1.2e-09."""
    return f"{value:,.0f}" if value >= 99.5 else f"{value:.3g}"
