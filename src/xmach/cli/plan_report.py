"""What `xmach plan` prints: a table and the reasons, or everything as plain values."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from xmach.planning import Costs, Odds, Proposal, Request, Shape, TrainingMemory


@dataclass(frozen=True)
class PlanReport:
    """A proposal with what it can tell apart and costs."""

    request: Request
    proposal: Proposal
    chances: Odds
    bill: Costs | None  # None: the features are not known
    pairs: int | None  # indistinguishable ones in the draw of the seed; None: not counted
    seed: int

    def facts(self) -> dict[str, Any]:
        """Everything as plain values."""
        request, proposal, bill = self.request, self.proposal, self.bill
        shape, training = proposal.shape, proposal.training
        facts: dict[str, Any] = {
            "labels": shape.n_labels,
            "buckets": shape.n_buckets,
            "repetitions": shape.n_repetitions,
            "bucketing": request.bucketing,
            "delta": request.delta,
            **asdict(self.chances),
            "indistinguishable_pairs": self.pairs,
            "seed": self.seed,
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

    def lines(self) -> Iterator[str]:
        """The table, then the reasons."""
        request, proposal, chances = self.request, self.proposal, self.chances
        shape, bill, pairs, seed = proposal.shape, self.bill, self.pairs, self.seed
        yield f"labels               K = {shape.n_labels:,}"
        yield f"buckets              B = {shape.n_buckets:,}, {_number(chances.labels_a_bucket)} labels each"
        yield (
            f"repetitions          R = {shape.n_repetitions}; Theorem 2 asks for {chances.repetitions_needed} "
            f"(delta = {request.delta:g})"
        )
        anywhere = _number(chances.rivals_in_any_bucket)
        yield f"rivals of a label    {_number(chances.rivals_in_a_bucket)} in a bucket, {anywhere} in any of R"
        found = (
            "not counted: many labels, ask with --exact" if pairs is None else f"{pairs:,} in the draw of seed {seed}"
        )
        yield f"alike everywhere     {_number(chances.expected_indistinguishable_pairs)} pairs expected, {found}"
        yield f"                     some pair with probability <= {chances.indistinguishable_bound:.2g} (union bound)"
        if bill is not None:
            yield from _cost_lines(request, proposal, bill)
        yield ""
        if shape.n_buckets > shape.n_labels:
            yield "- B is more than the labels: hashing saves nothing here"
        yield from (f"- {reason}" for reason in (proposal.hashing if bill is None else proposal.reasons))


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
