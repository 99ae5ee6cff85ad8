"""`xmach plan`: what a model would take, and which one fits into a budget."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from xmach.cli.arguments import JsonOption
from xmach.cli.model_options import config_of, with_model_options
from xmach.cli.texts import VocabularyOption, vocabulary_sizes
from xmach.config import AUTO, LINEAR, NETWORK, NONE, SOFTMAX, MachConfig
from xmach.errors import ParameterError
from xmach.parameters import whole

if TYPE_CHECKING:
    from xmach.planning import Proposal, Request, RowFacts

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
    from xmach.cli.plan_report import PlanReport
    from xmach.planning import RowFacts, costs, drawn_pairs, odds, parse_bytes, propose

    budget = None if memory is None else parse_bytes(memory, "--memory")
    values = float(min(100, features or 100)) if nonzeros is None else nonzeros
    n_labels = whole("--classes", classes, 1, 2**31 - 1)
    n_features = whole("--features", 1 if features is None else features, 1, 2**31 - 1)
    facts = RowFacts(n_labels, n_features, values, labels_per_row, rows * labels_per_row / n_labels)
    config = config_of(given)
    request = _request(config, facts, rows, source, vocabulary, delta, budget, workers)
    _check_features(features, nonzeros, budget)
    if request.learner == LINEAR:
        _check_linear(features, rows)
    proposal = propose(request)
    if not rows and features is not None:
        proposal = _with_hint(proposal, config, facts)
    shape = proposal.shape
    key = (shape.n_labels, shape.n_buckets, shape.n_repetitions)
    counted = exact or (exact is None and shape.n_labels <= _EXACT_LABELS)
    pairs = drawn_pairs(*key, config.seed) if counted else None
    bill = None if features is None else costs(shape, values)
    report = PlanReport(request, proposal, odds(*key, delta), bill, pairs, config.seed)
    for line in [json.dumps(report.facts())] if as_json else report.lines():
        typer.echo(line)


def _request(
    config: MachConfig,
    facts: RowFacts,
    rows: int,
    source: str,
    vocabulary: str | None,
    delta: float,
    budget: int | None,
    workers: int,
) -> Request:
    """What is given, with the learner decided, and what is to be proposed."""
    from xmach.planning import Request, decide, usable_cores

    proposed = [name for name in _PROPOSED if getattr(config, name) == AUTO]
    # without rows, the weights of linear buckets cannot be estimated
    config = decide(config, facts, better=None if rows else NETWORK)
    fixed = {name: None if name in proposed else getattr(config, name) for name in _PROPOSED}
    return Request(
        n_labels=facts.n_labels,
        n_features=facts.n_features,
        **fixed,
        delta=delta,
        batch_size=_batch_size(config.batch_size, rows),
        data=_data_size(rows, facts.values_per_row, facts.labels_per_row, source, vocabulary, config),
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


def _with_hint(proposal: Proposal, config: MachConfig, facts: RowFacts) -> Proposal:
    """Say that training would not take a network, if it would not."""
    from xmach.planning import prefers_linear

    if config.implied_learner != AUTO or not prefers_linear(facts):
        return proposal
    return replace(proposal, network=(_NO_ROWS, *proposal.network))


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
